"""Reading: the same codes from every kind of source, and no message ever quotes a record."""

import bz2
import gzip
import lzma
import math
import traceback

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher import (
    Bins,
    Categorical,
    DataError,
    IntegerRange,
    Records,
    Schema,
    draft_schema,
    read,
)
from thresher.data import batches, delimited

SCHEMA = Schema(
    [
        IntegerRange(name="age", low=16, high=100, nulls=16),
        Categorical(name="sex", categories=("F", "M", "other"), nulls="other", outside="other"),
        Bins.equal("gain", low=0, high=100, bins=10, nulls=0),
    ]
)
KIND = Categorical(
    name="kind", categories=("0", "1", "2", "2.5", "True", "?", "17"), nulls="17", outside="?"
)
MIXED = Schema([*SCHEMA, KIND])
NUMERIC = Schema([KIND, SCHEMA["gain"]])
CANARY = "SECRET-7731"
TABLE = pa.table(
    {
        "id": ["a", "b", "c", "d", "e", "f"],
        "age": pa.array([16, 40, None, 250, -3, 99], pa.int64()),
        "sex": pa.array(["F", "M", None, "X", "F", "M"]),
        "gain": pa.array([0.0, 55.5, None, 1e9, math.inf, -math.inf]),
    }
)
CODES = [[0, 24, 0, 84, 0, 83], [0, 1, 2, 2, 0, 1], [0, 5, 0, 9, 9, 0]]
CSV = """id,age,sex,gain
a,16,F,0
b,40,M,55.5
c,,,
d,250,X,1e9
"e, e",-3, F ,inf
f,99,M,-inf
"""
BROKEN_LINES = CSV.replace("e, e", "e\ne")


def codes_of(records):
    return [column.tolist() for column in records.columns]


def written(path, content):
    data = content if isinstance(content, bytes) else content.encode()
    pack = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
    zstd = {".zst": lambda raw: pa.compress(raw, "zstd", asbytes=True)}
    path.write_bytes({**pack, **zstd}.get(path.suffix.lower(), bytes)(data))
    return path


ENDINGS = ["csv", "CSV", "csv.gz", "CSV.GZ", "csv.bz2", "csv.xz", "csv.zst"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_csv(tmp_path, ending):
    assert codes_of(read(written(tmp_path / f"x.{ending}", CSV), SCHEMA)) == CODES


@pytest.mark.parametrize(
    "content",
    [
        "\ufeff" + CSV,
        CSV.replace("\n", "\r\n"),
        CSV.rstrip("\n"),
        CSV.replace("id,", '"id",').replace("age", '"age"', 1),
        CSV.replace("id,age,sex,gain", "\n\nid,age,sex,gain"),
        CSV.replace("f,99", "\nf,99"),
    ],
    ids=["bom", "crlf", "no last line end", "quoted header", "blank lines first", "blank line"],
)
def test_csv_dialects(tmp_path, content):
    assert codes_of(read(written(tmp_path / "x.csv", content), SCHEMA)) == CODES


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_cells_with_line_breaks(tmp_path, end):
    path = written(tmp_path / "x.csv", BROKEN_LINES.replace("\n", end))
    assert codes_of(read(path, SCHEMA, line_breaks_in_cells=True)) == CODES
    with pytest.raises(DataError, match=r"line 6: a quote is not closed.*line_breaks_in_cells"):
        read(path, SCHEMA)
    with pytest.raises(DataError, match="line 6: a quote is not closed"):
        draft_schema(path)
    assert draft_schema(path, line_breaks_in_cells=True).schema.names == (
        "id",
        "age",
        "sex",
        "gain",
    )


def test_tsv(tmp_path):
    path = written(tmp_path / "x.tsv", CSV.replace("e, e", "e e").replace(",", "\t"))
    assert codes_of(read(path, SCHEMA)) == CODES


def test_an_empty_line_is_a_record_where_there_is_one_column(tmp_path):
    """Else replacing a record by one whose only cell is missing would change n."""
    one = Schema([SCHEMA["sex"]])
    path = written(tmp_path / "x.csv", "sex\nF\n\nM\n")
    assert codes_of(read(path, one)) == [[0, 2, 1]]


def test_parquet(tmp_path):
    pq.write_table(TABLE, tmp_path / "x.parquet")
    assert codes_of(read(str(tmp_path / "x.parquet"), SCHEMA)) == CODES


def frames():
    plain = TABLE.to_pandas()
    mixed = plain.astype(object)
    mixed.loc[0, "age"] = "16"
    mixed.loc[5, "age"] = 99.0
    polars = pl.from_arrow(TABLE)
    return {
        "arrow": TABLE,
        "batch": TABLE.to_batches()[0],
        "arrow, views": TABLE.set_column(2, "sex", TABLE["sex"].cast(pa.string_view())),
        "pandas": plain,
        "pandas category": plain.astype({"sex": "category", "age": "category"}),
        "pandas strings": plain.astype({"sex": "string", "age": "Int64", "gain": "Float64"}),
        "pandas text": plain.astype({"age": "string"}),
        "pandas arrow": plain.astype({"sex": pd.ArrowDtype(pa.string())}),
        "pandas mixed": mixed,
        "polars": polars,
        "polars lazy": polars.lazy(),
        "polars categorical": polars.with_columns(pl.col("sex").cast(pl.Categorical)),
    }


@pytest.mark.parametrize("kind", frames())
def test_frames(kind):
    records = read(frames()[kind], SCHEMA)
    assert codes_of(records) == CODES
    assert [column.dtype for column in records.columns] == [np.uint8] * 3


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_many_chunks_are_as_one(tmp_path, monkeypatch, kind):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(0, 120, 4000),
            "sex": rng.choice(["F", "M", None, "a\nlong,\ncell"], 4000),
            "gain": np.where(rng.random(4000) < 0.1, np.nan, rng.normal(50, 40, 4000)),
        }
    )
    frame.to_csv(tmp_path / "x.csv", index=False)
    frame.to_parquet(tmp_path / "x.parquet")
    source = {"csv": tmp_path / "x.csv", "parquet": tmp_path / "x.parquet"}.get(kind, frame)
    whole = codes_of(read(source, SCHEMA, line_breaks_in_cells=True))
    seen = []
    monkeypatch.setattr(delimited, "CHUNK_BYTES", 4096)
    monkeypatch.setattr(batches, "CHUNK_ROWS", 77)
    again = read(source, SCHEMA, progress=seen.append, line_breaks_in_cells=True)
    assert codes_of(again) == whole
    assert len(seen) > 10
    assert seen == sorted(seen)
    assert seen[-1] == 4000
    assert whole == codes_of(read(frame, SCHEMA))


CELL = st.one_of(
    st.none(), st.integers(), st.floats(), st.booleans(), st.text(max_size=5),
    st.binary(max_size=3), st.lists(st.integers(), max_size=2), st.just("\ud800"),
    st.just(pd.NA), st.just(pd.NaT), st.dates(), st.complex_numbers(), st.decimals(),
    st.sampled_from([1.0, 2.5, 2**53 + 1, 1e-7, True, "1.0", 10**30]),
)  # fmt: skip


@given(st.lists(CELL, min_size=1, max_size=8))
def test_no_cell_of_a_pandas_column_raises(cells):
    """Beside a number and a word, any cell is coded as the policies say."""
    column = pd.Series([17, "F", *cells], dtype=object)
    frame = pd.DataFrame({"age": column, "sex": column, "gain": column})
    records = read(frame, SCHEMA)
    assert records.codes("age")[0] == 1
    assert records.codes("sex")[1] == 0


@given(st.lists(CELL, min_size=2, max_size=5))
def test_a_cell_is_coded_alike_whatever_its_neighbours(cells):
    """Else one person's record would change the codes of others, and sensitivity be more than 1."""

    def codes(*column):
        column = pd.Series([17, "F", *column], dtype=object)
        frame = pd.DataFrame({"age": column, "sex": column, "gain": column, "kind": column})
        return [column.tolist()[2:] for column in read(frame, MIXED).columns]

    alone = [codes(cell) for cell in cells]
    assert codes(*cells) == [[one[i][0] for one in alone] for i in range(4)]


@given(st.lists(st.one_of(st.none(), st.integers(0, 3), st.floats(0, 3)), min_size=1))
def test_a_word_among_numbers_does_not_change_what_they_mean(cells):
    def codes(*column):
        column = pd.Series([1, *column], dtype=object)
        return read(pd.DataFrame({"kind": column, "gain": column}), NUMERIC).columns

    for pure, mixed in zip(codes(*cells), codes(*cells, "word"), strict=True):
        assert pure.tolist() == mixed.tolist()[:-1]


# What is wrong with the shape of a source, each with a private value near the fault.


def _csv(content, name="x.csv"):
    return lambda folder: written(folder / name, content)


def _cut(name):
    def make(folder):
        path = written(folder / name, "id,age,sex,gain\n" + f"{CANARY},20,F,1\n" * 20_000)
        path.write_bytes(path.read_bytes()[:-30])
        return path

    return make


def _raw(content, name):
    def make(folder):
        (folder / name).write_bytes(content)
        return folder / name

    return make


def _damaged_parquet(folder):
    path = folder / "x.parquet"
    words = [f"{CANARY}-{i}" for i in range(20_000)]
    pq.write_table(pa.table({"age": [20] * 20_000, "sex": words, "gain": [1.0] * 20_000}), path)
    content = bytearray(path.read_bytes())
    for place in (20, 200, len(content) // 2):
        content[place : place + 60] = b"\xff" * 60
    path.write_bytes(content)
    return path


def _renamed(*names):
    return pa.Table.from_arrays([pa.array([CANARY])] * len(names), names=list(names))


def _arrow(**columns):
    return lambda folder: pa.table({"age": [20], "sex": ["F"], "gain": [1.0], **columns})


def _frame(**columns):
    return lambda folder: pd.DataFrame({"age": [20], "sex": ["F"], "gain": [1.0], **columns})


HEAD = "id,age,sex,gain\n"
FAULTS = {
    "no such file": (lambda folder: folder / "none.csv", r"no file .*none\.csv"),
    "folder": (lambda folder: folder, "no files of records in it"),
    "no match": (lambda folder: folder / "part-*.csv", r"no file that matches .*part-\*\.csv"),
    "unknown ending": (_csv(CANARY, "x.docx"), "told by its ending"),
    "empty": (_raw(b"", "x.csv"), "is empty"),
    "blank": (_csv("\n\n"), "is empty"),
    "header only": (_csv(HEAD), "holds no records"),
    "header without line end": (_csv(HEAD.strip()), "holds no records"),
    "long row": (_csv(f"{HEAD}a,20,F,1\n{CANARY},20,F,1,{CANARY}\n"), "row 3 .* 5 fields .* 4"),
    "long first row": (_csv(f"{HEAD}{CANARY},20,F,1,{CANARY}\n"), "row 2 .* 5 fields .* 4"),
    "short row": (_csv(f"{HEAD}a,20,F,1\n{CANARY}\n"), "row 3 .* 1 fields .* 4"),
    "duplicate column": (_csv(f"age,sex,gain,age\n20,F,1,{CANARY}\n"), r"1 and 4 .*\('age'\)"),
    "duplicate unknown column": (_csv(f"age,sex,{CANARY},{CANARY}\n20,F,1,2\n"), "3 and 4 have"),
    "bad separator": (_csv(f"age~sex\n{CANARY}~F\n"), "not separated by commas, semicolons"),
    "other separator": (_csv(f"age,sex,gain\n{CANARY};F;3\n"), "separated by semicolons, separate"),
    "missing column": (_csv(f"id,age,sex\n{CANARY},20,F\n"), "lacks the column 'gain'"),
    "other capitals": (_csv(f"id,Age,sex,gain\n{CANARY},2,F,1\n"), "mind capitals .* 'age'"),
    "no header": (_csv(f"{CANARY},20,F,1\nb,20,F,1\n"), "'age', 'sex', 'gain'.*header line"),
    "not UTF-8": (_csv(HEAD.encode() + CANARY.encode() + b"\xff,20,F\xff,1\n"), "UTF-8"),
    "long row, not UTF-8": (
        _csv(HEAD.encode() + CANARY.encode() + b"\xff,20,F,1,2\n"), "row 2 .* 5 fields .* 4",
    ),
    "header not UTF-8": (_csv(b"id,age,\xff\n1,2,3\n"), "UTF-8"),
    "cut .gz": (_cut("x.csv.gz"), "damaged"),
    "cut .bz2": (_cut("x.csv.bz2"), "damaged"),
    "cut .xz": (_cut("x.csv.xz"), "damaged"),
    "cut .zst": (_cut("x.csv.zst"), "damaged"),
    "not .gz": (_raw(CANARY.encode(), "x.csv.gz"), "damaged"),
    "not .xz": (_raw(CANARY.encode(), "x.csv.xz"), "damaged"),
    "not Parquet": (_raw(CANARY.encode() * 9, "x.parquet"), "not a Parquet file, or .* damaged"),
    "damaged Parquet": (_damaged_parquet, "not a Parquet file, or .* damaged"),
    "bytes": (_arrow(sex=pa.array([CANARY.encode()])), "column 'sex' is of type binary"),
    "list": (_arrow(sex=pa.array([[CANARY]])), "column 'sex' is of type list"),
    "record": (_arrow(age=pa.array([{"a": CANARY}])), "column 'age' is of type struct"),
    "truth for numbers": (_arrow(age=pa.array([True])), "column 'age' is of type bool"),
    "dates for numbers": (_arrow(age=pa.array([0], pa.timestamp("s"))), "is of type timestamp"),
    "pandas, Arrow bytes": (
        _frame(sex=pd.Series([CANARY.encode()], dtype=pd.ArrowDtype(pa.binary()))), "type binary",
    ),
    "open quote": (_csv(f'{HEAD}a,20,F,1\n{CANARY},"20,F,1\nb,20,F,1\n'), "line 3: a quote"),
    "quote in mid cell": (_csv(f'{HEAD}a,"{CANARY}"20,F,1\n'), "line 2: a quote"),
    "open quote at the end": (_csv(f'{HEAD}a,20,F,"{CANARY}'), "line 2: a quote"),
    "open quote in the header": (_csv(f'id,age,sex,"{CANARY}\na,20,F,1\n'), "line 1: a quote"),
    "long path": (lambda folder: folder / f"{'x' * 5000}.csv", "name too long"),
    "path with NUL": (lambda folder: str(folder / "x\0.csv"), "there is no file"),
    "long line": (_csv(f"{HEAD}{CANARY * 400_000},20,F,1\n"), "lines of at most"),
    "Arrow duplicate": (lambda folder: _renamed("age", "sex", "gain", "age"), r"1 and 4 .*'age'"),
    "Arrow missing": (lambda folder: _renamed("age", CANARY), "'sex', 'gain'"),
    "Arrow empty": (lambda folder: TABLE.slice(0, 0), "the Table holds no records"),
    "pandas empty": (lambda folder: TABLE.slice(0, 0).to_pandas(), "holds no records"),
    "lazy fault": (
        lambda folder: pl.LazyFrame({"age": [CANARY]}).select(pl.col("age").cast(pl.Int64)),
        "the LazyFrame cannot be turned into an Arrow table",
    ),
    "a list of words": (lambda folder: ["none.csv"], "there is no file none.csv"),
    "no objects": (lambda folder: [], "records cannot be read from a list"),
    "objects in a list": (lambda folder: [{"age": CANARY}], "records cannot be read from a list"),
    "tabs by its ending": (_csv(f"id,age,sex,gain\n{CANARY},2,F,1\n", "x.tsv"), "rename it .*csv"),
    "UTF-16": (_csv(CSV.encode("utf-16")), "it is in UTF-16, so save it as UTF-8"),
    "more commas": (
        _csv(f"age;sex;gain;what, a, b, c, d\n20;F;1;{CANARY}\n"),
        "more commas than semicolons.*in quotation marks",
    ),
    "decimal commas": (_csv(f"{HEAD}{CANARY},20,F,1,5\n"), "5 fields.*separated by commas"),
    "JSON, not an object": (_csv(f'{{"age": 1}}\n["{CANARY}"]\n', "x.jsonl"), "line 2: one JSON"),
    "JSON, cut": (_csv(f'{{"age": 1, "sex": "{CANARY}\n', "x.jsonl"), "line 1: one JSON object"),
    "JSON, deep": (_csv("[" * 100_000, "x.jsonl"), "line 1: one JSON object"),
    "JSON, not UTF-8": (_csv(b'{"age": "\xff"}', "x.ndjson"), "line 1: one JSON object in UTF-8"),
    "JSON, missing column": (
        _csv(f'{{"id": "{CANARY}", "age": 1}}\n\n{{"gain": 1, "Sex": "F"}}', "x.jsonl"),
        "lacks the column 'sex' .* among its 4: mind capitals",
    ),
    "JSON, long line": (
        _csv(f'{{"age": 1}}\n{{"age": "{CANARY * 400_000}"}}', "x.jsonl"), "line 2: it has more",
    ),
    "JSON, blank": (_csv("\n \n", "x.jsonl"), "lacks the columns 'age', 'sex', 'gain'"),
    "JSON, cut .gz": (_cut("x.jsonl.gz"), "damaged|line 1"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_explained_without_a_private_value(tmp_path, fault):
    make, words = FAULTS[fault]
    source = make(tmp_path)
    with pytest.raises(DataError, match=words) as caught:
        read(source, SCHEMA)
    assert "\n" not in str(caught.value)
    printed = "".join(traceback.format_exception(caught.value))
    # Lines of this file quote the canary in the making of the source, never in the raising.
    assert CANARY not in printed


@pytest.mark.parametrize("words", [["x"] * 100, ["x"] * 99 + ["5"], ["", "x"], [None, "x"]])
def test_words_in_a_column_of_numbers_are_no_fault(tmp_path, words):
    """Whether reading fails must not depend on one record: 100 words are read as 99 are."""
    schema = Schema([IntegerRange(name="age", low=0, high=9, nulls=0), SCHEMA["sex"]])
    frame = pd.DataFrame({"age": words, "sex": "F"})
    frame.to_csv(tmp_path / "x.csv", index=False)
    expected = [5 if word == "5" else 0 for word in words]
    for source in (frame, frame.astype("category"), pa.table(frame), tmp_path / "x.csv"):
        assert read(source, schema).codes("age").tolist() == expected


def test_columns_not_in_the_schema_are_not_looked_at():
    frame = TABLE.to_pandas().assign(odd=[object() for _ in range(6)], nested=[[1]] * 6)
    assert codes_of(read(frame, SCHEMA)) == CODES


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ([], "0 columns were given for 3 features"),
        ([[0], [0], [10]], "column 'gain' holds codes outside 0 to 9"),
        ([[0], [-1], [0]], "column 'sex' holds codes outside 0 to 2"),
        ([[0], [0, 1], [0]], "column 'sex' must hold one whole number per record"),
        ([[0], [0.5], [0]], "column 'sex' must hold one whole number per record"),
        ([[0], [[0]], [0]], "column 'sex' must hold one whole number per record"),
    ],
)
def test_records_check_their_codes(columns, words):
    with pytest.raises(DataError, match=words):
        Records(SCHEMA, [np.array(column) for column in columns])


def test_records_do_not_show_themselves():
    records = read(TABLE, SCHEMA)
    assert repr(records) == "Records(6 records, 3 features, 98 one-hot columns)"
    assert len(records) == 6
    with pytest.raises(TypeError, match="private"):
        iter(records)
    with pytest.raises(DataError, match="there are no records"):
        Records(SCHEMA, [np.array([], dtype=np.uint8)] * 3)


@pytest.mark.parametrize("before", [0, 1, 19, 20, 30, 39])
@pytest.mark.parametrize("length", [39, 40, 41, 50, 60, 79, 90])
def test_whether_a_long_line_is_read_does_not_depend_on_the_lines_before(
    tmp_path, monkeypatch, before, length
):
    """Arrow takes a line of one to two blocks or not, depending on where in a block it begins."""
    monkeypatch.setattr("thresher.data.delimited.CHUNK_BYTES", 40)
    feature = IntegerRange(name="x", low=0, high=9, nulls=0)
    first = "1," + "y" * max(0, before - 2) + "\n" if before else ""
    path = tmp_path / "x.csv"
    path.write_text(f"x,y\n{first}2,{'z' * (length - 2)}\n3,\n")
    if length > 40:
        with pytest.raises(DataError, match="lines of at most 40 bytes"):
            read(path, Schema([feature]))
    else:
        assert read(path, Schema([feature])).codes("x").tolist()[-2:] == [2, 3]


def test_the_name_of_a_parquet_column_that_is_not_utf8_is_explained(tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"x": ["1"], "yyy": ["2"]}), path)
    path.write_bytes(path.read_bytes().replace(b"yyy", b"y\xff\xfe"))
    with pytest.raises(DataError, match="damaged"):
        read(path, Schema([IntegerRange(name="x", low=0, high=9, nulls=0)]))


def test_dictionaries_that_cannot_be_joined_are_read_one_by_one():
    """Whether the chunks of a column could be joined depended on how many values it has."""
    chunks = [
        pa.DictionaryArray.from_arrays(
            pa.array(range(100), pa.int8()), pa.array([str(first + i) for i in range(100)])
        )
        for first in (0, 100)
    ]
    column = pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array(chunks)))
    feature = IntegerRange(name="x", low=0, high=999, nulls=0)
    records = read(pd.DataFrame({"x": column}), Schema([feature]))
    assert records.codes("x").tolist() == list(range(200))
