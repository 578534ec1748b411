"""The scores of a slab of queries, counted by level.

A *level* is a value of the score. All that a selection depends on is how many queries stand at each
level, so a slab of scores is counted and then forgotten. Where almost all scores of a table are 0,
the others are listed, and the zeros are only counted.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from thresher.errors import ParameterError
from thresher.tables.listing import Cells, nth_absent

Scores: TypeAlias = NDArray[np.integer[Any]]

EXCLUDED: Final = int(np.iinfo(np.int64).min)
"""The score of a query that must not be chosen; see `excluding`."""
HIGHEST_LEVEL: Final = 2**61

AT_ONCE: Final = 4
"""Neighbouring scores are counted in so many different places, because they are often equal: a
processor waits before it can add to a number that it has just written. A power of two."""
FEW_LEVELS: Final = 2**16
"""With more levels, one place for each takes memory enough."""


def excluding(scores: Scores, positions: Iterable[int]) -> NDArray[np.int64]:
    """A copy of `scores` in which the queries at (C order) `positions` can no longer be chosen.

    The mark travels with the scores, so that nobody has to be told twice which queries to skip.

    Example:
        >>> excluding(np.array([7, 5]), [0]).tolist() == [EXCLUDED, 5]
        True
    """
    marked = integers(scores).copy()
    marked.reshape(-1)[np.fromiter(positions, dtype=np.int64)] = EXCLUDED
    return marked


@dataclass(frozen=True, eq=False, repr=False)
class Tally:
    """How many queries of a slab, or of several, stand at each level; as private as the scores.

    Attributes:
        levels: The levels that have members, ascending.
        sizes: How many members each has.
    """

    levels: NDArray[np.int64]
    sizes: NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class ListedScores:
    """The scores of some cells of a table; all its other cells have score 0.

    Attributes:
        size: How many cells the table has.
        cells: The listed cells, ascending. Every excluded cell is one of them.
        scores: Their scores, or `EXCLUDED`.

    Example:
        >>> listed = ListedScores(10**12, np.array([1, 2]), np.array([EXCLUDED, 7]))
        >>> listed.tally().levels.tolist(), listed.tally().sizes.tolist()
        ([0, 7], [999999999998, 1])
        >>> listed.members_at(7, [0]), listed.members_at(0, [0, 1])
        ([2], [0, 3])
    """

    size: int
    cells: Cells
    scores: NDArray[np.int64]

    def tally(self) -> Tally:
        """How many cells stand at each level, listed or not."""
        listed, absent = tallied(self.scores), self.size - len(self.cells)
        if not absent:
            return listed
        at = int(np.searchsorted(listed.levels, 0))
        levels, sizes = listed.levels, listed.sizes.copy()
        if at == len(levels) or levels[at]:
            levels, sizes = np.insert(levels, at, 0), np.insert(sizes, at, 0)
        sizes[at] += absent
        return Tally(levels, sizes)

    def members_at(self, level: int, ranks: Sequence[int]) -> list[int]:
        """The cells at some places among those of a level: listed cells first, then the others."""
        listed = self.cells[self.scores == level]
        absent = self.size - len(self.cells) if level == 0 else 0
        _check_ranks(ranks, len(listed) + absent)
        return [
            int(listed[rank]) if rank < len(listed) else nth_absent(self.cells, rank - len(listed))
            for rank in ranks
        ]

    def largest(self) -> int:
        """The largest score."""
        return int(self.scores.max(initial=0 if self.size > len(self.cells) else EXCLUDED))


def tallied(scores: Scores | ListedScores) -> Tally:
    """Count one slab, or one listed table, by level, skipping queries marked `EXCLUDED`."""
    if isinstance(scores, ListedScores):
        return scores.tally()
    flat = np.asarray(scores).ravel()
    if flat.dtype != np.int32:  # these are counted as they are, in half the time
        flat = integers(flat)
    low, high = lowest_and_highest(flat)
    if low <= high and max(-low, high) > HIGHEST_LEVEL:
        raise ParameterError("scores must lie between -2^61 and 2^61.")
    if low <= high and high - low < max(4 * flat.size, 2**12):
        places = AT_ONCE if high - low < FEW_LEVELS else 1
        sizes = np.zeros((places, high - low + 1), dtype=np.int64)
        _tally(flat, low, sizes)
        added = sizes.sum(axis=0)
        levels = np.flatnonzero(added)
        return Tally(levels + low, added[levels])
    flat = integers(flat)
    return Tally(*np.unique(flat[flat != EXCLUDED], return_counts=True))


def members_at(scores: Scores | ListedScores, level: int, ranks: Sequence[int]) -> list[int]:
    """The positions, in C order, of the members of a level that stand at some places among them."""
    if isinstance(scores, ListedScores):
        return scores.members_at(level, ranks)
    members = np.flatnonzero(integers(scores).ravel() == level)
    _check_ranks(ranks, members.size)
    return [int(members[rank]) for rank in ranks]


def largest_of(scores: Scores | ListedScores) -> int:
    """The largest score; `EXCLUDED` if all queries are."""
    return scores.largest() if isinstance(scores, ListedScores) else int(scores.max())


def _check_ranks(ranks: Sequence[int], members: int) -> None:
    if max(ranks, default=-1) >= members:
        raise ParameterError("slabs must give the scores that were added, unchanged")


def integers(scores: Scores) -> NDArray[np.int64]:
    """The scores as 64-bit integers, uncopied if they are; nothing is rounded or wrapped."""
    given = np.asarray(scores)
    if given.dtype.kind not in "iu" or not np.can_cast(given.dtype, np.int64):
        raise ParameterError(f"scores must be integers that fit into int64, not {given.dtype}.")
    return given.astype(np.int64, copy=False)


@njit(cache=True, nogil=True)
def lowest_and_highest(scores: Scores) -> tuple[int, int]:
    """The range of the scores that are not `EXCLUDED`; upside down if there are none."""
    low, high = np.iinfo(np.int64).max, EXCLUDED
    for score in scores:
        if score != EXCLUDED:
            low, high = min(low, score), max(high, score)
    return low, high


@njit(cache=True, nogil=True)
def _tally(scores: Scores, low: int, sizes: NDArray[np.int64]) -> None:
    mask = sizes.shape[0] - 1
    for i in range(scores.size):
        score = scores[i]
        if score != EXCLUDED:
            sizes[i & mask, score - low] += 1
