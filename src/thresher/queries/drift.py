"""Drift: how interests move from the past to the future (Definition *Exact & Drifting*)."""

import random
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from thresher.errors import ParameterError, QueryError
from thresher.queries.distributions import FeatureDistribution
from thresher.queries.history import History

FUTURE_ERROR = ((0.0, 1.0), (0.11, 1.02), (0.31, 1.49), (0.51, 2.13), (0.98, 3.49))
"""Total variation, and future error as a multiple of that without drift, measured.

RAP on ADULT with 4 historical thresholds, 40 repetitions (docs/reproduction.md, drift-effect).
"""

SPLITS, CONFIDENCE, SPLIT_SEED = 400, 0.95, 0
"""How often two logs are mixed and split at random, to see what chance does. It is public."""

WORTH = 1.5
"""A new release is advised where future error is expected to be so many times what it was."""


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


@dataclass(frozen=True)
class Drift:
    """How far interests have moved from one log to a later one.

    Attributes:
        old: What was asked before.
        new: What was asked since, over the same schema.

    Example:
        >>> from thresher.data import datasets
        >>> schema = datasets.adult_schema()
        >>> old = History.from_log(["sex=Male, race=White"] * 50, schema)
        >>> new = History.from_log(["sex=Male, age=40"] * 50, schema)
        >>> drift = Drift(old, new)
        >>> drift.variation, drift.variation > drift.by_chance, drift.covered
        (0.5, True, 0.0)
        >>> round(drift.error_factor, 1)
        2.1
    """

    old: History
    new: History

    @property
    def variation(self) -> float:
        """The total variation between the two empirical feature distributions."""
        return total_variation(self.old.features, self.new.features)

    @cached_property
    def by_chance(self) -> float:
        """What the total variation stays below in 95 % of cases if nothing has moved.

        The queries of both logs are mixed, and split at random into two logs of the same lengths.
        """
        pooled = dict.fromkeys((*self.old.workload, *self.new.workload), 0)
        for history in (self.old, self.new):
            for threshold, asked in zip(history.workload, history.times, strict=True):
                pooled[threshold] += asked
        schema = self.old.workload.schema
        times = np.array(list(pooled.values()))
        names = [[schema.index(name) for name in threshold.features] for threshold in pooled]
        names_feature = np.zeros((len(pooled), len(schema)))
        for row, features in zip(names_feature, names, strict=True):
            row[features] = 1.0
        drawn = np.random.default_rng(SPLIT_SEED).multivariate_hypergeometric(
            times, self.old.asked, size=SPLITS, method="marginals"
        )
        one, other = drawn @ names_feature, (times - drawn) @ names_feature
        shares = one / one.sum(axis=1, keepdims=True) - other / other.sum(axis=1, keepdims=True)
        return float(np.quantile(np.abs(shares).sum(axis=1) / 2, CONFIDENCE))

    @property
    def covered(self) -> float:
        """The share of new queries whose features stand together in a threshold of the old log."""
        known = [set(threshold.features) for threshold in self.old.workload]
        counted = zip(self.new.workload, self.new.times, strict=True)
        inside = (t for one, t in counted if any({*one.features} <= had for had in known))
        return sum(inside) / self.new.asked

    @property
    def error_factor(self) -> float:
        """Future error (Section 5 of the paper) as a multiple of that without drift.

        Read off our measurements of RAP with a small history, where drift matters most.
        """
        places, factors = zip(*FUTURE_ERROR, strict=True)
        return float(np.interp(self.variation, places, factors))

    @property
    def is_worth_a_release(self) -> bool:
        """Whether interests moved by more than chance, and far enough to matter."""
        return self.variation > self.by_chance and self.error_factor >= WORTH
