"""The cells of a marginal table where D' has much mass, without walking all cells.

A row of D' spreads its mass 1/n' over the product of its nonzero values, and no cell has more mass
than each row gives to the cell of fewer features that it is a part of, times the largest share that
the row gives to a value of each further feature. So a depth-first search over the features finds
every heavy cell, and leaves out each group of cells none of which can be heavy.
At most 1/least cells have a mass of at least `least`, however many cells there are.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thresher.relaxed.rows import RelaxedRows

SLACK = 1e-6
"""Rounding makes a cell heavier than the group that it is a part of by less than this, a feature.

It is of the relative mass: float32 numbers up to 1, added up in double precision.
"""

DENSE = 0.25
"""If more than this part of a feature's numbers are nonzero, adding up all of them is faster."""

DENSE_STEP = 0.2
"""How long a multiply-add takes there, compared with one that looks up its place."""


@dataclass(frozen=True, eq=False)
class SparseColumns:
    """The nonzero numbers of one feature's columns of D', row by row.

    Attributes:
        starts: Where each row's numbers start, and their number at the end.
        codes: The values of the feature that have them.
        shares: The numbers.
        largest: The largest number of each row.
    """

    starts: NDArray[np.int64]
    codes: NDArray[np.int32]
    shares: NDArray[np.float32]
    largest: NDArray[np.float32]

    @classmethod
    def of(cls, block: NDArray[np.float32]) -> "SparseColumns":
        """The nonzero numbers of a block of columns (values × rows)."""
        starts = np.zeros(block.shape[1] + 1, dtype=np.int64)
        np.cumsum(np.count_nonzero(block, axis=0), out=starts[1:])
        codes = np.empty(starts[-1], dtype=np.int32)
        shares = np.empty(starts[-1], dtype=np.float32)
        # numba takes half a second to import, and most readers of D' never search.
        from thresher.relaxed.heavy_kernels import gather

        gather(block, starts[:-1].copy(), codes, shares)
        return cls(starts, codes, shares, block.max(axis=0))

    @property
    def are_shares(self) -> bool:
        """Whether all numbers are positive and none is above 1, as in every D'."""
        largest = np.float32(1.0 + SLACK / 2)
        return bool(((self.shares > 0) & (self.shares <= largest)).all())

    @property
    def per_row(self) -> NDArray[np.int64]:
        """How many nonzero numbers each row has."""
        return np.diff(self.starts)


@dataclass(frozen=True, eq=False)
class Deviations:
    """One feature's columns of D' as a share of each row that most values have, and the rest.

    Attributes:
        base: That share, row by row; all 0 if D' has fewer nonzero numbers than others.
        columns: What the shares of the other values deviate from it.
    """

    base: NDArray[np.float32]
    columns: SparseColumns

    @classmethod
    def of(cls, block: NDArray[np.float32], nonzeros: SparseColumns) -> "Deviations":
        """Those of a block of columns (values × rows), whose nonzero numbers are known."""
        middle = block.shape[0] // 2
        # A share that most values have is the median.
        base = np.partition(block, middle, axis=0)[middle]
        if np.count_nonzero(block != base) >= len(nonzeros.codes):
            return cls(np.zeros_like(base), nonzeros)
        return cls(base, SparseColumns.of(block - base))


class SparseRows:
    """The nonzero numbers of D', feature by feature, found when they are first needed.

    Args:
        rows: D'; must not change while this object is used.

    Example:
        >>> rows = RelaxedRows.from_codes((2, 3), np.array([[1, 0], [1, 2], [1, 2], [0, 2]]))
        >>> cells, masses = SparseRows(rows).heavy_cells((0, 1), least=0.3)
        >>> cells.tolist(), masses.tolist()
        ([5], [0.5])
    """

    def __init__(self, rows: RelaxedRows) -> None:
        self.rows = rows
        self._columns: dict[int, SparseColumns] = {}
        self._deviations: dict[int, Deviations] = {}
        self._row_major: dict[int, NDArray[np.float32]] = {}

    def columns(self, feature: int) -> SparseColumns:
        """The nonzero numbers of one feature."""
        if feature not in self._columns:
            self._columns[feature] = SparseColumns.of(self.rows.block(feature))
        return self._columns[feature]

    def deviations(self, feature: int) -> Deviations:
        """The numbers of one feature as a share that most values have, and the rest."""
        if feature not in self._deviations:
            block = self.rows.block(feature)
            self._deviations[feature] = Deviations.of(block, self.columns(feature))
        return self._deviations[feature]

    def heavy_cells(
        self, features: Sequence[int], least: float, most_steps: float = math.inf
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
        """All cells of the table over some features whose mass is at least a positive number.

        Args:
            features: The features, in the order of the table's axes.
            least: The smallest mass of a cell that is listed.
            most_steps: About how many multiply-adds it may take.

        Returns:
            The places of the cells in C order, ascending; and the masses. None if it takes more.
        """
        ordered = self._ordered(features)
        columns = [self.columns(feature) for feature in ordered]
        offsets = np.cumsum([0, *(len(column.codes) for column in columns)])
        starts = np.array(
            [column.starts + offset for column, offset in zip(columns, offsets[:-1], strict=True)]
        )
        sizes = [self.rows.sizes[feature] for feature in features]
        strides = {feature: math.prod(sizes[i + 1 :]) for i, feature in enumerate(features)}
        from thresher.relaxed.heavy_kernels import search

        dense = self._dense(ordered[-1])
        per_row = [len(column.codes) / self.rows.count for column in columns]
        if len(dense):
            per_row[-1] = DENSE_STEP * dense.shape[1]
        cells, masses, is_complete = search(
            starts,
            np.concatenate([column.codes for column in columns]),
            np.concatenate([column.shares for column in columns]),
            offsets,
            np.array([strides[feature] for feature in ordered], dtype=np.int64),
            max(sizes),
            self._later(ordered),
            dense,
            least * self.rows.count,
            least * self.rows.count * (1.0 - len(sizes) * SLACK),
            np.array(per_row),
            most_steps,
        )
        if not is_complete:
            return None
        order = np.argsort(cells)
        return cells[order], masses[order] / self.rows.count

    def masses_at(self, features: Sequence[int], cells: NDArray[np.int64]) -> NDArray[np.float64]:
        """The masses of some cells, to the last bit those of `heavy_cells`."""
        sizes = [self.rows.sizes[feature] for feature in features]
        strides = {feature: math.prod(sizes[i + 1 :]) for i, feature in enumerate(features)}
        ordered = self._ordered(features)
        codes = np.array(
            [cells // strides[feature] % self.rows.sizes[feature] for feature in ordered]
        ).reshape(len(ordered), -1)
        first = self.rows.offsets[list(ordered)]
        masses = np.empty(len(cells))
        from thresher.relaxed.heavy_kernels import add_masses

        add_masses(self.rows.columns, codes + first[:, None], masses)
        return masses / self.rows.count

    def _later(self, ordered: Sequence[int]) -> NDArray[np.float64]:
        """For each depth and row, the largest share of a cell of the features to come."""
        later = np.ones((len(ordered), self.rows.count))
        for depth in range(len(ordered) - 1, 0, -1):
            later[depth - 1] = later[depth] * self.columns(ordered[depth]).largest
        return later

    def _dense(self, feature: int) -> NDArray[np.float32]:
        """The shares of a feature with their zeros (rows × values) if these are few, or no rows."""
        if feature not in self._row_major:
            block = self.rows.block(feature)
            is_dense = len(self.columns(feature).codes) > DENSE * block.size
            kept = block.T if is_dense else block.T[:0]
            self._row_major[feature] = np.ascontiguousarray(kept)
        return self._row_major[feature]

    def _ordered(self, features: Sequence[int]) -> list[int]:
        """Those with the fewest nonzero numbers first: then the fewest groups are made."""
        return sorted(features, key=lambda feature: (len(self.columns(feature).codes), feature))
