"""Groups of a feature's values that are drawn as one bar, row or column."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from thresher.schema.features import Bins, Feature


@dataclass(frozen=True)
class Group:
    """Values of a feature that are drawn as one."""

    label: str
    codes: tuple[int, ...]


def groups_of(
    feature: Feature, most: int, shares: Callable[[], Sequence[float]]
) -> tuple[Group, ...]:
    """About `most` groups of values, at the most: neighbouring values, or the rarest categories.

    Args:
        feature: The feature.
        most: How many groups there may be. Labels beyond the numbers of a feature come on top.
        shares: Gives the share of each value. Only categories without an order are sorted by it.

    Example:
        >>> gain = Bins.equal("gain", low=0, high=100_000, bins=100, nulls=0)
        >>> [group.label for group in groups_of(gain, most=4, shares=list)][:2]
        ['0–25,000', '25,000–50,000']
    """
    if not feature.has_order:
        return _categories(feature, most, shares())
    numbers = feature.size - len(feature.extra)
    step = -(-numbers // most)
    parts = (range(start, min(start + step, numbers)) for start in range(0, numbers, step))
    return (
        *(Group(_span(feature, codes[0], codes[-1]), tuple(codes)) for codes in parts),
        *(Group(feature.labels[code], (code,)) for code in range(numbers, feature.size)),
    )


def _categories(feature: Feature, most: int, shares: Sequence[float]) -> tuple[Group, ...]:
    order = [int(code) for code in np.argsort(-np.asarray(shares), kind="stable")]
    shown = len(order) if len(order) <= most else most - 1
    groups = [Group(feature.labels[code], (code,)) for code in order[:shown]]
    if rest := tuple(sorted(order[shown:])):
        groups.append(Group(f"{len(rest):,} others", rest))
    return tuple(groups)


def _span(feature: Feature, first: int, last: int) -> str:
    """Values from one code to another, by their true ends: a bin ends where the next begins."""
    if isinstance(feature, Bins):
        return f"{_number(feature.edges[first])}–{_number(feature.edges[last + 1])}"
    labels = feature.labels
    return labels[first] if first == last else f"{labels[first]}–{labels[last]}"


def _number(edge: float) -> str:
    whole = edge.is_integer() and abs(edge) < 1e15
    return f"{edge:,.0f}" if whole else repr(edge)
