"""The Gaussian mechanisms before the adversary; `test_transcripts` has the others.

The neighbours, seeds and numbers of trials are fixed; without fixed seeds a correct mechanism
would fail one of these audits with probability at most `distinguisher.FALSE_ALARM`.
"""

from fractions import Fraction

import pytest
from distinguisher import at_least, audit
from universe import records_of, schema_of

import thresher.privacy.curator
import thresher.privacy.requests
from thresher.data.records import Records
from thresher.mechanisms import GaussianJoint, GaussianPerQuery
from thresher.privacy import Randomness
from thresher.queries import Threshold, Workload

RHO = Fraction(1, 2)
TRIALS = 1000

SCHEMA = schema_of(2, 2)
# Person (0, 0) is replaced by (1, 1).
NEIGHBOURS = (
    records_of(SCHEMA, ((0, 0), (0, 1), (1, 1))),
    records_of(SCHEMA, ((1, 1), (0, 1), (1, 1))),
)
TABLES = Workload(SCHEMA, [Threshold(("a", "b")), Threshold(("a",)), Threshold(("b",))])


def gaussian(kind):
    """What tells the neighbours apart best: what goes down less what goes up, over all tables."""

    def difference(records: Records, randomness: Randomness) -> int:
        release = kind(rho=RHO).fit(records, TABLES, randomness=randomness)
        tables = [m.counts.reshape(-1) for m in release.measurements]
        return int(sum(table[0] - table[-1] for table in tables))

    return difference


DIFFERENCES = at_least(int, range(-20, 25, 2))


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
