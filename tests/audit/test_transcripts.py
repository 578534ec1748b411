"""Whole mechanisms by their transcripts: none is refuted, and an overspend in each is caught.

Every trial is a whole fit of four people; D' rests, because how it moves is post-processing. The
statistic is known (see `transcript`), so these audits have power: for `auto` it reaches the ρ that
was claimed, for the others 85 to 90 % of it, the rest being choices that tell little.

False alarms: a correct mechanism would fail one of these audits with probability at most 1e-7, had
its seed not been fixed. Power: the planted fault is a wall that spends OVERSPEND times what it
writes down. The suite runs 400 fits on either side, which catch an overspend of 6; `make audit`
(THRESHER_AUDIT=1) runs 20,000, which caught one of 1.5 in all four and refuted none of them.
"""

import os
from dataclasses import dataclass
from fractions import Fraction

import pytest
from transcript import audit_transcripts
from universe import records_of, schema_of

import thresher.mechanisms.projector
from thresher.mechanisms import RAP, AdaptiveTables, Auto, Residual
from thresher.mechanisms.tuning import Grid
from thresher.mechanisms.tuning.procedure import SearchedRAP
from thresher.privacy import Budget, Curator
from thresher.queries import Threshold, Workload
from thresher.relaxed.projection import Projection

THOROUGH = os.environ.get("THRESHER_AUDIT") == "1"
TRIALS, OVERSPEND = (20_000, Fraction(3, 2)) if THOROUGH else (400, Fraction(6))
RHO = Fraction(2)

SCHEMA = schema_of(2, 2)
# Person (0, 1) is replaced by (1, 0). Half of the people have a = 0 before, and b = 0 after.
NEIGHBOURS = (
    records_of(SCHEMA, ((0, 1), (0, 1), (1, 0), (1, 1))),
    records_of(SCHEMA, ((1, 0), (0, 1), (1, 0), (1, 1))),
)
COINS = Workload(SCHEMA, [Threshold(("a",)), Threshold(("b",))])
PAIR = Workload(SCHEMA, [Threshold(("a", "b"))])

MECHANISMS = {
    "rap": (RAP(rounds=2, queries_per_round=1, synthetic_rows=2), COINS),
    "tables": (AdaptiveTables(rounds=1, synthetic_rows=2, largest_table=4), PAIR),
    "auto": (Auto(synthetic_rows=2), PAIR),
    "residual": (Residual(), PAIR),
    "tune": (
        SearchedRAP(
            rap=RAP(synthetic_rows=2),
            search="grid",
            grid=Grid(rounds=(1,), queries_per_round=(1, 2)),
            searching=Fraction(1, 2),
            choosing=Fraction(1, 20),
        ),
        COINS,
    ),
}


@dataclass(frozen=True)
class Overspending:
    """A wall with a fault: it spends several times what it writes down."""

    curator: Curator
    factor: Fraction

    @property
    def spent(self) -> Fraction:
        return self.curator.spent / self.factor

    @property
    def remaining(self) -> Fraction:
        return self.curator.remaining / self.factor

    def __getattr__(self, name):
        found = getattr(self.curator, name)
        if not name.startswith(("select", "measure_", "choose")) and name != "measure":
            return found
        return lambda *args, rho, **named: found(*args, rho=Fraction(rho) * self.factor, **named)


@pytest.fixture(autouse=True)
def resting_rows(monkeypatch):
    monkeypatch.setattr(
        thresher.mechanisms.projector,
        "project",
        lambda rows, *_, **__: Projection(rows, (1.0,), "noise"),
    )


def evidence(name, factor, seed=0):
    mechanism, workload = MECHANISMS[name]
    procedure = mechanism.resolve(NEIGHBOURS[0].n, RHO, workload)
    assert procedure.cost == RHO

    def access_to(records, randomness):
        curator = Curator(records, Budget.from_rho(RHO * factor), randomness=randomness)
        return Overspending(curator, Fraction(factor)) if factor != 1 else curator

    def run(transcript):
        procedure.run(transcript, lambda *_: None)
        assert transcript.spent == RHO

    return audit_transcripts(run, access_to, NEIGHBOURS, TRIALS, RHO, seed)


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_whole_mechanism_is_not_refuted(name):
    found = evidence(name, 1)
    assert not found.violated
    # The audit looks where there is something to see.
    assert found.estimate > 0.6 * found.claimed


@pytest.mark.parametrize("name", MECHANISMS)
def test_an_overspend_is_caught(name):
    assert evidence(name, OVERSPEND).violated
