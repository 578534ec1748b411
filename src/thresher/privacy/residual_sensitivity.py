"""How far one unit moves the residuals of marginal tables, weighted by their precisions.

*Added or removed:* a row in any cell has |H_A·e|² = p_A = Π(1 - 1/d_i). The sum over all residuals
is Σ_A s_A·p_A, for every row alike.

*Replaced:* if two rows differ in the features T, then

    |H_A·(e - e')|² = 2·(p_A - Π_{i∈A∩T} (-1/d_i)·Π_{i∈A∖T} (1 - 1/d_i)),

and what counts is the largest sum F(T) over all T. With up to `MOST_TOGETHER` features, all T are
tried. With more, F is divided into a sum of functions of so many features, and their maxima are
added up. That is at least the maximum of F.
"""

import itertools
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from thresher.privacy.unit import Unit

Places = tuple[int, ...]

MOST_TOGETHER = 22
"""The most features whose differences are all tried: 4 million ways, in a tenth of a second."""

MOST_TRIED = 1 << 27
"""The most ways that are tried for all functions together, where F is divided."""

BITS = 62
"""Sums stay below 2^62."""


def squared_sensitivity(
    sets: Sequence[Places], sizes: Sequence[int], precisions: Sequence[int], unit: Unit
) -> Fraction:
    """The largest Σ_A s_A·|H_A·Δ_A|² over all neighbours, rounded up; with many features, a bound.

    The sum is a convex function of the tables that a unit's rows make up. So it is largest where
    all of these rows are in one cell, which has S of them (`Unit.scale`), and S² times what it is
    for single records.

    Args:
        sets: The features of each residual, as places in the schema.
        sizes: The numbers of values of all features, at least 2 where a residual has them.
        precisions: The s_A, whole numbers from 1 to 2^40, of up to 2^20 residuals.
        unit: What neighbours differ in.

    Returns:
        At least the maximum. If units are added or removed, or there are up to `MOST_TOGETHER`
        features, it is above it by rounding alone: for residuals of up to k features, by less than
        one part in 2^(41-k).

    Example:
        >>> float(squared_sensitivity([(0,), (0, 1)], (4, 2), (8, 8), Unit("add-remove")))
        9.0
        >>> float(squared_sensitivity([(0,)], (4, 2), (8,), Unit()))
        16.0
    """
    # In units of 2^-shift, the sum has at most `BITS` bits, and each term is rounded up.
    shift = BITS - (2 * sum(precisions)).bit_length()
    of_records = _replaced if unit.neighbours == "replace" else _added
    total = of_records(tuple(sets), tuple(sizes), tuple(precisions), shift)
    return unit.scale**2 * Fraction(total, 2**shift)


def _added(sets: Sequence[Places], sizes: Places, precisions: Sequence[int], shift: int) -> int:
    return sum(
        _rounded_up(s * math.prod(sizes[i] - 1 for i in features), features, sizes, shift)
        for features, s in zip(sets, precisions, strict=True)
    )


@lru_cache(4)  # a request asks for it when it is checked, and again when it is carried out
def _replaced(
    sets: tuple[Places, ...], sizes: Places, precisions: tuple[int, ...], shift: int
) -> int:
    parts = _divided(sets, sizes)
    having = _Having(parts)
    # Each function as a polynomial in "feature i differs": for each set of features, a factor.
    members: list[list[tuple[Places, npt.NDArray[np.int64]]]] = [[] for _ in parts]
    for features, s in zip(sets, precisions, strict=True):
        numbers = having(features)
        factors = _factors(features, sizes, 2 * s, shift, len(numbers))
        for number in numbers:
            members[number].append((features, factors))
    return sum(_largest(part, contents) for part, contents in zip(parts, members, strict=True))


def _factors(
    features: Places, sizes: Places, weight: int, shift: int, shares: int
) -> npt.NDArray[np.int64]:
    """The factors of the terms of a share of weight·|H_A·(e - e')|²/2, an axis of two per feature.

    Its values, for every way in which the features can differ or not, are rounded up.
    """
    whole = math.prod(sizes[i] - 1 for i in features)
    choices = itertools.product(*((sizes[i] - 1, -1) for i in features))
    values = np.array(
        [
            _rounded_up(weight * (whole - math.prod(chosen)), features, sizes, shift, shares)
            for chosen in choices
        ],
        dtype=np.int64,
    ).reshape((2,) * len(features))
    for axis in range(len(features)):
        along = np.moveaxis(values, axis, 0)
        along[1] -= along[0]
    return values


def _largest(part: Places, contents: Iterable[tuple[Places, npt.NDArray[np.int64]]]) -> int:
    """The maximum of a polynomial over all ways in which some features can differ or not."""
    bit_of = {feature: 1 << place for place, feature in enumerate(part)}
    sums = np.zeros(1 << len(part), dtype=np.int64)
    for features, factors in contents:
        steps = [np.array([0, bit_of[feature]]) for feature in features]
        sums[sum(np.ix_(*steps), np.zeros((), dtype=np.intp))] += factors
    # The value at T adds up the factors of all subsets of T.
    for place in range(len(part)):
        halves = sums.reshape(-1, 2, 1 << place)
        halves[:, 1] += halves[:, 0]
    return int(sums.max())


def _divided(sets: Sequence[Places], sizes: Places) -> list[Places]:
    """The features of the functions whose sum F is; each residual has all of its in one of them.

    Features are put into groups of equal size, and each function has all groups of some residual.
    """
    used = sorted({i for features in sets for i in features}, key=lambda i: (sizes[i], i))
    if len(used) <= MOST_TOGETHER:
        return [tuple(used)]
    most = max(map(len, sets))
    for in_group in range(max(1, MOST_TOGETHER // most), 0, -1):
        group_of = {feature: place // in_group for place, feature in enumerate(used)}
        whole = _maximal({frozenset(group_of[i] for i in features) for features in sets})
        parts = [tuple(i for i in used if group_of[i] in groups) for groups in whole]
        if sum(1 << len(part) for part in parts) <= MOST_TRIED:
            break
    return parts


def _maximal(given: Iterable[frozenset[int]]) -> list[frozenset[int]]:
    """The sets that are part of no other, in a fixed order."""
    ordered = sorted(given, key=lambda groups: (-len(groups), sorted(groups)))
    having = _Having([])
    return [one for one in ordered if having.adds(one)]


class _Having:
    """Finds the sets, among some, that have all members of another."""

    def __init__(self, known: Iterable[Iterable[int]]) -> None:
        self._of: dict[int, set[int]] = {}
        self._count = 0
        for one in known:
            self._add(one)

    def __call__(self, wanted: Iterable[int]) -> list[int]:
        """Their numbers, ascending."""
        return sorted(set.intersection(*(self._of.get(i, set()) for i in wanted)))

    def adds(self, one: Iterable[int]) -> bool:
        """Add a set unless one of those known has it; whether it was added."""
        if self(one):
            return False
        self._add(one)
        return True

    def _add(self, one: Iterable[int]) -> None:
        for i in one:
            self._of.setdefault(i, set()).add(self._count)
        self._count += 1


def _rounded_up(number: int, features: Places, sizes: Places, shift: int, shares: int = 1) -> int:
    """One of equal shares of a number over Π d_i, in units of 2^-shift."""
    return -((-number << shift) // (shares * math.prod(sizes[i] for i in features)))
