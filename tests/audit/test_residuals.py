"""What one unit moves of measured residuals, by brute force over all neighbours of tiny universes.

The reference projects tables by their definition, with matrices, and knows nothing of contrasts.
The noise has to cost what it pays for in every order, and the wall's contrasts have to be those of
the true counts. Planted: the sensitivity of a unit that is added, where it is replaced; noise of
one size for all contrasts.
"""

import math
from fractions import Fraction
from functools import reduce
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_exact import MARGIN, ORDERS, noise_divergence
from test_units import SCHEMA as COINS
from test_units import STAYING, UNITS, data_of
from universe import everybody, records_of, rows_of_one, schema_of

from thresher.privacy import (
    Budget,
    Curator,
    InsecureSeededRandomness,
    Unit,
    residual_sensitivity,
)
from thresher.privacy.counted import CountedTables
from thresher.privacy.noise import variance_for
from thresher.privacy.residual_sensitivity import squared_sensitivity
from thresher.queries import Threshold
from thresher.schema import View
from thresher.tables.contrasts import contrasts_of, squared_norms

REPLACE, ADD = Unit(), Unit("add-remove")


def projected(table):
    """A table with its margins taken out along every axis: d·I - 1·1ᵀ, over d, for each axis."""
    for axis, size in enumerate(table.shape):
        centre = np.eye(size) - np.ones((size, size)) / size
        table = np.moveaxis(np.tensordot(centre, table, (1, axis)), 0, axis)
    return table


def vector(sizes, sets, precisions, person):
    """√s_A · H_A of one record, for all A: what moves where the record comes or goes."""
    parts = []
    for features, s in zip(sets, precisions, strict=True):
        units = [np.eye(sizes[i])[person[i]] for i in features]
        parts.append(math.sqrt(s) * projected(reduce(np.multiply.outer, units)).reshape(-1))
    return np.concatenate(parts)


def largest_move(sizes, sets, precisions, unit):
    moves = np.array(
        [vector(sizes, sets, precisions, person) for person in everybody(schema_of(*sizes))]
    )
    if unit.neighbours == "add-remove":
        return (moves**2).sum(axis=1).max()
    return max(((moves - one) ** 2).sum(axis=1).max() for one in moves)


@st.composite
def plans(draw):
    sizes = tuple(draw(st.lists(st.integers(2, 4), min_size=1, max_size=4)))
    every = [c for k in range(1, len(sizes) + 1) for c in combinations(range(len(sizes)), k)]
    sets = draw(st.lists(st.sampled_from(every), min_size=1, max_size=8))
    precisions = draw(st.lists(st.integers(1, 2**40), min_size=len(sets), max_size=len(sets)))
    return sizes, sets, precisions


@given(plan=plans(), unit=st.sampled_from([REPLACE, ADD]))
def test_the_sensitivity_is_the_largest_move_over_all_neighbours(plan, unit):
    sizes, sets, precisions = plan
    claimed = float(squared_sensitivity(sets, sizes, precisions, unit))
    assert claimed == pytest.approx(largest_move(*plan, unit), rel=1e-9)


@given(plan=plans(), together=st.integers(0, 3))
def test_with_many_features_it_is_never_less(plan, together):
    sizes, sets, precisions = plan
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(residual_sensitivity, "MOST_TOGETHER", together)
        residual_sensitivity._replaced.cache_clear()
        claimed = float(squared_sensitivity(sets, sizes, precisions, REPLACE))
        residual_sensitivity._replaced.cache_clear()
        is_exact = residual_sensitivity._eliminable(sets) is not None
    largest = largest_move(*plan, REPLACE)
    assert largest * (1 - 1e-9) <= claimed <= 2 * largest * (1 + 1e-9)
    if is_exact:
        assert claimed == pytest.approx(largest, rel=1e-9)


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.described)
def test_every_unit_moves_what_is_claimed_of_what_the_wall_counts(unit):
    tables = [Threshold(("a",)), Threshold(("b",)), Threshold(("a", "b"))]
    sets, precisions = [(0,), (1,), (0, 1)], (3, 1, 2)
    choices = rows_of_one(COINS, 1 if unit.person is None else unit.rows_per_person + 1)

    def scaled(persons):
        counted = CountedTables(data_of(unit, persons), unit)
        counted.count_together([COINS.names])
        parts = []
        for table, s in zip(tables, precisions, strict=True):
            sparse = counted.over(table.features)
            dense = np.zeros(math.prod(sparse.shape), dtype=np.int64)
            dense[sparse.cells] = sparse.counts
            found = contrasts_of(dense.reshape(sparse.shape))
            parts.append((found * np.sqrt(s / squared_norms(sparse.shape))).reshape(-1))
        return np.concatenate(parts)

    largest = 0.0
    for others in STAYING:
        sides = np.array([scaled({"a": rows, "b": others}) for rows in choices])
        befores = sides if unit.neighbours == "replace" else [scaled({"b": others})]
        largest = max(largest, *(((sides - one) ** 2).sum(axis=1).max() for one in befores))
    claimed = float(squared_sensitivity(sets, COINS.sizes, precisions, unit))
    assert claimed == pytest.approx(largest, rel=1e-9)


def divergence(sizes, sets, precisions, sensitivity, rho, pair, order):
    """D_α between what is measured of two data sets that differ in one record."""
    total = 0.0
    for features, s in zip(sets, precisions, strict=True):
        shape = [sizes[i] for i in features]
        moved = np.zeros(shape, dtype=np.int64)
        for sign, person in zip((1, -1), pair, strict=False):
            moved[tuple(person[i] for i in features)] += sign
        variance = variance_for(rho, sensitivity / s)
        norms = squared_norms(shape).reshape(-1).tolist()
        for shift, norm in zip(contrasts_of(moved).reshape(-1).tolist(), norms, strict=True):
            total += noise_divergence(variance * norm, abs(shift), order)
    return total


SIZES, SETS, PRECISIONS = (2, 3, 2), [(0,), (1,), (0, 1), (0, 1, 2)], (5, 2, 7, 4)


def worst_share(unit, rho, sensitivity):
    people = everybody(schema_of(*SIZES))
    pairs = [(people[0], other) for other in people[1:]] if unit == REPLACE else [(people[0],)]
    return max(
        divergence(SIZES, SETS, PRECISIONS, sensitivity, rho, pair, order) / (order * float(rho))
        for pair in pairs
        for order in ORDERS
    )


@pytest.mark.parametrize("rho", [Fraction(1, 100), Fraction(1, 2), Fraction(20)], ids=str)
@pytest.mark.parametrize("unit", [REPLACE, ADD], ids=str)
def test_the_noise_costs_what_it_pays_for(unit, rho):
    sensitivity = squared_sensitivity(SETS, SIZES, PRECISIONS, unit)
    share = worst_share(unit, rho, sensitivity)
    assert share <= 1 + MARGIN
    assert share > 0.99 or rho > 1  # nothing is wasted, but by noise below one count


def test_the_sensitivity_of_an_added_record_is_caught_where_one_is_replaced():
    sensitivity = squared_sensitivity(SETS, SIZES, PRECISIONS, ADD)
    assert worst_share(REPLACE, Fraction(1, 2), sensitivity) > 1.5


def test_the_wall_measures_the_contrasts_of_the_true_counts():
    schema = schema_of(3, 4)
    people = [(0, 1), (0, 1), (2, 3), (1, 0), (1, 2), (2, 2)]
    curator = Curator(records_of(schema, people), Budget.from_rho(2 * 10**6))
    found = curator.measure_residuals(
        [Threshold(("b", "a")), Threshold(("b",))], [1, 2], rho=10**6
    )  # the noise is 0 but for one draw in 10^80000
    table = np.zeros((4, 3), dtype=np.int64)
    for a, b in people:
        table[b, a] += 1
    assert np.array_equal(found[0].contrasts, contrasts_of(table))
    assert np.array_equal(found[1].contrasts, contrasts_of(table.sum(axis=1)))
    assert found[0].sigma == pytest.approx(math.sqrt(2) * found[1].sigma)


def test_the_walls_noise_has_the_variance_of_every_contrast():
    """The sum of squared standardised noise is chi-square: the bounds are 8 standard deviations."""
    schema = schema_of(5, 4)
    curator = Curator(
        records_of(schema, [(0, 0)]),
        Budget.from_rho(1),
        randomness=InsecureSeededRandomness(5),
    )
    targets, times = [Threshold(("a", "b"))], 2000
    exact = np.zeros((5, 4), dtype=np.int64)
    exact[0, 0] = 1
    squares = np.zeros((4, 3))
    for _ in range(times):
        [found] = curator.measure_residuals(targets, [1], rho=Fraction(1, 2 * times))
        noise = found.contrasts - contrasts_of(exact)
        squares += noise**2 / (found.sigma**2 * squared_norms((5, 4)))
    assert np.abs(squares / times - 1).max() < 8 * math.sqrt(2 / times)
    # Noise of one size would be 30 times too small for the largest contrast.
    assert squared_norms((5, 4)).max() > 30


@pytest.mark.parametrize("unit", [REPLACE, ADD], ids=str)
def test_views_move_no_more_than_features_that_differ_at_will(unit):
    # The view of `a` has the groups {a0, a2} and {a1}; it is place 2 in the schema.
    sizes, seen = (3, 2, 2), (0, 1, 0)
    sets, precisions = [(0,), (2,), (1, 2), (0, 1)], [5, 1, 7, 2]
    people = [(a, b, seen[a]) for a in range(3) for b in range(2)]
    moves = np.array([vector(sizes, sets, precisions, person) for person in people])
    largest = (
        (moves**2).sum(axis=1).max() if unit is ADD
        else max(((moves - one) ** 2).sum(axis=1).max() for one in moves)
    )  # fmt: skip
    assert largest <= float(squared_sensitivity(sets, sizes, precisions, unit)) * (1 + 1e-9)


def test_the_wall_measures_the_contrasts_of_views():
    schema = schema_of(3, 4)
    view = View.of_groups(schema["a"], "seen", {"x": ["a0", "a2"], "y": []})
    people = [(0, 1), (0, 1), (2, 3), (1, 0), (1, 2), (2, 2)]
    curator = Curator(records_of(schema, people), Budget.from_rho(2 * 10**6), views=[view])
    [found] = curator.measure_residuals([Threshold(("seen", "b"))], [1], rho=10**6)
    table = np.zeros((2, 4), dtype=np.int64)
    for a, b in people:
        table[view.codes[a], b] += 1
    assert np.array_equal(found.contrasts, contrasts_of(table))


class Deceiving(int):
    """Equal to a whole number, with the same hash, but computes otherwise."""

    def __sub__(self, other):
        return 0

    def __mul__(self, other):
        return 0

    __rmul__ = __mul__


@pytest.mark.parametrize(
    "deceiving", [lambda sizes: np.array(sizes), lambda sizes: tuple(map(Deceiving, sizes))]
)
def test_nobody_outside_the_wall_can_change_a_sensitivity_that_it_remembers(deceiving):
    """Such sizes were computed with, and what came out was remembered for whole numbers, too."""
    sets, precisions = [(0,), (1,), (0, 1), (0, 1, 2)], (3, 5, 7, 2**39)
    sizes = (41, 37, 5)
    first = squared_sensitivity(sets, deceiving(sizes), precisions, Unit())
    assert first == squared_sensitivity(sets, sizes, precisions, Unit())
    expected = 2 * sum(
        s * math.prod(1 - Fraction(1, sizes[i]) for i in features)
        for features, s in zip(sets, precisions, strict=True)
    )
    assert first >= expected
