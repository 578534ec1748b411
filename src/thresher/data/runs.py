"""Sorted runs of (cell, count) pairs: how a table is counted that is too large for a whole array.

Each batch of records gives a run: its cells in ascending order, with their counts. Runs of about
the same length are merged, so that a table has few of them. If the runs of all tables together take
more memory than allowed, they are written to a file, and at the end the tables are merged from
there and mapped into memory.

These files hold exact counts, so they are as private as the records. They have no name (on Linux,
from the beginning), so nobody else can open them, and the system deletes them when the process
ends, however it ends.
"""

import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from thresher.errors import ResourceError

Whole: TypeAlias = npt.NDArray[np.int64]

PAIRS_AT_ONCE = 1 << 18
"""How many pairs of a merged table are made before they are written."""


class Run:
    """Cells in ascending order, none twice, with their counts.

    Example:
        >>> run = Run.sorted(np.array([7, 3, 7]))
        >>> run.cells.tolist(), run.counts.tolist()
        ([3, 7], [1, 2])
        >>> merged = run.merged(Run.sorted(np.array([7, 9]), np.array([5, 6])))
        >>> merged.cells.tolist(), merged.counts.tolist()
        ([3, 7, 9], [1, 7, 6])
    """

    __slots__ = ("cells", "counts")

    def __init__(self, cells: Whole, counts: Whole) -> None:
        self.cells, self.counts = cells, counts

    @classmethod
    def sorted(cls, cells: Whole, weights: Whole | None = None) -> "Run":
        """The run of some cells in any order, each counted once or with its weight."""
        if weights is None:
            ordered, weights = np.sort(cells), np.empty(0, dtype=np.int64)
        else:
            order = np.argsort(cells, kind="stable")
            ordered, weights = cells[order], weights[order]
        distinct, counts = np.empty_like(ordered), np.empty_like(ordered)
        length = _run_lengths(ordered, weights, distinct, counts)
        # A copy, so that the room for repeated cells is given back.
        return cls(distinct[:length].copy(), counts[:length].copy())

    def __len__(self) -> int:
        return len(self.cells)

    def merged(self, other: "Run") -> "Run":
        """The run of both."""
        cells = np.empty(len(self) + len(other), dtype=np.int64)
        counts = np.empty_like(cells)
        length = _merge(self.cells, self.counts, other.cells, other.counts, cells, counts)
        if 2 * length < len(cells):
            return Run(cells[:length].copy(), counts[:length].copy())
        return Run(cells[:length], counts[:length])


class Runs:
    """The runs of one table, each at least twice as long as the next."""

    __slots__ = ("_runs", "spilled")

    def __init__(self) -> None:
        self._runs: list[Run] = []
        self.spilled: list[tuple[int, int]] = []
        """Where runs stand in the spill file: the place of the first number, and the length."""

    def add(self, run: Run) -> int:
        """Add a run; gives the number of pairs by which these grew."""
        before = self.pairs
        if len(run):
            self._runs.append(run)
        runs = self._runs
        while len(runs) > 1 and len(runs[-2]) < 2 * len(runs[-1]):
            last = runs.pop()
            runs[-1] = runs[-1].merged(last)
        return self.pairs - before

    @property
    def pairs(self) -> int:
        """How many pairs are in memory."""
        return sum(map(len, self._runs))

    def take(self) -> Run:
        """All that is in memory as one run, which is then no longer here."""
        run = Run(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
        for shorter in reversed(self._runs):
            run = run.merged(shorter)
        self._runs = []
        return run


class SpillFile:
    """A nameless file of whole numbers, for what does not fit into memory.

    Args:
        folder: Where the file takes room; by default, TMPDIR or the system's folder for large
            temporary files.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = str(folder or spill_folder())
        self._file: IO[bytes] | None = None
        self._numbers = 0

    def append(self, *numbers: Whole) -> int:
        """Write arrays one after the other; gives the place of the first number."""
        first = self._numbers
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=self.folder, buffering=0)  # noqa: SIM115
            for array in numbers:
                left = np.ascontiguousarray(array).data.cast("B")
                while left:
                    left = left[self._file.write(left) :]
        except OSError as fault:
            self.close()
            raise ResourceError(
                f"exact counts take more than the memory for them, and {self.folder} cannot "
                f"take them either: {fault.strerror}; make room there, or set TMPDIR to a folder "
                "on a larger disk"
            ) from None
        self._numbers += sum(map(len, numbers))
        return first

    def mapped(self) -> Whole:
        """All numbers, mapped into memory; the file lives as long as the array."""
        if self._file is None or not self._numbers:
            return np.empty(0, dtype=np.int64)
        # A plain array: numba and pickle know nothing of memmap.
        return np.asarray(np.memmap(self._file, dtype=np.int64, mode="r"))

    def close(self) -> None:
        """Give the room back, once no array needs it."""
        if self._file is not None:
            self._file.close()
            self._file = None

    __del__ = close


def spill_folder() -> str:
    """The folder for large temporary files: TMPDIR, /var/tmp, or what the system says."""
    # /tmp is memory on many systems, and memory is what there is too little of.
    if not os.environ.get("TMPDIR") and os.access("/var/tmp", os.W_OK):
        return "/var/tmp"
    return tempfile.gettempdir()


def merged_in_parts(
    numbers: Whole, runs: Sequence[tuple[int, int]]
) -> Iterator[tuple[Whole, Whole]]:
    """The pairs of several spilled runs, added up, in ascending order and in parts.

    Args:
        numbers: The spill file.
        runs: Where each run begins, and its length: so many cells, then so many counts.
    """
    heads = np.array([first for first, _ in runs], dtype=np.int64)
    lengths = np.array([length for _, length in runs], dtype=np.int64)
    ends = heads + lengths
    while (heads < ends).any():
        cells = np.empty(PAIRS_AT_ONCE, dtype=np.int64)
        counts = np.empty_like(cells)
        made = _merge_many(numbers, heads, ends, lengths, cells, counts)
        yield cells[:made], counts[:made]


@numba.njit(cache=True, nogil=True)
def _run_lengths(ordered, weights, cells, counts):  # type: ignore[no-untyped-def]
    """Cells in ascending order with their counts, or with the sums of their weights."""
    made = -1
    for i in range(ordered.size):
        weight = weights[i] if weights.size else 1
        if made >= 0 and cells[made] == ordered[i]:
            counts[made] += weight
        elif weight:
            made += 1
            cells[made] = ordered[i]
            counts[made] = weight
    return made + 1


@numba.njit(cache=True, nogil=True)
def _merge(a, a_counts, b, b_counts, cells, counts):  # type: ignore[no-untyped-def]
    i, j, made = 0, 0, 0
    while i < a.size and j < b.size:
        x, y = a[i], b[j]
        cells[made] = min(x, y)
        counts[made] = (a_counts[i] if x <= y else 0) + (b_counts[j] if y <= x else 0)
        i += x <= y
        j += y <= x
        made += 1
    while i < a.size:
        cells[made], counts[made] = a[i], a_counts[i]
        i += 1
        made += 1
    while j < b.size:
        cells[made], counts[made] = b[j], b_counts[j]
        j += 1
        made += 1
    return made


@numba.njit(cache=True, nogil=True)
def _merge_many(numbers, heads, ends, lengths, cells, counts):  # type: ignore[no-untyped-def]
    """Fill `cells` and `counts` from several runs; `heads` moves on to what is left."""
    last = np.iinfo(np.int64).max
    for made in range(cells.size):
        lowest = last
        for run in range(heads.size):
            if heads[run] < ends[run]:
                lowest = min(lowest, numbers[heads[run]])
        if lowest == last:
            return made
        cells[made], counts[made] = lowest, 0
        for run in range(heads.size):
            if heads[run] < ends[run] and numbers[heads[run]] == lowest:
                counts[made] += numbers[heads[run] + lengths[run]]
                heads[run] += 1
    return cells.size
