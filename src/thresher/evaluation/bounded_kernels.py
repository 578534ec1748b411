"""Kernels of `thresher.evaluation.bounded`: which rows of a table may hold the largest error."""

from typing import Any

import numpy as np
import numpy.typing as npt

from thresher.relaxed.compilation import njit

Array = npt.NDArray[Any]


@njit(reorder=False)
def largest_bound(first: Array, high: Array, low: Array, more: float, less: float) -> int:
    """The row whose error can be largest, as far as the cheapest bound tells."""
    at, worst = 0, -np.inf
    for row in range(first.size):
        bound = max(first[row] + high[row] + more, -(first[row] + low[row] - less))
        if bound > worst:
            at, worst = row, bound
    return at


@njit(reorder=False)
def open_rows(
    first: Array,
    second: Array,
    high: Array,
    low: Array,
    more: Array,
    less: Array,
    best: float,
    rows: Array,
) -> int:
    """List the rows where an error may be above `best`; returns how many there are.

    An error in a row lies between first + second - less and first + second + more.

    Args:
        first: The part of an error that depends on the row alone.
        second: The part that depends on the row and the last value (rows × values).
        high: The largest number of each row of `second`.
        low: The smallest.
        more: For each last value, how much larger an error can be than first + second.
        less: How much smaller.
        best: The largest error that is known.
        rows: Where the rows are written.
    """
    most, least, number = more.max(), less.max(), 0
    for row in range(first.size):
        if first[row] + high[row] + most <= best and -(first[row] + low[row] - least) <= best:
            continue
        for value in range(more.size):
            near = first[row] + second[row, value]
            if near + more[value] > best or less[value] - near > best:
                rows[number] = row
                number += 1
                break
    return number


@njit(reorder=False)
def largest_in_rows(
    rows: Array,
    sizes: Array,
    r: int,
    first: Array,
    second: Array,
    codes: Array,
    counts: Array,
    n: float,
    columns: Array,
    offsets: Array,
    shares: Array,
    starts: Array,
    last_codes: Array,
    last_shares: Array,
) -> float:
    """The largest error in some rows of a table: exact, cell by cell.

    Args:
        rows: The places of the rows in the table over all features but the first and the last.
        sizes: The numbers of values of these features.
        r: How many values must match.
        first: As for `open_rows`.
        second: As for `open_rows`.
        codes: The records that have the first feature's value: their values of all features but
            the first (features × different records).
        counts: How many records there are of each kind.
        n: The number of all records.
        columns: D' (d' × n').
        offsets: Where the columns of the features between the first and the last start.
        shares: The first feature's value in every row of D'.
        starts: Where the nonzero numbers of the last feature start, for each row of D'.
        last_codes: The values that have them.
        last_shares: These numbers.
    """
    middle, worst = sizes.size, 0.0
    value = np.empty(middle, np.int64)
    exactly = np.empty(middle + 1)
    both = np.empty(second.shape[1])
    for i in range(rows.size):
        place = rows[i]
        for axis in range(middle - 1, -1, -1):
            value[axis] = place % sizes[axis]
            place //= sizes[axis]
        both[:] = 0.0
        for j in range(counts.size):
            matches = 0
            for axis in range(middle):
                matches += codes[axis, j] == value[axis]
            if matches == r - 2:
                both[codes[middle, j]] += counts[j] / n
            elif matches == r - 1:
                both[codes[middle, j]] -= counts[j] / n
        for row in range(shares.size):
            if shares[row] == 0:
                continue
            exactly[:] = 0.0
            exactly[0] = 1.0
            for axis in range(middle):
                match = np.float64(columns[offsets[axis] + value[axis], row])
                for count in range(axis + 1, 0, -1):
                    exactly[count] += (exactly[count - 1] - exactly[count]) * match
                exactly[0] -= exactly[0] * match
            weight = -exactly[r - 1] if r - 1 <= middle else 0.0
            if r >= 2:
                weight += exactly[r - 2]
            weight *= shares[row] / np.float64(shares.size)
            for j in range(starts[row], starts[row + 1]):
                both[last_codes[j]] -= weight * last_shares[j]
        for last in range(both.size):
            worst = max(worst, abs(first[rows[i]] + second[rows[i], last] + both[last]))
    return worst
