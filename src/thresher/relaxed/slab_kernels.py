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
    axes: Array,
    first: int,
    last: int,
    lows: Array,
    sizes: Array,
    places: Array,
    weights: Array,
) -> int:
    """List the combinations of a row's values along some of the axes; returns how many there are.

    `places` and `weights` begin with one combination of no values.
    """
    number = 1
    for i in range(first, last):
        axis = axes[i]
        low, size = lows[axis], sizes[axis]
        start, stop = _within(codes, starts[axis, row], starts[axis, row + 1], low, low + size)
        more = stop - start
        # From the end, so that each combination is read before its place is written to.
        for known in range(number - 1, -1, -1):
            place, weight = places[known] * size - low, weights[known]
            for j in range(more):
                places[known * more + j] = place + codes[start + j]
                weights[known * more + j] = weight * shares[start + j]
        number *= more
        if number == 0:
            break
    return number


@njit(reorder=False)
def _numbers(starts: Array, axes: Array) -> float:
    """How many combinations of their numbers along some axes rows have, on average."""
    total = 0.0
    for row in range(starts.shape[1] - 1):
        number = 1.0
        for axis in axes:
            number *= starts[axis, row + 1] - starts[axis, row]
        total += number
    return total / float(starts.shape[1] - 1)


@njit(reorder=False)
def _room(most: Array, axes: Array, sizes: Array) -> int:
    """How many combinations of the values of some axes a row can have in a slab."""
    room = 1
    for axis in axes:
        room *= min(most[axis], sizes[axis])
    return room


@njit(reorder=False)
def fill_slab(
    starts: Array,
    codes: Array,
    shares: Array,
    most: Array,
    axes: Array,
    lows: Array,
    sizes: Array,
    weights_of_rows: Array,
    long: int,
    table: Array,
) -> None:
    """Add the products of every row to a slab of a table over some axes.

    Args:
        starts: Where the numbers of each axis and row start (axes × (rows + 1)).
        codes: The values that have them, ascending for each axis and row.
        shares: The numbers.
        most: The most numbers of each axis in a row, at least 1.
        axes: The axes of the table.
        lows: The first value of each axis that lies in the slab.
        sizes: How many values of each axis do.
        weights_of_rows: What each row's products are multiplied by.
        long: The last axes are combined until a row has so many combinations of their values.
        table: The slab, flat.
    """
    cut = axes.size - 1
    while cut > 0 and _numbers(starts, axes[cut:]) < long:
        cut -= 1
    room, room_at_end = _room(most, axes[:cut], sizes), _room(most, axes[cut:], sizes)
    places, weights = np.empty(room, np.int64), np.empty(room, np.float32)
    ends, end_weights = np.empty(room_at_end, np.int64), np.empty(room_at_end, np.float32)
    width = 1
    for axis in axes[cut:]:
        width *= sizes[axis]
    k = axes.size
    for row in range(starts.shape[1] - 1):
        if weights_of_rows[row] == 0:
            continue
        places[0], weights[0] = 0, weights_of_rows[row]
        number = _combine(starts, codes, shares, row, axes, 0, cut, lows, sizes, places, weights)
        if number == 0:
            continue
        ends[0], end_weights[0] = 0, np.float32(1.0)
        last = _combine(starts, codes, shares, row, axes, cut, k, lows, sizes, ends, end_weights)
        for i in range(number):
            begin, weight = places[i] * width, weights[i]
            for j in range(last):
                table[begin + ends[j]] += weight * end_weights[j]


@njit(reorder=False)
def _fill_few(
    starts: Array,
    codes: Array,
    shares: Array,
    axes: Array,
    lows: Array,
    sizes: Array,
    weights_of_rows: Array,
    table: Array,
) -> None:
    """Do what `fill_slab` does, for at most three axes and without listing combinations.

    So small a table has few combinations, and to list them takes longer than to add them up.
    """
    # The axes that are not there have one value, which every row has with a share of 1.
    lacking = 3 - axes.size
    first, last = np.zeros(3, np.int64), np.ones(3, np.int64)
    low, size = np.zeros(3, np.int64), np.ones(3, np.int64)
    for i in range(axes.size):
        low[lacking + i], size[lacking + i] = lows[axes[i]], sizes[axes[i]]
    for row in range(starts.shape[1] - 1):
        weight = weights_of_rows[row]
        if weight == 0:
            continue
        for i in range(axes.size):
            start, stop = starts[axes[i], row], starts[axes[i], row + 1]
            at, high = lacking + i, low[lacking + i] + size[lacking + i]
            first[at], last[at] = _within(codes, start, stop, low[at], high)
        for a in range(first[0], last[0]):
            place, product = 0, weight
            if lacking < 1:
                place, product = codes[a] - low[0], weight * shares[a]
            for b in range(first[1], last[1]):
                begin, part = place * size[1], product
                if lacking < 2:
                    begin, part = begin + codes[b] - low[1], product * shares[b]
                begin = begin * size[2] - low[2]
                for c in range(first[2], last[2]):
                    table[begin + codes[c]] += part * shares[c]


@njit(reorder=False)
def weights_of_sets(bases: Array, coefficients: Array, members: Array) -> Array:
    """w_B of every row, over the number of rows, for some sets B of axes (sets × rows).

    Args:
        bases: The share c of each axis and row.
        coefficients: What the marginals over 0, 1, …, k features are multiplied by.
        members: Whether each set has each axis (sets × axes).
    """
    k, rows = bases.shape
    weights = np.empty((members.shape[0], rows), np.float32)
    sums = np.empty(k + 1)
    for chosen in range(members.shape[0]):
        size = members[chosen].sum()
        for row in range(rows):
            sums[:] = 0.0
            sums[0] = 1.0 / rows
            most = 0
            for axis in range(k):
                if members[chosen, axis] or bases[axis, row] == 0:
                    continue
                most += 1
                for j in range(most, 0, -1):
                    sums[j] += bases[axis, row] * sums[j - 1]
            total = 0.0
            for j in range(most + 1):
                total += coefficients[size + j] * sums[j]
            weights[chosen, row] = total
    return weights


@njit(reorder=False)
def _add_lacking(table: Array, lacking: Array, size: int, after: int) -> None:
    """Add a table that lacks an axis of some size, behind which stand `after` cells."""
    for i in range(lacking.size // after):
        for j in range(i * size, (i + 1) * size):
            for cell in range(after):
                table[j * after + cell] += lacking[i * after + cell]


@njit(reorder=False)
def fill_below(
    starts: Array,
    codes: Array,
    shares: Array,
    most: Array,
    lows: Array,
    sizes: Array,
    weights: Array,
    long: int,
    members: Array,
    heirs: Array,
    lacks: Array,
    is_stale: Array,
    offsets: Array,
    sums: Array,
) -> None:
    """The sums over some sets B of axes, each of which adds to one set with one axis more.

    The table of a set is filled from its own products and from those tables of fewer axes whose
    heir it is. So the tables that lack one axis together have every product once.

    Args:
        starts: As those of `fill_slab`, like what is not explained here.
        codes: See there.
        shares: See there.
        most: See there.
        lows: See there.
        sizes: See there.
        weights: w_B of every row (sets × rows).
        long: See there.
        members: Whether each set has each axis (sets × axes). Sets of fewer axes come first.
        heirs: For each set, the place of the set that it adds to.
        lacks: The axis that it lacks there.
        is_stale: Whether the table of a set has changed since the last slab.
        offsets: Where the table of each set begins in `sums`.
        sums: The tables, one after another.
    """
    for chosen in range(heirs.size):
        if not is_stale[chosen]:
            continue
        axes = np.flatnonzero(members[chosen])
        cells = 1
        for axis in axes:
            cells *= sizes[axis]
        table = sums[offsets[chosen] : offsets[chosen] + cells]
        table[:] = 0.0
        if axes.size == 0:
            total = 0.0
            for row in range(weights.shape[1]):
                total += weights[chosen, row]
            table[0] = total
        elif axes.size <= 3:
            _fill_few(starts, codes, shares, axes, lows, sizes, weights[chosen], table)
        else:
            fill_slab(starts, codes, shares, most, axes, lows, sizes, weights[chosen], long, table)
        for child in range(chosen):
            if heirs[child] == chosen:
                axis, after = lacks[child], 1
                for later in axes:
                    after *= sizes[later] if later > axis else 1
                part = sums[offsets[child] : offsets[child] + cells // sizes[axis]]
                _add_lacking(table, part, sizes[axis], after)
