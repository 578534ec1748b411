"""Tables measured jointly: as precise as the plan says, and in agreement."""

import numpy as np
import pytest

import thresher as th
from thresher.mechanisms.projector import targets_of
from thresher.mechanisms.residual import ResidualPlan, measure_jointly
from thresher.privacy import Budget, Curator, InsecureSeededRandomness
from thresher.queries import Threshold
from thresher.release.sources import margins_of

TABLES = [Threshold(("sex", "income", "race")), Threshold(("workclass", "sex"))]


@pytest.fixture(scope="module")
def joint(adult):
    curator = Curator(adult, Budget.from_rho(1), randomness=InsecureSeededRandomness(0))
    return measure_jointly(curator, TABLES, rho=1)


def test_each_table_has_the_noise_of_the_plan(adult, joint):
    sigmas = ResidualPlan.of(TABLES, adult.schema).sigmas(TABLES, 1, th.Unit())
    for table, sigma, measured in zip(TABLES, sigmas, joint.measurements(), strict=True):
        assert joint.sigma(table) == pytest.approx(sigma, rel=1e-9)
        assert sigma < measured.sigma < sigma + 0.1
        noise = measured.counts - th.exact_answers(adult, table)
        assert np.abs(noise).max() < 6 * sigma
        assert (measured.threshold, measured.counts.dtype) == (table, np.int64)


def test_tables_agree(joint):
    three, two = (joint.source.counts(table).counts for table in TABLES)
    assert three.sum(axis=(1, 2)) == pytest.approx(two.sum(axis=0))


def test_residuals_of_tables_too_large_to_fit_are_left_out(adult, joint):
    fitted = [part for m in joint.residuals for part in margins_of(m, 4)]
    assert [m.threshold.k for m in fitted] == [1, 1, 1, 2, 2, 2, 3]  # no work
    targets = targets_of(fitted, adult.schema)
    assert sum(map(len, targets)) == sum(m.contrasts.size for m in fitted)


def test_the_projection_gets_every_residual_once(adult, joint):
    targets = targets_of(joint.residuals, adult.schema)
    assert [target.threshold for target in targets] == TABLES
    assert sum(map(len, targets)) == sum(r.contrasts.size for r in joint.residuals)
