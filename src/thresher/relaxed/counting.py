"""Match counts of a group of features, for every combination of their values and every row.

The building block of whole tables: for a group of g features and a cell c (one value for each),
E_j[c, row] is the probability that exactly j of the group's features take the cell's values. One
feature extends a group by the step of the Poisson-binomial dynamic programme

    E'_j[(c, v)] = E_j[c] · (1 - x_v) + E_{j-1}[c] · x_v ,

and its transpose carries derivatives back. Only a window of counts that a table needs is kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.relaxed.compilation import njit

Array = NDArray[Any]

_RUN = 256
_ZERO = np.float32(0.0)
_ONE = np.float32(1.0)


@njit()
def _mix(into: Array, same: Array, lower: Array, match: Array) -> None:
    for row in range(into.shape[0]):
        into[row] = same[row] + (lower[row] - same[row]) * match[row]


@njit()
def _times(into: Array, lower: Array, match: Array) -> None:
    for row in range(into.shape[0]):
        into[row] = lower[row] * match[row]


@njit()
def _times_rest(into: Array, same: Array, match: Array) -> None:
    for row in range(into.shape[0]):
        into[row] = same[row] * (_ONE - match[row])


@njit()
def _add_times(into: Array, left: Array, right: Array) -> None:
    for row in range(into.shape[0]):
        into[row] += left[row] * right[row]


@njit()
def _add_times_rest(into: Array, left: Array, match: Array) -> None:
    for row in range(into.shape[0]):
        into[row] += left[row] * (_ONE - match[row])


@njit()
def _subtract_times(into: Array, left: Array, right: Array) -> None:
    for row in range(into.shape[0]):
        into[row] -= left[row] * right[row]


@njit()
def _extend(
    counts: Array,
    low: int,
    first: int,
    block: Array,
    begin: int,
    new_low: int,
    extended: Array,
) -> None:
    """Fill `extended` (states × cells × rows) from `counts` and one more feature's `block`.

    `counts` begins at the cell `first` of its group, and `extended` at the cell `begin`.
    """
    rows = block.shape[1]
    size = block.shape[0]
    high = low + counts.shape[0] - 1
    for run in range((rows + _RUN - 1) // _RUN):
        start = run * _RUN
        stop = min(rows, start + _RUN)
        for cell in range(extended.shape[1]):
            parent, value = divmod(begin + cell, size)
            parent -= first
            match = block[value, start:stop]
            for state in range(extended.shape[0]):
                count = new_low + state
                into = extended[state, cell, start:stop]
                if count > high:
                    _times(into, counts[count - 1 - low, parent, start:stop], match)
                elif count - 1 < low:
                    _times_rest(into, counts[count - low, parent, start:stop], match)
                else:
                    same = counts[count - low, parent, start:stop]
                    _mix(into, same, counts[count - 1 - low, parent, start:stop], match)


@njit()
def _retract(
    counts: Array,
    low: int,
    first: int,
    block: Array,
    begin: int,
    new_low: int,
    pull: Array,
    pull_counts: Array,
    pull_block: Array,
) -> None:
    """Transpose of `_extend`: add what `pull`, derivatives by `extended`, means for its inputs."""
    rows = block.shape[1]
    size = block.shape[0]
    high = low + counts.shape[0] - 1
    for run in range((rows + _RUN - 1) // _RUN):
        start = run * _RUN
        stop = min(rows, start + _RUN)
        for cell in range(pull.shape[1]):
            parent, value = divmod(begin + cell, size)
            parent -= first
            match = block[value, start:stop]
            pull_match = pull_block[value, start:stop]
            for state in range(pull.shape[0]):
                count = new_low + state
                given = pull[state, cell, start:stop]
                if count <= high and count >= low:
                    same = counts[count - low, parent, start:stop]
                    _subtract_times(pull_match, given, same)
                    _add_times_rest(pull_counts[count - low, parent, start:stop], given, match)
                if count - 1 >= low:
                    lower = counts[count - 1 - low, parent, start:stop]
                    _add_times(pull_match, given, lower)
                    _add_times(pull_counts[count - 1 - low, parent, start:stop], given, match)


@dataclass(frozen=True, eq=False)
class MatchCounts:
    """E_j[c, row] of a group of features, with the steps that led to it.

    Attributes:
        levels: After 0, 1, …, g features, the window of E (states × cells × rows), float32. Each
            holds only the cells that the cells asked for are made of.
        lows: The smallest count in each level's window.
        begins: The first cell that each level holds.
        blocks: The features' columns of D'.
    """

    levels: tuple[Array, ...]
    lows: tuple[int, ...]
    begins: tuple[int, ...]
    blocks: tuple[Array, ...]

    @property
    def last(self) -> Array:
        """The window of E over the cells asked for (states × cells × rows)."""
        return self.levels[-1]

    def pull_back(self, pull: Array, into: Sequence[Array]) -> None:
        """Add to each of `into`, like `blocks`, the derivatives that `pull` by `last` imply."""
        for level in range(len(self.blocks), 0, -1):
            pull_counts = np.zeros_like(self.levels[level - 1])
            _retract(
                self.levels[level - 1],
                self.lows[level - 1],
                self.begins[level - 1],
                self.blocks[level - 1],
                self.begins[level],
                self.lows[level],
                pull,
                pull_counts,
                into[level - 1],
            )
            pull = pull_counts


def count_matches(
    blocks: Sequence[Array], low: int, high: int, cells: range | None = None
) -> MatchCounts:
    """P(exactly j matches) for j in low..high, for every cell of a group and every row.

    Args:
        blocks: The columns of D' of each feature of the group (values × n'), at least one.
        low: Smallest count of interest.
        high: Largest count of interest, at most the number of features.
        cells: Which cells, in C order of the group's values; all when left out.

    Returns:
        The counts, ready to be differentiated.

    Example:
        >>> first = np.array([[0.5], [0.5]], np.float32)
        >>> second = np.array([[0.25], [0.75]], np.float32)
        >>> count_matches([first, second], 2, 2).last.ravel().tolist()
        [0.125, 0.375, 0.125, 0.375]
    """
    total = int(np.prod([len(block) for block in blocks]))
    spans = [range(total) if cells is None else cells]
    for block in reversed(blocks):
        spans.append(range(spans[-1].start // len(block), -(-spans[-1].stop // len(block))))
    spans.reverse()
    rows = blocks[0].shape[1]
    levels: list[Array] = [np.ones((1, 1, rows), np.float32)]
    lows = [0]
    for level, block in enumerate(blocks, start=1):
        new_low = max(0, low - (len(blocks) - level))
        states = min(level, high) - new_low + 1
        extended = np.empty((states, len(spans[level]), rows), np.float32)
        first, begin = spans[level - 1].start, spans[level].start
        _extend(levels[-1], lows[-1], first, block, begin, new_low, extended)
        levels.append(extended)
        lows.append(new_low)
    begins = tuple(span.start for span in spans)
    return MatchCounts(tuple(levels), tuple(lows), begins, tuple(blocks))
