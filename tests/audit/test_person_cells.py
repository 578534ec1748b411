"""Private drafts of persons with several rows: what one person can move, by brute force.

The universe: persons with one row up to one more than are used, of one or two columns without a
schema, and others who stay, some of them with too many rows. All pairs of neighbours are compared:
the first person is replaced by any other, or added and removed. The planted faults at the end are
found by the same search.
"""

import math
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from test_categories import MARGIN, ORDERS, divergence, told

import thresher.privacy.categories as categories
from thresher.data.cells import PersonCells
from thresher.data.persons import PersonIds, PersonRows
from thresher.data.spelled import Spelled, SpelledCounts
from thresher.privacy import Budget, Curator, InsecureSeededRandomness, Unit
from thresher.privacy.categories import FindCategories, threshold_for
from thresher.privacy.counted import CountedTables
from thresher.privacy.edges import counts_below, split_scores
from thresher.privacy.noise import variance_for
from thresher.schema import Schema
from thresher.schema.draft.survey import survey_feature

FALSE_ALARM = 1e-7
UNITS = [
    Unit(neighbours, "who", rows, counting)
    for neighbours in ("replace", "add-remove")
    for counting in ("persons", "rows")
    for rows in (1, 2, 3)
    if (rows, counting) != (1, "rows")
]
CANDIDATES = (0.0, 1.0, 2.0)
TEXTS = {1: ("", "0", "1.5"), 2: ("0", "1")}
STAYING = {
    1: [[[("",)], [("0",)], [("1.5",)]], [[("0",), ("1.5",), ("",), ("0",)], [("",)]], [[("",)]]],
    2: [
        [[("0", "0")], [("1", "1")]],
        [[("0", "0"), ("0", "1"), ("1", "0"), ("1", "1")]],
        [[("0", "0")]],
    ],
}


def data_of(first, others, width):
    """The rows of persons, as they are read from a file."""
    persons = {"first": first} | {f"p{i}": rows for i, rows in enumerate(others)}
    rows = [row for person in persons.values() for row in person]
    ids = PersonIds("who")
    ids.add(pa.array([name for name, person in persons.items() for _ in person]))
    columns = {name: Spelled.of(name) for name in ("u", "v")[:width]}
    codes = {
        name: column.encode(pa.array([row[place] or None for row in rows], pa.string()))
        for place, (name, column) in enumerate(columns.items())
    }
    schema = Schema([survey_feature(name) for name in columns])
    return PersonCells(schema, ids.column(), columns, codes)


def cells_of(first, others, unit, width):
    return CountedTables(data_of(first, others, width), unit).cells()


def everybody(unit, width):
    """All persons with one row up to one more than are used, each with their rows in any order."""
    rows = list(product(TEXTS[width], repeat=width))
    for number in range(1, unit.rows_per_person + 2):
        yield from combinations_with_replacement(rows, number)


def worlds(unit, width):
    """For each set of persons who stay: the cells with every first person, or without."""
    for others in STAYING[width]:
        with_first = [cells_of(first, others, unit, width) for first in everybody(unit, width)]
        yield cells_of((), others, unit, width), with_first


def pairs(unit, width):
    for without, with_first in worlds(unit, width):
        if unit.neighbours == "add-remove":
            yield from ((cells, without) for cells in with_first)
            yield from ((without, cells) for cells in with_first)
        else:
            yield from product(with_first, repeat=2)


def split(first, second):
    """For each column: pairs of counts of the common values, and counts of those only in first."""
    for name in first.columns:
        mine, theirs = first.columns[name], second.columns[name]
        common = mine.keys() & theirs.keys()
        yield [(mine[v], theirs[v]) for v in common], [mine[v] for v in mine.keys() - common]


def searched(unit, width):
    """The furthest that one person moves common values, squared; the most and largest of others."""
    moved = number = largest = 0
    for first, second in pairs(unit, width):
        columns = list(split(first, second))
        moved = max(moved, sum((a - b) ** 2 for common, _ in columns for a, b in common))
        number = max(number, *(len(alone) for _, alone in columns))
        largest = max(largest, *(max(alone, default=0) for _, alone in columns))
    return moved, number, largest


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.described)
@pytest.mark.parametrize("width", [1, 2])
def test_what_a_person_moves_is_attained_and_never_exceeded(unit, width):
    moved, number, largest = searched(unit, width)
    request = FindCategories(("u", "v")[:width], Fraction(1, 10))
    assert moved == request.squared_sensitivity(unit)
    assert number == min(unit.rows_per_person, len(TEXTS[width]) - 1)  # those who stay have one
    assert largest == unit.scale


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.described)
def test_a_person_adds_their_parts_whoever_else_is_there(unit):
    assert not differing(unit)


def differing(unit):
    """In how many data sets a person adds something else than when alone with their rows."""
    odd = 0
    for others in STAYING[2]:
        without = cells_of((), others, unit, 2)
        for first in everybody(unit, 2):
            cells, alone = cells_of(first, others, unit, 2), cells_of(first, (), unit, 2)
            odd += any(
                Counter(cells.columns[name])
                != Counter(without.columns[name]) + Counter(alone.columns[name])
                for name in ("u", "v")
            )
    return odd


def scores_of(cells, chosen, scale):
    numbers, counts = cells.numbers("u")
    return split_scores(counts_below(numbers, counts, CANDIDATES), chosen) // scale


def furthest(unit, scale):
    return max(
        int(np.abs(scores_of(first, chosen, scale) - scores_of(second, chosen, scale)).max())
        for first, second in pairs(unit, 1)
        for chosen in ([], [1])
    )


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.described)
def test_scores_of_edges_move_by_one(unit):
    assert furthest(unit, unit.scale) == 1


def test_the_scores_of_edges_are_divided_by_what_a_person_moves():
    """The planted fault: counts of parts are taken for scores."""
    assert furthest(Unit(person="who", rows_per_person=3), 1) > 1


CASES = [
    (Unit(person="who", rows_per_person=2), Fraction(1, 2), Fraction(1, 10**6)),
    (Unit("add-remove", "who", 3, "rows"), Fraction(2), Fraction(1, 50)),
    (Unit("add-remove", "who", 2), Fraction(1, 2), Fraction(1, 1000)),
]


def worst(unit, rho, delta, threshold, variance, more):
    """The largest failure over δ, and the largest divergence of the rest over αρ, of one column.

    `more` further parts have each of the values.
    """
    known = cache(lambda count: told(count, threshold, variance))
    apart = cache(lambda a, b, order: divergence(known(a), known(b), order))
    failure = share = 0.0
    seen = {
        (tuple(sorted(common)), tuple(sorted(alone)))
        for pair in pairs(unit, 1)
        for common, alone in split(*pair)
    }
    for common, alone in seen:
        if not more:
            failure = max(failure, sum(1 - known(count)[0] for count in alone) / float(delta))
        for order in ORDERS:
            total = sum(apart(a + more, b + more, order) for a, b in common if a != b)
            share = max(share, total / (order * float(rho)))
    return failure, share


@pytest.mark.parametrize(("unit", "rho", "delta"), CASES)
def test_rho_and_delta_are_kept_over_all_neighbours(unit, rho, delta):
    variance = variance_for(rho, unit.table_squared)
    threshold = threshold_for(variance, unit.rows_per_person, delta, unit.scale)
    for more in (0, threshold // 2, threshold + 4 * unit.scale):
        failure, share = worst(unit, rho, delta, threshold, variance, more)
        assert failure <= 1 + MARGIN
        assert share <= 1 + MARGIN
    assert share > 0.9  # what is paid for is used, where counts are far above the threshold


def test_a_threshold_for_single_records_is_caught():
    """The planted fault: a person's value can have a count of 6 parts, and 1 is thought of."""
    unit, rho, delta = Unit(person="who", rows_per_person=3), Fraction(8), Fraction(1, 1000)
    variance = variance_for(rho, unit.table_squared)
    failure, _ = worst(unit, rho, delta, threshold_for(variance, 3, delta), variance, 0)
    assert failure > 1.5


def test_noise_for_single_records_is_caught():
    """The planted fault: the noise is that of a record that is replaced."""
    unit, rho, delta = CASES[0]
    variance = variance_for(rho, 2)
    _, share = worst(unit, rho, delta, 20, variance, 40)
    assert share > 1.5


def test_rows_beyond_the_allowed_ones_are_caught(monkeypatch):
    """The planted fault: all rows of a person count as rows."""
    unit = Unit(person="who", rows_per_person=2, counting="rows")
    kept = CountedTables.cells
    many = Unit(person="who", rows_per_person=3, counting="rows")
    monkeypatch.setattr(CountedTables, "cells", lambda self: kept(CountedTables(self._data, many)))
    moved, _, largest = searched(unit, 1)
    assert moved > unit.table_squared
    assert largest > unit.scale


def test_values_of_dropped_rows_are_caught(monkeypatch):
    """The planted fault: a value that only a dropped row has is there, with a count of 0."""
    unit = Unit(person="who", rows_per_person=1)
    monkeypatch.setattr(
        SpelledCounts,
        "of_texts",
        lambda self: dict(zip(self.column.texts, self._counts.tolist(), strict=True)),
    )
    _, number, _ = searched(unit, 1)
    assert number > unit.rows_per_person


def test_a_choice_of_rows_that_others_have_a_say_in_is_caught(monkeypatch):
    """The planted fault: rows are told apart by codes, which depend on what others have."""

    def by_codes(self):
        yield PersonRows(tuple(self.codes.values()), self.ids.hashes)

    monkeypatch.setattr(PersonCells, "person_rows", by_codes)
    assert differing(Unit(person="who"))


RUNS, RHO, DELTA = 800, Fraction(1, 2), Fraction(1, 5)


def told_alone(seed):
    """How often the two values of one person are told by the Curator, or one of them."""
    unit = Unit(person="who", rows_per_person=2)
    people = [[("a",), ("a",)]] * 5 + [[("b",), ("c",)]]
    curator = Curator(
        data_of((), people, 1), Budget.from_rho(RHO * RUNS), delta=DELTA * RUNS,
        randomness=InsecureSeededRandomness(seed), unit=unit,
    )  # fmt: skip
    found = (curator.find_categories(["u"], rho=RHO, delta=DELTA) for _ in range(RUNS))
    return sum(bool({"b", "c"} & each.counts.keys()) for [each] in found)


def test_values_of_one_person_are_told_as_seldom_as_promised():
    """False alarm below 1e-7: the promised δ bounds the true chance."""
    assert stats.binom.sf(told_alone(seed=3) - 1, RUNS, float(DELTA)) > FALSE_ALARM


def test_values_of_one_person_that_are_told_too_often_are_caught(monkeypatch):
    """The planted fault: no threshold beyond one person. Its power is above 1 - 1e-7."""
    monkeypatch.setattr(categories, "threshold_for", lambda variance, values, delta, most: most)
    assert stats.binom.sf(told_alone(seed=3) - 1, RUNS, float(DELTA)) < FALSE_ALARM


def test_counts_are_told_in_persons():
    """Noise of standard deviation 0.003 persons is never 0.4 (probability below 1e-30)."""
    people = [[("a",), ("b",), ("b",)]] * 300
    unit = Unit(person="who", rows_per_person=3)
    curator = Curator(
        data_of((), people, 1), Budget.from_rho(10**5), delta=Fraction(1, 10), unit=unit
    )
    [found] = curator.find_categories(["u"], rho=10**5, delta=Fraction(1, 10))
    assert found.counts["a"] in (99, 100)
    assert found.counts["b"] in (199, 200)
    assert found.sigma == pytest.approx(math.sqrt(1e-5), rel=0.01)
