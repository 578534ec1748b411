"""From marginal tables to the table of all consistent queries of an r-of-k threshold.

For a threshold (S, r) and the marginal tables M_A over A ⊆ S,

    T_r(y) = Σ_{i=r..k} (-1)^(i-r) C(i-1, r-1) Σ_{A⊆S, |A|=i} M_A(y_A),

whatever the marginals count: private records, or relaxed rows. (Inclusion–exclusion for "at
least r of k events", with the events x_f = y_f.)
"""

import math
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from thresher.tables.slabs import SLAB_CELLS, Slab, slabs_of

Table = npt.NDArray[np.number[Any]]
Axes = tuple[int, ...]


class Marginals(Protocol):
    """Something with a marginal table over every set of axes of one threshold."""

    def marginal(self, axes: Axes, slab: Slab) -> Table:
        """The part of the marginal table over `axes` that lies in `slab`, as a fresh array."""
        ...


def coefficient(i: int, r: int) -> int:
    """The weight of the marginals over i features in the table of an r-of-k threshold.

    Example:
        >>> [coefficient(i, r=2) for i in (1, 2, 3, 4)]
        [0, 1, -2, 3]
    """
    return (-1) ** (i - r) * math.comb(i - 1, r - 1) if i >= r else 0


def threshold_slabs(
    marginals: Marginals, shape: tuple[int, ...], r: int, cells: int = SLAB_CELLS
) -> Iterator[tuple[Slab, Table]]:
    """Walk the table of all consistent queries of an r-of-k threshold, slab by slab.

    Args:
        marginals: The marginal tables over subsets of the threshold's k axes.
        shape: The shape of the whole table.
        r: How many of the k values must match.
        cells: The most cells of a slab. A handful of tables of this size are held at once.
    """
    kept: dict[tuple[Axes, Slab], Table] = {}
    for slab in slabs_of(shape, cells):
        step = _SlabSum(marginals, slab, r, kept)
        yield slab, step.table(chosen=(), free=tuple(range(len(shape))))
        kept = step.used


class _SlabSum:
    """The identity on one slab; sums that the next slab will need again are kept for it."""

    def __init__(
        self, marginals: Marginals, slab: Slab, r: int, kept: dict[tuple[Axes, Slab], Table]
    ) -> None:
        self.marginals, self.slab, self.r, self.kept = marginals, slab, r, kept
        self.used: dict[tuple[Axes, Slab], Table] = {}

    def table(self, chosen: Axes, free: Axes) -> Table:
        """Σ over all A with chosen ⊆ A ⊆ chosen ∪ free, as a table over chosen ∪ free.

        Each A other than the largest is reached once: through the first free axis it lacks.
        """
        axes = chosen + free
        total = self.marginals.marginal(axes, self.slab.onto(axes))
        weight = coefficient(len(axes), self.r)
        if weight != 1:
            total *= weight
        if len(axes) > self.r:
            for i, axis in enumerate(free):
                rest = self.remembered(chosen + free[:i], free[i + 1 :])
                total += np.expand_dims(rest, axes.index(axis))
        return total

    def remembered(self, chosen: Axes, free: Axes) -> Table:
        """The same sum, from the last slab if it is the same there."""
        key = (chosen, self.slab.onto(chosen + free))
        table = self.kept.get(key)
        if table is None:
            table = self.table(chosen, free)
        self.used[key] = table
        return table
