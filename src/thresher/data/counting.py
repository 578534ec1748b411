"""Counting marginal tables on coded records: all of them in one pass, batch by batch.

A small table is counted in a whole array, a large one in sorted runs (see `thresher.data.runs`).
Tables were also merged into fewer, larger ones and summed out afterwards; on 64 3-way marginals of
ADULT that saved nothing, because larger tables leave the processor's caches.
"""

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from thresher.data.private import FeatureSet, Progress
from thresher.data.runs import Run, Runs, SpillFile, Whole, merged_in_parts
from thresher.errors import DataError, ParameterError, ResourceError
from thresher.parallel import in_order
from thresher.schema import Schema
from thresher.schema.feature import Codes
from thresher.tables.sparse import DENSE_PER_PAIR, SparseTable, check_countable

AnyCodes: TypeAlias = npt.NDArray[np.integer[Any]]
Batch: TypeAlias = Mapping[str, AnyCodes]
"""The codes of some records: an array for each feature."""

BATCH_ROWS = 1 << 17
"""How many records are counted at a time."""

ARRAY_BYTES = 256 << 20
"""The most memory of whole arrays, all tables together."""

RUN_BYTES = 384 << 20
"""The most memory of sorted runs, all tables together; beyond it, they go to a file."""

MOST_RECORDS = 2**62
"""The largest sum of weights that is counted."""


class TableCounter:
    """Counts marginal tables, one batch of coded records after the other.

    Batches can be added from several threads at once. The tables do not depend on the order.

    Args:
        schema: The features.
        feature_sets: The features of each table, in the order of its axes.
        rows: About how many records will be added, if that is known: few records need no large
            arrays.
        batch_rows: How many records are counted at a time. Smaller batches are collected first.
        array_bytes: The most memory of whole arrays.
        run_bytes: The most memory of sorted runs, before they go to a file.
        folder: Where that file takes room, if not where `spill_folder` says.

    Example:
        >>> from thresher.schema import IntegerRange
        >>> schema = Schema(IntegerRange(name=x, low=0, high=2, nulls=0) for x in "ab")
        >>> counter = TableCounter(schema, [("a", "b"), ("b",)])
        >>> counter.add({"a": np.array([0, 2, 2]), "b": np.array([1, 1, 1])})
        >>> counter.add({"a": np.array([0]), "b": np.array([1])}, weights=np.array([10]))
        >>> [(table.cells.tolist(), table.counts.tolist()) for table in counter.tables()]
        [([1, 7], [11, 2]), ([1], [13])]
    """

    def __init__(
        self,
        schema: Schema,
        feature_sets: Sequence[FeatureSet],
        *,
        rows: int | None = None,
        batch_rows: int = BATCH_ROWS,
        array_bytes: int = ARRAY_BYTES,
        run_bytes: int = RUN_BYTES,
        folder: str | Path | None = None,
    ) -> None:
        named = {name for features in feature_sets for name in features}
        self.features = tuple(name for name in schema.names if name in named)
        """The features that batches must have, in the schema's order."""
        self._feature_sets = list(feature_sets)
        self._sizes = {name: schema[name].size for name in self.features}
        self._batch_rows, self._run_bytes = batch_rows, run_bytes
        self._spill = SpillFile(folder)
        self._tables = self._arranged(rows, array_bytes)
        self._waiting: list[tuple[list[AnyCodes], Whole | None]] = []
        self._lock, self._rows_waiting, self._pairs = Lock(), 0, 0
        self.total = 0
        """The number of records added so far, each with its weight."""

    def add(self, columns: Batch, weights: npt.NDArray[np.integer[Any]] | None = None) -> None:
        """Count some records.

        Args:
            columns: The codes of each feature in `features`; others are ignored.
            weights: How often each record counts: whole numbers of at least 0. 1 if not given.
        """
        rows = len(next(iter(columns.values()), ())) if weights is None else len(weights)
        taken = [_checked(name, columns, size, rows) for name, size in self._sizes.items()]
        weighed = None if weights is None else _checked_weights(weights)
        added = rows if weighed is None else int(weighed.sum())
        with self._lock:
            if self.total + added > MOST_RECORDS:
                raise ResourceError("more than 2^62 records cannot be counted")
            self.total += added
            if rows < self._batch_rows:
                # The caller may use its arrays again.
                taken = [column.copy() for column in taken]
                self._waiting.append((taken, None if weighed is None else weighed.copy()))
                self._rows_waiting += rows
                if self._rows_waiting < self._batch_rows:
                    return
                taken, weighed, rows = self._collected()
        self._count(taken, weighed, rows)

    def merge(self, other: "TableCounter") -> None:
        """Add what another counter has counted; that one is not to be used any more.

        Args:
            other: A counter of the same feature sets over the same features.
        """
        if other._feature_sets != self._feature_sets or other._sizes != self._sizes:
            raise ParameterError("only counters of the same tables can be merged")
        other._finish()
        for mine, theirs in zip(self._tables, other._tables, strict=True):
            for run in theirs.runs(other._spill):
                with mine.lock:
                    grown = mine.add_run(run)
                self._grow(grown)
        other._spill.close()
        with self._lock:
            self.total += other.total

    def tables(self) -> list[SparseTable]:
        """The tables, in the order of the feature sets; nothing can be added afterwards."""
        self._finish()
        if not any(table.spilled for table in self._tables):
            return [table.finished() for table in self._tables]
        self._write_runs()
        return _from_file(self._tables, self._spill)

    def _arranged(self, rows: int | None, array_bytes: int) -> "list[_Table]":
        """Whole arrays for the smallest tables, as far as the memory for arrays goes."""
        shapes = [tuple(self._sizes[name] for name in names) for names in self._feature_sets]
        for names, shape in zip(self._feature_sets, shapes, strict=True):
            check_countable(shape, f"the table over {', '.join(names)}")
        place = {name: i for i, name in enumerate(self.features)}
        tables = [
            _Table(shape, [place[name] for name in names])
            for names, shape in zip(self._feature_sets, shapes, strict=True)
        ]
        left = min(array_bytes // 8, 1 << 32)
        most = left if rows is None else DENSE_PER_PAIR * rows
        for table in sorted(tables, key=lambda table: table.size):
            if table.size > min(most, left):
                break
            left -= table.size
            table.use_array()
        return tables

    def _collected(self) -> tuple[list[AnyCodes], Whole | None, int]:
        """The batches that were too small to be counted alone, as one."""
        waiting, self._waiting = self._waiting, []
        rows, self._rows_waiting = self._rows_waiting, 0
        columns = [np.concatenate(parts) for parts in zip(*(c for c, _ in waiting), strict=True)]
        if all(weights is None for _, weights in waiting):
            return columns, None, rows
        weighed = [
            np.ones(len(c[0]), dtype=np.int64) if weights is None else weights
            for c, weights in waiting
        ]
        return columns, np.concatenate(weighed), rows

    def _count(self, columns: Sequence[AnyCodes], weights: Whole | None, rows: int) -> None:
        wide = max(self._sizes.values(), default=0) > 1 << 16
        for first in range(0, rows, self._batch_rows):
            part = slice(first, first + self._batch_rows)
            length = min(self._batch_rows, rows - first)
            codes = np.empty((len(columns), length), dtype=np.uint32 if wide else np.uint16)
            for row, column in zip(codes, columns, strict=True):
                row[:] = column[part]
            self._count_coded(codes, None if weights is None else weights[part])

    def _count_coded(self, codes: Codes, weights: Whole | None) -> None:
        """Add to every table; one that another thread is busy with comes later."""
        turns = deque(self._tables)
        while turns:
            table = turns.popleft()
            busy = not table.lock.acquire(blocking=not turns)
            if busy:
                turns.append(table)
                continue
            try:
                grown = table.add(codes, weights)
            finally:
                table.lock.release()
            self._grow(grown)

    def _grow(self, pairs: int) -> None:
        """Note how many pairs are in memory, and write them to the file if they are too many."""
        with self._lock:
            self._pairs += pairs
            if 16 * self._pairs <= self._run_bytes:
                return
            self._pairs = 0
        self._write_runs()

    def _write_runs(self) -> None:
        for table in self._tables:
            with table.lock:
                table.spill(self._spill, self._lock)

    def _finish(self) -> None:
        """Count what is still waiting."""
        if self._waiting:
            self._count(*self._collected())


class _Table:
    """One table that is being counted, in a whole array or in sorted runs."""

    __slots__ = ("_array", "_axes", "_runs", "_strides", "lock", "shape", "size")

    def __init__(self, shape: tuple[int, ...], axes: Sequence[int]) -> None:
        self.shape, self.size, self.lock = shape, math.prod(shape), Lock()
        self._axes = np.array(axes, dtype=np.int64)
        self._strides = np.array(
            [math.prod(shape[axis + 1 :]) for axis in range(len(shape))], dtype=np.int64
        )
        self._array: Whole | None = None
        self._runs = Runs()

    def use_array(self) -> None:
        self._array = np.zeros(self.size, dtype=np.int64)

    def add(self, codes: Codes, weights: Whole | None) -> int:
        """Add records; gives the number of pairs by which the runs grew."""
        if self._array is not None:
            ones = np.empty(0, dtype=np.int64) if weights is None else weights
            _add_to_array(codes, self._axes, self._strides.astype(np.uint32), ones, self._array)
            return 0
        cells = np.empty(codes.shape[1], dtype=np.int64)
        _cells(codes, self._axes, self._strides, cells)
        return self._runs.add(Run.sorted(cells, weights))

    def add_run(self, run: Run) -> int:
        """Add counts; gives the number of pairs by which the runs grew."""
        if self._array is None:
            return self._runs.add(run)
        self._array[run.cells] += run.counts
        return 0

    def runs(self, spill: SpillFile) -> Iterable[Run]:
        """All that was counted, in any order."""
        if self._array is not None:
            yield _run_of(self._array)
            return
        yield self._runs.take()
        if self._runs.spilled:
            for cells, counts in merged_in_parts(spill.mapped(), self._runs.spilled):
                yield Run(cells, counts)

    @property
    def spilled(self) -> list[tuple[int, int]]:
        """Where the runs are in the file."""
        return self._runs.spilled

    def spill(self, file: SpillFile, lock: Lock) -> None:
        """Write all runs to a file, as one."""
        run = self._runs.take()
        if len(run):
            with lock:
                self.spilled.append((file.append(run.cells, run.counts), len(run)))

    def finished(self) -> SparseTable:
        """The table, if nothing was spilled; its memory is given back."""
        run = self._runs.take() if self._array is None else _run_of(self._array)
        self._array = None
        return SparseTable(self.shape, run.cells, run.counts)


def _run_of(array: Whole) -> Run:
    cells = np.flatnonzero(array).astype(np.int64, copy=False)
    return Run(cells, array[cells])


def _from_file(tables: Sequence[_Table], spill: SpillFile) -> list[SparseTable]:
    """The tables of which some were spilled: these are merged into two files and mapped."""
    numbers = spill.mapped()
    cells_file, counts_file = SpillFile(spill.folder), SpillFile(spill.folder)
    places: dict[int, tuple[int, int]] = {}
    for i, table in enumerate(tables):
        if not table.spilled:
            continue
        first, length = -1, 0
        for cells, counts in merged_in_parts(numbers, table.spilled):
            place = cells_file.append(cells)
            counts_file.append(counts)
            first = place if first < 0 else first
            length += len(cells)
        places[i] = first, length
    all_cells, all_counts = cells_file.mapped(), counts_file.mapped()
    finished = []
    for i, table in enumerate(tables):
        if i not in places:
            finished.append(table.finished())
            continue
        first, length = places[i]
        here = slice(first, first + length)
        finished.append(SparseTable(table.shape, all_cells[here], all_counts[here]))
    for file in (spill, cells_file, counts_file):
        file.close()
    return finished


def counted(
    schema: Schema,
    columns: Sequence[AnyCodes],
    feature_sets: Sequence[FeatureSet],
    progress: Progress | None = None,
) -> list[SparseTable]:
    """The marginal tables of coded columns, one column for each feature of the schema.

    Example:
        >>> from thresher.schema import IntegerRange
        >>> schema = Schema(IntegerRange(name=x, low=0, high=2, nulls=0) for x in "ab")
        >>> [table] = counted(schema, [np.array([0, 2, 2]), np.array([1, 1, 1])], [("a", "b")])
        >>> table.cells.tolist(), table.counts.tolist()
        ([1, 7], [1, 2])
    """
    n = len(columns[0])
    counter = TableCounter(schema, feature_sets, rows=n)
    named = dict(zip(schema.names, columns, strict=True))
    of_counter = {name: named[name] for name in counter.features}

    def add(first: int) -> int:
        part = slice(first, first + BATCH_ROWS)
        counter.add({name: column[part] for name, column in of_counter.items()})
        return min(first + BATCH_ROWS, n)

    for done in in_order(add, range(0, n, BATCH_ROWS)):
        if progress:
            progress(done)
    return counter.tables()


def _checked(name: str, columns: Batch, size: int, rows: int) -> AnyCodes:
    """A column that the kernels can take: they look at no code twice."""
    if name not in columns:
        raise DataError(f"the batch lacks the column {name!r}")
    column = columns[name]
    if column.ndim != 1 or column.dtype.kind not in "ui" or len(column) != rows:
        raise DataError(f"column {name!r} must have one whole number for each record of its batch")
    if rows and not (int(column.min()) >= 0 and int(column.max()) < size):
        raise DataError(f"column {name!r} holds codes outside 0 to {size - 1}")
    return column


def _checked_weights(weights: npt.NDArray[np.integer[Any]]) -> Whole:
    if weights.ndim != 1 or weights.dtype.kind not in "ui":
        raise DataError("weights must be whole numbers, one for each record of the batch")
    if len(weights) and (
        int(weights.min()) < 0 or int(weights.max()) > MOST_RECORDS // len(weights)
    ):
        raise DataError("weights must be at least 0, and their sum at most 2^62")
    return weights.astype(np.int64, copy=False)


@numba.njit(cache=True, nogil=True)
def _add_to_array(codes, axes, strides, weights, array):  # type: ignore[no-untyped-def]
    """Add records to a whole table; each counts once if there are no weights.

    The cells of a few thousand records are found at a time, axis by axis: so the compiler can use
    vector instructions, and they stay in the nearest cache.
    """
    block = 4096
    cells = np.empty(block, np.uint32)
    rows = codes.shape[1]
    for first in range(0, rows, block):
        length = min(block, rows - first)
        for i in range(length):
            cells[i] = 0
        for axis in range(axes.size):
            column = codes[axes[axis]][first : first + length]
            stride = strides[axis]
            for i in range(length):
                cells[i] += np.uint32(column[i]) * stride
        if weights.size:
            for i in range(length):
                array[cells[i]] += weights[first + i]
        else:
            for i in range(length):
                array[cells[i]] += 1


@numba.njit(cache=True, nogil=True)
def _cells(codes, axes, strides, cells):  # type: ignore[no-untyped-def]
    """The place of each record in a table, in C order."""
    cells[:] = 0
    for axis in range(axes.size):
        column = codes[axes[axis]]
        stride = strides[axis]
        for i in range(cells.size):
            cells[i] += np.int64(column[i]) * stride
