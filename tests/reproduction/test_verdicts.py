"""A verdict follows from an interval by rule, and can be each of the four."""

import math

import pytest

from thresher.reproduction.verdicts import Finding, exactly, factor, finding, within


@pytest.mark.parametrize(
    ("low", "high", "above", "below"),
    [
        (0.1, 0.3, "confirmed", "refuted"),
        (-0.3, -0.1, "refuted", "confirmed"),
        (-0.1, 0.1, "undecided", "undecided"),
        (math.nan, 0.1, "not tested", "not tested"),
    ],
)
def test_the_rule(low, high, above, below):
    found = Finding((low + high) / 2, low, high, 0.0, "above", "")
    assert found.verdict == above
    assert Finding(found.value, low, high, 0.0, "below", "").verdict == below


def test_one_repetition_decides_nothing_and_none_is_not_tested():
    assert finding([0.5], 0.0, "above", "").verdict == "undecided"
    assert finding([], 0.0, "above", "") is None
    assert within([0.5], 0.1, "") is None


def test_about_equal_needs_the_whole_interval():
    assert within([0.001, 0.002, 0.0], 0.02, "").verdict == "confirmed"
    assert within([0.3, 0.31, 0.29], 0.02, "").verdict == "refuted"
    assert within([0.3, -0.3, 0.0], 0.02, "").verdict == "undecided"


def test_an_exact_number_is_told_without_an_interval():
    assert exactly(2.0, 1.0, "above", "").measured == "2"
    assert finding([1.0, 2.0, 3.0], 0.0, "above", "").measured == "2 (-0.484 to 4.48)"


def test_ratios_are_averaged_as_ratios():
    found = factor([2.0, 8.0], 1.0, "above", "")
    assert found.value == pytest.approx(4.0)
    assert found.low * found.high == pytest.approx(16.0)
    assert factor([2.0], 1.0, "above", "").measured == "2 (0 to inf)"
    assert factor([], 1.0, "above", "") is None
