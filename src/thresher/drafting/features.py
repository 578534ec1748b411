"""Features from what is declared, or was found with noise, about a column."""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from thresher.drafting.declared import Declared
from thresher.schema.draft.guess import OTHER
from thresher.schema.draft.scales import UNKNOWN
from thresher.schema.features import Bins, Boolean, Categorical, Dates, Feature, IntegerRange

MOST_WHOLE = 32
"""Whole numbers in a range of at most so many are told apart without bins."""

MOST_CATEGORIES = 1000
STEPS = 1000
"""About how many candidates an edge of bins is chosen from."""

WIDE = 100
"""In a range at least so wide, edges are whole numbers."""

SHORT = 20
"""Dates in at most so many years are told apart by quarter."""


def candidates_of(declared: Declared, *, whole: bool) -> tuple[float, ...]:
    """Round numbers strictly inside a range, equally far apart, about a thousand of them.

    Example:
        >>> candidates_of(Declared("numbers", 0, 120), whole=True)[:3]
        (1.0, 2.0, 3.0)
        >>> candidates_of(Declared("numbers", 0, 1.5), whole=False)[:3]
        (0.002, 0.004, 0.006)
    """
    low, high = Fraction(declared.low or 0), Fraction(declared.high or 0)
    step = _round_up((high - low) / STEPS)
    if whole or high - low >= WIDE:
        step = max(Fraction(1), step)
    places = range(math.floor(low / step) + 1, math.ceil(high / step))
    inside = dict.fromkeys(float(place * step) for place in places)
    return tuple(number for number in inside if low < number < high)


def is_short(declared: Declared, *, whole: bool) -> bool:
    """Whether a range of whole numbers needs no bins."""
    return whole and float(declared.high or 0) - float(declared.low or 0) <= MOST_WHOLE


def numbers_feature(name: str, declared: Declared, edges: tuple[float, ...]) -> Feature:
    """Numbers in bins. Those outside of the range count as its ends.

    Example:
        >>> numbers_feature("age", Declared("numbers", 0, 120), (18.0, 40.0, 65.0)).labels
        ('0', '18', '40', '65', 'unknown')
    """
    ends = (float(declared.low or 0), float(declared.high or 0))
    return Bins(name=name, edges=(ends[0], *edges, ends[1]), **_unknown())


def whole_feature(name: str, declared: Declared) -> Feature:
    """Whole numbers, from the first of a range to the last below its end."""
    low, high = math.ceil(declared.low or 0), math.ceil(declared.high or 0) - 1
    return IntegerRange(name=name, low=low, high=max(low, high), **_unknown())


def dates_feature(name: str, declared: Declared) -> Feature:
    """Years, or quarters if there are few of them.

    Example:
        >>> dates_feature("born", Declared("dates", 1900, 2025)).size
        127
    """
    first, last = int(declared.low or 0), int(declared.high or 0)
    step = "quarter" if last - first < SHORT else "year"
    return Dates(
        name=name, low=f"{first:04}-01-01", high=f"{last:04}-12-31", step=step, **_unknown()
    )


def truth_feature(name: str) -> Feature:
    """Truth values; other cells are unknown."""
    return Boolean(name=name, **_unknown())


def categories_feature(name: str, counts: Mapping[str, int]) -> Feature | None:
    """The found values as categories, all others as one; None if there is none.

    Args:
        name: The column.
        counts: The found values with their noisy counts; an empty text is a blank cell.

    Example:
        >>> categories_feature("sex", {"F": 80, "M": 90, "": 40}).labels
        ('F', 'M', 'unknown', '(other)')
    """
    frequent = sorted(counts, key=lambda value: -counts[value])[:MOST_CATEGORIES]
    labels = sorted(set(frequent) - {"", OTHER, UNKNOWN})
    if not labels:
        return None
    named = [UNKNOWN] if {"", UNKNOWN} & set(frequent) else []
    return Categorical(
        name=name, categories=(*labels, *named, OTHER), outside=OTHER,
        nulls=UNKNOWN if named else OTHER,
    )  # fmt: skip


def category_shares(feature: Feature, counts: Mapping[str, int], n: int) -> dict[str, float]:
    """About how frequent each category is, by noisy counts; others have the rest, if there is any.

    Example:
        >>> counts = {"F": 60, "M": 39, "": 30}
        >>> category_shares(categories_feature("sex", counts), counts, 150)["unknown"]
        0.2
    """
    shares = dict.fromkeys(feature.labels, 0.0)
    for value, count in counts.items():
        label = value or UNKNOWN
        shares[label if label in shares else OTHER] += count / n
    shares[OTHER] += max(0.0, 1.0 - sum(shares.values()))
    return shares


def _unknown() -> dict[str, Any]:
    return {"nulls": UNKNOWN, "extra": (UNKNOWN,)}


def _round_up(step: Fraction) -> Fraction:
    """The next of 1, 2 and 5 times a power of ten.

    Example:
        >>> _round_up(Fraction(3, 10))
        Fraction(1, 2)
    """
    power = Fraction(10) ** math.floor(math.log10(step))
    return next(p * d for p in (power / 10, power, power * 10) for d in (1, 2, 5) if p * d >= step)
