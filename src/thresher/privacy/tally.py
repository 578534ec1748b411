"""The scores of a slab of queries, counted by level.

A *level* is a value of the score. All that a selection depends on is how many queries stand at each
level, so a slab of scores is counted and then forgotten.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from thresher.errors import ParameterError

Scores: TypeAlias = NDArray[np.integer[Any]]

EXCLUDED: Final = int(np.iinfo(np.int64).min)
"""The score of a query that must not be chosen; see `excluding`."""
HIGHEST_LEVEL: Final = 2**61


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


def tallied(scores: Scores) -> Tally:
    """Count one slab of queries by level, skipping those marked `EXCLUDED`."""
    flat = integers(scores).ravel()
    low, high = lowest_and_highest(flat)
    if low <= high and max(-low, high) > HIGHEST_LEVEL:
        raise ParameterError("scores must lie between -2^61 and 2^61.")
    if low <= high and high - low < max(4 * flat.size, 2**12):
        sizes = np.zeros(high - low + 1, dtype=np.int64)
        _tally(flat, low, sizes)
        levels = np.flatnonzero(sizes)
        return Tally(levels + low, sizes[levels])
    return Tally(*np.unique(flat[flat != EXCLUDED], return_counts=True))


def integers(scores: Scores) -> NDArray[np.int64]:
    """The scores as 64-bit integers, uncopied if they are; nothing is rounded or wrapped."""
    given = np.asarray(scores)
    if given.dtype.kind not in "iu" or not np.can_cast(given.dtype, np.int64):
        raise ParameterError(f"scores must be integers that fit into int64, not {given.dtype}.")
    return given.astype(np.int64, copy=False)


@njit(cache=True, nogil=True)
def lowest_and_highest(scores: NDArray[np.int64]) -> tuple[int, int]:
    """The range of the scores that are not `EXCLUDED`; upside down if there are none."""
    low, high = np.iinfo(np.int64).max, EXCLUDED
    for score in scores:
        if score != EXCLUDED:
            low, high = min(low, score), max(high, score)
    return low, high


@njit(cache=True, nogil=True)
def _tally(scores: NDArray[np.int64], low: int, sizes: NDArray[np.int64]) -> None:
    for score in scores:
        if score != EXCLUDED:
            sizes[score - low] += 1
