"""From marginal tables to the table of all consistent queries of an r-of-k threshold.

For a threshold (S, r) and the marginal tables M_A over A ⊆ S,

    T_r(y) = Σ_{i=r..k} (-1)^(i-r) C(i-1, r-1) Σ_{A⊆S, |A|=i} M_A(y_A),

whatever the marginals count: private records, or relaxed rows. (Inclusion–exclusion for "at
least r of k events", with the events x_f = y_f.)
"""

import math
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from threading import Lock
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from thresher.errors import ResourceError
from thresher.queries.threshold import Threshold
from thresher.schema import Schema
from thresher.tables.slabs import MEMORY_CEILING, Slab

Table = npt.NDArray[np.number[Any]]
Axes = tuple[int, ...]

MOST_REMEMBERED = MEMORY_CEILING // 64
"""The most cells of sums that are remembered from one slab for others.

A table over k features has about 2^k such sums, so for large k not all of them fit.
"""

OVERHEAD = 256
"""What a sum that is remembered takes beyond its cells, in cells: its name and the array's head."""

SMALL = 1 << 16
"""Of a table of at most so many cells, whole slabs are remembered, and no sums over fewer axes."""

WORTH_COMPILING = 1 << 16
"""In tables of so many cells, a compiled kernel adds up. To load it takes half a second."""

Answers = Callable[[Slab], Table]
"""The answers to all consistent queries of one threshold, slab by slab."""

AnswersOf = Callable[[Threshold], Answers]
"""The answers of one source (records, relaxed rows, noisy tables) to any threshold."""


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


class RememberedSums:
    """Sums of tables that are kept for other slabs, the latest first; several threads may share it.

    Args:
        most: The most cells that are kept; `MOST_REMEMBERED` if not given. Every sum counts as
            `OVERHEAD` cells more than it has.

    Example:
        >>> sums = RememberedSums(most=300)
        >>> for name in "ab":
        ...     sums.keep(name, np.zeros(2))
        >>> sums.get("a") is None, sums.get("b").size
        (True, 2)
    """

    def __init__(self, most: int | None = None) -> None:
        self._most = MOST_REMEMBERED if most is None else most
        self._kept: OrderedDict[Hashable, Table] = OrderedDict()
        self._cells, self._lock = 0, Lock()

    def get(self, name: Hashable) -> Table | None:
        """The sum of this name, if it is still there."""
        with self._lock:
            table = self._kept.get(name)
            if table is not None:
                self._kept.move_to_end(name)
            return table

    def keep(self, name: Hashable, table: Table) -> None:
        """Keep a sum, and forget those that were last asked for the longest ago."""
        with self._lock:
            if table.size + OVERHEAD > self._most or name in self._kept:
                return
            # Counted first: an interruption may leave the number too large, never too small.
            self._cells += table.size + OVERHEAD
            self._kept[name] = table
            while self._cells > self._most and len(self._kept) > 1:
                self._cells -= self._kept.popitem(last=False)[1].size + OVERHEAD
            if len(self._kept) == 1:
                self._cells = table.size + OVERHEAD


class ThresholdTable:
    """The table of all consistent queries of an r-of-k threshold, one slab at a time.

    It is a sum of marginals. Sums over axes that do not change from one slab to another are
    remembered. So walking in order is fastest, but the cells of a slab do not depend on the order.

    Args:
        marginals: The marginal tables over subsets of the threshold's k axes.
        k: The number of axes.
        r: How many of the k values must match.
        sums: Where sums are remembered, if it is shared with other tables.
        name: What tells this table from the others there.
    """

    def __init__(
        self,
        marginals: Marginals,
        k: int,
        r: int,
        sums: RememberedSums | None = None,
        name: Hashable = None,
    ) -> None:
        self.marginals, self.k, self.r = marginals, k, r
        self._sums, self._name = sums or RememberedSums(), name

    def __call__(self, slab: Slab) -> Table:
        """The cells of a slab."""
        every = tuple(range(self.k))
        if math.prod(slab.table) <= SMALL:
            return self._recalled(slab, (), every).copy()
        return self._sum(slab, (), every)

    def _sum(self, slab: Slab, chosen: Axes, free: Axes) -> Table:
        """Σ over all A with chosen ⊆ A ⊆ chosen ∪ free, as a table over chosen ∪ free.

        Each A other than the largest is visited once: through the first free axis that it lacks.
        """
        axes = chosen + free
        total = self._term(axes, slab.onto(axes))
        if len(axes) > self.r:
            part = self._sum if math.prod(slab.table) <= SMALL else self._recalled
            lacking = [part(slab, chosen + free[:i], free[i + 1 :]) for i in range(len(free))]
            add = _add_compiled if math.prod(slab.table) >= WORTH_COMPILING else _add
            add(total, lacking, [axes.index(axis) for axis in free])
        return total

    def _term(self, axes: Axes, slab: Slab) -> Table:
        """A marginal, times its weight."""
        table = self.marginals.marginal(axes, slab)
        weight = coefficient(len(axes), self.r)
        if weight != 1:
            table *= weight
        return table

    def _recalled(self, slab: Slab, chosen: Axes, free: Axes) -> Table:
        """The same sum, taken from an earlier slab if one had it too."""
        name = (self._name, chosen, free, slab.onto(chosen + free))
        table = self._sums.get(name)
        if table is None:
            table = self._sum(slab, chosen, free)
            self._sums.keep(name, table)
        return table


def _add(total: Table, lacking: Sequence[Table], axes: Sequence[int]) -> None:
    """Add tables that each lack one axis of `total`, in order."""
    for table, axis in zip(lacking, axes, strict=True):
        total += np.expand_dims(table, axis)


def _add_compiled(total: Table, lacking: Sequence[Table], axes: Sequence[int]) -> None:
    """The same, to the last bit, by a kernel."""
    tables = (total, *lacking)
    if len({table.dtype for table in tables}) > 1 or not all(t.flags.c_contiguous for t in tables):
        _add(total, lacking, axes)
        return
    # numba takes half a second to import, and small tables do without.
    from thresher.tables.broadcast_kernels import add_lacking

    add_lacking(total, tuple(lacking), tuple(axes))


def check_fits(threshold: Threshold, schema: Schema, memory: int = MEMORY_CEILING) -> None:
    """Raise a ResourceError if the table of a threshold needs more than the memory ceiling."""
    cells = threshold.query_count(schema)
    if 8 * cells > memory:
        raise ResourceError(
            f"the table of {threshold} has {cells} cells and needs more than the memory ceiling "
            f"of {memory} bytes: raise it, or walk the table with exact_slabs"
        )
