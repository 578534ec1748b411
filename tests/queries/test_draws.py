"""Thresholds as they are drawn: exact against brute force, and against their distribution."""

import math
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from thresher.data.datasets import adult_schema
from thresher.errors import ParameterError, QueryError
from thresher.queries import FeatureDistribution, Threshold, Workload
from thresher.queries.draws import draw_distinct, draw_thresholds, threshold_workload
from thresher.schema import Schema
from thresher.schema.features import Categorical

FALSE_ALARM = 1e-7
ADULT = adult_schema()


def schema_of(*sizes):
    return Schema(
        Categorical(
            name=name, categories=tuple(map(str, range(size))), outside="0", nulls="0"
        )
        for name, size in zip("abcdefgh", sizes, strict=False)
    )  # fmt: skip


SMALL = schema_of(2, 3, 4, 5, 6)
SKEWED = FeatureDistribution(SMALL, (0.4, 0.05, 0.3, 0.05, 0.2))


def by_definition(distribution, k):
    """The normalised product of the features' probabilities, for every subset."""
    products = {
        subset: math.prod(distribution[name] for name in subset)
        for subset in combinations(distribution.schema.names, k)
    }
    total = math.fsum(products.values())
    return {subset: product / total for subset, product in products.items()}


PINNED = [
    ("race", "hours-per-week"),
    ("occupation", "race"),
    ("occupation", "sex", "capital-gain"),
    ("sex", "hours-per-week", "income"),
]


def test_the_same_seed_gives_the_thresholds_of_the_first_build():
    focused = FeatureDistribution.zipf(ADULT, seed=3)
    drawn = (
        *draw_thresholds(focused, 2, size=1, seed=4),
        *threshold_workload(focused, 2, size=1, seed=5, max_queries=100),
        *Workload.random(ADULT, 3, size=1, seed=6),
        *Workload.random(ADULT, 3, size=1, seed=6, max_queries=1000),
    )
    assert [threshold.features for threshold in drawn] == PINNED


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_draws_follow_the_product(k):
    draws = draw_thresholds(SKEWED, k, 1, size=20_000, seed=7)
    expected = by_definition(SKEWED, k)
    seen = dict.fromkeys(expected, 0)
    for threshold in draws:
        seen[threshold.features] += 1
    if k == 5:
        assert seen == {SMALL.names: 20_000}
        return
    chances = [expected[s] * 20_000 for s in expected]
    assert min(chances) > 20
    assert stats.chisquare(list(seen.values()), chances).pvalue > FALSE_ALARM
    if k == 2:  # and not successive sampling: the test can tell
        p = {name: SKEWED[name] for name in SMALL.names}
        successive = [20_000 * p[a] * p[b] * (1 / (1 - p[a]) + 1 / (1 - p[b])) for a, b in expected]
        assert stats.chisquare(list(seen.values()), successive).pvalue < FALSE_ALARM


def test_without_replacement_each_draw_is_from_what_is_left():
    # The chance of every ordered pair of thresholds, by definition.
    chance = by_definition(SKEWED, 4)
    runs, seen = 8000, {}
    for seed in range(runs):
        first, second = draw_distinct(SKEWED, 4, size=2, seed=seed)
        pair = (first.features, second.features)
        seen[pair] = seen.get(pair, 0) + 1
    expected = {
        (a, b): runs * chance[a] * chance[b] / (1 - chance[a])
        for a in chance
        for b in chance
        if a != b
    }
    assert min(expected.values()) > 20
    counts = [seen.get(pair, 0) for pair in expected]
    assert sum(counts) == runs
    assert stats.chisquare(counts, list(expected.values())).pvalue > FALSE_ALARM


@given(
    limit=st.integers(1, 200),
    k=st.integers(1, 5),
    taken=st.integers(0, 10),
    seed=st.integers(0, 10),
)
def test_all_thresholds_within_the_filter_are_drawn_once_and_no_others(limit, k, taken, seed):
    fits = [
        Threshold(s) for s in combinations(SMALL.names, k)
        if Threshold(s).query_count(SMALL) <= limit
    ]  # fmt: skip
    excluded = [Threshold(s) for s in combinations(SMALL.names, k)][:taken]
    left = set(fits) - set(excluded)
    if not left:
        with pytest.raises(ParameterError, match="no threshold"):
            draw_distinct(SKEWED, k, size=1, seed=seed, max_queries=limit, excluding=excluded)
        return
    drawn = draw_distinct(
        SKEWED, k, size=len(left), seed=seed, max_queries=limit, excluding=excluded * 2
    )
    assert len(drawn) == len(left)
    assert set(drawn) == left
    with pytest.raises(ParameterError, match=f"only {len(left)} thresholds"):
        draw_distinct(
            SKEWED, k, size=len(left) + 1, seed=seed, max_queries=limit, excluding=excluded
        )
    assert set(draw_thresholds(SKEWED, k, size=30, seed=seed, max_queries=limit)) <= set(fits)


def test_even_what_is_hopelessly_rare_is_drawn_when_nothing_else_is_left():
    focused = FeatureDistribution.geometric(ADULT, seed=0, p=0.999)
    everything = threshold_workload(focused, 3, 2, size=364, seed=0)
    assert len(everything) == 364
    assert {t.r for t in everything} == {2}


def test_features_without_probability_are_never_drawn():
    two = FeatureDistribution.of(ADULT, {"age": 0.5, "sex": 0.5})
    assert set(draw_thresholds(two, 2, size=50, seed=0)) == {Threshold(("age", "sex"))}
    with pytest.raises(ParameterError, match="no threshold of 3 features"):
        draw_thresholds(two, 3, size=1, seed=0)
    with pytest.raises(ParameterError, match="only 1 thresholds"):
        threshold_workload(two, 2, size=2, seed=0)


def test_with_replacement_a_workload_holds_what_was_drawn_once():
    drawn = draw_thresholds(SKEWED, 2, 1, size=30, seed=5)
    work = threshold_workload(SKEWED, 2, 1, size=30, seed=5, replacement=True)
    assert work.thresholds == tuple(dict.fromkeys(drawn))
    assert len(work) <= 10 < len(drawn)


def test_many_features_are_no_trouble():
    wide = Schema(
        Categorical(name=f"f{i}", categories=("0", "1"), outside="0", nulls="0")
        for i in range(1200)
    )
    drawn = draw_distinct(FeatureDistribution.zipf(wide, seed=0), 3, size=20, seed=0)
    assert len(set(drawn)) == 20


@pytest.mark.parametrize(
    ("k", "size", "says"), [(0, 1, "k must"), (15, 1, "k must"), (2, 0, "size")]
)
def test_sizes_are_checked(k, size, says):
    uniform = FeatureDistribution.uniform(ADULT)
    for draw in (draw_thresholds, draw_distinct, threshold_workload):
        with pytest.raises(ParameterError, match=says):
            draw(uniform, k, size=size, seed=0)
    with pytest.raises(QueryError, match="over 2 features"):
        draw_distinct(uniform, 2, size=1, seed=0, excluding=[Threshold(("age",))])
