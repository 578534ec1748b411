"""Drift as in Definition *Exact & Drifting*, and total variation."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from thresher.data.datasets import adult_schema
from thresher.errors import ParameterError, QueryError
from thresher.queries.distributions import FeatureDistribution
from thresher.queries.drift import Drift, drifted, total_variation
from thresher.queries.history import History
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.schema import Schema

ADULT = adult_schema()
PAST = FeatureDistribution.geometric(ADULT, seed=1)
THREE = Schema(ADULT.features[:3])
FALSE_ALARM = 1e-7


def by_definition(past, gamma, seed):
    """The definition, letter by letter, with i from 1 to d."""
    features = sorted(past.schema.names, key=lambda name: -past[name])
    d = len(features)
    source = random.Random(seed)
    key = {}
    for i in range(1, d + 1):
        u = source.random()
        key[i] = (1 - 2 * gamma) * (d - i) / (d - 1) + (1 - abs(1 - 2 * gamma)) * u
    masses = [past[features[i - 1]] for i in sorted(key, key=lambda i: -key[i])]
    return dict(zip(features, masses, strict=True))


@given(gamma=st.floats(0, 1), seed=st.integers(0, 2**32))
def test_it_is_the_papers_definition(gamma, seed):
    future = drifted(PAST, gamma, seed=seed)
    assert {name: future[name] for name in ADULT.names} == by_definition(PAST, gamma, seed)


@given(gamma=st.floats(0, 1), seed=st.integers(0, 2**32))
def test_the_concentration_stays_the_same(gamma, seed):
    assert sorted(drifted(PAST, gamma, seed=seed).probabilities) == sorted(PAST.probabilities)


@given(seed=st.integers(0, 2**32))
def test_the_ends_are_deterministic(seed):
    assert drifted(PAST, 0, seed=seed) == PAST
    names, masses = zip(*PAST.descending(), strict=True)
    reversed_ = drifted(PAST, 1, seed=seed)
    assert [reversed_[name] for name in names] == list(reversed(masses))


@given(gamma=st.floats(0, 1), seed=st.integers(0, 2**32))
def test_nothing_is_further_away_than_the_reversal(gamma, seed):
    farthest = total_variation(PAST, drifted(PAST, 1, seed=0))
    assert total_variation(PAST, drifted(PAST, gamma, seed=seed)) <= farthest + 1e-12


def test_at_one_half_every_order_is_as_likely():
    past = FeatureDistribution(THREE, (0.5, 0.3, 0.2))
    seen = {}
    for seed in range(3000):
        order = drifted(past, 0.5, seed=seed).probabilities
        seen[order] = seen.get(order, 0) + 1
    assert len(seen) == 6
    assert stats.chisquare(list(seen.values())).pvalue > FALSE_ALARM


def test_drift_grows_with_gamma():
    # Means over 400 seeds; a standard error is below 0.01, and neighbours are 0.1 or more apart.
    means = [
        np.mean([total_variation(PAST, drifted(PAST, g, seed=s)) for s in range(400)])
        for g in (0, 0.1, 0.2, 0.4, 1)
    ]
    assert np.all(np.diff(means) > 0.05)


def test_one_feature_cannot_drift():
    alone = FeatureDistribution(Schema(ADULT.features[:1]), (1.0,))
    assert drifted(alone, 0.7, seed=0) == alone


@pytest.mark.parametrize("gamma", [-0.1, 1.1, float("nan"), "0.5"])
def test_gamma_is_checked(gamma):
    with pytest.raises(ParameterError, match="gamma must lie between 0 and 1"):
        drifted(PAST, gamma, seed=0)


@given(st.integers(0, 50), st.integers(0, 50))
def test_total_variation_is_the_largest_difference_over_sets(one, other):
    p, q = (FeatureDistribution.zipf(ADULT, seed=seed) for seed in (one, other))
    gained = [a - b for a, b in zip(p.probabilities, q.probabilities, strict=True) if a > b]
    assert total_variation(p, q) == pytest.approx(sum(gained), abs=1e-12)
    assert total_variation(p, q) == pytest.approx(total_variation(q, p))


def test_total_variation_needs_the_same_features():
    with pytest.raises(QueryError, match="different features"):
        total_variation(PAST, FeatureDistribution.uniform(THREE))


def test_chance_alone_stays_below_what_chance_does():
    # Two halves of one log differ by chance; in 95 % of splits by less than `by_chance`. Of 40
    # pairs drawn from one distribution, more than 12 exceed it with a probability below 1e-6.
    schema = adult_schema()
    work = Workload.random(schema, 2, size=20, seed=0)
    exceeded = 0
    for seed in range(40):
        source = random.Random(seed)
        old, new = (
            History.of(schema, source.choices(work.thresholds, k=60)) for _ in range(2)
        )  # fmt: skip
        drift = Drift(old, new)
        exceeded += drift.variation > drift.by_chance
    assert exceeded <= 12
    moved = History.of(schema, [Threshold(("fnlwgt", "relationship"))] * 60)
    drift = Drift(History.of(schema, [Threshold(("age", "sex"))] * 60), moved)
    assert drift.is_worth_a_release
    assert (drift.variation, drift.error_factor) == (1.0, 3.49)
