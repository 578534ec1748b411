"""The cells of a marginal table where D' has much mass, without walking all cells.

A row of D' spreads its mass 1/n' over the product of its nonzero values, and no cell has more mass
than the cells of a table over fewer features that it is a part of, times the largest share that any
row gives to a value of each further feature. So a depth-first search over the features finds every
heavy cell, and leaves out each group of cells none of which can be heavy.
At most 1/least cells have a mass of at least `least`, however many cells there are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from thresher.relaxed.rows import RelaxedRows

SLACK = 1e-6
"""Rounding makes a cell heavier than the group that it is a part of by less than this, a feature.

It is of the relative mass: float32 numbers up to 1, added up in double precision.
"""

DENSE = 0.25
"""If more than this part of a feature's numbers are nonzero, adding up all of them is faster."""


@dataclass(frozen=True, eq=False)
class SparseColumns:
    """The nonzero numbers of one feature's columns of D', row by row.

    Attributes:
        starts: Where each row's numbers start, and their number at the end.
        codes: The values of the feature that have them.
        shares: The numbers.
    """

    starts: NDArray[np.int64]
    codes: NDArray[np.int32]
    shares: NDArray[np.float32]

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
        return cls(starts, codes, shares)

    @property
    def are_shares(self) -> bool:
        """Whether all numbers are positive and none is above 1, as in every D'."""
        largest = np.float32(1.0 + SLACK / 2)
        return bool(((self.shares > 0) & (self.shares <= largest)).all())

    @property
    def per_row(self) -> NDArray[np.int64]:
        """How many nonzero numbers each row has."""
        return np.diff(self.starts)


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
        self._row_major: dict[int, NDArray[np.float32]] = {}

    def columns(self, feature: int) -> SparseColumns:
        """The nonzero numbers of one feature."""
        if feature not in self._columns:
            self._columns[feature] = SparseColumns.of(self.rows.block(feature))
        return self._columns[feature]

    def work(self, features: Sequence[int], least: float) -> float:
        """A bound on the multiply-adds of `heavy_cells`.

        At each depth, a row takes part in at most as many groups of cells as it has combinations of
        nonzero values; and at most 1/least groups are heavy.
        """
        combinations, groups, total = np.ones(self.rows.count), 1.0, 0.0
        for feature in self._ordered(features):
            per_row = self.columns(feature).per_row
            combinations = combinations * per_row
            total += min(float(combinations.sum()), groups * float(per_row.sum()))
            groups = min(groups * self.rows.sizes[feature], 1.0 / least)
        return total

    def heavy_cells(
        self, features: Sequence[int], least: float
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """All cells of the table over some features whose mass is at least a positive number.

        Args:
            features: The features, in the order of the table's axes.
            least: The smallest mass of a cell that is listed.

        Returns:
            The places of the cells in C order, ascending; and the masses.
        """
        ordered = self._ordered(features)
        columns = [self.columns(feature) for feature in ordered]
        offsets = np.cumsum([0, *(len(column.codes) for column in columns)])
        starts = np.array(
            [column.starts + offset for column, offset in zip(columns, offsets[:-1], strict=True)]
        )
        sizes = [self.rows.sizes[feature] for feature in features]
        strides = {feature: prod(sizes[i + 1 :]) for i, feature in enumerate(features)}
        # For each depth, the most of a group's mass that one of its cells can have.
        shares = [float(column.shares.max()) for column in columns]
        later = np.array([prod(shares[depth + 1 :]) for depth in range(len(shares))])
        from thresher.relaxed.heavy_kernels import search

        cells, masses = search(
            starts,
            np.concatenate([column.codes for column in columns]),
            np.concatenate([column.shares for column in columns]),
            offsets,
            np.array([strides[feature] for feature in ordered], dtype=np.int64),
            max(sizes),
            self._dense(ordered[-1]),
            least * self.rows.count,
            least * self.rows.count * (1.0 - len(sizes) * SLACK) / later,
        )
        order = np.argsort(cells)
        return cells[order], masses[order] / self.rows.count

    def masses_at(self, features: Sequence[int], cells: NDArray[np.int64]) -> NDArray[np.float64]:
        """The masses of some cells, to the last bit those of `heavy_cells`."""
        sizes = [self.rows.sizes[feature] for feature in features]
        strides = {feature: prod(sizes[i + 1 :]) for i, feature in enumerate(features)}
        ordered = self._ordered(features)
        codes = np.array(
            [cells // strides[feature] % self.rows.sizes[feature] for feature in ordered]
        ).reshape(len(ordered), -1)
        first = self.rows.offsets[list(ordered)]
        masses = np.empty(len(cells))
        from thresher.relaxed.heavy_kernels import add_masses

        add_masses(self.rows.columns, codes + first[:, None], masses)
        return masses / self.rows.count

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
