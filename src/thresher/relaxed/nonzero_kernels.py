"""Kernels for marginal tables of a D' most of whose entries are zero, and for their derivatives.

They go from row to row, through the combinations of the row's nonzero values. To go from one value
of the first feature to the next instead, so that a part of the table stays in the nearest cache,
took up to twice as long, because the lists of combinations are then shorter.

Codes, strides and places are unsigned, because an index that may be negative takes a test. That
makes filling tables about a fifth faster.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.relaxed.compilation import njit

Array = NDArray[Any]


@njit()
def list_rows(columns: Array, offsets: Array, starts: Array, codes: Array, shares: Array) -> None:
    """List the nonzero values of each feature in each row; `starts` is (features × n' + 1)."""
    rows = columns.shape[1]
    place = np.empty(rows, np.int32)
    to = 0
    for feature in range(starts.shape[0]):
        place[:] = 0
        for column in range(offsets[feature], offsets[feature + 1]):
            for row in range(rows):
                place[row] += 1 if columns[column, row] != 0.0 else 0
        for row in range(rows):
            starts[feature, row] = to
            to += place[row]
            place[row] = starts[feature, row]
        starts[feature, rows] = to
        for column in range(offsets[feature], offsets[feature + 1]):
            for row in range(rows):
                share = columns[column, row]
                if share != 0.0:
                    codes[place[row]] = column - offsets[feature]
                    shares[place[row]] = share
                    place[row] += 1


@njit()
def _combine(
    row: int,
    features: Array,
    strides: Array,
    starts: Array,
    codes: Array,
    shares: Array,
    share: np.float32,
    places: Array,
    weights: Array,
) -> int:
    """List the combinations of a row's nonzero values of some features; return how many."""
    places[0] = 0
    weights[0] = share
    count = 1
    for position in range(features.shape[0]):
        begin = starts[features[position], row]
        size = starts[features[position], row + 1] - begin
        stride = strides[position]
        # From the last to the first, because each combination makes room for `size` of them.
        for old in range(count - 1, -1, -1):
            place, weight = places[old], weights[old]
            for value in range(size):
                places[old * size + value] = place + codes[begin + value] * stride
                weights[old * size + value] = weight * shares[begin + value]
        count *= size
    return count


@njit()
def fill(
    features: Array,
    strides: Array,
    last: int,
    last_stride: np.uint64,
    starts: Array,
    codes: Array,
    shares: Array,
    scale: np.float32,
    places: Array,
    weights: Array,
    table: Array,
) -> None:
    """Add scale × the sum over rows of the products of their shares to a flat table.

    Args:
        features: All features but one.
        strides: From one value of each to the next in the table.
        last: The feature of the innermost loop.
        last_stride: Its stride.
        starts: Where the lists of values of each feature and row begin.
        codes: The values in these lists.
        shares: Their shares.
        scale: A factor on everything.
        places: Room for the combinations of `features` in one row.
        weights: Room for as many shares.
        table: The flat table.
    """
    for row in range(starts.shape[1] - 1):
        count = _combine(row, features, strides, starts, codes, shares, scale, places, weights)
        begin, end = starts[last, row], starts[last, row + 1]
        for combination in range(count):
            place, weight = places[combination], weights[combination]
            for value in range(begin, end):
                table[place + codes[value] * last_stride] += weight * shares[value]


@njit()
def raise_to_largest(
    features: Array,
    strides: Array,
    part_strides: Array,
    starts: Array,
    codes: Array,
    shares: Array,
    places: Array,
    part_places: Array,
    weights: Array,
    table: Array,
    largest: Array,
) -> None:
    """Raise each entry of `largest`, a flat table over some axes, to its largest cell.

    Args:
        features: All features of the table.
        strides: Of the table.
        part_strides: Of the smaller table; zero for a feature that it does not have.
        starts: Where the lists of values of each feature and row begin.
        codes: The values in these lists.
        shares: Their shares.
        places: Room for the combinations of one row.
        part_places: As much room.
        weights: Room for as many shares.
        table: The flat table.
        largest: The flat smaller table.
    """
    one = np.float32(1.0)
    for row in range(starts.shape[1] - 1):
        count = _combine(row, features, strides, starts, codes, shares, one, places, weights)
        _combine(row, features, part_strides, starts, codes, shares, one, part_places, weights)
        for combination in range(count):
            place = part_places[combination]
            largest[place] = max(largest[place], table[places[combination]])


@njit()
def pull_back(
    features: Array,
    strides: Array,
    starts: Array,
    codes: Array,
    shares: Array,
    scale: np.float32,
    places: Array,
    weights: Array,
    pull: Array,
    gradient: Array,
) -> None:
    """Add, for every row and value of a feature, what derivatives by the cells mean for its share.

    The arguments are as in `fill`. The feature is the last axis of `pull`, the flat derivatives by
    the cells, and `features` are all others. `gradient` is (rows × values). Four combinations are
    added at once, because that saves loading and storing `gradient`; so `places` and `weights`
    have room for three more.
    """
    size = np.uint64(gradient.shape[1])
    for row in range(starts.shape[1] - 1):
        count = _combine(row, features, strides, starts, codes, shares, scale, places, weights)
        while count % 4 != 0:
            places[count] = 0
            weights[count] = 0.0
            count += 1
        into = gradient[row]
        for four in range(0, count, 4):
            a, b, c, d = weights[four], weights[four + 1], weights[four + 2], weights[four + 3]
            first = pull[places[four] : places[four] + size]
            second = pull[places[four + 1] : places[four + 1] + size]
            third = pull[places[four + 2] : places[four + 2] + size]
            fourth = pull[places[four + 3] : places[four + 3] + size]
            for value in range(into.shape[0]):
                into[value] += (
                    a * first[value] + b * second[value] + c * third[value] + d * fourth[value]
                )


@njit()
def add_transposed(columns: Array, by_row: Array) -> None:
    """Add (rows × values) to (values × rows), in blocks of rows that stay in the caches."""
    rows = by_row.shape[0]
    for start in range(0, rows, 64):
        for value in range(by_row.shape[1]):
            for row in range(start, min(rows, start + 64)):
                columns[value, row] += by_row[row, value]


@njit()
def subtract(table: Array, wanted: Array) -> tuple[float, float]:
    """Subtract `wanted` from a flat table; return the sum of squares and the largest deviation."""
    total = 0.0
    largest = np.float32(0.0)
    for start in range(0, table.shape[0], 4096):
        square = np.float32(0.0)
        for cell in range(start, min(table.shape[0], start + 4096)):
            deviation = table[cell] - wanted[cell]
            table[cell] = deviation
            square += deviation * deviation
            largest = max(largest, abs(deviation))
        total += float(square)
    return total, float(largest)
