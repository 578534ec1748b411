"""How far one unit moves the residuals of marginal tables, weighted by their precisions.

*Added or removed:* a row in any cell has |H_A·e|² = p_A = Π(1 - 1/d_i). The sum over all residuals
is Σ_A s_A·p_A, for every row alike.

*Replaced:* if two rows differ in the features T, then

    |H_A·(e - e')|² = 2·(p_A - Π_{i∈A∩T} (-1/d_i)·Π_{i∈A∖T} (1 - 1/d_i)),

and what counts is the largest sum F(T) over all T. All T are tried for up to `MOST_TOGETHER`
features. If there are more, features are taken out first, one after the other: the terms of F that
depend on a feature become their maximum over "it differs" and "it does not", a function of the
features that it has terms in common with. As long as these are few, nothing is lost. If they are
not, F is divided into a sum of functions of few features, and their maxima are added up, which is
at least the maximum of F.
"""

import itertools
import math
import operator
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import SupportsIndex

import numpy as np
import numpy.typing as npt

from thresher.privacy.unit import Unit

Places = tuple[int, ...]
Function = tuple[Places, npt.NDArray[np.int64]]
"""Features, and an axis of two for each: "it does not differ", and "it differs"."""

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
        features, or more with few terms in common, it is above it by rounding alone: for residuals
        of up to k features, by less than one part in 2^(41-k).

    Example:
        >>> float(squared_sensitivity([(0,), (0, 1)], (4, 2), (8, 8), Unit("add-remove")))
        9.0
        >>> float(squared_sensitivity([(0,)], (4, 2), (8,), Unit()))
        16.0
    """
    # What is equal to a whole number but computes otherwise must not get into the cache.
    places = tuple(tuple(map(_whole, features)) for features in sets)
    plain, known = tuple(map(_whole, precisions)), tuple(map(_whole, sizes))
    # In units of 2^-shift, the sum has at most `BITS` bits, and each term is rounded up.
    shift = BITS - (2 * sum(plain)).bit_length()
    of_records = _replaced if unit.neighbours == "replace" else _added
    total = of_records(places, known, plain, shift)
    return unit.scale**2 * Fraction(total, 2**shift)


def _whole(number: SupportsIndex) -> int:
    return int.__int__(operator.index(number))


def _added(sets: Sequence[Places], sizes: Places, precisions: Sequence[int], shift: int) -> int:
    return sum(
        _rounded_up(s * math.prod(sizes[i] - 1 for i in features), features, sizes, shift)
        for features, s in zip(sets, precisions, strict=True)
    )


@lru_cache(4)  # a request asks for it when it is checked, and again when it is carried out
def _replaced(
    sets: tuple[Places, ...], sizes: Places, precisions: tuple[int, ...], shift: int
) -> int:
    order = _eliminable(sets)
    parts = _divided(sets, sizes) if order is None else [tuple(sorted({*itertools.chain(*sets)}))]
    having = _Having(parts)
    terms: list[list[Function]] = [[] for _ in parts]
    for features, s in zip(sets, precisions, strict=True):
        numbers = having(features)
        factors = _factors(features, sizes, 2 * s, shift, len(numbers))
        for number in numbers:
            terms[number].append((features, factors))
    return sum(_largest(part, some, order or ()) for part, some in zip(parts, terms, strict=True))


def _factors(
    features: Places, sizes: Places, weight: int, shift: int, shares: int
) -> npt.NDArray[np.int64]:
    """A share of weight·|H_A·(e - e')|²/2, as a polynomial in the indicators of "i differs".

    Its values, for every way in which the features can differ or not, are rounded up.

    Returns:
        For each subset of the features, the factor of the product of their indicators.
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


def _largest(part: Places, terms: list[Function], order: Sequence[int]) -> int:
    """The maximum of a polynomial, whose features can be taken out in some order first."""
    maxima: list[Function] = []
    left = list(part)
    for feature in order:
        mine = [term for term in terms if feature in term[0]]
        known = [function for function in maxima if feature in function[0]]
        scope = tuple(sorted({i for features, _ in (*mine, *known) for i in features}))
        table = _summed(scope, mine, known).max(axis=scope.index(feature))
        terms = [term for term in terms if feature not in term[0]]
        maxima = [function for function in maxima if feature not in function[0]]
        maxima.append((tuple(i for i in scope if i != feature), table))
        left.remove(feature)
    return int(_summed(tuple(left), terms, maxima).max())


def _summed(
    scope: Places, terms: Iterable[Function], functions: Iterable[Function]
) -> npt.NDArray[np.int64]:
    """The values of a polynomial, and of functions, added up, with an axis of two per feature."""
    step_of = {i: 1 << place for place, i in enumerate(reversed(scope))}
    sums = np.zeros(1 << len(scope), dtype=np.int64)
    for features, factors in terms:
        steps = (np.array([0, step_of[i]]) for i in features)
        sums[sum(np.ix_(*steps), np.zeros((), dtype=np.intp))] += factors
    # The value at T adds up the factors of all subsets of T.
    for place in range(len(scope)):
        halves = sums.reshape(-1, 2, 1 << place)
        halves[:, 1] += halves[:, 0]
    table = sums.reshape((2,) * len(scope))
    for features, values in functions:  # their features are in order, as those of the scope
        table += values.reshape([2 if i in features else 1 for i in scope])
    return table


def _eliminable(sets: Sequence[Places]) -> list[int] | None:
    """An order in which features can be taken out, until few enough are left.

    The next is always one that has terms in common with the fewest. None if these are too many.
    """
    beside: dict[int, set[int]] = {i: set() for features in sets for i in features}
    for features in sets:
        for i in features:
            beside[i] |= {*features} - {i}
    order: list[int] = []
    while len(beside) > MOST_TOGETHER:
        taken = min(beside, key=lambda i: (len(beside[i]), i))
        others = beside.pop(taken)
        if len(others) >= MOST_TOGETHER:
            return None
        for i in others:
            beside[i] |= others
            beside[i] -= {i, taken}
        order.append(taken)
    return order


def _divided(sets: Sequence[Places], sizes: Places) -> list[Places]:
    """The features of the functions whose sum F is; each residual has all of its in one of them.

    Features are put into groups of equal size, and each function has all groups of some residual.
    """
    used = sorted({i for features in sets for i in features}, key=lambda i: (sizes[i], i))
    most = max(map(len, sets))
    for in_group in range(max(1, MOST_TOGETHER // most), 0, -1):
        group_of = {feature: place // in_group for place, feature in enumerate(used)}
        whole = _maximal({frozenset(group_of[i] for i in features) for features in sets})
        parts = [tuple(sorted(i for i in used if group_of[i] in groups)) for groups in whole]
        if sum(1 << len(part) for part in parts) <= MOST_TRIED:
            break
    return parts


def _maximal(given: Iterable[frozenset[int]]) -> list[frozenset[int]]:
    """The sets that are part of no other, in a fixed order."""
    having = _Having(())
    ordered = sorted(given, key=lambda groups: (-len(groups), sorted(groups)))
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
