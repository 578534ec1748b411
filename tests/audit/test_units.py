"""For every unit of privacy: what one unit can move, at most and in fact, by brute force.

The universe: rows over two coins, persons with one row up to one more than are used, and one other
person who stays, with few rows and with too many. All pairs of neighbours are compared: the first
person is replaced by any other, or added and removed. Everything that `Unit` claims must be true of
what the wall counts, and be attained. The planted faults at the end are found by the same search.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from test_exact import MARGIN, ORDERS, noise_divergence
from universe import (
    all_thresholds,
    answers_from,
    person_records,
    records_of,
    rows_of_one,
    schema_of,
)

import thresher.privacy.persons
from thresher.privacy import Budget, Curator, InsecureSeededRandomness, Unit
from thresher.privacy.counted import CountedTables
from thresher.privacy.measurements import TotalMeasurement
from thresher.privacy.scores import WorkloadScores
from thresher.queries import Threshold, Workload
from thresher.tables import slabs_of

SCHEMA = schema_of(2, 2)
WORKLOAD = Workload(SCHEMA, all_thresholds(SCHEMA))
STAYING = [((0, 1),), ((0, 0), (0, 0), (0, 1), (1, 0), (1, 1))]
PUBLIC_N = 2
NOBODY = ()

UNITS = [
    Unit(),
    Unit("add-remove"),
    *(
        Unit(neighbours, "who", rows, counting)
        for neighbours in ("replace", "add-remove")
        for counting in ("persons", "rows")
        for rows in (1, 2, 3)
        if (rows, counting) != (1, "rows")
    ),
]


@dataclass
class Counted:
    """What the wall counts of one data set: tables by threshold, all scores, and the total."""

    tables: dict[Threshold, np.ndarray]
    scores: list[np.ndarray]
    total: int


def counted(unit: Unit, rows, others) -> Counted:
    persons = {"a": rows, "b": others} if rows else {"b": others}
    tables = CountedTables(data_of(unit, persons), unit)
    tables.count_together([SCHEMA.names])
    tables.measured_total = TotalMeasurement(PUBLIC_N, 1.0)
    whole = {
        threshold: np.concatenate(
            [tables.answers(threshold)(slab).ravel() for slab in slabs_of(threshold.shape(SCHEMA))]
        ).astype(int)
        for threshold in WORKLOAD
    }
    return Counted(whole, list(scores_of(tables)), tables.exact_total())


def data_of(unit: Unit, persons):
    if unit.person is not None:
        return person_records(SCHEMA, persons)
    return records_of(SCHEMA, [row for rows in persons.values() for row in rows])


def scores_of(tables: CountedTables):
    """The scores of all queries against several public answers."""
    source, total = np.random.default_rng(3), PUBLIC_N * tables.unit.parts
    for _ in range(3):
        public = source.integers(0, total + 1, WORKLOAD.query_count).tolist()
        scores = WorkloadScores(tables, WORKLOAD, answers_from(WORKLOAD, public, total), {})
        yield np.concatenate([scores[i] for i in range(len(scores))])


def moved(unit: Unit) -> dict[str, int]:
    """The largest moves over all neighbours: of queries, of tables and of n squared; of scores."""
    choices = rows_of_one(SCHEMA, 1 if unit.person is None else unit.rows_per_person + 1)
    found = dict.fromkeys(("query_squared", "table_squared", "total_squared", "score"), 0)

    def note(name, moves):
        found[name] = max(found[name], int(np.max(moves)))

    for others in STAYING:
        sides = [counted(unit, rows, others) for rows in choices]
        befores = sides if unit.neighbours == "replace" else [counted(unit, NOBODY, others)]
        for one in befores:
            for threshold in WORKLOAD:
                here = np.array([side.tables[threshold] for side in sides])
                moves = (here - one.tables[threshold]) ** 2
                note("query_squared", moves)
                if threshold.r == threshold.k:
                    note("table_squared", moves.sum(axis=1))
            note("total_squared", [(side.total - one.total) ** 2 for side in sides])
            for i, scores in enumerate(one.scores):
                note("score", np.abs([side.scores[i] - scores for side in sides]))
    return found


def claimed(unit: Unit) -> dict[str, int]:
    names = ("query_squared", "table_squared", "total_squared")
    return {**{name: getattr(unit, name) for name in names}, "score": 1}


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.described)
def test_every_sensitivity_is_what_the_unit_claims_and_is_attained(unit):
    assert moved(unit) == claimed(unit)


def violations(unit: Unit) -> set[str]:
    """The claims that the same search refutes."""
    found, claims = moved(unit), claimed(unit)
    return {name for name in claims if found[name] > claims[name]}


TWO_ROWS = Unit(person="who", rows_per_person=2, counting="rows")


def test_rows_dropped_by_their_place_in_the_file_are_caught(monkeypatch):
    # As if somebody had cut the file down before the wall: a person with more rows shifts those of
    # the next one, and other rows of that one are kept.
    def by_place(rows, key):
        return np.arange(len(rows.persons), dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)

    monkeypatch.setattr(thresher.privacy.persons, "row_hashes", by_place)
    assert "table_squared" in violations(TWO_ROWS)


def test_rows_shared_out_by_what_all_persons_have_are_caught(monkeypatch):
    # Weights that are scaled by how many rows are used in all.
    honest = thresher.privacy.persons.kept_rows

    def by_average(data, unit):
        kept = honest(data, unit)
        rows = sum(group.n for _, group in kept.groups)
        groups = tuple((2 * data.persons * unit.parts // rows, group) for _, group in kept.groups)
        return thresher.privacy.persons.KeptRows(kept.schema, groups)

    monkeypatch.setattr(thresher.privacy.counted, "kept_rows", by_average)
    assert "query_squared" in violations(Unit(person="who", rows_per_person=2))


def test_a_factor_of_two_that_was_forgotten_is_caught(monkeypatch):
    monkeypatch.setattr(Unit, "table_squared", property(lambda unit: unit.scale**2))
    assert violations(TWO_ROWS) == {"table_squared"}


def test_a_scale_that_was_not_squared_is_caught(monkeypatch):
    monkeypatch.setattr(Unit, "query_squared", property(lambda unit: unit.scale))
    monkeypatch.setattr(Unit, "table_squared", property(lambda unit: 2 * unit.scale))
    assert violations(TWO_ROWS) == {"query_squared", "table_squared"}


def test_scores_that_are_not_divided_are_caught(monkeypatch):
    honest = thresher.privacy.scores.score_walked
    monkeypatch.setattr(
        thresher.privacy.scores, "score_walked",
        lambda counts, answers, total, _: honest(counts, answers, total, 1),
    )  # fmt: skip
    assert violations(TWO_ROWS) == {"score"}


# Without sampling: the divergence of what is measured, at the noise that the Curator used.

TABLE = Threshold(("a", "b"))


def worst_pair(unit: Unit):
    """Two data sets that are furthest apart: all rows of a person in one cell, or in another."""
    rows = unit.rows_per_person
    other = ((0, 1),)
    full = {"a": ((0, 0),) * rows, "b": other}
    after = {"a": ((1, 1),) * rows, "b": other} if unit.neighbours == "replace" else {"b": other}
    return data_of(unit, full), data_of(unit, after)


def noise_used(unit: Unit, records, target, rho: Fraction) -> float:
    curator = Curator(
        records, Budget.from_rho(rho + 1), randomness=InsecureSeededRandomness(0), unit=unit
    )
    if not unit.total_is_public:
        curator.measure_total(rho=1)
    [measured] = curator.measure([target], rho=rho)
    return measured.sigma


def cost(unit: Unit, target, rho: Fraction, order: float) -> float:
    """The Rényi divergence of measuring a table or a query of the worst pair."""
    sides = worst_pair(unit)
    variance = Fraction(noise_used(unit, sides[0], target, rho) ** 2).limit_denominator(10**6)
    shifts = []
    for side in sides:
        tables = CountedTables(side, unit)
        tables.count_together([TABLE.features])
        counts = tables.over(TABLE.features).within(next(slabs_of((2, 2)))).ravel()
        shifts.append(counts if isinstance(target, Threshold) else counts[:1])
    return sum(
        noise_divergence(variance, int(shift), order) for shift in shifts[0] - shifts[1] if shift
    )


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.described)
@pytest.mark.parametrize("rho", [Fraction(1, 11), Fraction(2)], ids=str)
def test_measuring_costs_what_it_pays_and_no_less(unit, rho):
    for target in (TABLE, Workload(SCHEMA, [TABLE]).query(0)):
        for order in ORDERS:
            spent = cost(unit, target, rho, order)
            assert spent <= order * float(rho) * (1 + 1e-6) + MARGIN
            if order == int(order):
                assert spent == pytest.approx(order * float(rho), rel=1e-5)


def test_noise_for_records_on_counts_of_persons_breaks_the_bound(monkeypatch):
    monkeypatch.setattr(Unit, "table_squared", property(lambda unit: 2))
    assert cost(TWO_ROWS, TABLE, Fraction(1, 2), 2) > 3.9
