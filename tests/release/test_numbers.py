"""Means, sums, quantiles and histograms: exact on exact shares, with intervals that hold."""

from dataclasses import replace

import numpy as np
import pytest

import thresher as th
from thresher.data.records import Records
from thresher.errors import ParameterError, QueryError
from thresher.privacy.randomness import InsecureSeededRandomness

SCHEMA = th.Schema(
    (
        th.IntegerRange(name="age", low=20, high=59, nulls=20),
        th.Bins(name="pay", edges=tuple(range(0, 101, 10)), nulls="unknown", extra=("unknown",)),
        th.Categorical(name="sex", categories=("F", "M"), outside="M", nulls="M"),
    )
)
N = 20_000


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    age = np.clip(rng.normal(38, 9, N).astype(int), 20, 59) - 20
    sex = (rng.random(N) < 0.5).astype(int)
    pay = np.clip(rng.exponential(25, N) + 5 * sex, 0, 99.9)
    return age, pay, sex


def release_of(people, seed):
    age, pay, sex = people
    bins = np.where(pay > 95, 10, (pay // 10).astype(int))
    data = Records(SCHEMA, [c.astype(np.uint8) for c in (age, bins, sex)])
    work = th.Workload(SCHEMA, [th.Threshold(("age", "sex")), th.Threshold(("pay", "sex"))])
    auto = th.Auto(epsilon=1.0, synthetic_rows=1000)
    return auto.fit(data, work, randomness=InsecureSeededRandomness(seed))


@pytest.fixture(scope="module")
def release(people):
    return release_of(people, seed=3)


def test_means_are_by_middles_of_bins(release):
    shares = [release.answer(f"pay={low}") for low in range(0, 100, 10)]
    middles = np.arange(5, 100, 10)
    mean = release.numbers("pay").mean()
    assert mean == pytest.approx(np.dot(shares, middles) / np.sum(shares))
    assert mean.error_bar > 10 / 4 - 1e-9  # numbers need not be spread evenly over bins
    ages = release.numbers("age").mean()
    assert ages.low < ages < ages.high


def test_intervals_hold_the_truth(people):
    """95 % of them should. Of 144 that depend on each other, 90 % may by chance."""
    held = [found for seed in range(8) for found in intervals_that_hold(people, seed)]
    assert np.mean(held) >= 0.9


def intervals_that_hold(people, seed):
    age, pay, sex = people
    release = release_of(people, seed)
    for where in (None, "sex=F", {"sex": "M"}):
        kept = np.ones(N, bool) if where is None else sex == (0 if where == "sex=F" else 1)
        ages, pays = release.numbers("Age", where=where), release.numbers("pay", where=where)
        known = kept & (pay <= 95)
        for found, truth in (
            (ages.mean(), age[kept].mean() + 20),
            (ages.sum(), (age[kept] + 20).sum()),
            (ages.quantile(0.5), np.median(age[kept]) + 20),
            (ages.quantile(0.9), np.quantile(age[kept], 0.9) + 20),
            (pays.mean(), pay[known].mean()),
            (pays.quantile(0.25), np.quantile(pay[known], 0.25)),
        ):
            assert found.error_bar < max(truth / 4, 10)  # a bin of pay is 10 wide
            yield found.low <= truth <= found.high


def test_quantiles_at_the_ends(release):
    ages = release.numbers("age")
    assert ages.quantile(0) == 20
    assert ages.quantile(1) == 59
    with pytest.raises(ParameterError, match="part must be a number from 0 to 1"):
        ages.quantile(50)


def test_histograms_add_up(release):
    histogram = release.numbers("age").histogram(bins=7)
    assert histogram.index[0] == (20, 25)
    assert histogram.index[-1] == (56, 59)
    assert histogram["share"].sum() == pytest.approx(1.0, abs=1e-3)
    first = release.answer("age=20..25")
    assert histogram["count"].iloc[0] == pytest.approx(first.count)
    assert release.numbers("pay").histogram(2).index.tolist() == [(0, 50), (50, 100)]
    with pytest.raises(ParameterError, match="bins must be"):
        release.numbers("age").histogram(0)


def test_what_has_no_numbers(release):
    with pytest.raises(QueryError, match="'sex' has no numbers"):
        release.numbers("sex")
    with pytest.raises(QueryError, match="nobody with a number"):
        release.numbers("pay", where="pay=unknown")


def test_nobody_in_any_cell(release):
    """Single cells of a measured table may be corrected to 0 where a range of them is not."""
    key = frozenset({"age", "sex"})
    source = replace(release.source, surpluses={**release.source.surpluses, key: 1.0})
    without = replace(release, source=source)
    assert without.answer("sex=F, age=20..59") > 0
    with pytest.raises(QueryError, match="nobody with a number"):
        without.numbers("age", where="sex=F")


def test_no_interval_extends_beyond_the_numbers_of_the_schema(people):
    """With next to no budget, noise alone would allow for means and sums below 0."""
    age, pay, sex = people
    bins = np.where(pay > 95, 10, (pay // 10).astype(int))
    data = Records(SCHEMA, [c.astype(np.uint8) for c in (age, bins, sex)])
    work = th.Workload(SCHEMA, [th.Threshold(("pay", "sex"))])
    auto = th.Auto(epsilon=0.001, synthetic_rows=50)
    release = auto.fit(data, work, randomness=InsecureSeededRandomness(4))
    numbers = release.numbers("pay", where="sex=F")
    mean, total = numbers.mean(), numbers.sum()
    assert (mean.low, mean.high) == (0.0, 100.0)
    assert 0.0 == total.low <= total <= total.high <= 100.0 * release.n
    assert mean.error_bar == max(mean, 100.0 - mean)
