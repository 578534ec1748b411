"""Answers that can be listed: the cells of a table with large answers, without walking all cells.

A table over many features has far more cells than a source of answers has anything to say about. A
source that can find its large answers directly offers them as a list, beside its slabs.
"""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from thresher.tables.slabs import Slab
from thresher.tables.threshold_table import Table

Cells = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class ListedAnswers:
    """The answers to some cells of a table; the answers to all others are known to be small.

    Attributes:
        cells: The places of the cells in C order, ascending.
        answers: The answer to each of them, as fractions.
    """

    cells: Cells
    answers: npt.NDArray[np.floating[Any]]


@runtime_checkable
class Listable(Protocol):
    """The answers to all consistent queries of one threshold, in slabs or as a list."""

    def __call__(self, slab: Slab) -> Table:
        """The answers to the cells of a slab."""
        ...

    def listed(self, least: float) -> ListedAnswers:
        """All cells whose answer is at least a positive number, and perhaps more.

        It never takes much more work than walking all slabs.
        """
        ...

    def at(self, cells: Cells) -> npt.NDArray[np.floating[Any]]:
        """The answers to some cells."""
        ...


class Zero:
    """The answer 0 to every query.

    Example:
        >>> Zero().listed(0.1).cells.tolist()
        []
    """

    def __call__(self, slab: Slab) -> Table:
        """Zeros."""
        return np.zeros(slab.shape, dtype=np.float32)

    def listed(self, least: float) -> ListedAnswers:
        """No cell."""
        return ListedAnswers(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32))

    def at(self, cells: Cells) -> npt.NDArray[np.float32]:
        """Zeros."""
        return np.zeros(len(cells), dtype=np.float32)


@dataclass(frozen=True)
class Same:
    """One number for every cell of a table, which a reader can know without walking it.

    Example:
        >>> from thresher.tables.slabs import slabs_of
        >>> Same(1.0)(next(slabs_of((2,)))).tolist()
        [1.0, 1.0]
    """

    number: float

    def __call__(self, slab: Slab) -> Table:
        """The number, for each cell of a slab."""
        return np.full(slab.shape, self.number, dtype=np.float32)


def nth_absent(cells: Cells, rank: int) -> int:
    """The number that stands at a place (from 0) among the numbers from 0 on that are not listed.

    Args:
        cells: The listed numbers, ascending, without repetition.
        rank: The place.

    Example:
        >>> [nth_absent(np.array([0, 2, 3]), rank) for rank in range(3)]
        [1, 4, 5]
    """
    # cells[i] - i numbers below cells[i] are absent, and this does not decrease with i.
    before = np.searchsorted(cells - np.arange(len(cells)), rank, side="right")
    return rank + int(before)
