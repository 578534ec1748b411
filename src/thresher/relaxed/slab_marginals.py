"""The answers of D' to an r-of-k threshold from few numbers of each row, slab by slab.

In a row of D', most values of a feature have the same share c: 0 at the start of RAP, and later
some small number, because a projection moves all values that no query named alike. So a row's
shares are c, and a few deviations e from it. By the table identity,

    T_r(y) = Σ_{B⊆S} mean over rows of w_B · Π_{f∈B} e_f(y_f),

    w_B = Σ_j coefficient(|B|+j, r) · (sum of the products of j of the c of features outside B),

which is a sum of tables that are filled from the deviations alone.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.queries.threshold import Threshold
from thresher.relaxed.heavy_cells import SparseColumns, SparseRows
from thresher.relaxed.marginal import WalkedTable
from thresher.schema import Schema
from thresher.tables.slabs import Slab
from thresher.tables.threshold_table import Axes, Table, coefficient

ADD_TO_CELL = 40.0
"""Adding a number to a cell takes as long as so many multiply-adds of a matrix product."""

LONG = 32
"""The last axes are combined until a row has so many combinations of their values."""

SMALLEST_FILLED = 1 << 16
"""Smaller tables take milliseconds either way, and a product needs no compiled kernel."""

MOST_SETS = 1 << 6
"""The most sets of axes that sums are kept of: all of six features, and without bases more."""


def filling_takes_less(sparse: SparseRows, features: Sequence[int]) -> bool:
    """Whether a table takes less work from deviations than by a matrix product.

    The ratio is fixed, and not measured, so that answers have the same digits on every run.

    Args:
        sparse: D'.
        features: The features of the table, by position.
    """
    cells = math.prod(sparse.rows.sizes[feature] for feature in features)
    if cells < SMALLEST_FILLED:
        return False
    # Not the product of means: a row with many values of one feature may have many of another.
    combinations = np.prod(
        [sparse.deviations(f).columns.per_row for f in features], axis=0, dtype=np.float64
    )
    return ADD_TO_CELL * float(combinations.sum()) < sparse.rows.count * float(cells)


def has_few_sets(sparse: SparseRows, schema: Schema, threshold: Threshold) -> bool:
    """Whether the sums over sets of axes that `FilledAnswers` keeps are few.

    Args:
        sparse: D'.
        schema: The features of D'.
        threshold: The threshold.
    """
    least, k = _least_axes(sparse, schema, threshold), threshold.k
    return sum(math.comb(k, size) for size in range(least, k + 1)) <= MOST_SETS


def walking_work(shape: Sequence[int], rows: int) -> float:
    """About how many multiply-adds of a matrix product all answers of D' to an r-of-k table take.

    It is known before there is a D', for rows that are as those of RAP: of d values, about √(2d)
    have another share than most.

    Args:
        shape: How many values each feature has.
        rows: The number of rows of D'.
    """
    cells = float(math.prod(shape))
    if cells < SMALLEST_FILLED:
        return rows * cells
    combinations = math.prod(min(size, math.sqrt(2 * size) + 0.5) for size in shape)
    return rows * min(cells, ADD_TO_CELL * combinations)


class FilledTable:
    """A table over some features, slab by slab: the sum over rows of products of their numbers.

    Args:
        columns: The numbers of each feature, in the order of the axes.
        weights: What the products of each row are multiplied by.

    Example:
        >>> from thresher.relaxed.rows import RelaxedRows
        >>> rows = RelaxedRows.from_codes((2, 3), np.array([[1, 0], [1, 2], [1, 2], [0, 2]]))
        >>> columns = [SparseRows(rows).columns(feature) for feature in (0, 1)]
        >>> table = FilledTable(columns, np.full(4, 0.25, np.float32))
        >>> table(Slab((2, 3), (range(1, 2), range(3)))).tolist()
        [[0.25, 0.0, 0.5]]
    """

    def __init__(self, columns: Sequence[SparseColumns], weights: NDArray[np.float32]) -> None:
        self.numbers, self._weights = _Numbers.of(columns), weights

    def __call__(self, slab: Slab) -> NDArray[np.float32]:
        """The cells of a slab."""
        # numba takes half a second to import, and small tables do without.
        from thresher.relaxed.slab_kernels import fill_slab

        table = np.zeros(slab.shape, dtype=np.float32)
        axes = np.arange(len(slab.shape))
        fill_slab(*self.numbers, axes, *_box(slab), self._weights, LONG, table.reshape(-1))
        return table


class _Numbers(NamedTuple):
    """The numbers of several features, one after another, as kernels take them."""

    starts: NDArray[np.int64]
    codes: NDArray[np.int32]
    shares: NDArray[np.float32]
    most: NDArray[np.int64]

    @classmethod
    def of(cls, columns: Sequence[SparseColumns]) -> "_Numbers":
        offsets = np.cumsum([0, *(len(column.codes) for column in columns)])
        starts = np.array([c.starts + o for c, o in zip(columns, offsets[:-1], strict=True)])
        return cls(
            starts,
            np.concatenate([column.codes for column in columns]),
            np.concatenate([column.shares for column in columns]),
            # A row without numbers of one axis still combines those of the axes before it.
            np.maximum(1, np.diff(starts, axis=1).max(axis=1)),
        )


def _box(slab: Slab) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first value of each axis that lies in a slab, and how many do."""
    lows = np.array([indices.start for indices in slab.ranges], dtype=np.int64)
    return lows, np.array(slab.shape, dtype=np.int64)


class FilledAnswers:
    """The answers of D' to all consistent queries of a threshold, from the deviations of its rows.

    The sums over fewer than all axes are kept from slab to slab, as long as their axes stay. So
    walking in order is fastest, but the cells of a slab do not depend on the order.

    Args:
        sparse: D'.
        schema: The features of D'.
        threshold: The threshold.

    Attributes:
        sparse: D'.
    """

    def __init__(self, sparse: SparseRows, schema: Schema, threshold: Threshold) -> None:
        from thresher.relaxed.slab_kernels import weights_of_sets

        self.sparse = sparse
        self._sets = _sets_of(threshold.shape(schema), _least_axes(sparse, schema, threshold))
        parts = [sparse.deviations(schema.index(name)) for name in threshold.features]
        coefficients = [coefficient(i, threshold.r) for i in range(threshold.k + 1)]
        self._weights = weights_of_sets(
            np.array([part.base for part in parts], dtype=np.float64),
            np.array(coefficients, dtype=np.float64),
            np.vstack((self._sets.members, np.ones(threshold.k, dtype=np.bool_))),
        )
        self._whole = FilledTable([part.columns for part in parts], self._weights[-1])
        # Taken out while in use: another thread, or a call after an interruption, begins anew.
        self._kept: list[_KeptSums] = []

    def __call__(self, slab: Slab) -> Table:
        """The cells of a slab."""
        from thresher.relaxed.slab_kernels import fill_below
        from thresher.tables.broadcast_kernels import add_lacking

        lows, sizes = _box(slab)
        try:
            kept = self._kept.pop()
        except IndexError:
            kept = _KeptSums.of(self._sets.members, sizes)
        if (sizes > kept.room).any():
            kept = _KeptSums.of(self._sets.members, np.maximum(sizes, kept.room))
        moved = (lows != kept.lows) | (sizes != kept.sizes)
        fill_below(
            *self._whole.numbers,
            lows,
            sizes,
            self._weights,
            LONG,
            *self._sets,
            (self._sets.members & moved).any(axis=1) | kept.is_new,
            kept.offsets,
            kept.sums,
        )
        total = self._whole(slab)
        lacking = {
            int(axis): kept.sums[start : start + total.size // slab.shape[axis]]
            for heir, axis, start in zip(
                self._sets.heirs, self._sets.lacks, kept.offsets, strict=True
            )
            if heir == len(self._sets.heirs)
        }
        add_lacking(total, tuple(lacking.values()), tuple(lacking))
        self._kept.append(replace(kept, lows=lows, sizes=sizes, is_new=False))
        return total


class _Sets(NamedTuple):
    """The sets of axes, but for that of all, over which there are sums, as kernels take them."""

    members: NDArray[np.bool_]
    heirs: NDArray[np.int64]
    lacks: NDArray[np.int64]


@lru_cache(maxsize=1 << 10)
def _sets_of(shape: tuple[int, ...], least: int) -> _Sets:
    """The sets of at least so many axes of a table."""
    k = len(shape)
    sets = [axes for size in range(least, k + 1) for axes in combinations(range(k), size)]
    places = {axes: place for place, axes in enumerate(sets)}
    # To add a table to one with one axis more is least work if that is the shortest it lacks.
    lacks = [min((shape[a], a) for a in range(k) if a not in axes)[1] for axes in sets[:-1]]
    heirs = [
        places[tuple(sorted((*axes, axis)))] for axes, axis in zip(sets[:-1], lacks, strict=True)
    ]
    members = [[axis in axes for axis in range(k)] for axes in sets[:-1]]
    return _Sets(
        np.array(members, dtype=np.bool_).reshape(-1, k),
        np.array(heirs, dtype=np.int64),
        np.array(lacks, dtype=np.int64),
    )


def _least_axes(sparse: SparseRows, schema: Schema, threshold: Threshold) -> int:
    """Sets of fewer axes have no weight: if no row has a base, those of fewer than r."""
    parts = (sparse.deviations(schema.index(name)) for name in threshold.features)
    return 0 if any(part.base.any() for part in parts) else threshold.r


@dataclass(frozen=True, eq=False)
class _KeptSums:
    """Sums over sets of axes, of the slab that was looked at last.

    Attributes:
        room: The largest slab that they have room for.
        offsets: Where the sums over each set begin.
        sums: All sums.
        lows: Where that slab begins.
        sizes: How large it is.
        is_new: Whether there was none.
    """

    room: NDArray[np.int64]
    offsets: NDArray[np.int64]
    sums: NDArray[np.float32]
    lows: NDArray[np.int64]
    sizes: NDArray[np.int64]
    is_new: bool = True

    @classmethod
    def of(cls, members: NDArray[np.bool_], room: NDArray[np.int64]) -> "_KeptSums":
        """Room for slabs of up to some size."""
        cells = np.where(members, room, 1).prod(axis=1)
        sums = np.empty(cells.sum(), np.float32)
        return cls(room, np.cumsum(cells) - cells, sums, room, room)


class RowMarginals:
    """The marginal tables of D' over subsets of a threshold's features, by matrix products.

    Args:
        sparse: D'.
        schema: The features of D'.
        threshold: The threshold.

    Attributes:
        sparse: D'.
    """

    def __init__(self, sparse: SparseRows, schema: Schema, threshold: Threshold) -> None:
        self.sparse, self._schema, self._names = sparse, schema, threshold.features
        self._table = cache(self._table_over)

    def marginal(self, axes: Axes, slab: Slab) -> Table:
        """The part of a marginal table that lies in a slab."""
        return self._table(axes)(slab)

    def _table_over(self, axes: Axes) -> WalkedTable:
        names = [self._names[axis] for axis in axes]
        return WalkedTable(self.sparse.rows, self._schema, Threshold(names))
