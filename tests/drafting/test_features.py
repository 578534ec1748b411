"""Features from what was found: every cell has a place, and edges are round."""

from itertools import pairwise

import pyarrow as pa
import pytest

from thresher.drafting import Declared
from thresher.drafting.features import (
    candidates_of,
    categories_feature,
    category_shares,
    dates_feature,
    numbers_feature,
    truth_feature,
    whole_feature,
)


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (0, 120), (-5e12, 7e12), (1999, 2001), (0.1, 0.3), (-1e15, 1e15)]
)
@pytest.mark.parametrize("whole", [False, True])
def test_candidates_rise_strictly_inside_the_range(low, high, whole):
    some = candidates_of(Declared("numbers", low, high), whole=whole)
    assert len(some) <= 1001
    assert all(low < number < high for number in some)
    assert all(a < b for a, b in pairwise(some))
    assert not whole or all(number.is_integer() for number in some)


@pytest.mark.parametrize(("low", "high"), [(1, 1 + 1e-11), (0, 1e-200), (1e15 - 1e4, 1e15)])
def test_every_range_that_can_be_declared_can_be_divided(low, high):
    assert candidates_of(Declared("numbers", low, high), whole=False)


def test_cells_beside_the_numbers_are_unknown():
    feature = numbers_feature("x", Declared("numbers", 0, 10), (5.0,))
    codes = feature.encode(pa.array(["-9", "4", "5", "99", "refused", None])).tolist()
    assert [feature.labels[code] for code in codes] == ["0", "0", "5", "5", "unknown", "unknown"]
    assert whole_feature("x", Declared("numbers", 1, 5)).labels == ("1", "2", "3", "4", "unknown")
    assert truth_feature("x").encode(pa.array(["yes", "no", "?"])).tolist() == [1, 0, 2]


def test_few_years_are_told_apart_by_quarter():
    assert dates_feature("x", Declared("dates", 2010, 2019)).step == "quarter"
    assert dates_feature("x", Declared("dates", 1910, 2019)).step == "year"


def test_labels_that_stand_for_others_are_not_taken_twice():
    counts = {"a": 9, "(other)": 9, "unknown": 5}
    feature = categories_feature("x", counts)
    assert feature.labels == ("a", "unknown", "(other)")
    assert feature.nulls == "unknown"
    assert categories_feature("x", {"": 9, "(other)": 9}) is None


def test_of_very_many_values_the_most_frequent_stay():
    feature = categories_feature("x", {f"v{i:05}": i for i in range(3000)})
    assert feature.size == 1001
    assert "v02999" in feature.labels
    assert "v00001" not in feature.labels


def test_blank_cells_that_are_rarer_than_a_thousand_values_count_as_others():
    """The draft was paid for, and then failed."""
    counts = {f"v{i}": 30 for i in range(1000)} | {"": 20}
    feature = categories_feature("city", counts)
    assert "unknown" not in feature.labels
    shares = category_shares(feature, counts, 40_000)
    assert shares["v7"] == 30 / 40_000
    assert shares["(other)"] == pytest.approx(0.25)
    assert sum(shares.values()) == pytest.approx(1)
