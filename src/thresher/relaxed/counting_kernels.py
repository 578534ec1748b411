"""Kernels that extend match counts by one feature, and carry derivatives back.

The innermost loops are separate functions, each with one array written, because the
compiler vectorises a loop only while it can check cheaply that no arrays overlap.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.relaxed.compilation import njit

Array = NDArray[Any]

_RUN = 256
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
def extend(
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
def retract(
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
    """Transpose of `extend`: add what `pull`, derivatives by `extended`, means for its inputs."""
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
