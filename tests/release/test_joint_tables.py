"""Tables that are put together from residuals: as precise as the plan says, and in agreement."""

import numpy as np
import pytest

import thresher as th
from thresher.mechanisms.projector import targets_of
from thresher.mechanisms.residual import ResidualPlan
from thresher.privacy import Budget, Curator, InsecureSeededRandomness
from thresher.privacy.measurements import TableMeasurement
from thresher.queries import Threshold
from thresher.relaxed.rows import RelaxedRows
from thresher.release.sources import ResidualTables, joint_table, margins_of
from thresher.release.sources.fitted_variances import FittedVariances
from thresher.release.sources.joint_tables import JointTable, residuals_as_tables

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


def test_a_table_stands_in_place_of_each_residual(adult, residuals):
    alone = TableMeasurement(Threshold(("age",)), np.zeros(74, dtype=np.int64), 1.0, adult.n)
    first, *tables = residuals_as_tables([alone, *residuals], adult.schema)
    assert first is alone
    assert [table.threshold for table in tables] == [residual.threshold for residual in residuals]
    assert all(isinstance(table, JointTable) for table in tables)


def test_what_is_known_of_some_features_is_the_table_over_just_these(adult, residuals):
    """Tables from residuals repeat each other: their precisions do not add up."""
    rows = RelaxedRows.uniform(adult.schema.sizes, 10, np.random.default_rng(0))
    tables = residuals_as_tables(residuals, adult.schema)
    variances = FittedVariances(adult.schema, rows, tables)
    weights = {
        frozenset(m.threshold.features): m.noise**2 * m.threshold.query_count(adult.schema)
        for m in residuals
    }
    for names in [("sex",), ("sex", "income"), ("race", "sex", "income")]:
        assert variances._covering.weight(names) == pytest.approx(weights[frozenset(names)])
    assert variances._covering.weight(("workclass", "income")) == np.inf


def test_residuals_of_tables_too_large_to_fit_are_left_out(adult, residuals):
    fitted = [part for m in residuals for part in margins_of(m, 4)]
    assert sorted(m.threshold.k for m in fitted) == [1, 1, 1, 2, 2, 2, 3]  # no work
    targets = targets_of(fitted, adult.schema)
    assert sum(map(len, targets)) == sum(m.contrasts.size for m in fitted)


def test_the_projection_gets_every_residual_once(adult, residuals):
    targets = targets_of(residuals, adult.schema)
    assert {t.threshold for t in targets} == set(TABLES)
    assert sum(map(len, targets)) == sum(r.contrasts.size for r in residuals)
