"""Fused kernels for selected queries: answers on D', and the gradient of a weighted sum of them.

Every kernel walks over D' in blocks of rows. In a block, the k columns of a query are short
contiguous runs that stay in the nearest caches, and no two blocks write to the same place, so
cores never wait for each other and the result is the same however many there are.

A query's value on one row is the probability that at least r of k independent matches happen.
The dynamic programme counts whichever is rarer, matches or mismatches: it then needs only
`states` = min(r, k - r + 1) counts, and both r = k and r = 1 shrink to one plain product. With x
the probability of a match, `stay` = offset + sign·x is that of an event that is not counted.

The innermost loops are separate functions, each with one or two arrays written, because
the compiler vectorises a loop only while it can check cheaply that no arrays overlap.
"""

from typing import Any

import numpy as np
from numba import prange
from numpy.typing import NDArray

from thresher.relaxed.compilation import njit

ROW_BLOCK = 512

Array = NDArray[Any]

_ZERO = np.float32(0.0)
_ONE = np.float32(1.0)


@njit()
def _fill(into: Array, value: np.float32) -> None:
    for row in range(into.shape[0]):
        into[row] = value


@njit()
def _total(values: Array) -> np.float32:
    total = _ZERO
    for row in range(values.shape[0]):
        total += values[row]
    return total


@njit()
def _total_product(first: Array, second: Array, third: Array) -> np.float32:
    total = _ZERO
    for row in range(first.shape[0]):
        total += first[row] * second[row] * third[row]
    return total


@njit()
def _add_product(into: Array, scale: np.float32, left: Array, right: Array) -> None:
    for row in range(into.shape[0]):
        into[row] += scale * left[row] * right[row]


@njit()
def _multiply(
    into: Array, counts: Array, match: Array, offset: np.float32, sign: np.float32
) -> None:
    for row in range(into.shape[0]):
        into[row] = counts[row] * (offset + sign * match[row])


@njit()
def _multiply_in_place(counts: Array, match: Array, offset: np.float32, sign: np.float32) -> None:
    for row in range(counts.shape[0]):
        counts[row] *= offset + sign * match[row]


@njit()
def _mix(
    into: Array, counts: Array, lower: Array, match: Array, offset: np.float32, sign: np.float32
) -> None:
    for row in range(into.shape[0]):
        stay = offset + sign * match[row]
        into[row] = counts[row] * stay + lower[row] * (_ONE - stay)


@njit()
def _mix_in_place(
    counts: Array, lower: Array, match: Array, offset: np.float32, sign: np.float32
) -> None:
    for row in range(counts.shape[0]):
        stay = offset + sign * match[row]
        counts[row] = counts[row] * stay + lower[row] * (_ONE - stay)


@njit()
def _certainly_none(counts: Array, states: int, scale: np.float32) -> None:
    """Start the dynamic programme: before any event, the count is zero."""
    _fill(counts[0], scale)
    for state in range(1, states):
        _fill(counts[state], _ZERO)


@njit()
def _count_one_more(
    into: Array, counts: Array, states: int, match: Array, offset: np.float32, sign: np.float32
) -> None:
    """Extend the distribution of a count, cut off at `states`, by one independent event."""
    for state in range(states - 1, 0, -1):
        _mix(into[state], counts[state], counts[state - 1], match, offset, sign)
    _multiply(into[0], counts[0], match, offset, sign)


@njit()
def _count_in_place(
    counts: Array, states: int, match: Array, offset: np.float32, sign: np.float32
) -> None:
    for state in range(states - 1, 0, -1):
        _mix_in_place(counts[state], counts[state - 1], match, offset, sign)
    _multiply_in_place(counts[0], match, offset, sign)


@njit(parallel=True)
def sum_over_rows(
    columns: Array, queries: Array, lengths: Array, thresholds: Array, partial: Array
) -> None:
    """Sum every query's value over the rows of each block.

    Args:
        columns: D', transposed (d' × n'), float32.
        queries: One-hot columns of each query (q × k), padded with -1.
        lengths: Number of columns each query really has.
        thresholds: r of each query.
        partial: Where the sums go (blocks × q), float64.
    """
    rows = columns.shape[1]
    most = queries.shape[1] // 2 + 1
    for block in prange(partial.shape[0]):
        start = block * ROW_BLOCK
        stop = min(rows, start + ROW_BLOCK)
        width = stop - start
        counts = np.empty((most, width), np.float32)
        for query in range(queries.shape[0]):
            k = lengths[query]
            r = thresholds[query]
            chosen = queries[query]
            if k == 3 and r == 3:
                partial[block, query] = _total_product(
                    columns[chosen[0], start:stop],
                    columns[chosen[1], start:stop],
                    columns[chosen[2], start:stop],
                )
                continue
            mismatches = k - r + 1 <= r
            states = k - r + 1 if mismatches else r
            offset, sign = (_ZERO, _ONE) if mismatches else (_ONE, -_ONE)
            _certainly_none(counts, states, _ONE)
            for position in range(k):
                _count_in_place(counts, states, columns[chosen[position], start:stop], offset, sign)
            total = _ZERO
            for state in range(states):
                total += _total(counts[state])
            partial[block, query] = total if mismatches else width - total


@njit(parallel=True)
def add_gradient(
    columns: Array,
    queries: Array,
    lengths: Array,
    thresholds: Array,
    coefficients: Array,
    gradient: Array,
) -> None:
    """Add to `gradient` that of the sum over queries and rows of coefficient × value.

    The derivative by the j-th match is the probability that the others leave exactly the last
    count open: a prefix of the dynamic programme meets a suffix.

    Args:
        columns: D', transposed (d' × n'), float32.
        queries: One-hot columns of each query (q × k), padded with -1.
        lengths: Number of columns each query really has.
        thresholds: r of each query.
        coefficients: One float32 factor per query.
        gradient: Array like `columns` to add to.
    """
    rows = columns.shape[1]
    longest = queries.shape[1]
    blocks = (rows + ROW_BLOCK - 1) // ROW_BLOCK
    for block in prange(blocks):
        start = block * ROW_BLOCK
        stop = min(rows, start + ROW_BLOCK)
        width = stop - start
        before = np.empty((longest, longest // 2 + 1, width), np.float32)
        after = np.empty((longest // 2 + 1, width), np.float32)
        for query in range(queries.shape[0]):
            k = lengths[query]
            r = thresholds[query]
            scale = coefficients[query]
            chosen = queries[query]
            if k == 3 and r == 3:
                first = columns[chosen[0], start:stop]
                second = columns[chosen[1], start:stop]
                third = columns[chosen[2], start:stop]
                _add_product(gradient[chosen[0], start:stop], scale, second, third)
                _add_product(gradient[chosen[1], start:stop], scale, first, third)
                _add_product(gradient[chosen[2], start:stop], scale, first, second)
                continue
            mismatches = k - r + 1 <= r
            states = k - r + 1 if mismatches else r
            offset, sign = (_ZERO, _ONE) if mismatches else (_ONE, -_ONE)
            _certainly_none(before[0], states, _ONE)
            for position in range(k - 1):
                match = columns[chosen[position], start:stop]
                _count_one_more(before[position + 1], before[position], states, match, offset, sign)
            _certainly_none(after, states, _ONE)
            for position in range(k - 1, -1, -1):
                target = gradient[chosen[position], start:stop]
                for state in range(states):
                    _add_product(target, scale, before[position, state], after[states - 1 - state])
                if position > 0:
                    match = columns[chosen[position], start:stop]
                    _count_in_place(after, states, match, offset, sign)
