"""Sparse tables: a marginal table as sorted (cell, count) pairs, for its nonzero cells alone.

n records fall in at most n cells, however many a table has. So the pairs of a table over ten
features take no more room than the records. Every table over fewer of its features follows by
summing axes out.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from thresher.errors import ResourceError
from thresher.schema import View
from thresher.tables.slabs import Slab
from thresher.tables.threshold_table import (
    Answers,
    Axes,
    RememberedSums,
    Table,
    ThresholdTable,
    coefficient,
)

MOST_CELLS = 2**63 - 1
"""The most cells of a table: the number of a cell must fit into 64 bits."""

DENSE_PER_PAIR = 8
"""Up to so many cells for each pair, adding up in a whole array is faster than sorting."""


def check_countable(shape: Sequence[int], named: object) -> None:
    """Refuse a table whose cells cannot be numbered in 64 bits.

    Example:
        >>> check_countable((10**10, 10**10), "this table")
        Traceback (most recent call last):
        thresher.errors.ResourceError: this table has more than 2^63 cells: name fewer features, ...
    """
    if math.prod(shape) > MOST_CELLS:
        raise ResourceError(
            f"{named} has more than 2^63 cells: name fewer features, or coarser bins"
        )


@dataclass(frozen=True, eq=False, repr=False)
class SparseTable:
    """The nonzero cells of a marginal table, as private as the records it was counted on.

    Attributes:
        shape: The number of values of each feature, axis by axis.
        cells: The places of the nonzero cells in C order, ascending.
        counts: The count of each of them.

    Example:
        >>> table = SparseTable.of_cells((2, 3), np.array([5, 0, 5]))
        >>> table.cells.tolist(), table.counts.tolist()
        ([0, 5], [1, 2])
        >>> table.onto((1,)).cells.tolist()
        [0, 2]
    """

    shape: tuple[int, ...]
    cells: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]

    @classmethod
    def of_cells(
        cls,
        shape: tuple[int, ...],
        cells: npt.NDArray[np.int64],
        counts: npt.NDArray[np.int64] | None = None,
    ) -> "SparseTable":
        """Add up pairs in any order, with repetitions.

        Args:
            shape: The shape of the table.
            cells: Places in C order.
            counts: The count at each; 1 if not given.
        """
        size = math.prod(shape)
        if size <= DENSE_PER_PAIR * len(cells):
            dense = np.zeros(size, dtype=np.int64)
            ones = np.ones(1, dtype=np.int64) if counts is None else counts
            _add_up(cells, ones, dense)
            return cls.of_counts(dense.reshape(shape))
        if counts is None:
            ordered, starts = _runs(np.sort(cells))
            return cls(shape, ordered[starts], np.diff(starts, append=len(ordered)))
        order = np.argsort(cells)
        ordered, starts = _runs(cells[order])
        sums = np.add.reduceat(counts[order], starts) if len(starts) else counts[:0]
        return cls(shape, ordered[starts], sums)

    @classmethod
    def of_counts(cls, counts: npt.NDArray[np.integer[Any]]) -> "SparseTable":
        """The nonzero cells of a whole table."""
        flat = counts.reshape(-1)
        cells = np.flatnonzero(flat).astype(np.int64, copy=False)
        return cls(counts.shape, cells, flat[cells].astype(np.int64, copy=False))

    def __len__(self) -> int:
        return len(self.cells)

    def __repr__(self) -> str:
        return f"SparseTable(shape {self.shape})"

    @property
    def total(self) -> int:
        """The sum of all counts."""
        return int(self.counts.sum())

    def axis_codes(self, axis: int) -> npt.NDArray[np.int64]:
        """The index along one axis of every nonzero cell."""
        after = math.prod(self.shape[axis + 1 :])
        codes: npt.NDArray[np.int64] = self.cells // after % self.shape[axis]
        return codes

    def onto(self, axes: Axes) -> "SparseTable":
        """The table over some of the axes, in the order given; the others are summed out."""
        if axes == tuple(range(len(self.shape))):
            return self
        shape = tuple(self.shape[axis] for axis in axes)
        strides = [math.prod(self.shape[axis + 1 :]) for axis in axes]
        sizes = np.array(shape, dtype=np.int64)
        projected = np.empty(len(self.cells), dtype=np.int64)
        _project(self.cells, np.array(strides, dtype=np.int64), sizes, projected)
        return SparseTable.of_cells(shape, projected, self.counts)

    def seen_through(self, views: Sequence[View | None]) -> "SparseTable":
        """The table over views of some of its features: counts of a group are added up.

        Args:
            views: For each axis a view of its feature, or None where the feature stays.

        Example:
            >>> from thresher.schema import IntegerRange
            >>> age = IntegerRange(name="age", low=0, high=3, nulls=0)
            >>> table = SparseTable.of_cells((4,), np.array([0, 2, 3]))
            >>> table.seen_through([View.at_cuts(age, "old", [2])]).counts.tolist()
            [1, 2]
        """
        if not any(views):
            return self
        shape = tuple(
            size if view is None else view.size
            for view, size in zip(views, self.shape, strict=True)
        )
        cells = np.zeros(len(self.cells), dtype=np.int64)
        for axis, view in enumerate(views):
            codes = self.axis_codes(axis)
            cells = cells * shape[axis] + (codes if view is None else view.map[codes])
        return SparseTable.of_cells(shape, cells, self.counts)

    def within(self, slab: Slab, dtype: npt.DTypeLike = np.int64) -> Table:
        """The part of the table that lies in a slab, as a fresh array."""
        first, last = np.searchsorted(self.cells, (slab.first, slab.first + slab.size))
        part = np.zeros(slab.size, dtype=dtype)
        part[self.cells[first:last] - slab.first] = self.counts[first:last]
        return part.reshape(slab.shape)


class SparseMarginals:
    """The marginal tables over all subsets of the axes of one sparse table.

    Args:
        table: The table over all axes.
        dtype: The type of counts in slabs.

    Example:
        >>> marginals = SparseMarginals(SparseTable.of_cells((2, 3), np.array([5, 0, 5])), np.int32)
        >>> marginals.marginal((0,), Slab((2,), (range(2),))).tolist()
        [1, 2]
    """

    def __init__(self, table: SparseTable, dtype: npt.DTypeLike = np.int64) -> None:
        self.dtype = dtype
        self._tables: dict[Axes, SparseTable] = {tuple(range(len(table.shape))): table}

    def marginal(self, axes: Axes, slab: Slab) -> Table:
        """The part of the marginal table over `axes` that lies in `slab`."""
        return self._over(axes).within(slab, self.dtype)

    def _over(self, axes: Axes) -> SparseTable:
        if axes not in self._tables:
            # Summing out of the smallest table that has these axes is the least work.
            above = min((known for known in self._tables if set(axes) <= set(known)), key=len)
            places = tuple(above.index(axis) for axis in axes)
            self._tables[axes] = self._tables[above].onto(places)
        return self._tables[axes]


def threshold_counts(
    table: SparseTable, r: int, sums: RememberedSums | None = None, name: Hashable = None
) -> Answers:
    """The counts of all consistent queries of an r-of-k threshold, for any slab.

    Args:
        table: The marginal table over its k features.
        r: How many of the k values must match.
        sums: Where sums of its margins are remembered, if it is shared with other tables.
        name: What tells this table and r from the others there.

    Example:
        >>> table = SparseTable.of_cells((2, 2), np.array([0, 3, 3]))
        >>> threshold_counts(table, r=1)(Slab((2, 2), (range(2), range(2)))).tolist()
        [[1, 3], [3, 2]]
    """
    k = len(table.shape)
    # The identity's partial sums stay below this, whatever the order of summation.
    weights = sum(math.comb(k, i) * abs(coefficient(i, r)) for i in range(r, k + 1))
    dtype = np.int32 if table.total * weights < 2**31 else np.int64
    return ThresholdTable(SparseMarginals(table, dtype), k, r, sums, name)


def _runs(ordered: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.intp]]:
    """Ascending cells, and where each of them stands for the first time."""
    is_first = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return ordered, np.flatnonzero(is_first)


@numba.njit(cache=True, nogil=True)
def _add_up(cells, counts, dense):  # type: ignore[no-untyped-def]
    """Add pairs into a whole table; a single count stands for all."""
    for i in range(cells.size):
        dense[cells[i]] += counts[i] if counts.size == cells.size else counts[0]


@numba.njit(cache=True, nogil=True)
def _project(cells, strides, sizes, projected):  # type: ignore[no-untyped-def]
    """The place of every cell in the table over some of its axes."""
    for i in range(cells.size):
        place = 0
        for axis in range(sizes.size):
            place = place * sizes[axis] + cells[i] // strides[axis] % sizes[axis]
        projected[i] = place
