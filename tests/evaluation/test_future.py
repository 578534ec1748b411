"""Future error and its interval: against brute force, scipy, and by coverage."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from thresher import Threshold, Workload, datasets
from thresher.data.exact import exact_answers
from thresher.errors import ParameterError
from thresher.evaluation import FutureError, future_error, present_error
from thresher.evaluation.future import student_t
from thresher.mechanisms import All0, GaussianJoint
from thresher.privacy import InsecureSeededRandomness
from thresher.queries import FeatureDistribution, draw_thresholds

DATA = datasets.adult()
SMALL = [Threshold(("sex", "race"), 1), Threshold(("sex", "income")), Threshold(("race",))]


def all_zero(work):
    return All0(epsilon=1.0).fit(DATA, work)


def test_it_is_the_mean_over_thresholds_of_the_maximum_error():
    release = all_zero(Workload(DATA.schema, SMALL[:1]))
    drawn = [SMALL[0], SMALL[2], SMALL[0], SMALL[1], SMALL[0]]
    largest = [float(exact_answers(DATA, t).max()) / DATA.n for t in drawn]
    estimate = future_error(release, DATA, drawn)
    assert estimate.by_repetition == (pytest.approx(tuple(largest)),)
    assert estimate.mean == pytest.approx(np.mean(largest))
    once = [future_error(release, DATA, [t]).mean for t in drawn]
    assert once == pytest.approx(largest)


def test_on_one_threshold_it_is_the_present_error():
    work = Workload(DATA.schema, SMALL[:1])
    release = all_zero(work)
    assert future_error(release, DATA, work).mean == present_error(release, DATA)


def test_repetitions_are_averaged():
    work = Workload(DATA.schema, SMALL)
    releases = [
        GaussianJoint(rho="1/1000").fit(DATA, work, randomness=InsecureSeededRandomness(seed))
        for seed in range(3)
    ]
    estimate = future_error(releases, DATA, SMALL)
    assert estimate.shared
    assert len(estimate.by_repetition) == 3
    alone = [future_error(release, DATA, SMALL) for release in releases]
    assert estimate.mean == pytest.approx(np.mean([e.mean for e in alone]))
    low, high = estimate.interval
    assert low < estimate.mean < high
    assert FutureError.pooled(alone).mean == pytest.approx(estimate.mean)
    with pytest.raises(ParameterError, match="share future thresholds"):
        FutureError.pooled([estimate])


@given(st.integers(1, 200))
def test_students_t(degrees):
    assert student_t(degrees) == pytest.approx(stats.t.ppf(0.975, degrees), abs=1e-8)


def test_students_t_far_out():
    for degrees in (999, 1000, 10**6):
        assert student_t(degrees) == pytest.approx(stats.t.ppf(0.975, min(degrees, 1000)))


def t_interval(values):
    return stats.t.interval(0.95, len(values) - 1, loc=np.mean(values), scale=stats.sem(values))


errors = st.lists(st.floats(0, 1), min_size=2, max_size=8)


@given(errors)
def test_one_repetition_has_the_interval_of_its_thresholds(values):
    values = [*values, 0.25, 0.75]
    found = FutureError((tuple(values),), shared=True).interval
    assert found == pytest.approx(t_interval(values))


@given(st.lists(errors, min_size=2, max_size=6))
def test_independent_repetitions_have_the_interval_of_their_means(several):
    several = [*several, [0.2], [0.9, 0.8]]
    pooled = FutureError.pooled(FutureError((tuple(e),), shared=True) for e in several)
    assert pooled.interval == pytest.approx(t_interval([np.mean(e) for e in several]))


def test_one_error_says_nothing_about_others():
    assert FutureError(((0.5,),), shared=True).interval == (-math.inf, math.inf)


def test_one_shared_threshold_has_the_interval_of_the_repetitions():
    table = ((0.1,), (0.2,), (0.4,))
    found = FutureError(table, shared=True).interval
    assert found == pytest.approx(t_interval([0.1, 0.2, 0.4]))


@pytest.mark.parametrize(
    ("release_spread", "threshold_spread"), [(0.05, 0.0), (0.0, 0.05), (0.03, 0.04)]
)
def test_shared_thresholds_are_covered_as_promised(release_spread, threshold_spread):
    # 2000 experiments of 5 releases × 30 thresholds. Satterthwaite's degrees of freedom make the
    # coverage 95 % but for a little; an interval that covers 94 % or more fails this with a
    # probability below 1e-6. Nor may the interval be so wide that it hardly ever misses.
    source = np.random.default_rng(0)
    held, trials = 0, 2000
    for _ in range(trials):
        table = (
            0.3
            + release_spread * source.standard_normal((5, 1))
            + threshold_spread * source.standard_normal((1, 30))
            + 0.02 * source.standard_normal((5, 30))
        )
        low, high = FutureError(tuple(map(tuple, table.tolist())), shared=True).interval
        held += low <= 0.3 <= high
    assert held > stats.binom.ppf(1e-6, trials, 0.94)
    assert held < trials - 5


def test_what_is_missing_is_said():
    release = all_zero(Workload(DATA.schema, SMALL[:1]))
    for releases, drawn in (([], SMALL), (release, [])):
        with pytest.raises(ParameterError, match="at least one release and one threshold"):
            future_error(releases, DATA, drawn)
    with pytest.raises(ParameterError, match="at least one"):
        FutureError(((),), shared=False)
    with pytest.raises(ParameterError, match="equally many"):
        FutureError(((0.1,), (0.1, 0.2)), shared=True)


def test_more_draws_make_a_narrower_interval():
    release = all_zero(Workload(DATA.schema, SMALL[:1]))
    uniform = FeatureDistribution.uniform(DATA.schema)
    widths = []
    for size in (8, 200):
        low, high = future_error(
            release, DATA, draw_thresholds(uniform, 2, 1, size=size, seed=0)
        ).interval
        widths.append(high - low)
    assert widths[1] < widths[0] / 2
