"""Present error by Definition 3.1: the largest gap between an answer and the truth."""

import numpy as np
import pytest

import thresher.evaluation.errors as module
from thresher.data.exact import exact_answers
from thresher.data.records import Records
from thresher.evaluation import Errors, errors_of, present_error
from thresher.evaluation.comparison import compare
from thresher.mechanisms import RAP, All0, GaussianJoint
from thresher.mechanisms.baselines import GaussianProcedure
from thresher.mechanisms.estimate import Estimate
from thresher.privacy.randomness import InsecureSeededRandomness
from thresher.queries import Threshold, Workload
from thresher.schema import Schema
from thresher.schema.features import Categorical
from thresher.tables import slabs_of

SCHEMA = Schema(
    Categorical(name=name, categories=("x", "y", "z"), outside="x", nulls="x") for name in "abc"
)
WORK = Workload(SCHEMA, [Threshold(("a", "b")), Threshold(("c", "a", "b"), r=2), Threshold(("c",))])


@pytest.fixture(scope="module")
def records():
    rng = np.random.default_rng(2)
    a = rng.integers(0, 3, 200)
    columns = (a, (a + rng.integers(0, 2, 200)) % 3, rng.integers(0, 3, 200))
    return Records(SCHEMA, [column.astype(np.uint8) for column in columns])


def fitted(mechanism, records):
    return mechanism.fit(records, WORK, randomness=InsecureSeededRandomness(0))


@pytest.mark.parametrize("cells", [1, 4, 1 << 20])
@pytest.mark.parametrize(
    "mechanism",
    [All0(rho=1), GaussianJoint(rho="1/100"), RAP(rho=1, rounds=2, synthetic_rows=10)],
    ids=lambda mechanism: mechanism.name,
)
def test_errors_are_the_largest_gaps(mechanism, cells, records, monkeypatch):
    monkeypatch.setattr(module, "slabs_of", lambda shape: slabs_of(shape, cells))
    release = fitted(mechanism, records)
    expected = [
        np.abs(table - exact_answers(records, threshold) / 200).max()
        for threshold, table in release.answer_all()
    ]
    errors = errors_of(release.source.table, records, WORK)
    assert errors.by_threshold == pytest.approx(expected, abs=1e-6)
    assert errors.max == pytest.approx(max(expected), abs=1e-6)
    assert errors.mean_max == pytest.approx(np.mean(expected), abs=1e-6)
    assert present_error(release, records) == errors.max
    assert present_error(release, records, WORK[2:]) == errors.by_threshold[2]


def test_exact_answers_have_no_error(records):
    def truth(threshold):
        table = exact_answers(records, threshold) / records.n
        return lambda slab: table[tuple(slice(r.start, r.stop) for r in slab.ranges)]

    assert errors_of(truth, records, WORK) == Errors((0.0, 0.0, 0.0))


def test_a_release_beside_every_baseline(records):
    release = fitted(RAP(rho=50, rounds=6, queries_per_round=4, synthetic_rows=30), records)
    compared = compare(release, records, WORK, seed=0)
    assert list(compared) == ["release", "all0", "gaussian_per_query", "gaussian_joint", "residual"]
    assert compared["release"].max == present_error(release, records)
    assert compared["release"].max < compared["all0"].max
    assert compared == compare(release, records, WORK, seed=0)


def test_a_baseline_that_does_not_fit_is_left_out(records, monkeypatch):
    def too_large(procedure, n):
        needed = 1 << 60 if procedure.name == GaussianJoint.name else 0
        return Estimate(seconds=0, memory=needed, advice="")

    monkeypatch.setattr(GaussianProcedure, "estimate", too_large)
    release = fitted(All0(rho=1), records)
    names = list(compare(release, records, WORK, 0))
    assert names == ["release", "all0", "gaussian_per_query", "residual"]
