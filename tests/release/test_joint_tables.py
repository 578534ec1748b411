"""Tables that are put together from residuals: as precise as the plan says, and in agreement."""

import numpy as np
import pytest

import thresher as th
from thresher.mechanisms.projector import targets_of
from thresher.mechanisms.residual import ResidualPlan
from thresher.privacy import Budget, Curator, InsecureSeededRandomness
from thresher.privacy.measurements import TableMeasurement
from thresher.queries import Threshold
from thresher.release.sources import ResidualTables, joint_table, margins_of
from thresher.release.sources.joint_tables import residuals_as_tables

TABLES = [Threshold(("race", "sex", "income")), Threshold(("workclass", "sex"))]


@pytest.fixture(scope="module")
def adult():
    return th.datasets.adult()


@pytest.fixture(scope="module")
def residuals(adult):
    plan = ResidualPlan.of(TABLES, adult.schema)
    curator = Curator(adult, Budget.from_rho(1), randomness=InsecureSeededRandomness(0))
    return curator.measure_residuals(plan.marginals, plan.precisions, rho=1)


def test_each_table_has_the_noise_of_the_plan(adult, residuals):
    source = ResidualTables.of(residuals, adult.schema)
    sigmas = ResidualPlan.of(TABLES, adult.schema).sigmas(TABLES, 1, th.Unit())
    for table, sigma in zip(TABLES, sigmas, strict=True):
        measured = joint_table(source, table)
        assert measured.sigma**2 == pytest.approx(sigma**2 + 1 / 12)
        noise = measured.counts - th.exact_answers(adult, table)
        assert np.abs(noise).max() < 6 * sigma
        assert (measured.threshold, measured.counts.dtype) == (table, np.int64)


def test_tables_agree(adult, residuals):
    source = ResidualTables.of(residuals, adult.schema)
    three, two = (source.counts(table).counts for table in TABLES)
    assert three.sum(axis=(0, 2)) == pytest.approx(two.sum(axis=0))


def test_the_largest_tables_stand_in_place_of_residuals(adult, residuals):
    alone = TableMeasurement(Threshold(("age",)), np.zeros(74, dtype=np.int64), 1.0, adult.n)
    tables = residuals_as_tables([alone, *residuals], adult.schema)
    assert tables[0] is alone
    features = {frozenset(table.threshold.features) for table in tables[1:]}
    assert features == {frozenset(table.features) for table in TABLES}
    assert residuals_as_tables([alone], adult.schema) == [alone]


def test_residuals_of_tables_too_large_to_fit_are_left_out(adult, residuals):
    fitted = [part for m in residuals for part in margins_of(m, 4)]
    assert sorted(m.threshold.k for m in fitted) == [1, 1, 1, 2, 2, 2, 3]  # no work
    targets = targets_of(fitted, adult.schema)
    assert sum(map(len, targets)) == sum(m.contrasts.size for m in fitted)


def test_the_projection_gets_every_residual_once(adult, residuals):
    targets = targets_of(residuals, adult.schema)
    assert {t.threshold for t in targets} == set(TABLES)
    assert sum(map(len, targets)) == sum(r.contrasts.size for r in residuals)
