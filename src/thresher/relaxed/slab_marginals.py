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
from functools import cache
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

    _box: tuple[NDArray[np.int64], NDArray[np.int64]]

    def __init__(self, sparse: SparseRows, schema: Schema, threshold: Threshold) -> None:
        from thresher.relaxed.slab_kernels import weights_of_sets

        self.sparse, self._k = sparse, threshold.k
        parts = [sparse.deviations(schema.index(name)) for name in threshold.features]
        coefficients = [coefficient(i, threshold.r) for i in range(self._k + 1)]
        bases = np.array([part.base for part in parts], dtype=np.float64)
        self._weights = weights_of_sets(bases, np.array(coefficients, dtype=np.float64))
        self._whole = FilledTable([part.columns for part in parts], self._weights[-1])
        shape = threshold.shape(schema)
        self._heirs = np.array([_heir(chosen, shape) for chosen in range((1 << self._k) - 1)])
        self._make_room(np.zeros(self._k, np.int64))

    def __call__(self, slab: Slab) -> Table:
        """The cells of a slab."""
        from thresher.relaxed.slab_kernels import fill_below
        from thresher.tables.broadcast_kernels import add_lacking

        lows, sizes = _box(slab)
        if (sizes > self._room).any():
            self._make_room(np.maximum(sizes, self._room))
        moved = (lows != self._box[0]) | (sizes != self._box[1])
        is_stale = (np.arange(len(self._heirs)) & int(moved @ (1 << np.arange(self._k)))) > 0
        is_stale[0] = True
        fill_below(
            *self._whole.numbers,
            lows,
            sizes,
            self._weights,
            LONG,
            self._heirs,
            is_stale,
            self._offsets,
            self._sums,
        )
        self._box = (lows, sizes)
        total, axes = self._whole(slab), range(self._k)
        every = (1 << self._k) - 1
        starts = [int(self._offsets[every ^ 1 << axis]) for axis in axes]
        lacking = [
            self._sums[start : start + total.size // size]
            for start, size in zip(starts, slab.shape, strict=True)
        ]
        add_lacking(total, tuple(lacking), tuple(axes))
        return total

    def _make_room(self, sizes: NDArray[np.int64]) -> None:
        """Room for the sums of slabs of up to these sizes; those that were there are lost."""
        sets = range(len(self._heirs))
        cells = [math.prod(sizes[axes_of(chosen, self._k)].tolist()) for chosen in sets]
        self._room, self._offsets = sizes, np.cumsum([0, *cells[:-1]])
        self._sums = np.empty(sum(cells), np.float32)
        nowhere = np.full(self._k, -1)
        self._box = (nowhere, nowhere)


def axes_of(chosen: int, k: int) -> list[int]:
    """The axes of a set that is written as a number with a bit for each."""
    return [axis for axis in range(k) if chosen >> axis & 1]


def _heir(chosen: int, shape: Sequence[int]) -> int:
    """The shortest axis that a set lacks: to add its table to one with that axis is least work."""
    return min((size, axis) for axis, size in enumerate(shape) if not chosen >> axis & 1)[1]


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
