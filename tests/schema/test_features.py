"""Features: no cell is ever rejected, and every malformed description names the feature."""

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher import Bins, Categorical, DataError, IntegerRange, SchemaError
from thresher.schema.coding import numbers_of, spellings_of

AGE = IntegerRange(name="age", low=16, high=100, nulls="missing", extra=("missing", "other"))
RACE = Categorical(name="race", categories=("A", "B", "other"), nulls="B", outside="other")
GAIN = Bins.equal("gain", low=0, high=100, bins=10, nulls=0)

ANY_CELL = st.one_of(
    st.none(), st.text(max_size=8), st.integers().map(str), st.floats().map(str),
    st.sampled_from(["", " ", "inf", "-inf", "nan", "1e400", "0x10", "1_0", "missing", "True"]),
)  # fmt: skip


@given(st.lists(ANY_CELL, min_size=1, max_size=20))
def test_no_text_cell_is_rejected(cells):
    column = pa.array(
        [None if cell is None else cell.encode("utf-8", "replace").decode() for cell in cells],
        pa.string(),
    )
    for feature in (AGE, RACE, GAIN):
        codes = feature.encode(column)
        assert codes.dtype == feature.dtype
        assert len(codes) == len(cells)
        assert codes.max() < feature.size


@given(st.lists(st.one_of(st.none(), st.floats()), min_size=1, max_size=20))
def test_floats_follow_the_policies(cells):
    codes = AGE.encode(pa.array(cells, pa.float64()))
    for cell, code in zip(cells, codes.tolist(), strict=True):
        if cell is None or math.isnan(cell):
            assert AGE.labels[code] == "missing"
        else:
            whole = max(16.0, min(100.0, cell))
            assert AGE.labels[code] == str(math.floor(whole))


def test_a_value_outside_goes_where_the_policy_says():
    strict = IntegerRange(name="age", low=0, high=9, nulls=0, outside="other", extra=("other",))
    cells = pa.array([-1.0, 0.0, 9.9, 10.0, math.inf, -math.inf, None, math.nan])
    assert [strict.labels[code] for code in strict.encode(cells)] == [
        "other", "0", "9", "other", "other", "other", "0", "0",
    ]  # fmt: skip
    assert RACE.encode(pa.array(["A", "Z", None, "", "  ", " B "])).tolist() == [0, 2, 1, 1, 1, 1]
    assert GAIN.encode(pa.array([-5.0, 0.0, 99.9, 100.0, None])).tolist() == [0, 0, 9, 9, 0]


def test_extra_labels_are_read_back():
    cells = pa.array(["17", "missing", " other ", "unheard of", None])
    assert [AGE.labels[code] for code in AGE.encode(cells)] == [
        "17", "missing", "other", "missing", "missing",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "kind",
    ["int8", "uint64", "float32", "float16", "string", "large_string", "string_view", "decimal"],
)
def test_every_type_of_number_is_read_alike(kind):
    kinds = {"decimal": pa.decimal128(21, 1)}
    plain = pa.array([16, 17, None], pa.int64())
    column = plain.cast(kinds.get(kind) or getattr(pa, kind)())
    assert AGE.encode(column).tolist() == AGE.encode(plain).tolist()
    assert AGE.encode(column.cast(pa.string()).dictionary_encode()).tolist() == [0, 1, 85]


@pytest.mark.parametrize("kind", [pa.int32(), pa.float64(), pa.float16(), pa.string()])
def test_whole_numbers_are_categories_without_a_point(kind):
    grade = Categorical(name="grade", categories=("1", "2", "?"), nulls="?", outside="?")
    cells = pa.array([1, 2, None, 3], pa.int64()).cast(kind)
    assert grade.encode(cells).tolist() == [0, 1, 2, 2]
    assert grade.encode(cells.dictionary_encode()).tolist() == [0, 1, 2, 2]


@pytest.mark.parametrize("words", [("True", "False"), ("true", "false")])
def test_truth_values_match_either_spelling(words):
    flag = Categorical(name="flag", categories=(*words, "?"), nulls="?", outside="?")
    assert flag.encode(pa.array([True, False, None])).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[1]]), pa.array([{"a": 1}]), pa.array([b"SECRET-7731"]),
        pa.array([b"abc"], pa.binary(3)), pa.nulls(1, pa.month_day_nano_interval()),
    ],
    ids=lambda column: str(column.type),
)  # fmt: skip
def test_a_type_without_values_is_an_error_that_names_the_column(column):
    with pytest.raises(DataError, match=r"^column 'race' is of type"):
        RACE.encode(column)
    with pytest.raises(DataError, match=r"^column 'age' is of type"):
        AGE.encode(column)


def test_numbers_in_text():
    text = pa.array([" 5 ", "-1", "1e3", "inf", "x", "", None, "99999999999999999999999"])
    expected = [5, -1, 1000, math.inf, math.nan, math.nan, math.nan, 1e23]
    np.testing.assert_allclose(numbers_of("n", text), expected)
    assert spellings_of("n", pa.array([1.0, 1.5, math.inf, None])).to_pylist() == [
        "1", "1.5", "inf", None,
    ]  # fmt: skip


DIGITS = r"[ ]?[-+]?([0-9]{1,25}\.?[0-9]{0,3}|\.[0-9]+)([eE][-+]?[0-9]{1,3})?[ ]?"
NUMBER_TEXT = st.one_of(
    st.from_regex(DIGITS, fullmatch=True),
    st.floats().map(str),
    st.sampled_from(["inf", "-inf", "nan", "NaN", "Infinity", "1e400", "-1e-400", "0x10", "1f"]),
)


@given(NUMBER_TEXT)
def test_a_cell_is_the_same_number_whatever_its_neighbours(text):
    """Clean columns are parsed by Arrow, others by pandas: a cell must not depend on which."""
    alone, beside = numbers_of("n", pa.array([text])), numbers_of("n", pa.array([text, "x"]))
    np.testing.assert_array_equal(alone, beside[:1])


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (16, 0), ("16", 0), (100.0, 84), ("missing", 85), (np.int64(17), 1), (np.float32(18), 2),
        (15, None), (101, None), (16.5, None), ("16.5", None), (True, None), (None, None),
        (math.nan, None), (math.inf, None), (10**400, None), ("x", None), ([], None),
    ],
)  # fmt: skip
def test_code_of_an_integer(value, code):
    assert AGE.code_of(value) == code


@pytest.mark.parametrize(
    ("low", "high", "codes"),
    [
        (16, 18, range(3)), (0, 17, range(2)), (99, 1e9, range(83, 85)), (16.1, 16.9, range(0)),
        (200, 300, range(0)), (-math.inf, math.inf, range(85)), (18, 17, range(0)),
    ],
)  # fmt: skip
def test_codes_between_whole_numbers(low, high, codes):
    assert AGE.between(low, high) == (codes, True)


def test_between_whole_numbers_with_an_end_left_out():
    assert AGE.between(16, 18, after=True) == (range(1, 3), True)
    assert AGE.between(16, 18, before=True) == (range(2), True)
    assert AGE.between(16.5, 17.5, after=True, before=True) == (range(1, 2), True)


@pytest.mark.parametrize(
    ("low", "high", "codes", "is_exact"),
    [
        (10, 20, range(1, 2), True), (5, 25, range(2), False), (None, 10, range(1), True),
        (10, None, range(1, 10), True), (14, 19, range(1, 2), False), (9, 11, range(1, 2), False),
        (12, 14, range(1, 2), False), (16, 100, range(2, 10), False), (100, 200, range(0), True),
        (-9, 0, range(0), True), (None, 4, range(0), False), (97, None, range(10, 10), False),
    ],
)  # fmt: skip
def test_between_bins_moves_ends_to_the_nearest_edge(low, high, codes, is_exact):
    assert GAIN.between(low, high) == (codes, is_exact)


@given(st.floats(-20, 120))
def test_no_bin_is_on_both_sides_of_a_number(place):
    below, above = GAIN.between(None, place), GAIN.between(place, None)
    assert [*below.codes, *above.codes] == [*range(10)]


def test_what_has_no_order_has_nothing_between():
    assert RACE.between(0, 1) is None


@given(st.floats(-1e9, 1e9), st.floats(1e-3, 1e9), st.integers(1, 60))
def test_a_bin_holds_its_lower_edge_and_not_its_upper(low, width, bins):
    feature = Bins.equal("x", low=low, high=low + width, bins=bins, nulls=low)
    edges = np.array(feature.edges)
    assert feature.encode(pa.array(edges[:-1])).tolist() == list(range(bins))
    below = np.nextafter(edges[1:], -np.inf)
    assert feature.encode(pa.array(below)).tolist() == list(range(bins))
    assert [feature.code_of(label) for label in feature.labels] == list(range(bins))


BAD = {
    "integer": [
        {"low": 1.5}, {"low": True}, {"low": "0"}, {"low": 9, "high": 8}, {"high": 2**60},
        {"high": 2_000_000}, {"nulls": 99}, {"nulls": 10**400}, {"nulls": None}, {"nulls": "no"},
        {"outside": "no"}, {"outside": 5}, {"extra": "abc"}, {"extra": ["3"]},
        {"extra": ["x", "x"]},
        {"extra": [5]}, {"extra": [[]]}, {"extra": [" x"]}, {"review": 5}, {"unknown": 1},
    ],
    "categorical": [
        {"categories": []}, {"categories": "FM"}, {"categories": ["F", "F"]}, {"categories": [1]},
        {"categories": ["F", " M"]}, {"categories": ["F", ""]}, {"categories": ["F", "\ud800"]},
        {"nulls": "X"}, {"nulls": 1}, {"outside": "X"}, {"outside": "clip"}, {"extra": ["X"]},
    ],
    "numeric": [
        {"edges": [0]}, {"edges": [0, 0]}, {"edges": [1, 0]}, {"edges": [0, math.nan]},
        {"edges": [0, math.inf]}, {"edges": [0, "1"]}, {"edges": [0, 10**400]}, {"edges": 5},
        {"edges": [False, True]}, {"nulls": 50}, {"extra": ["2.5"]}, {"bins": 2},
        {"low": 0, "high": 2}, {"low": 0, "high": 9, "bins": 2}, {"written": "euro"},
    ],
    "short": [
        {"bins": 0}, {"bins": 1.5}, {"bins": True}, {"bins": 2_000_000}, {"bins": None},
        {"low": None}, {"low": 1}, {"high": math.inf}, {"high": "1"}, {"edges": [0, 0.25, 1]},
        {"low": -1.7e308, "high": 1.7e308}, {"nulls": 1},
    ],
    "boolean": [{"nulls": "maybe"}, {"outside": "clip"}, {"extra": ["no"]}, {"low": 0}],
    "dates": [
        {"low": "soon"}, {"low": 5}, {"low": "0000-01-01"}, {"high": "10000-01-01"}, {"low": None},
        {"high": "2018-12-31"}, {"step": "week"}, {"step": ["day"]}, {"nulls": "2018"},
        {"extra": ["2020-01"]}, {"extra": ["5"]}, {"outside": "2018-01"}, {"step": None},
        {"low": "0001-01-01", "step": "day"}, {"low": "2019-01-01T00:00+02:00"},
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "change"),
    [(kind, change) for kind, changes in BAD.items() for change in changes],
    ids=str,
)
def test_a_malformed_feature_is_named(kind, change):
    from thresher.schema.features import feature_from_json

    good = {
        "integer": {"name": "odd one", "kind": "integer", "low": 0, "high": 9, "nulls": 0},
        "categorical": {
            "name": "odd one", "kind": "categorical", "categories": ["F", "M"], "nulls": "F",
            "outside": "M",
        },
        "numeric": {"name": "odd one", "kind": "numeric", "edges": [0, 1, 2], "nulls": 0},
        "short": {
            "name": "odd one", "kind": "numeric", "low": 0, "high": 1, "bins": 2, "nulls": 0,
        },
        "boolean": {"name": "odd one", "kind": "boolean", "nulls": "false"},
        "dates": {
            "name": "odd one", "kind": "dates", "low": "2019-01-01", "high": "9999-12-31",
            "step": "year", "nulls": "2019",
        },
    }[kind]  # fmt: skip
    feature_from_json(good)
    with pytest.raises(SchemaError, match="feature 'odd one'"):
        feature_from_json({**good, **change})


def test_numpy_values_become_plain_ones():
    feature = Bins(name="x", edges=np.linspace(0, 1, 3), nulls=np.float64(0.5))
    assert feature.as_json()["edges"] == [0.0, 0.5, 1.0]
    assert type(feature.nulls) is float
    assert type(IntegerRange(name="x", low=0, high=3, nulls=np.int64(2)).nulls) is int


@pytest.mark.parametrize(("size", "dtype"), [(256, "uint8"), (257, "uint16"), (70_000, "uint32")])
def test_the_smallest_type_is_used(size, dtype):
    assert IntegerRange(name="x", low=1, high=size, nulls=1).dtype == dtype
