"""`Curator.find_categories`: its sensitivity, δ and ρ over all neighbours of tiny universes.

The told values are thresholded noisy counts, so the distribution of all that is told can be written
down. MARGIN is a thousand times what rounding in double precision contributes at these sizes.
"""

import math
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

import thresher.privacy.categories as categories
from thresher.data.cells import Cells
from thresher.privacy import Budget, Curator, InsecureSeededRandomness, Unit
from thresher.privacy.categories import FindCategories, threshold_for
from thresher.privacy.noise import variance_for
from thresher.schema import Schema
from thresher.schema.draft.survey import survey_feature

FALSE_ALARM = 1e-7
MARGIN = 1e-9
ORDERS = (1.01, 1.1, 1.5, 2, 3, 5, 8, 20, 64)
VALUES = ("", "a", "b")


SCHEMA = Schema([survey_feature("u")])


def columns_of(people):
    return [Counter(column) for column in zip(*people, strict=True)]


def cells_of(people):
    return Cells(SCHEMA, len(people), {"u": columns_of(people)[0]})


def pairs(width, n, unit):
    """All neighbouring data sets of n people, with so many columns."""
    everybody = list(product(VALUES, repeat=width))
    for people in combinations_with_replacement(everybody, n):
        for place in range(n):
            others = people[:place] + people[place + 1 :]
            if unit.neighbours == "add-remove":
                yield people, others
            else:
                yield from ((people, (*others, new)) for new in everybody)


def split(first, second, more=0):
    """For each column: pairs of counts of the common values, and counts of those only in one.

    `more` further records have each of the values.
    """
    for mine, theirs in zip(columns_of(first), columns_of(second), strict=True):
        if more:
            mine, theirs = (Counter({v: c[v] + more for v in VALUES}) for c in (mine, theirs))
        common = mine.keys() & theirs.keys()
        yield (
            [(mine[value], theirs[value]) for value in common],
            [mine[value] for value in mine.keys() - common],
            [theirs[value] for value in theirs.keys() - common],
        )


@pytest.mark.parametrize("unit", [Unit(), Unit("add-remove")], ids=str)
@pytest.mark.parametrize(("width", "n"), [(1, 4), (2, 3)])
def test_the_sensitivity_is_attained_and_never_exceeded(unit, width, n):
    request = FindCategories(("u", "v")[:width], Fraction(1, 10))
    largest = 0
    for first, second in pairs(width, n, unit):
        columns = list(split(first, second))
        for _, alone, there in columns:
            assert alone in ([], [1])
            assert there in ([], [1])
        moved = sum((a - b) ** 2 for common, *_ in columns for a, b in common)
        largest = max(largest, moved)
    assert largest == request.squared_sensitivity(unit)


def told(count, threshold, variance):
    """The distribution of what is told of a value: first nothing, then noisy counts as they are.

    The noise beyond twelve standard deviations, below 1e-30, is left out.
    """
    span = math.ceil(12 * math.sqrt(variance)) + 2
    noise = np.exp(-(np.arange(-span, span + 1) ** 2) / (2 * float(variance)))
    shown = np.arange(threshold, threshold + span)
    chances = np.exp(-((shown - count) ** 2) / (2 * float(variance))) / noise.sum()
    return np.concatenate([[1 - chances.sum()], chances])


def divergence(p, q, order):
    return float(logsumexp(order * np.log(p) + (1 - order) * np.log(q))) / (order - 1)


def worst(unit, rho, delta, threshold, variance, more=0):
    """The largest failure over δ, and the largest divergence of the rest over αρ."""
    width, n = 2, 2
    failure = share = 0.0
    known = {c: told(c, threshold, variance) for c in range(more + n + 1)}
    apart = cache(lambda a, b, order: divergence(known[a], known[b], order))
    for first, second in pairs(width, n, unit):
        columns = list(split(first, second, more))
        for side in (1, 2):
            chance = sum(1 - known[c][0] for column in columns for c in column[side])
            failure = max(failure, chance / float(delta))
        moved = Counter(pair for common, *_ in columns for pair in common if pair[0] != pair[1])
        for order in ORDERS:
            total = sum(times * apart(a, b, order) for (a, b), times in moved.items())
            share = max(share, total / (order * float(rho)))
    return failure, share


CASES = [
    (Unit(), Fraction(1, 2), Fraction(1, 10**6)),
    (Unit(), Fraction(2), Fraction(1, 50)),
    (Unit("add-remove"), Fraction(1, 2), Fraction(1, 1000)),
]


@pytest.mark.parametrize(("unit", "rho", "delta"), CASES)
def test_rho_and_delta_are_kept_over_all_neighbours(unit, rho, delta):
    variance = variance_for(rho, 2 * unit.table_squared)
    threshold = threshold_for(variance, 2, delta)
    for more in (0, 1, threshold // 2, threshold + 4):
        failure, share = worst(unit, rho, delta, threshold, variance, more)
        assert failure <= 1 + MARGIN
        assert share <= 1 + MARGIN
    assert share > 0.9  # what is paid for is used, where counts are far above the threshold


@pytest.mark.parametrize(("unit", "rho", "delta"), CASES)
def test_a_threshold_for_values_of_no_record_is_caught(unit, rho, delta):
    """The planted fault: the one record that has a value is forgotten, and σ is that of ρ = 8."""
    variance = Fraction(1, 4)
    threshold = threshold_for(variance, 2, delta) - 1
    failure, _ = worst(unit, rho, delta, threshold, variance)
    assert failure > 1.5


def test_noise_for_one_count_in_each_column_is_caught():
    """The planted fault: a replaced record moves two counts of a column, and one is paid for."""
    unit, rho, delta = CASES[0]
    variance = variance_for(rho, 2)
    threshold = threshold_for(variance, 2, delta)
    _, share = worst(unit, rho, delta, threshold, variance, threshold + 4)
    assert share > 1.5


@pytest.mark.parametrize("delta", [Fraction(1, 5), Fraction(1, 10**9), Fraction(1, 10**40)])
@pytest.mark.parametrize("variance", [Fraction(1, 3), Fraction(7), Fraction(10**4)])
def test_the_threshold_is_the_least_of_its_bound(variance, delta):
    threshold = threshold_for(variance, 3, delta)
    exponents = [(t - 1) ** 2 / (2 * float(variance)) for t in (threshold, threshold - 1)]
    allowed = math.log(3 / float(delta))
    assert exponents[0] >= allowed * (1 - 1e-12)
    assert exponents[1] < allowed * (1 + 1e-12)


def told_alone(runs, rho, delta, seed):
    """How often a value of a single record is told by the Curator."""
    people = [("a",)] * 5 + [("b",)]
    curator = Curator(
        cells_of(people), Budget.from_rho(rho * runs), delta=delta * runs,
        randomness=InsecureSeededRandomness(seed),
    )  # fmt: skip
    found = (curator.find_categories(["u"], rho=rho, delta=delta) for _ in range(runs))
    return sum("b" in each.counts for [each] in found)


RUNS, RHO, DELTA = 800, Fraction(1, 2), Fraction(1, 5)


def test_a_value_of_one_record_is_told_as_seldom_as_promised():
    """False alarm below 1e-7: the promised δ bounds the true chance."""
    times = told_alone(RUNS, RHO, DELTA, seed=3)
    assert stats.binom.sf(times - 1, RUNS, float(DELTA)) > FALSE_ALARM


def test_a_value_of_one_record_that_is_told_too_often_is_caught(monkeypatch):
    """The planted fault: no threshold beyond one record. Its power is above 1 - 1e-7."""
    monkeypatch.setattr(categories, "threshold_for", lambda *_: 1)
    times = told_alone(RUNS, RHO, DELTA, seed=3)
    assert stats.binom.sf(times - 1, RUNS, float(DELTA)) < FALSE_ALARM


@pytest.mark.parametrize("count", [3, 5, 7])
def test_the_curator_tells_as_enumerated(count):
    """A chi-square test of what is told of a value; false alarm below 1e-7."""
    people = [("a",)] * count
    curator = Curator(
        cells_of(people), Budget.from_rho(RHO * RUNS), delta=DELTA * RUNS,
        randomness=InsecureSeededRandomness(count),
    )  # fmt: skip
    seen = Counter()
    for _ in range(RUNS):
        [found] = curator.find_categories(["u"], rho=RHO, delta=DELTA)
        seen[found.counts.get("a")] += 1
        threshold = found.threshold
    variance = variance_for(RHO, 2)
    expected = told(count, threshold, variance)
    kept = [i for i, chance in enumerate(expected) if chance * RUNS >= 10]
    observed = [seen[None if i == 0 else threshold + i - 1] for i in kept]
    rest = 1 - expected[kept].sum()
    observed, chances = [*observed, RUNS - sum(observed)], [*expected[kept], rest]
    assert stats.chisquare(observed, np.array(chances) * RUNS).pvalue > FALSE_ALARM
