"""Truth values: every usual word for them, in any case and of any type."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from thresher import Boolean, Query, Schema, SchemaError
from thresher.schema.features import feature_from_json

SMOKER = Boolean(name="smoker", nulls="unknown", extra=("unknown", "refused"))
WORDS = {
    "true": ["true", "TRUE", "Yes", "y", "T", " t ", "1", "1.0", "1e0"],
    "false": ["false", "False", "NO", "n", "f", "0", "0.00", "-0"],
    "unknown": ["", None, "maybe", "2", "0.5", "tru", "unknown", "Refused", "on"],
    "refused": ["refused"],
}


@pytest.mark.parametrize("label", WORDS)
def test_words(label):
    codes = SMOKER.encode(pa.array(WORDS[label], pa.string()))
    assert {SMOKER.labels[code] for code in codes} == {label}


@pytest.mark.parametrize(
    "column",
    [
        pa.array([True, False, None]), pa.array([1, 0, None]), pa.array([1.0, 0.0, None]),
        pa.array(["yes", "no", None]).dictionary_encode(), pa.array(["T", "F", "9"]),
    ],
)  # fmt: skip
def test_types(column):
    assert SMOKER.encode(column).tolist() == [1, 0, 2]
    assert SMOKER.encode(column).dtype == np.uint8


def test_other_words_go_where_outside_says():
    strict = Boolean(name="x", nulls=False, outside="true")
    assert strict.encode(pa.array([None, "maybe", "no"])).tolist() == [0, 1, 0]
    assert strict == Boolean(name="x", nulls="No", outside="true")
    assert Boolean(name="x", nulls=True).outside == "true"


def test_a_sample_has_truth_values():
    rng = np.random.default_rng(0)
    assert Boolean(name="x", nulls="false").column(np.array([0, 1]), rng).dtype == bool
    column = SMOKER.column(np.array([0, 1, 2, 3]), rng)
    assert column.dtype == "boolean"
    assert column.tolist() == [False, True, pd.NA, pd.NA]
    named = SMOKER.column(np.array([0, 1, 2, 3]), rng, labels=True)
    assert named.tolist() == [False, True, "unknown", "refused"]


def test_queries_name_a_truth_value_by_any_of_its_words():
    schema = Schema([SMOKER])
    for text in ("smoker=yes", "smoker=TRUE", "smoker=1", "smoker!=no"):
        assert 1 in Query.parse(text, schema).conditions[0].codes
    assert Query.parse("smoker=y", schema).text(schema) == "all of: smoker=true"


def test_json_is_exact():
    assert SMOKER.as_json() == {
        "name": "smoker", "kind": "boolean", "nulls": "unknown", "outside": "unknown",
        "extra": ["unknown", "refused"],
    }  # fmt: skip
    assert feature_from_json(SMOKER.as_json()) == SMOKER
    assert feature_from_json({"name": "smoker", "kind": "boolean", "nulls": False}).labels == (
        "false", "true",
    )  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [{"nulls": "maybe"}, {"nulls": 2}, {"nulls": None}, {"outside": "clip"}, {"outside": "maybe"},
     {"extra": ("Yes",)}, {"extra": ("1",)}, {"extra": ("true",)}, {"extra": "x"}],
)  # fmt: skip
def test_a_malformed_description_is_refused(change):
    with pytest.raises(SchemaError, match="feature 'x'"):
        Boolean(**{"name": "x", "nulls": "false", **change})
