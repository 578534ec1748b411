"""Marginal tables of D' over subsets of a threshold's features, slab by slab.

They are made from the nonzero numbers of D', or by matrix products, whichever takes less work.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thresher.queries.threshold import Threshold
from thresher.relaxed.heavy_cells import SparseRows
from thresher.relaxed.marginal import WalkedTable
from thresher.schema import Schema
from thresher.tables.slabs import Slab
from thresher.tables.threshold_table import Axes, Table

ADD_TO_CELL = 40.0
"""Adding a number to a cell takes as long as so many multiply-adds of a matrix product."""

LONG = 32
"""The last axes are combined until a row has so many combinations of their values."""

SMALLEST_FILLED = 1 << 16
"""Smaller tables take milliseconds either way, and a product needs no compiled kernel."""


def filling_takes_less(sparse: SparseRows, features: Sequence[int]) -> bool:
    """Whether a marginal takes less work from the nonzero numbers than by a matrix product.

    The ratio is fixed, and not measured, so that answers have the same digits on every run.

    Args:
        sparse: D', with its nonzero numbers.
        features: The features of the marginal, by position.
    """
    cells = math.prod(sparse.rows.sizes[feature] for feature in features)
    if cells < SMALLEST_FILLED:
        return False
    # Not the product of means: a row with many values of one feature may have many of another.
    combinations = np.prod([sparse.columns(f).per_row for f in features], axis=0, dtype=np.float64)
    return ADD_TO_CELL * float(combinations.sum()) < sparse.rows.count * float(cells)


def walking_work(shape: Sequence[int], rows: int) -> float:
    """About how many multiply-adds of a matrix product all answers of D' to an r-of-k table take.

    It is known before there is a D', for rows that are as dense as those that RAP starts from: of d
    values, about √(2d) are not zero.

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
    """The marginal table of D' over some features, slab by slab, from its nonzero numbers.

    Args:
        sparse: D', with its nonzero numbers.
        features: The features, by position, in the order of the axes.

    Example:
        >>> from thresher.relaxed.rows import RelaxedRows
        >>> rows = RelaxedRows.from_codes((2, 3), np.array([[1, 0], [1, 2], [1, 2], [0, 2]]))
        >>> FilledTable(SparseRows(rows), (0, 1))(Slab((2, 3), (range(1, 2), range(3)))).tolist()
        [[0.25, 0.0, 0.5]]
    """

    def __init__(self, sparse: SparseRows, features: Sequence[int]) -> None:
        columns = [sparse.columns(feature) for feature in features]
        offsets = np.cumsum([0, *(len(column.codes) for column in columns)])
        self._starts = np.array([c.starts + o for c, o in zip(columns, offsets[:-1], strict=True)])
        self._codes = np.concatenate([column.codes for column in columns])
        self._shares = np.concatenate([column.shares for column in columns])
        per_row = np.array([column.per_row for column in columns])
        cut = len(features) - 1
        while cut and per_row[cut:].prod(axis=0).mean() < LONG:
            cut -= 1
        self._cut = cut
        self._per_row = per_row
        self._scale = np.float32(1.0 / sparse.rows.count)

    def __call__(self, slab: Slab) -> NDArray[np.float32]:
        """The masses of the cells of a slab."""
        # numba takes half a second to import, and small tables do without.
        from thresher.relaxed.slab_kernels import fill_slab

        table = np.zeros(slab.shape, dtype=np.float32)
        sizes = np.array(slab.shape, dtype=np.int64)
        lows = np.array([indices.start for indices in slab.ranges], dtype=np.int64)
        most = np.minimum(self._per_row, sizes[:, None])
        room = [most[: self._cut].prod(axis=0).max(), most[self._cut :].prod(axis=0).max()]
        fill_slab(
            self._starts,
            self._codes,
            self._shares,
            lows,
            sizes,
            self._cut,
            self._scale,
            np.maximum(room, 1),
            table.reshape(-1),
        )
        return table


class RowMarginals:
    """The marginal tables of D' over subsets of a threshold's features.

    Args:
        sparse: D', with its nonzero numbers.
        schema: The features of D'.
        threshold: The threshold.

    Attributes:
        sparse: D'.
    """

    def __init__(self, sparse: SparseRows, schema: Schema, threshold: Threshold) -> None:
        self.sparse, self._schema, self._names = sparse, schema, threshold.features
        self._tables: dict[Axes, FilledTable | WalkedTable] = {}

    def marginal(self, axes: Axes, slab: Slab) -> Table:
        """The part of a marginal table that lies in a slab."""
        if axes not in self._tables:
            names = [self._names[axis] for axis in axes]
            features = [self._schema.index(name) for name in names]
            self._tables[axes] = (
                FilledTable(self.sparse, features)
                if filling_takes_less(self.sparse, features)
                else WalkedTable(self.sparse.rows, self._schema, Threshold(names))
            )
        return self._tables[axes](slab)
