"""Drift: how interests move from the past to the future (Definition *Exact & Drifting*)."""

import random

from thresher.errors import ParameterError, QueryError
from thresher.queries.distributions import FeatureDistribution


def drifted(historical: FeatureDistribution, gamma: float, *, seed: int) -> FeatureDistribution:
    """The future distribution F_F: the same probabilities, given to other features.

    With the features in descending order of probability, the i-th probability of d gets the key
    (1 - 2γ)·(d - i)/(d - 1) + (1 - |1 - 2γ|)·u_i with u_i uniform on [0, 1]. The features stay
    where they are; the probabilities are handed to them in descending order of their keys.

    Args:
        historical: F_H.
        gamma: γ from 0 (nothing changes) over 1/2 (a uniformly random order) to 1 (the likeliest
            feature becomes the least likely, and so on).
        seed: Seeds the u_i; γ = 0 and γ = 1 do not depend on it.

    Example:
        >>> from thresher.data import datasets
        >>> past = FeatureDistribution.geometric(datasets.adult_schema(), seed=0)
        >>> drifted(past, 0, seed=1) == past
        True
        >>> round(total_variation(past, drifted(past, 1, seed=1)), 3)
        0.984
    """
    if not isinstance(gamma, int | float) or not 0 <= gamma <= 1:
        raise ParameterError(f"gamma must lie between 0 and 1, not {gamma!r}")
    source = random.Random(seed)
    ranked = historical.descending()
    last = max(1, len(ranked) - 1)
    ordering, shuffling = 1 - 2 * gamma, 1 - abs(1 - 2 * gamma)
    keys = [
        ordering * (last - place) / last + shuffling * source.random()
        for place in range(len(ranked))
    ]
    order = sorted(range(len(ranked)), key=lambda place: -keys[place])
    future = {name: ranked[place][1] for (name, _), place in zip(ranked, order, strict=True)}
    return FeatureDistribution.of(historical.schema, future)


def total_variation(one: FeatureDistribution, other: FeatureDistribution) -> float:
    """The largest difference that two distributions make to the probability of any set of features.

    Example:
        >>> from thresher.data import datasets
        >>> schema = datasets.adult_schema()
        >>> age = FeatureDistribution.of(schema, {"age": 1.0})
        >>> total_variation(age, FeatureDistribution.of(schema, {"age": 0.5, "sex": 0.5}))
        0.5
    """
    if one.schema.names != other.schema.names:
        raise QueryError("the distributions are over different features")
    pairs = zip(one.probabilities, other.probabilities, strict=True)
    return sum(abs(p - q) for p, q in pairs) / 2
