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

import numpy as np
from numpy.typing import NDArray

from thresher.queries.threshold import Threshold
from thresher.relaxed.heavy_cells import SparseColumns, SparseRows
from thresher.relaxed.marginal import WalkedTable
from thresher.schema import Schema
from thresher.tables.slabs import Slab
from thresher.tables.threshold_table import Axes, SubsetSums, Table, coefficient

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
        offsets = np.cumsum([0, *(len(column.codes) for column in columns)])
        self._starts = np.array([c.starts + o for c, o in zip(columns, offsets[:-1], strict=True)])
        self._codes = np.concatenate([column.codes for column in columns])
        self._shares = np.concatenate([column.shares for column in columns])
        per_row = np.array([column.per_row for column in columns])
        cut = len(columns) - 1
        while cut and per_row[cut:].prod(axis=0).mean() < LONG:
            cut -= 1
        self._cut = cut
        # A row without numbers of one axis still combines those of the axes before it.
        self._most = [max(1, most) for most in per_row.max(axis=1).tolist()]
        self._weights = weights

    def __call__(self, slab: Slab) -> NDArray[np.float32]:
        """The cells of a slab."""
        # numba takes half a second to import, and small tables do without.
        from thresher.relaxed.slab_kernels import fill_slab

        table = np.zeros(slab.shape, dtype=np.float32)
        sizes = np.array(slab.shape, dtype=np.int64)
        lows = np.array([indices.start for indices in slab.ranges], dtype=np.int64)
        most = [min(numbers, size) for numbers, size in zip(self._most, slab.shape, strict=True)]
        room = [math.prod(most[: self._cut]), math.prod(most[self._cut :])]
        fill_slab(
            self._starts,
            self._codes,
            self._shares,
            lows,
            sizes,
            self._cut,
            self._weights,
            np.array(room),
            table.reshape(-1),
        )
        return table


class FilledAnswers(SubsetSums):
    """The answers of D' to all consistent queries of a threshold, from the deviations of its rows.

    Args:
        sparse: D'.
        schema: The features of D'.
        threshold: The threshold.

    Attributes:
        sparse: D'.
    """

    def __init__(self, sparse: SparseRows, schema: Schema, threshold: Threshold) -> None:
        self.sparse, self._r = sparse, threshold.r
        self._parts = [sparse.deviations(schema.index(name)) for name in threshold.features]
        is_based = any(part.base.any() for part in self._parts)
        super().__init__(threshold.k, least=0 if is_based else threshold.r)
        self._table = cache(self._table_over)

    def term(self, axes: Axes, slab: Slab) -> Table:
        """The products of deviations over some axes."""
        if not axes:
            return np.array(self._weights(axes).sum())
        return self._table(axes)(slab)

    def _table_over(self, axes: Axes) -> FilledTable:
        return FilledTable([self._parts[axis].columns for axis in axes], self._weights(axes))

    def _weights(self, axes: Axes) -> NDArray[np.float32]:
        """w_B of every row, over the number of rows."""
        count = self.sparse.rows.count
        sums = np.zeros((1 + self.k - len(axes), count))
        sums[0] = 1.0 / count
        for axis in set(range(self.k)) - set(axes):
            sums[1:] += self._parts[axis].base * sums[:-1]
        weights = [coefficient(len(axes) + j, self._r) for j in range(len(sums))]
        return np.asarray(weights @ sums, dtype=np.float32)


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
