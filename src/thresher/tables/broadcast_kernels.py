"""The kernel that adds tables which lack one axis to a table that has it.

numpy does the same with `expand_dims`, at a tenth of the speed where the last axes are short. Each
cell gets the same additions in the same order either way, so the result is the same to the last
bit.
"""

from typing import Any

import numba
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

CHUNK = 1 << 15
"""Cells that are finished before the next are begun: few enough to stay in a near cache."""

AT_ONCE = 8
"""How many arrays are added in one sweep."""


def add_lacking(total: Array, lacking: tuple[Array, ...], axes: tuple[int, ...]) -> None:
    """Add, to a whole array, arrays of the same type that each lack one of its axes, in order.

    Args:
        total: The array that is added to; contiguous.
        lacking: The arrays to add; contiguous.
        axes: Which axis each of them lacks.

    Example:
        >>> total = np.zeros((2, 3))
        >>> add_lacking(total, (np.array([1.0, 2.0]), np.array([10.0, 20.0, 30.0])), (1, 0))
        >>> total.tolist()
        [[11.0, 21.0, 31.0], [12.0, 22.0, 32.0]]
    """
    shape = np.array(total.shape, dtype=np.int64)
    # A chunk is all cells of the last axes, as many of these as fit.
    first = len(shape) - 1
    while first and shape[first - 1 :].prod() <= CHUNK:
        first -= 1
    for start in range(0, len(lacking), AT_ONCE):
        some = [array.reshape(-1) for array in lacking[start : start + AT_ONCE]]
        # Always as many arrays, so that the kernel is compiled once for each type of number.
        padded = tuple(some + some[:1] * (AT_ONCE - len(some)))
        chosen = np.array(axes[start : start + AT_ONCE], dtype=np.int64)
        _add(total.reshape(-1), padded, chosen, shape, first)


@numba.njit(cache=True, nogil=True)
def _add(total, lacking, axes, shape, first):  # type: ignore[no-untyped-def]
    width = 1
    for axis in range(first, shape.size):
        width *= shape[axis]
    for chunk in range(total.size // width):
        into = total[chunk * width : (chunk + 1) * width]
        for i in range(axes.size):
            axis = axes[i]
            after = 1
            for later in range(axis + 1, shape.size):
                after *= shape[later]
            if axis < first:
                # Chunks before this one on the axes that the array has.
                chunks = after // width
                before = chunk // (chunks * shape[axis]) * chunks + chunk % chunks
                _add_same(into, lacking[i][before * width : (before + 1) * width])
            else:
                part = width // shape[axis]
                _add_along(into, lacking[i][chunk * part : (chunk + 1) * part], shape[axis], after)


@numba.njit(cache=True, nogil=True)
def _add_same(into, array):  # type: ignore[no-untyped-def]
    for i in range(into.size):
        into[i] += array[i]


@numba.njit(cache=True, nogil=True)
def _add_along(into, array, size, after):  # type: ignore[no-untyped-def]
    """Add an array to one with an axis of `size` more, behind which stand `after` cells."""
    if after == 1:
        for i in range(array.size):
            _add_number(into[i * size : (i + 1) * size], array[i])
        return
    for i in range(array.size // after):
        part = array[i * after : (i + 1) * after]
        for j in range(i * size, (i + 1) * size):
            _add_same(into[j * after : (j + 1) * after], part)


@numba.njit(cache=True, nogil=True)
def _add_number(into, number):  # type: ignore[no-untyped-def]
    for i in range(into.size):
        into[i] += number
