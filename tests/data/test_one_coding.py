"""One coding of a cell: replacing a record changes the codes of that record and of no other.

Every way in is tested: pandas with the types that it chooses or is told, polars, Arrow types, CSV,
JSON lines, Parquet, and several files at once. Reading fails before the replacement if and only if
it fails after it.
"""

import csv
import datetime as dt
import json
import math
import os
import uuid
from decimal import Decimal
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from thresher import (
    Bins,
    Boolean,
    Categorical,
    DataError,
    Dates,
    IntegerRange,
    Schema,
    draft_schema,
    read,
)
from thresher.schema.amounts import amount_of
from thresher.schema.boolean import truth_of
from thresher.schema.cells import spelling
from thresher.schema.days import day_of

LABELS = (
    "?", "missing", "true", "False", "1", "2.50", "x", "inf", "2020-03-01", "12:30:00",
    "2020-03-01T12:30:00.5", "2020-03-01 11:30:00+0000", "PT5400S", "(0, 1]", "9007199254740993",
)  # fmt: skip
FEATURES = (
    Categorical(name="x", categories=LABELS, outside="?", nulls="missing"),
    Categorical(name="x", categories=("True", "false", "?"), outside="?", nulls="?"),
    IntegerRange(name="x", low=0, high=9, nulls="none", extra=("none", "True", "x")),
    Bins(name="x", edges=(0, 0.5, 1, 2, 3), nulls="none", extra=("none",), outside="none"),
    Categorical(name="x", categories=("a", "1.50", "x"), ordered=True, extra=("none",),
                nulls="none", outside="none", synonyms={"1": "a", "True": "x", "2.5": "1.50"}),
    Boolean(name="x", nulls="none", extra=("none", "x"), outside="x"),
    Bins(name="x", edges=(-2500, 0, 1, 2, 2301), nulls="none", extra=("none",), written="money"),
    IntegerRange(name="x", low=-3, high=9, nulls="none", extra=("none", "x"), written="percent"),
    Dates(name="x", low="2020-02-28", high="2020-03-02", step="day", nulls="none",
          extra=("none", "x"), outside="x"),
    Dates(name="x", low="2019-01-01", high="2020-12-31", step="quarter", nulls="2019-Q1"),
)  # fmt: skip
PARIS = ZoneInfo("Europe/Paris")
NOON = dt.datetime(2020, 3, 1, 12, 30, 0, 500_000)
FAMILIES = {
    "truth": [True, False],
    "numpy truth": [np.True_, np.False_],
    "whole": [1, 2, -1, 5, 250],
    "long": [2**53 + 1, 2**62 + 1, 2**63 + 5, 10**30, -(10**400)],
    "numpy numbers": [np.int8(1), np.uint64(2**63), np.float32(0.1), np.float16(1)],
    "float": [1.0, 2.5, 0.5, math.inf, -math.inf, math.nan, -0.0, 1e300],
    "decimal": [Decimal("1.0"), Decimal("2.5"), Decimal("NaN"), Decimal("sNaN"), Decimal("1e999")],
    "date": [dt.date(2020, 3, 1), dt.date(1, 1, 1), dt.date(9999, 12, 31)],
    "time stamp": [NOON, dt.datetime(2020, 3, 1), pd.Timestamp("2020-03-01"), pd.NaT],
    "numpy time": [np.datetime64("2020-03-01"), np.datetime64("2020-03"), np.datetime64("NaT"),
                   np.datetime64("2020-03-01T12:30:00.5", "ns"), np.datetime64(10**14, "s")],
    "zoned": [NOON.replace(tzinfo=dt.UTC), dt.datetime(2020, 3, 1, 12, 30, tzinfo=PARIS),
              pd.Timestamp("2020-03-01 11:30", tz="UTC"), dt.datetime.max.replace(tzinfo=PARIS)],
    "clock": [dt.time(12, 30), dt.time(12, 30, 0, 1), dt.time(12, 30, tzinfo=dt.UTC)],
    "duration": [dt.timedelta(minutes=90), pd.Timedelta("90min"), np.timedelta64(90, "m"),
                 np.timedelta64(3, "M"), dt.timedelta.max],
    "text": ["x", " x ", "1", "1.0", "True", "true", "", " ", "nan", "2020-03-01", "2.5", "\x1c",
             "a\ud800", "\ud800", "none", "é\n", "0x1", "\x00"],
    "amounts": ["$2,300.00", "($2,300.00)", "9.07%", "-1 %", "1", "5 EUR", "1,5", "\u22121"],
    "dates in text": ["2020-03-01 12:30:00", "2020-03-01T00:30+02:00", "2020-02-30", "2020-Q1",
                      "2020", "20200229", "9999-12-31", "2020-03-01T23:30:00.5-01", "12020-01-01"],
    "truth in text": ["Yes", "no", "T", "f", "TRUE", "0", "1.0"],
    "missing": [None, pd.NA, math.nan, pd.NaT],
    "period": [pd.Period("2020Q1"), pd.Period("2020-03-01")],
    "interval": [pd.Interval(0, 1), pd.Interval(0.5, 1), pd.Interval(0, 1, closed="both")],
    "odd": [b"x", b"\xff", [1], {"a": 1}, (1, 2), object(), uuid.UUID(int=7), 1j, complex(1, 0),
            {1}, float, np.array([1, 2]), pd.Series([1])],
}  # fmt: skip
ANY_CELL = st.sampled_from(sorted(FAMILIES)).flatmap(lambda kind: st.sampled_from(FAMILIES[kind]))
COLUMN = st.one_of(
    st.sampled_from(sorted(FAMILIES)).flatmap(
        lambda kind: st.lists(st.sampled_from(FAMILIES[kind]), min_size=2, max_size=5)
    ),
    st.lists(ANY_CELL, min_size=2, max_size=5),
)
REFUSED = "refused"
EXAMPLES = 100 * int(os.environ.get("THRESHER_FUZZ", "1"))


def outcome(source, feature):
    """The codes of the source's only column, or that it is refused."""
    try:
        return read(source, Schema([feature])).codes("x").tolist()
    except DataError:
        return REFUSED


def expected(cell, feature):
    """The code of a cell by the definition, without any column."""
    said = spelling(cell)
    nulls = feature.code_of(feature.nulls)
    if not said:
        return nulls
    if isinstance(feature, Categorical):
        return feature._by_spelling.get(said, feature.code_of(feature.outside))
    if isinstance(feature, Boolean):
        truth = truth_of(said)
        other = feature._by_spelling.get(said, feature.code_of(feature.outside))
        return other if truth is None else int(truth)
    dated = isinstance(feature, Dates)
    place = day_of(said, feature.step) if dated else amount_of(said, feature.written)
    if math.isnan(place):
        return feature._by_spelling.get(said, nulls)
    cell = pa.array([int(place)], pa.int32()).view(pa.date32()) if dated else pa.array([place])
    return feature.encode(cell).tolist()[0]


def check_replacement(make, cells, replacement, place):
    """Whether one cell changes the code of another, or whether reading fails."""
    changed = [*cells]
    changed[place] = replacement
    for feature in FEATURES:
        before, after = outcome(make(cells), feature), outcome(make(changed), feature)
        if REFUSED in (before, after):
            assert before == after
            continue
        assert len(before) == len(after) == len(cells)
        before[place] = after[place]
        assert before == after


def series(cells, dtype=None):
    """A column of pandas, with the type that pandas chooses unless it is told."""
    try:
        return pd.Series(cells, dtype=dtype)
    except (ValueError, TypeError, OverflowError, ArithmeticError):
        if dtype is not None:
            raise
        return pd.Series(cells, dtype=object)


@given(COLUMN, ANY_CELL, st.data())
@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_pandas_chooses_the_type(cells, replacement, data):
    place = data.draw(st.integers(0, len(cells) - 1))
    check_replacement(lambda column: series(column).to_frame("x"), cells, replacement, place)


@given(COLUMN)
@settings(max_examples=EXAMPLES, deadline=None)
def test_a_column_of_pandas_is_coded_by_the_spelling_of_each_cell(cells):
    for feature in FEATURES:
        codes = [expected(cell, feature) for cell in cells]
        for dtype in (None, object):
            assert outcome(series(cells, dtype).to_frame("x"), feature) == codes


@given(COLUMN, ANY_CELL, st.data())
@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_pandas_categories(cells, replacement, data):
    # pandas takes 1 and True for one category, which no reader can undo. It has no categories
    # of cells without a hash or with a length.
    def fits(cell):
        truth = isinstance(cell, bool | np.bool_)
        return not truth and not isinstance(
            cell, list | tuple | dict | set | np.ndarray | pd.Series
        )

    cells = [cell if fits(cell) else "x" for cell in cells]
    replacement = replacement if fits(replacement) else "x"
    place = data.draw(st.integers(0, len(cells) - 1))

    def make(column):
        try:
            return series(column).astype("category").to_frame("x")
        except Exception:  # pandas cannot compare or sort the cells
            return series(column).to_frame("x")

    check_replacement(make, cells, replacement, place)


TOLD = {
    "bool": [True, False], "boolean": [True, False, None], "Int64": [1, 2, None, 2**62 + 1],
    "int8": [1, 2], "float32": [1, 2.5, 0.1, None], "float16": [1, 2.5], "Float64": [1.5, 1, None],
    "string": ["x", "1", None, "$5"], "str": ["x", "1", None, "Yes"],
    "object": ["x", 1, True, None, NOON],
    "datetime64[s]": [NOON, None], "datetime64[ns]": [NOON, dt.datetime(2020, 3, 1)],
    "datetime64[us, Europe/Paris]": [NOON, None], "timedelta64[ns]": [dt.timedelta(minutes=90)],
    "Sparse[int]": [0, 1, 5], "Sparse[float]": [0.5, math.nan], "complex128": [1, 1j],
    "category": ["x", "1", None, "2020-Q1", "(5)"], "period[D]": ["2020-03-01", None],
    "bool[pyarrow]": [True, None], "timestamp[ns][pyarrow]": [NOON, None],
    "string[pyarrow]": ["x", None, "1"], "binary[pyarrow]": [b"x", None],
}  # fmt: skip


@pytest.mark.parametrize("dtype", TOLD)
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_pandas_is_told_the_type(dtype, data):
    cells = data.draw(st.lists(st.sampled_from(TOLD[dtype]), min_size=2, max_size=4))
    replacement = data.draw(st.sampled_from(TOLD[dtype]))
    place = data.draw(st.integers(0, len(cells) - 1))
    check_replacement(lambda c: pd.Series(c, dtype=dtype).to_frame("x"), cells, replacement, place)


WHOLE, REAL = [0, 1, 5, None], [0.5, 1.0, 2.5, math.nan, math.inf, None]
WORDS = ["x", "1", "True", " x ", "", "2.5", "1e3", "٣", "1_0", None, "$2,300", "(1%)", "no",
         "2020-03-01", "2020-03-01T00:30:00+02:00", "2020-Q1"]  # fmt: skip
STAMPS = [NOON, dt.datetime(2020, 3, 1), dt.datetime(1, 1, 1), None]
NEAR = [NOON, dt.datetime(2020, 3, 1), None]
ARROW = [
    *((kind, WHOLE) for kind in (pa.int8(), pa.uint16(), pa.int64(), pa.uint64())),
    (pa.int64(), [2**53 + 1, 2**62 + 1, 5]), (pa.uint64(), [2**64 - 1, 5, None]),
    *((kind, REAL) for kind in (pa.float16(), pa.float32(), pa.float64())),
    *((kind, WORDS) for kind in (pa.string(), pa.large_string(), pa.string_view())),
    *((kind, [b"x", b"\xff", None]) for kind in (pa.binary(), pa.large_binary(), pa.binary_view())),
    (pa.binary(1), [b"x", None]), (pa.bool_(), [True, False, None]), (pa.null(), [None]),
    *((kind, [Decimal("1.00"), Decimal("2.50"), None])
      for kind in (pa.decimal32(5, 2), pa.decimal64(9, 3), pa.decimal128(20, 5),
                   pa.decimal256(50, 7))),
    (pa.date32(), [dt.date(2020, 3, 1), dt.date(1, 1, 1), None]),
    (pa.date64(), [dt.date(2020, 3, 1), dt.date(9999, 12, 31), None]),
    *((pa.timestamp(unit), STAMPS) for unit in ("s", "ms", "us")), (pa.timestamp("ns"), NEAR),
    *((pa.timestamp(unit, "Europe/Paris"), NEAR) for unit in ("s", "ns")),
    (pa.time32("s"), [dt.time(12, 30), None]), (pa.time64("ns"), [dt.time(12, 30), None]),
    (pa.duration("ms"), [dt.timedelta(minutes=90), None]), (pa.list_(pa.int8()), [[1], None]),
    (pa.struct([("a", pa.int8())]), [{"a": 1}, None]), (pa.month_day_nano_interval(), [None]),
]  # fmt: skip


def as_arrow(kind, wrapped):
    def make(cells):
        column = pa.array(cells, kind, from_pandas=False)
        if wrapped == "dictionary":
            column = pa.DictionaryArray.from_arrays(list(range(len(cells))), column)
        if wrapped == "runs":
            column = pa.RunEndEncodedArray.from_arrays(list(range(1, len(cells) + 1)), column)
        return pa.table({"x": column})

    return make


@pytest.mark.parametrize("wrapped", ["plain", "dictionary", "runs"])
@given(data=st.data())
@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_arrow(wrapped, data):
    kind, pool = data.draw(st.sampled_from(ARROW), label="type")
    cells = data.draw(st.lists(st.sampled_from(pool), min_size=2, max_size=4))
    replacement, place = data.draw(st.sampled_from(pool)), data.draw(st.integers(0, len(cells) - 1))
    check_replacement(as_arrow(kind, wrapped), cells, replacement, place)


@pytest.mark.parametrize(("kind", "pool"), ARROW, ids=lambda entry: str(entry)[:40])
def test_an_arrow_type_is_refused_or_coded_by_spelling(kind, pool, tmp_path):
    """Directly, as a dictionary, as runs, from a Parquet file, and through a draft of a schema."""
    told = []
    for feature in FEATURES:
        codes = outcome(as_arrow(kind, "plain")(pool), feature)
        told.append(codes)
        if codes != REFUSED:
            assert codes == [expected(cell, feature) for cell in pa.array(pool, kind).to_pylist()]
        for wrapped in ("dictionary", "runs"):
            assert outcome(as_arrow(kind, wrapped)(pool), feature) == codes
        try:
            pq.write_table(as_arrow(kind, "plain")(pool), tmp_path / "x.parquet")
        except pa.ArrowException:
            continue
        assert outcome(tmp_path / "x.parquet", feature) == codes
    numbers = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    words = "string" in str(kind) or pa.types.is_null(kind)
    labelled = numbers or words or pa.types.is_temporal(kind) or pa.types.is_boolean(kind)
    labelled &= not pa.types.is_interval(kind)
    dates = pa.types.is_date(kind) or pa.types.is_timestamp(kind)
    readable = {Categorical: labelled, Boolean: labelled, Dates: numbers or words or dates}
    assert [codes != REFUSED for codes in told] == [
        readable.get(type(feature), numbers or words) for feature in FEATURES
    ]
    for wrapped in ("plain", "dictionary", "runs"):
        table = as_arrow(kind, wrapped)(pool).append_column("sure", pa.array([1] * len(pool)))
        drafted = draft_schema(table)
        draft, left_out = drafted.schema, list(drafted.left_out)
        assert read(table, draft).n == len(pool)
        assert ("x" in left_out) == ("x" not in draft.names)


POLARS = {
    "truth": [True, False, None], "whole": [1, 2, None], "float": [1.0, 2.5, math.nan, None],
    "text": ["x", "1", "True", "$2,300", "2020-03-01 01:00", "no", None],
    "date": [dt.date(2020, 3, 1), None], "stamp": NEAR,
    "zoned": [NOON.replace(tzinfo=dt.UTC), None], "clock": [dt.time(12, 30), None],
    "decimal": [Decimal("1.00"), Decimal("2.5"), None],
    "duration": [dt.timedelta(minutes=90), None], "mixed": [1, 2.5, None],
}  # fmt: skip


@pytest.mark.parametrize("kind", POLARS)
@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_polars(kind, data):
    # A cell stays, so that the type of the column is that of the family.
    first = data.draw(st.sampled_from([cell for cell in POLARS[kind] if cell is not None]))
    cells = [first, *data.draw(st.lists(st.sampled_from(POLARS[kind]), min_size=1, max_size=4))]
    place = data.draw(st.integers(1, len(cells) - 1))
    replacement = data.draw(st.sampled_from(POLARS[kind]))

    def make(column):
        return pl.DataFrame({"x": pl.Series(column, strict=False)})

    check_replacement(make, cells, replacement, place)
    for feature in FEATURES:
        codes = outcome(make(cells), feature)
        assert codes in (REFUSED, [expected(cell, feature) for cell in cells])


TEXT_CELL = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"), max_size=6),
    st.sampled_from([word for word in WORDS if word] + ['"', '""', 'a"b', "a,b", ",", "\x00"]),
)


@given(st.lists(TEXT_CELL, min_size=2, max_size=6), TEXT_CELL, st.booleans(), st.data())
@settings(max_examples=EXAMPLES, deadline=None)
def test_csv(tmp_path_factory, cells, replacement, alone, data):
    place = data.draw(st.integers(0, len(cells) - 1))
    path = tmp_path_factory.mktemp("csv") / "x.csv"

    def make(column):
        with path.open("w", encoding="utf-8", newline="") as file:
            rows = [[cell] if alone else [cell, "b"] for cell in ["x", *column]]
            csv.writer(file).writerows(rows)
        return path

    check_replacement(make, cells, replacement, place)
    for feature in FEATURES:
        assert outcome(make(cells), feature) == [expected(cell, feature) for cell in cells]


@pytest.mark.parametrize("separator", [";", "\t", "|"])
@given(
    cells=st.lists(
        st.one_of(TEXT_CELL, st.sampled_from(["1;5", "1,5", "\t", "a|b", ",,,", ";;;"])),
        min_size=3, max_size=6,
    )
)  # fmt: skip
@settings(max_examples=EXAMPLES // 3, deadline=None)
def test_what_separates_cells_is_told_by_the_header_alone(tmp_path_factory, separator, cells):
    path = tmp_path_factory.mktemp("csv") / "x.csv"

    def make(column):
        with path.open("w", encoding="utf-8", newline="") as file:
            rows = [[cell, "b"] for cell in ["x", *column]]
            csv.writer(file, delimiter=separator).writerows(rows)
        return path

    *cells, replacement = cells
    check_replacement(make, cells, replacement, 0)
    for feature in FEATURES:
        assert outcome(make(cells), feature) == [expected(cell, feature) for cell in cells]


JSON_CELL = st.one_of(
    TEXT_CELL, st.none(), st.booleans(), st.integers(), st.floats(),
    st.sampled_from([5, 5.0, 2**53 + 1, 10**30, True, "\ud800", "a\nb", " 1 ", [1], {"x": 1}]),
)  # fmt: skip
ABSENT = object()


@given(
    st.lists(st.one_of(JSON_CELL, st.just(ABSENT)), min_size=2, max_size=6), JSON_CELL, st.data()
)
@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_json_lines(tmp_path_factory, cells, replacement, data):
    """Numbers, texts and truth values may stand in one column, and a record may lack it."""
    place = data.draw(st.integers(0, len(cells) - 1))
    size, letters = data.draw(st.sampled_from([2, 1 << 17])), data.draw(st.booleans())
    path = tmp_path_factory.mktemp("json") / "x.jsonl"

    def make(column):
        records = [{"y": 1} if cell is ABSENT else {"x": cell, "y": 1} for cell in column]
        lines = (json.dumps(record, ensure_ascii=letters) for record in records)
        path.write_text("\n".join(lines), encoding="utf-8", errors="surrogatepass")
        return path

    if not letters:  # half a character cannot be written as UTF-8, except as an escape
        cells = ["x" if cell == "\ud800" else cell for cell in cells]
        replacement = "x" if replacement == "\ud800" else replacement
    cells = ["x", *cells]  # a record that stays has the column, so that the file does
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("thresher.data.batches.CHUNK_ROWS", size)
        check_replacement(make, cells, replacement, place + 1)
        for feature in FEATURES:
            codes = [expected(None if cell is ABSENT else cell, feature) for cell in cells]
            assert outcome(make(cells), feature) == codes


@given(st.lists(TEXT_CELL, min_size=2, max_size=6), TEXT_CELL)
@settings(max_examples=EXAMPLES // 3, deadline=None)
def test_a_cell_is_coded_alike_in_whichever_file_it_stands(tmp_path_factory, cells, replacement):
    """A column of numbers in one file and of text in the next, of different kinds."""
    folder = tmp_path_factory.mktemp("parts")

    def make(column):
        with (folder / "1.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([[c, "b"] for c in ["x", column[0]]])
        lines = (json.dumps({"x": cell}) for cell in column[1:])
        (folder / "2.jsonl").write_text("\n".join(lines), encoding="utf-8")
        pq.write_table(pa.table({"x": [1, 5]}), folder / "3.parquet")
        return [folder / "1.csv", folder / "2.jsonl", folder / "3.parquet"]

    for feature in FEATURES:
        codes = outcome(make(cells), feature)
        assert codes == [expected(cell, feature) for cell in [*cells, 1, 5]]
        assert outcome(make([replacement, *cells[1:]]), feature)[1:] == codes[1:]


# The examples of the attack on the first build.


@pytest.mark.parametrize("words", [("True", "False"), ("true", "false")])
def test_one_missing_truth_value_recodes_nobody(words):
    flag = Categorical(name="x", categories=(*words, "?"), outside="?", nulls="?")
    flags = [True] * 7 + [False] * 3
    assert outcome(pd.DataFrame({"x": flags}), flag) == [0] * 7 + [1] * 3
    assert outcome(pd.DataFrame({"x": [*flags[:-1], None]}), flag) == [0] * 7 + [1] * 2 + [2]
    assert outcome(pd.DataFrame({"x": [*flags[:-1], "word"]}), flag) == [0] * 7 + [1] * 2 + [2]


@pytest.mark.parametrize("odd", ["word", pd.Timestamp("2021-01-01", tz="UTC"), None, 5, True])
def test_one_odd_date_recodes_nobody(odd):
    day = Categorical(
        name="x", categories=("2020-03-01", "2020-03-02T12:00:00", "?"), outside="?", nulls="?"
    )
    days = [
        pd.Timestamp("2020-03-01"),
        pd.Timestamp("2020-03-02 12:00"),
        pd.Timestamp("2021-01-01"),
    ]
    assert outcome(pd.DataFrame({"x": days}), day) == [0, 1, 2]
    assert outcome(pd.DataFrame({"x": [*days[:2], odd]}), day) == [0, 1, 2]


def test_labels_of_dates_as_arrow_writes_them_still_work():
    """A draft of the first build lists time stamps as Arrow casts them to text."""
    for kind in (pa.timestamp("ns"), pa.timestamp("us"), pa.timestamp("s", "Europe/Paris")):
        column = pa.array([NOON.replace(microsecond=0), dt.datetime(2020, 3, 1)], kind)
        labels = column.cast(pa.string()).to_pylist()
        old = Categorical(name="x", categories=(*labels, "?"), outside="?", nulls="?")
        assert outcome(pa.table({"x": column}), old) == [0, 1]
        assert outcome(pa.table({"x": column}).to_pandas(), old) == [0, 1]


def test_cells_that_killed_arrow_are_coded():
    cells = [np.datetime64("2020-03-01"), np.True_, np.timedelta64(90, "m"), "x"]
    frame = pd.DataFrame({"x": pd.Series(cells, dtype=object)})
    for feature in FEATURES:
        assert outcome(frame, feature) == [expected(cell, feature) for cell in cells]
    labels = ("2020-03-01", "true", "PT5400S", "x")
    assert outcome(frame, FEATURES[0]) == [LABELS.index(label) for label in labels]


def test_one_missing_number_recodes_no_long_number():
    """A missing cell makes pandas turn whole numbers into floats, which drops digits above 2^53."""
    ids = Categorical(
        name="x", categories=("9007199254740993", "4611686018427387905", "?"), outside="?",
        nulls="?",
    )  # fmt: skip
    numbers = [2**53 + 1, 2**62 + 1, 7]
    assert outcome(pd.DataFrame({"x": numbers}), ids) == [0, 1, 2]
    assert outcome(pd.DataFrame({"x": [*numbers[:2], None]}), ids) == [0, 1, 2]


@pytest.mark.parametrize("kind", ["csv", "json", "parquet", "pandas", "polars"])
def test_a_draft_of_one_kind_of_source_reads_every_other(tmp_path, kind):
    frame = pd.DataFrame(
        {"flag": [True, False, True], "day": pd.to_datetime(["2020-03-01", "2020-03-02", None])}
    )
    frame.to_csv(tmp_path / "x.csv", index=False)
    frame.to_parquet(tmp_path / "x.parquet")
    frame.to_json(tmp_path / "x.jsonl", orient="records", lines=True, date_format="iso")
    sources = {
        "json": tmp_path / "x.jsonl", "csv": tmp_path / "x.csv",
        "parquet": tmp_path / "x.parquet", "pandas": frame,
        "polars": pl.from_pandas(frame), "mixed": frame.astype(object),
    }  # fmt: skip
    draft = draft_schema(sources[kind]).schema
    for source in sources.values():
        records = read(source, draft)
        labels = [[f.labels[code] for code in records.codes(f.name)] for f in draft]
        assert [label.lower() for label in labels[0]] == ["true", "false", "true"]
        assert labels[1] == ["2020-03-01", "2020-03-02", "unknown"]


BROKEN_TEXT = pa.StringArray.from_buffers(
    4, pa.py_buffer(np.array([0, 1, 3, 6, 7], np.int32)), pa.py_buffer(b"1x\xff\xed\xa0\x805")
)


@pytest.mark.parametrize("kind", ["arrow", "large", "view", "dictionary", "parquet", "pandas"])
def test_text_that_is_not_utf8_is_no_fault(tmp_path, kind):
    """Arrow raised by it, with the bytes of the cell in its exception."""
    column = BROKEN_TEXT
    if kind == "large":
        column = column.cast(pa.large_string())
    if kind == "view":
        column = column.cast(pa.string_view())
    if kind == "dictionary":
        column = pa.DictionaryArray.from_arrays([0, 1, 2, 3], column)
    source = pa.table({"x": column})
    if kind == "parquet":
        pq.write_table(source, tmp_path / "x.parquet")
        source = tmp_path / "x.parquet"
    if kind == "pandas":
        source = pd.DataFrame({"x": pd.Series(column, dtype=pd.ArrowDtype(pa.string()))})
    for feature in FEATURES:
        read_as = ["1", "x\ufffd", "\ufffd\ufffd\ufffd", "5"]
        assert outcome(source, feature) == [expected(cell, feature) for cell in read_as]


class Unbound:
    """Like a proxy of nothing, which raises even when it is asked for its class."""

    @property
    def __class__(self):
        raise RuntimeError("a private value")


class Spoken(str):
    def strip(self, *_):
        return 5


class Speaking:
    def __str__(self):
        return Spoken("x")


@pytest.mark.parametrize("odd", [Unbound, Speaking, Spoken])
@pytest.mark.parametrize("others", [["x", "1"], [1, True]])
def test_no_object_in_a_cell_is_a_fault(odd, others):
    def make(cells):
        return pd.DataFrame({"x": series(cells, object)})

    check_replacement(make, [*others, "x"], odd(), 2)


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("line_breaks", [True, False])
def test_a_byte_order_mark_in_a_cell_is_a_character_wherever_it_stands(
    tmp_path, alone, line_breaks
):
    """Arrow dropped it from the first record."""
    feature = Categorical(name="x", categories=("a", "\ufeffa", "?"), outside="?", nulls="?")
    lines = ["x", "\ufeffa", "\ufeffa", "a"] if alone else ["x,y", "\ufeffa,1", "\ufeffa,2", "a,3"]
    path = tmp_path / "x.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    records = read(path, Schema([feature]), line_breaks_in_cells=line_breaks)
    assert records.codes("x").tolist() == [1, 1, 0]
