"""Distributions over features and thresholds: exact against brute force, and as they are drawn."""

import math
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from thresher.data.datasets import adult_schema
from thresher.errors import ParameterError, QueryError
from thresher.queries import Threshold
from thresher.queries.distributions import (
    FeatureDistribution,
    draw_distinct,
    draw_thresholds,
    threshold_workload,
)
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


# The distributions.


@pytest.mark.parametrize(
    "distribution",
    [
        FeatureDistribution.uniform(ADULT),
        FeatureDistribution.zipf(ADULT, seed=3),
        FeatureDistribution.geometric(ADULT, seed=3),
        FeatureDistribution.geometric(ADULT, seed=3, p=0.9),
    ],
)
def test_probabilities_add_up(distribution):
    assert math.fsum(distribution.probabilities) == pytest.approx(1, abs=1e-12)
    assert [p for _, p in distribution.descending()] == sorted(
        distribution.probabilities, reverse=True
    )


def test_the_tails_are_those_of_their_names():
    zipf = [p for _, p in FeatureDistribution.zipf(ADULT, seed=0).descending()]
    assert [zipf[0] / p for p in zipf] == pytest.approx(list(range(1, 15)))
    square = [p for _, p in FeatureDistribution.zipf(ADULT, seed=0, exponent=2).descending()]
    assert square[0] / square[2] == pytest.approx(9)
    geometric = [p for _, p in FeatureDistribution.geometric(ADULT, seed=0, p=0.25).descending()]
    assert [b / a for a, b in pairwise(geometric)] == pytest.approx([0.75] * 13)


def test_the_order_of_features_is_random_and_repeatable():
    likeliest = [FeatureDistribution.zipf(ADULT, seed=s).descending()[0][0] for s in range(40)]
    assert len(set(likeliest)) > 5
    assert FeatureDistribution.zipf(ADULT, seed=4) == FeatureDistribution.zipf(ADULT, seed=4)


@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [
        ({"age": 0.5}, ParameterError, "add up to 1, not to 0.5"),
        ({"age": -0.5, "sex": 1.5}, ParameterError, "'age' must lie between 0 and 1"),
        ({"age": math.nan, "sex": 1.0}, ParameterError, "'age' must lie"),
        ({"age": "1"}, ParameterError, "'age' must lie"),
        ({"rage": 1.0}, QueryError, "no feature 'rage'"),
    ],
)
def test_what_a_user_gives_is_checked(wrong, error, says):
    with pytest.raises(error, match=says):
        FeatureDistribution.of(ADULT, wrong)


def test_parameters_are_checked():
    with pytest.raises(ParameterError, match="as many probabilities"):
        FeatureDistribution(ADULT, [1.0])
    for p in (0, 1, -1, math.nan):
        with pytest.raises(ParameterError, match="p must"):
            FeatureDistribution.geometric(ADULT, seed=0, p=p)
    for exponent in (0, -1, math.nan, math.inf):
        with pytest.raises(ParameterError, match="exponent"):
            FeatureDistribution.zipf(ADULT, seed=0, exponent=exponent)


# The thresholds.


@given(
    weights=st.lists(st.floats(1e-3, 1), min_size=2, max_size=7),
    data=st.data(),
)
def test_a_thresholds_chance_is_the_normalised_product(weights, data):
    total = math.fsum(weights)
    schema = schema_of(*[2] * len(weights))
    distribution = FeatureDistribution(schema, [w / total for w in weights])
    k = data.draw(st.integers(1, len(weights)))
    for subset, chance in by_definition(distribution, k).items():
        assert distribution.chance(Threshold(subset)) == pytest.approx(chance, rel=1e-9)


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
