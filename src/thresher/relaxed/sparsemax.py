"""Sparsemax: the exact Euclidean projection of every feature of every row onto its simplex.

The projection of x is max(x - τ, 0), with τ the root of Σ max(x - τ, 0) = 1. Started below the
root, Newton's method on that convex, piecewise linear function climbs to it and ends after a
finite number of steps: the values above τ only ever become fewer (Michelot 1986). Rows that are
already nearly projected, as they are between steps of an optimiser, need two or three passes. No
sorting is needed, and whole runs of rows advance together in vector registers.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.relaxed.compilation import njit

_RUN = 256

Array = NDArray[Any]


@njit()
def _raise_to(top: Array, values: Array) -> None:
    for row in range(top.shape[0]):
        top[row] = max(top[row], values[row])


@njit()
def _shift_and_add(values: Array, top: Array, total: Array) -> None:
    for row in range(values.shape[0]):
        values[row] -= top[row]
        total[row] += values[row]


@njit()
def _add_where_above(values: Array, tau: Array, above: Array, total: Array) -> None:
    for row in range(values.shape[0]):
        inside = values[row] > tau[row]
        above[row] += np.float32(1.0) if inside else np.float32(0.0)
        total[row] += values[row] if inside else np.float32(0.0)


@njit()
def _cut(values: Array, tau: Array) -> None:
    for row in range(values.shape[0]):
        values[row] = max(values[row] - tau[row], np.float32(0.0))


@njit()
def _start_below(block: Array, start: int, stop: int, tau: Array) -> None:
    """Measure values from the top one, and set τ to a lower bound: the mean's, or one below.

    Measured from the top, only numbers in (-1, 0] matter, so that float32 loses nothing.
    """
    top = np.full(stop - start, -np.inf, np.float32)
    total = np.zeros(stop - start, np.float32)
    for value in range(block.shape[0]):
        _raise_to(top, block[value, start:stop])
    for value in range(block.shape[0]):
        _shift_and_add(block[value, start:stop], top, total)
    for row in range(stop - start):
        mean_bound = (total[row] - np.float32(1.0)) / np.float32(block.shape[0])
        tau[row] = max(mean_bound, np.float32(-1.0))


@njit()
def _climb(block: Array, start: int, stop: int, tau: Array) -> bool:
    """Take one Newton step for a run of rows; tell whether any row still moved."""
    above = np.zeros(stop - start, np.float32)
    total = np.zeros(stop - start, np.float32)
    for value in range(block.shape[0]):
        _add_where_above(block[value, start:stop], tau, above, total)
    moved = False
    for row in range(stop - start):
        higher = (total[row] - np.float32(1.0)) / above[row]
        # Steps below the resolution of the sums are rounding, not progress.
        if higher > tau[row] + np.float32(1e-7):
            moved = True
        tau[row] = max(higher, tau[row])
    return moved


@njit()
def _project(columns: Array, offsets: Array) -> None:
    rows = columns.shape[1]
    runs = (rows + _RUN - 1) // _RUN
    for run in range(runs):
        start = run * _RUN
        stop = min(rows, start + _RUN)
        tau = np.empty(stop - start, np.float32)
        for feature in range(offsets.shape[0] - 1):
            block = columns[offsets[feature] : offsets[feature + 1]]
            _start_below(block, start, stop, tau)
            # A value drops out in every step but the last, so `size` steps are always enough.
            for _ in range(block.shape[0] + 1):
                if not _climb(block, start, stop, tau):
                    break
            for value in range(block.shape[0]):
                _cut(block[value, start:stop], tau)


def sparsemax(columns: NDArray[np.float32], offsets: NDArray[np.int64]) -> None:
    """Project every feature of every row onto the simplex, in place.

    Args:
        columns: Relaxed rows, transposed (d' × n'), C-contiguous.
        offsets: Where each feature's columns start, and d' at the end.

    Example:
        >>> columns = np.array([[0.8], [0.6], [-0.2]], dtype=np.float32)
        >>> sparsemax(columns, np.array([0, 3]))
        >>> columns.ravel().round(6).tolist()
        [0.6000000238418579, 0.4000000059604645, 0.0]
    """
    _project(columns, offsets)
