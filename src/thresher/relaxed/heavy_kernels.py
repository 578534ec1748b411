"""Kernels of the search for heavy cells: see `thresher.relaxed.heavy_cells`.

A *group* is all cells with the same values of the features so far. The rows that take part in it,
with the product of their shares so far, stand in one bucket. The buckets of one depth stand side by
side in `members` and `products`, in the part that `offsets` gives to the depth. They fit: together
they have at most as many members as the feature has nonzero numbers.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.relaxed.compilation import njit

Array = NDArray[Any]


@njit(reorder=False)
def gather(block: Array, places: Array, codes: Array, shares: Array) -> None:
    """Write nonzero numbers row by row; `places` has where each row's next one goes."""
    for code in range(block.shape[0]):
        for row in range(block.shape[1]):
            share = block[code, row]
            if share != 0:
                codes[places[row]] = code
                shares[places[row]] = share
                places[row] += 1


@njit(reorder=False)
def add_masses(columns: Array, places: Array, masses: Array) -> None:
    """The sum over rows of the product of some columns, for each list of columns."""
    for i in range(masses.size):
        total = 0.0
        for row in range(columns.shape[1]):
            product = 1.0
            for depth in range(places.shape[0]):
                product *= columns[places[depth, i], row]
            total += product
        masses[i] = total


@njit(reorder=False)
def _divide(
    group: Array,
    weights: Array,
    later: Array,
    starts: Array,
    codes: Array,
    shares: Array,
    mass: Array,
    size: Array,
    touched: Array,
) -> int:
    """Add up the mass and the members of a group by the values of one more feature.

    Each row's mass is multiplied by `later`, the most of it that a single cell can have. Returns
    how many values there are.
    """
    kinds = 0
    for i in range(group.size):
        weight = weights[i] * later[group[i]]
        for j in range(starts[group[i]], starts[group[i] + 1]):
            code = codes[j]
            if size[code] == 0:
                touched[kinds] = code
                kinds += 1
            size[code] += 1
            mass[code] += weight * shares[j]
    return kinds


@njit(reorder=False)
def _add_rows(group: Array, weights: Array, dense: Array, mass: Array) -> None:
    """Add up the mass of a group by the values of one more feature, where few shares are 0."""
    for i in range(group.size):
        weight, shares = weights[i], dense[group[i]]
        for code in range(shares.size):
            mass[code] += weight * shares[code]


@njit(reorder=False)
def _fill(
    group: Array,
    weights: Array,
    starts: Array,
    codes: Array,
    shares: Array,
    bucket_of: Array,
    ends: Array,
    members: Array,
    products: Array,
) -> None:
    """Put the rows of a group into buckets; bucket 0 is none."""
    for i in range(group.size):
        weight = weights[i]
        for j in range(starts[group[i]], starts[group[i] + 1]):
            bucket = bucket_of[codes[j]] - 1
            if bucket >= 0:
                members[ends[bucket]] = group[i]
                products[ends[bucket]] = weight * shares[j]
                ends[bucket] += 1


@njit(reorder=False)
def _bucket_heavy(
    kinds: int,
    cut: float,
    begin: int,
    mass: Array,
    size: Array,
    touched: Array,
    bucket_code: Array,
    ends: Array,
) -> int:
    """Make a bucket for every value with enough mass, and leave its number, from 1, in `size`."""
    heavy = 0
    for kind in range(kinds):
        code = touched[kind]
        if mass[code] >= cut:
            bucket_code[heavy] = code
            ends[heavy] = begin
            begin += size[code]
            heavy += 1
            size[code] = heavy
        else:
            size[code] = 0
        mass[code] = 0.0
    return heavy


@njit(reorder=False)
def search(
    starts: Array,
    codes: Array,
    shares: Array,
    offsets: Array,
    strides: Array,
    largest: int,
    later: Array,
    dense: Array,
    least: float,
    cut: float,
    per_row: Array,
    most_steps: float,
) -> tuple[Array, Array, bool]:
    """All cells with a mass of at least `least`; groups whose cells are all below `cut` are cut.

    It gives up after `most_steps`, and then says False. A row of a group takes `per_row` steps.

    `later` has, for each depth and row, the largest share of a cell of the features to come.
    `dense` has the last feature's shares with their zeros (rows × values), or no rows.
    """
    last, rows = starts.shape[0] - 1, starts.shape[1] - 1
    members, products = np.empty(codes.size, np.int32), np.empty(codes.size, np.float64)
    bucket_code = np.empty((last + 1, largest), dtype=np.int32)
    ends = np.empty((last + 1, largest), dtype=np.int64)
    buckets, taken = np.zeros(last + 1, np.int64), np.zeros(last + 1, np.int64)
    prefix = np.zeros(last + 1, dtype=np.int64)
    mass, size = np.zeros(largest, np.float64), np.zeros(largest, np.int64)
    touched = np.empty(largest, dtype=np.int32)
    cells, masses, found = np.empty(1024, np.int64), np.empty(1024, np.float64), 0
    group, weights = np.arange(rows).astype(np.int32), np.ones(rows, dtype=np.float64)
    depth, steps = 0, 0.0
    while steps <= most_steps:
        steps += group.size * per_row[depth]
        if depth == last and dense.shape[0]:
            _add_rows(group, weights, dense, mass[: dense.shape[1]])
            kinds = dense.shape[1]
            touched[:kinds] = np.arange(kinds)
        else:
            kinds = _divide(
                group, weights, later[depth], starts[depth], codes, shares, mass, size, touched
            )
        if depth == last:
            if found + kinds > cells.size:
                cells = np.concatenate((cells, np.empty(cells.size + kinds, np.int64)))
                masses = np.concatenate((masses, np.empty(masses.size + kinds, np.float64)))
            for kind in range(kinds):
                code = touched[kind]
                if mass[code] >= least:
                    cells[found] = prefix[depth] + code * strides[depth]
                    masses[found] = mass[code]
                    found += 1
                mass[code] = 0.0
                size[code] = 0
        else:
            heavy = _bucket_heavy(
                kinds,
                cut,
                offsets[depth],
                mass,
                size,
                touched,
                bucket_code[depth],
                ends[depth],
            )
            _fill(
                group, weights, starts[depth], codes, shares, size, ends[depth], members, products
            )
            for bucket in range(heavy):
                size[bucket_code[depth, bucket]] = 0
            buckets[depth], taken[depth] = heavy, 0
            depth += 1
        while depth > 0 and taken[depth - 1] == buckets[depth - 1]:
            depth -= 1
        if depth == 0:
            return cells[:found].copy(), masses[:found].copy(), True
        above, bucket = depth - 1, taken[depth - 1]
        taken[above] += 1
        begin = offsets[above] if bucket == 0 else ends[above, bucket - 1]
        group, weights = members[begin : ends[above, bucket]], products[begin : ends[above, bucket]]
        prefix[depth] = prefix[above] + bucket_code[above, bucket] * strides[above]
    return cells[:0], masses[:0], False
