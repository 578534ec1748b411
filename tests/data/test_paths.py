"""Several files at once: a list, a pattern, a folder; an error names the file."""

import math
from contextlib import ExitStack

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thresher import Bins, Categorical, DataError, IntegerRange, Schema, draft_schema, read
from thresher.data.paths import open_paths

CANARY = "SECRET-7731"
SCHEMA = Schema(
    [
        IntegerRange(name="age", low=16, high=100, nulls=16),
        Categorical(name="sex", categories=("F", "M", "other"), nulls="other", outside="other"),
        Bins.equal("gain", low=0, high=100, bins=10, nulls=0),
    ]
)
CODES = [[0, 24, 0, 84, 0, 83], [0, 1, 2, 2, 0, 1], [0, 5, 0, 9, 9, 0]]
TABLE = pa.table(
    {
        "id": ["a", "b", "c", "d", "e", "f"],
        "age": [16, 40, None, 250, -3, 99],
        "sex": ["F", "M", None, "X", "F", "M"],
        "gain": [0.0, 55.5, None, 1e9, math.inf, -math.inf],
    }
)
CSV = """id,age,sex,gain
a,16,F,0
b,40,M,55.5
c,,,
d,250,X,1e9
"e, e",-3, F ,inf
f,99,M,-inf
"""


def codes_of(records):
    return [column.tolist() for column in records.columns]


@pytest.fixture
def parts(tmp_path):
    """A folder of three Parquet files, one of them without records, as Spark writes it."""
    folder = tmp_path / "people.parquet"
    (folder / "more").mkdir(parents=True)
    pq.write_table(TABLE.slice(0, 2), folder / "part-1.parquet")
    pq.write_table(TABLE.slice(0, 0), folder / "part-2.parquet")
    pq.write_table(TABLE.slice(2), folder / "more" / "part-3.parquet")
    (folder / "_SUCCESS").write_text("")
    (folder / ".part-1.parquet.crc").write_text("x")
    (folder / "_temporary.parquet").write_text("x")
    return folder


def test_a_folder(parts):
    # `more` comes before `part-1`.
    order = [2, 3, 4, 5, 0, 1]
    expected = [[column[place] for place in order] for column in CODES]
    assert codes_of(read(parts, SCHEMA)) == expected
    assert codes_of(read(str(parts), SCHEMA)) == expected


def test_a_pattern_and_a_list(parts):
    assert codes_of(read(parts / "part-*.parquet", SCHEMA)) == [column[:2] for column in CODES]
    assert codes_of(read(f"{parts}/**/*-[13].parquet", SCHEMA))[0] == [*CODES[0][2:], *CODES[0][:2]]
    several = [parts / "part-*.parquet", str(parts / "more")]
    assert codes_of(read(several, SCHEMA)) == CODES


def test_files_of_several_kinds_and_orders_of_columns(tmp_path):
    (tmp_path / "a.csv").write_text(CSV)
    (tmp_path / "b.csv").write_text("gain;sex;age\n55,5;M;40\n")
    (tmp_path / "c.csv").write_text("gain;sex;age\n")
    (tmp_path / "d.jsonl").write_text('{"age": 40, "gain": 55.5, "sex": "M"}\n')
    codes = codes_of(
        read([tmp_path / f"{n}" for n in ("a.csv", "b.csv", "c.csv", "d.jsonl")], SCHEMA)
    )
    # A decimal comma makes no number: it goes where `nulls` says.
    assert codes == [[*CODES[0], 24, 24], [*CODES[1], 1, 1], [*CODES[2], 0, 5]]


def test_a_file_whose_name_looks_like_a_pattern(tmp_path):
    (tmp_path / "a[1].csv").write_text(CSV)
    assert codes_of(read(tmp_path / "a[1].csv", SCHEMA)) == CODES


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (f"id,age,gain\n{CANARY},1,2\n", r"2\.csv lacks the column 'sex' of the schema"),
        (f"id,age,sex,gain\n{CANARY}\n", r"2\.csv, row 2 .* 1 fields"),
        (b"id,age,sex,gain\n1,1,\xff,1\n", r"2\.csv cannot be read as CSV in UTF-8"),
        ("", r"2\.csv is empty"),
    ],
)
def test_an_error_names_the_file(tmp_path, content, words):
    (tmp_path / "1.csv").write_text(CSV)
    (tmp_path / "2.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError, match=words) as caught:
        read(tmp_path, SCHEMA)
    assert CANARY not in str(caught.value)


def test_columns_are_checked_before_a_record_is_read(tmp_path):
    (tmp_path / "1.csv").write_text(CSV)
    (tmp_path / "2.csv").write_text("id,age\n1,2\n")
    with ExitStack() as stack, pytest.raises(DataError, match=r"2\.csv lacks the column 'sex'"):
        open_paths(tmp_path, stack, ["sex"])


def test_a_file_that_changes_between_the_check_and_the_read(tmp_path):
    for name in ("1.csv", "2.csv"):
        (tmp_path / name).write_text(CSV)
    with ExitStack() as stack:
        opened = open_paths(tmp_path, stack, ["sex"])
        (tmp_path / "2.csv").write_text("id,age\n1,2\n")
        with pytest.raises(DataError, match=r"2\.csv lacks the column 'sex'"):
            list(opened.batches)


def test_a_draft_of_several_files(parts, tmp_path):
    whole = draft_schema(TABLE)
    assert draft_schema(parts) == whole
    pq.write_table(pa.table({"age": [1]}), parts / "part-4.parquet")
    with pytest.raises(DataError, match=r"part-1\.parquet has other columns|part-4\.parquet has"):
        draft_schema(parts)
    assert draft_schema(parts, columns=["age"]).schema.names == ("age",)


def test_what_would_count_twice_is_refused(parts, tmp_path):
    with pytest.raises(DataError, match=r"part-1\.parquet is named twice"):
        read([parts, parts / "part-1.parquet"], SCHEMA)
    (parts / "people.csv").write_text(CSV)
    with pytest.raises(DataError, match=r"files of several kinds \(Parquet, CSV\)"):
        read(parts, SCHEMA)


def test_no_records_at_all(tmp_path):
    (tmp_path / "1.csv").write_text("age,sex,gain\n")
    (tmp_path / "2.csv").write_text("age,sex,gain\n")
    with pytest.raises(DataError, match="holds no records"):
        read(tmp_path, SCHEMA)
    with pytest.raises(DataError, match="the list of 2 files holds no records"):
        read([tmp_path / "1.csv", tmp_path / "2.csv"], SCHEMA)


def test_only_one_file_is_open_at_a_time(tmp_path, monkeypatch):
    for name in ("1.csv", "2.csv", "3.csv"):
        (tmp_path / name).write_text(CSV)
    from thresher.data import delimited

    opened, closed = [], []
    open_binary = delimited.open_binary

    def counted(path, stack):
        opened.append(path.name)
        stack.callback(closed.append, path.name)
        return open_binary(path, stack)

    monkeypatch.setattr(delimited, "open_binary", counted)
    with ExitStack() as stack:
        for _ in open_paths(tmp_path, stack, ["sex"]).batches:
            assert len(opened) - len(closed) == 1
    assert opened == closed == ["1.csv", "2.csv", "3.csv"] * 2
