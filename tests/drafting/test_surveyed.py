"""Kinds and ranges, as noisy counts on the public scale show them."""

from collections import Counter

import numpy as np
import pytest

from thresher.drafting import Declared
from thresher.drafting.surveyed import Surveyed
from thresher.schema.draft.survey import SIZE, survey_code


def surveyed(cells, sigma=1.0):
    counts = np.zeros(SIZE, dtype=np.int64)
    for text, times in Counter(cells).items():
        counts[survey_code(text)] += times
    return Surveyed(counts, sigma)


@pytest.mark.parametrize(
    ("cells", "declared"),
    [
        (["a"] * 60 + ["1"] * 40, Declared("categories")),
        (["yes", "no"] * 50 + ["", "NA"] * 200, Declared("boolean")),
        (["1951-03-02", "2003-12"] * 50, Declared("dates", 1950, 2009)),
        (["1700-01-01"] * 50, Declared("dates", 1800, 1809)),
        (["2500-01-01"] * 50, Declared("dates", 2100, 2109)),
        (["0", "1"] * 50 + ["refused"] * 30, Declared("numbers", 0, 2)),
        (["-3.5", "0.3"] * 50, Declared("numbers", -5, 0.5)),
        (["-1e300"] * 50, Declared("numbers", -5e12, -2e12)),
        (["1e300"] * 50, Declared("numbers", 5e12, 7e12)),
    ],
)
def test_kinds_and_ranges(cells, declared):
    assert surveyed(cells).declared() == declared


def test_what_noise_could_give_is_not_seen():
    assert surveyed(["a"] * 3).declared() is None
    assert surveyed(["17"] * 1000 + ["9000"] * 4).declared() == Declared("numbers", 17, 18)


def test_whole_numbers_are_known_by_the_lack_of_others():
    assert surveyed(["1"] * 99).are_whole
    assert not surveyed(["1"] * 99 + ["1.5"] * 9).are_whole


def test_many_cells_of_few_people_are_seen_together():
    """Every age has 30 people, where 50 could be seen alone: nobody under 20 was seen before."""
    ages = [str(age) for age in range(96)] * 30
    found = surveyed(ages, sigma=10.0).declared()
    assert found.low <= 4
    assert found.high == 100


def test_noise_alone_does_not_stretch_a_range():
    """With a seed: each of some 1,200 sums of noise would with a probability of 3e-7."""
    counts = np.random.default_rng(3).normal(0, 100, SIZE).round().astype(np.int64)
    counts[survey_code("17")] += 9000
    assert Surveyed(counts, 100.0).declared() == Declared("numbers", 17, 18)
