"""Whole mechanisms under every unit of privacy, by their transcripts: see `transcript`.

As in `test_transcripts`, D' rests, and the false-alarm rate is at most 1e-7 for each audit. Where n
is private, it is measured first, and this is part of the transcript. Power: the planted fault is a
wall that takes the sensitivities of records for persons with several rows; and one that spends
OVERSPEND times what it writes down.
"""

import os
from fractions import Fraction

import pytest
from test_transcripts import Overspending
from transcript import audit_transcripts
from universe import person_records, records_of, schema_of

import thresher.mechanisms.projector
from thresher.mechanisms import RAP, AdaptiveTables, Residual
from thresher.mechanisms.fitting import TOTAL_SHARE
from thresher.privacy import Budget, Curator, Unit
from thresher.queries import Threshold, Workload
from thresher.relaxed.projection import Projection

THOROUGH = os.environ.get("THRESHER_AUDIT") == "1"
TRIALS, OVERSPEND = (20_000, Fraction(3, 2)) if THOROUGH else (400, Fraction(6))
RHO = Fraction(2)

SCHEMA = schema_of(2, 2)
PAIR = Workload(SCHEMA, [Threshold(("a", "b"))])
COINS = Workload(SCHEMA, [Threshold(("a",)), Threshold(("b",))])
MECHANISMS = {
    "rap": (RAP(rounds=2, queries_per_round=1, synthetic_rows=2), COINS),
    "tables": (AdaptiveTables(rounds=1, synthetic_rows=2, largest_table=4), PAIR),
    "residual": (Residual(), PAIR),
}
UNITS = {
    "a record added": Unit("add-remove"),
    "a person replaced, persons counted": Unit("replace", "who", 2, "persons"),
    "a person replaced, rows counted": Unit("replace", "who", 2, "rows"),
    "a person added, persons counted": Unit("add-remove", "who", 2, "persons"),
    "a person added, rows counted": Unit("add-remove", "who", 2, "rows"),
}
STAYING = {"b": ((0, 1),), "c": ((1, 0), (1, 0)), "d": ((1, 1),)}


def neighbours_by(unit: Unit):
    """Data sets with and without a person, or with another one; far apart in every table."""
    if unit.person is None:
        others = ((0, 1), (1, 0), (1, 1))
        return records_of(SCHEMA, ((0, 0), *others)), records_of(SCHEMA, others)
    rows = unit.rows_per_person
    one = {"a": ((0, 1),) * rows, **STAYING}
    replaced = {"a": ((1, 0),) * rows, **STAYING} if unit.neighbours == "replace" else STAYING
    return person_records(SCHEMA, one), person_records(SCHEMA, replaced)


@pytest.fixture(autouse=True)
def resting_rows(monkeypatch):
    monkeypatch.setattr(
        thresher.mechanisms.projector,
        "project",
        lambda rows, *_, **__: Projection(rows, (1.0,), "noise"),
    )


def evidence(name, unit, factor=1):
    mechanism, workload = MECHANISMS[name]

    def access_to(records, randomness):
        curator = Curator(records, Budget.from_rho(RHO * factor), randomness=randomness, unit=unit)
        return Overspending(curator, Fraction(factor)) if factor != 1 else curator

    def run(transcript):
        rho = RHO
        if transcript.measured_total is None:
            transcript.measure_total(rho=TOTAL_SHARE * RHO)
            rho -= TOTAL_SHARE * RHO
        mechanism.resolve(transcript.n, rho, workload).run(transcript, lambda *_: None)
        assert transcript.spent == RHO

    return audit_transcripts(run, access_to, neighbours_by(unit), TRIALS, RHO, unit=unit)


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        *(("tables", name) for name in UNITS),
        ("rap", "a record added"),
        ("rap", "a person replaced, rows counted"),
        ("residual", "a record added"),
    ],
)
def test_a_whole_mechanism_is_not_refuted(name, unit):
    found = evidence(name, UNITS[unit])
    assert not found.violated
    assert found.estimate > 0.3 * found.claimed  # there is something to see


@pytest.mark.parametrize("unit", ["a record added", "a person replaced, persons counted"])
def test_an_overspend_is_caught(unit):
    assert evidence("tables", UNITS[unit], 2 * OVERSPEND).violated


@pytest.mark.parametrize("counting", ["persons", "rows"])
def test_noise_for_records_on_persons_with_several_rows_is_caught(counting, monkeypatch):
    unit = Unit("replace", "who", 3, counting)
    monkeypatch.setattr(Unit, "table_squared", property(lambda _: 2))
    monkeypatch.setattr(Unit, "scale", property(lambda _: 1))  # for residuals
    assert evidence("tables", unit).violated
