"""The kernel that fills a slab of a table from few numbers of each row of D'.

A row gives the product of its numbers to each combination of their values. The values
of the last axes are combined once for each row, and then shifted by each combination of the first
axes. So the innermost loop is long, and writes to cells that are near each other.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.relaxed.compilation import njit

Array = NDArray[Any]


@njit(reorder=False)
def _within(codes: Array, start: int, stop: int, low: int, high: int) -> tuple[int, int]:
    """Where the values of [low, high) stand in a list of ascending ones."""
    while start < stop and codes[start] < low:
        start += 1
    while start < stop and codes[stop - 1] >= high:
        stop -= 1
    return start, stop


@njit(reorder=False)
def _combine(
    starts: Array,
    codes: Array,
    shares: Array,
    row: int,
    axes: range,
    lows: Array,
    sizes: Array,
    places: Array,
    weights: Array,
) -> int:
    """List the combinations of a row's values along some axes; returns how many there are.

    `places` and `weights` begin with one combination of no values.
    """
    number = 1
    for axis in axes:
        low, size = lows[axis], sizes[axis]
        start, stop = _within(codes, starts[axis, row], starts[axis, row + 1], low, low + size)
        more = stop - start
        # From the end, so that each combination is read before its place is written to.
        for i in range(number - 1, -1, -1):
            place, weight = places[i] * size - low, weights[i]
            for j in range(more):
                places[i * more + j] = place + codes[start + j]
                weights[i * more + j] = weight * shares[start + j]
        number *= more
        if number == 0:
            break
    return number


@njit(reorder=False)
def _add(table: Array, places: Array, weights: Array, weight: np.float32) -> None:
    for i in range(places.size):
        table[places[i]] += weight * weights[i]


@njit(reorder=False)
def fill_slab(
    starts: Array,
    codes: Array,
    shares: Array,
    lows: Array,
    sizes: Array,
    cut: int,
    weights_of_rows: Array,
    room: Array,
    table: Array,
) -> None:
    """Add the products of every row to a slab of a table.

    Args:
        starts: Where the numbers of each axis and row start (axes × (rows + 1)).
        codes: The values that have them, ascending for each axis and row.
        shares: The numbers.
        lows: The first value of each axis that lies in the slab.
        sizes: How many values of each axis do.
        cut: How many axes are among the first ones.
        weights_of_rows: What each row's products are multiplied by.
        room: How many combinations of the first, and of the last, axes a row can have.
        table: The slab, flat.
    """
    places, weights = np.empty(room[0], np.int64), np.empty(room[0], np.float32)
    ends, end_weights = np.empty(room[1], np.int64), np.empty(room[1], np.float32)
    width = 1
    for axis in range(cut, sizes.size):
        width *= sizes[axis]
    for row in range(starts.shape[1] - 1):
        places[0], weights[0] = 0, weights_of_rows[row]
        number = _combine(starts, codes, shares, row, range(cut), lows, sizes, places, weights)
        if number == 0 or weights_of_rows[row] == 0:
            continue
        ends[0], end_weights[0] = 0, np.float32(1.0)
        last = _combine(
            starts, codes, shares, row, range(cut, sizes.size), lows, sizes, ends, end_weights
        )
        for i in range(number):
            begin = places[i] * width
            _add(table[begin : begin + width], ends[:last], end_weights[:last], weights[i])
