"""Thresholds drawn from a feature distribution: historical and future workloads."""

import random
from collections.abc import Iterable

from thresher.errors import ParameterError
from thresher.queries.distributions import FeatureDistribution
from thresher.queries.subsets import Subsets
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload


def draw_thresholds(
    distribution: FeatureDistribution,
    k: int,
    r: int | None = None,
    *,
    size: int,
    seed: int,
    max_queries: int | None = None,
) -> tuple[Threshold, ...]:
    """Thresholds drawn independently, so that one can come up again: W_F in the paper.

    Args:
        distribution: How likely each feature is.
        k: Features per threshold.
        r: How many must match; k if not given.
        size: How many to draw.
        seed: The same seed gives the same thresholds.
        max_queries: Draw only thresholds with at most so many queries.

    Example:
        >>> from thresher.data import datasets
        >>> uniform = FeatureDistribution.uniform(datasets.adult_schema())
        >>> future = draw_thresholds(uniform, 3, 1, size=1000, seed=0)
        >>> len(future), len(set(future)) <= 364
        (1000, True)
    """
    subsets = distribution.subsets(k, max_queries)
    _check_size(subsets, size)
    source = random.Random(seed)
    return tuple(Threshold(subsets.draw(source), r) for _ in range(size))


def threshold_workload(
    distribution: FeatureDistribution,
    k: int,
    r: int | None = None,
    *,
    size: int,
    seed: int,
    replacement: bool = False,
    max_queries: int | None = None,
) -> Workload:
    """A workload of thresholds drawn from a distribution: W_H in the paper.

    Args:
        distribution: How likely each feature is.
        k: Features per threshold.
        r: How many must match; k if not given.
        size: How many to draw.
        seed: The same seed gives the same workload.
        replacement: Whether a threshold can be drawn again, as in the paper's definition. The
            workload lists each threshold once, so it may have fewer than `size`. If False, each
            draw is from those not drawn before, and there are `size` different ones.
        max_queries: Draw only thresholds with at most so many queries.

    Example:
        >>> from thresher.data import datasets
        >>> focused = FeatureDistribution.geometric(datasets.adult_schema(), seed=0)
        >>> len(threshold_workload(focused, 3, size=64, seed=0))
        64
        >>> len(threshold_workload(focused, 3, size=64, seed=0, replacement=True)) < 64
        True
    """
    if replacement:
        drawn = draw_thresholds(distribution, k, r, size=size, seed=seed, max_queries=max_queries)
        return Workload(distribution.schema, dict.fromkeys(drawn))
    listed = draw_distinct(distribution, k, r, size=size, seed=seed, max_queries=max_queries)
    return Workload(distribution.schema, listed)


def draw_distinct(
    distribution: FeatureDistribution,
    k: int,
    r: int | None = None,
    *,
    size: int,
    seed: int,
    max_queries: int | None = None,
    excluding: Iterable[Threshold] = (),
) -> tuple[Threshold, ...]:
    """Different thresholds, each drawn from those that are neither excluded nor drawn before.

    Args:
        distribution: How likely each feature is.
        k: Features per threshold.
        r: How many must match; k if not given.
        size: How many to draw.
        seed: The same seed gives the same thresholds.
        max_queries: Draw only thresholds with at most so many queries.
        excluding: Thresholds over k features that must not be drawn, whatever their r.

    Raises:
        ParameterError: There are fewer than `size`.
    """
    subsets = distribution.subsets(k, max_queries)
    for threshold in excluding:
        subsets.remove(threshold.features)
    _check_size(subsets, size)
    source = random.Random(seed)
    listed = []
    for done in range(size):
        if not subsets.total:
            raise ParameterError(
                f"only {done} thresholds of {k} features can be drawn; {size} were asked for"
            )
        features = subsets.draw(source)
        subsets.remove(features)
        listed.append(Threshold(features, r))
    return tuple(listed)


def _check_size(subsets: Subsets, size: int) -> None:
    if size < 1:
        raise ParameterError(f"the size of a workload must be at least 1, not {size}")
    if not subsets.total:
        limit = subsets.max_queries
        filtered = "" if limit is None else f" with at most {limit} queries"
        raise ParameterError(
            f"no threshold of {subsets.k} features{filtered} has a probability above 0: give more "
            "features a probability, or choose a smaller k"
        )
