"""Distributions over features, and what they mean for thresholds: exact against brute force."""

import math
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.data.datasets import adult_schema
from thresher.errors import ParameterError, QueryError
from thresher.queries import FeatureDistribution, Threshold
from thresher.schema import Schema
from thresher.schema.features import Categorical

ADULT = adult_schema()


def schema_of(*sizes):
    return Schema(
        Categorical(
            name=name, categories=tuple(map(str, range(size))), outside="0", nulls="0"
        )
        for name, size in zip("abcdefgh", sizes, strict=False)
    )  # fmt: skip


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
