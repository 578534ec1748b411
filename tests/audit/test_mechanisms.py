"""Whole mechanisms before the adversary: none is refuted, and a fault planted in each is caught.

The neighbours, seeds and numbers of trials are fixed; without fixed seeds a correct mechanism
would fail one of these audits with probability at most `distinguisher.FALSE_ALARM`.
"""

from fractions import Fraction

import numba
import pytest
from distinguisher import at_least, audit
from universe import records_of, schema_of

import thresher.mechanisms.projector
import thresher.privacy.curator
import thresher.privacy.requests
from thresher.data.records import Records
from thresher.mechanisms import RAP, AdaptiveTables, GaussianJoint, GaussianPerQuery
from thresher.privacy import Randomness
from thresher.privacy.curator import Curator
from thresher.queries import Threshold, Workload
from thresher.relaxed.projection import Projection

RHO = Fraction(1, 2)
TRIALS = 1000

SCHEMA = schema_of(2, 2)
# Person (0, 0) is replaced by (1, 1).
NEIGHBOURS = (
    records_of(SCHEMA, ((0, 0), (0, 1), (1, 1))),
    records_of(SCHEMA, ((1, 1), (0, 1), (1, 1))),
)
COINS = Workload(SCHEMA, [Threshold(("a",)), Threshold(("b",))])
TABLES = Workload(SCHEMA, [Threshold(("a", "b")), Threshold(("a",)), Threshold(("b",))])


def gaussian(kind):
    """What tells the neighbours apart best: what goes down less what goes up, over all tables."""

    def difference(records: Records, randomness: Randomness) -> int:
        release = kind(rho=RHO).fit(records, TABLES, randomness=randomness)
        tables = [m.counts.reshape(-1) for m in release.measurements]
        return int(sum(table[0] - table[-1] for table in tables))

    return difference


def rap(records: Records, randomness: Randomness) -> int:
    """The same of four rounds of RAP, in which all four queries come to be measured."""
    mechanism = RAP(rho=RHO, rounds=4, queries_per_round=1, synthetic_rows=2)
    release = mechanism.fit(records, COINS, randomness=randomness)
    assert release.spent == RHO
    assert len(release.measurements) == 4
    signs = [1 if m.query.conditions[0].codes == (0,) else -1 for m in release.measurements]
    return sum(sign * m.count for sign, m in zip(signs, release.measurements, strict=True))


def adaptive_tables(records: Records, randomness: Randomness) -> float:
    """The same of the one-way tables and two rounds, weighted as their noise asks for."""
    mechanism = AdaptiveTables(rho=RHO, rounds=4, synthetic_rows=2, largest_table=4)
    release = mechanism.fit(records, TABLES, randomness=randomness)
    assert release.spent == RHO
    assert {m.threshold for m in release.measurements} == set(TABLES)
    moved = [float(m.counts.flat[0] - m.counts.flat[-1]) for m in release.measurements]
    precision = [m.sigma**-2 for m in release.measurements]
    return sum(p * x for p, x in zip(precision, moved, strict=True)) / sum(precision) ** 0.5


@pytest.fixture(autouse=True)
def resting_rows(monkeypatch):
    """D' stays where it is: how it moves is post-processing, and most of a fit's time."""
    monkeypatch.setattr(
        thresher.mechanisms.projector,
        "project",
        lambda rows, *_, **__: Projection(rows, (1.0,), "noise"),
    )
    threads = numba.get_num_threads()
    numba.set_num_threads(1)  # for two rows, a second thread only has to be waited for
    yield
    numba.set_num_threads(threads)


DIFFERENCES = at_least(int, range(-20, 25, 2))
STANDARDISED = at_least(float, [x / 4 for x in range(-16, 33)])


@pytest.mark.parametrize("kind", [GaussianPerQuery, GaussianJoint])
def test_gaussian_mechanisms_keep_their_promise(kind):
    verdict = audit(gaussian(kind), NEIGHBOURS, DIFFERENCES, TRIALS, rho=RHO, seed=1)
    assert not verdict.violated
    # The audit looks where there is something to see.
    assert verdict.rho > 0.1 * verdict.rho_claimed


@pytest.mark.parametrize("kind", [GaussianPerQuery, GaussianJoint])
def test_tables_that_each_spend_the_whole_budget_are_caught(kind, monkeypatch):
    honest = thresher.privacy.requests.add_noise
    monkeypatch.setattr(
        thresher.privacy.requests, "add_noise",
        lambda counts, rho, _, randomness: honest(counts, rho, 1, randomness),
    )  # fmt: skip
    verdict = audit(gaussian(kind), NEIGHBOURS, DIFFERENCES, TRIALS, rho=RHO, seed=1)
    assert verdict.violated


def test_rap_keeps_its_promise():
    verdict = audit(rap, NEIGHBOURS, DIFFERENCES, TRIALS, rho=RHO, seed=4)
    assert not verdict.violated
    assert verdict.rho > 0.05 * verdict.rho_claimed


def test_adaptive_tables_keep_their_promise():
    verdict = audit(adaptive_tables, NEIGHBOURS, STANDARDISED, TRIALS, rho=RHO, seed=4)
    assert not verdict.violated
    assert verdict.rho > 0.05 * verdict.rho_claimed


@pytest.mark.parametrize(
    ("mechanism", "events", "verbs"),
    [
        (rap, DIFFERENCES, ("select", "measure")),
        (adaptive_tables, STANDARDISED, ("select_table", "measure")),
    ],
)
def test_rounds_that_forget_what_was_spent_are_caught(mechanism, events, verbs, monkeypatch):
    """Every selection and measurement takes the whole budget, and claims its part of it."""

    def generous(verb):
        honest = getattr(Curator, verb)

        def forgetful(self, *args, rho, **named):
            self._account.spend(rho)
            records = thresher.privacy.curator._records[self]
            fresh = Curator(records, self.budget, randomness=self._randomness)
            return honest(fresh, *args, rho=self.budget.rho, **named)

        return forgetful

    for verb in verbs:
        monkeypatch.setattr(Curator, verb, generous(verb))
    assert audit(mechanism, NEIGHBOURS, events, 800, rho=RHO, seed=4).violated
