"""Kernels that find the cells of many tables that some records fall in, by hashing.

Tables are given as three flat arrays: where the features of each table start, the features, and the
strides of their axes. `codes` is (features × records).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.relaxed.compilation import njit

Array = NDArray[Any]

_MIX = np.uint64(0x9E3779B97F4A7C15)
"""2^64 over the golden ratio: its products have well mixed upper bits (Fibonacci hashing)."""


@njit()
def _add_cells(
    codes: Array, features: Array, strides: Array, cells: Array, begin: int, end: int
) -> None:
    """Write the cell of one table that each record falls in."""
    cells[:] = 0
    for i in range(begin, end):
        column, stride = codes[features[i]], strides[i]
        for record in range(cells.size):
            cells[record] += column[record] * stride


@njit()
def _count(cells: Array, slots: Array, shift: np.uint64, first: Array, counts: Array) -> int:
    """Count the records in each different cell; returns how many cells there are.

    `first` gets the first record of each cell, and `slots` is room for the hash table: a power of
    two of numbers, of which a hash takes its upper bits.
    """
    slots[:] = -1
    last = slots.size - 1
    kinds = 0
    for record in range(cells.size):
        slot = np.int64((np.uint64(cells[record]) * _MIX) >> shift)
        while slots[slot] >= 0 and cells[first[slots[slot]]] != cells[record]:
            slot = (slot + 1) & last
        if slots[slot] < 0:
            slots[slot] = kinds
            first[kinds] = record
            counts[kinds] = 0
            kinds += 1
        counts[slots[slot]] += 1
    return kinds


@njit()
def _room(records: int) -> tuple[int, int]:
    """The size of a hash table that is at most half full, and by how much to shift a hash."""
    bits = 1
    while 1 << bits < 2 * records:
        bits += 1
    return 1 << bits, 64 - bits


@njit()
def largest_cells(codes: Array, starts: Array, features: Array, strides: Array) -> Array:
    """The largest share of the records in one cell of each table."""
    records = codes.shape[1]
    size, shift = _room(records)
    cells, first = np.empty(records, np.int64), np.empty(records, np.int64)
    counts, slots = np.empty(records, np.int64), np.empty(size, np.int64)
    largest = np.empty(starts.size - 1, np.float32)
    for table in range(starts.size - 1):
        _add_cells(codes, features, strides, cells, starts[table], starts[table + 1])
        kinds = _count(cells, slots, np.uint64(shift), first, counts)
        largest[table] = np.float32(counts[:kinds].max()) * np.float32(1.0 / records)
    return largest


@njit()
def raise_to_shares(
    codes: Array,
    starts: Array,
    features: Array,
    strides: Array,
    part_starts: Array,
    parts: Array,
    rest_of: Array,
    table_starts: Array,
    table_features: Array,
    table_strides: Array,
    offsets: Array,
    among_all: Array,
    hardly_anyone: np.float32,
    best: Array,
    floors: Array,
) -> None:
    """Raise each cell of some tables to the largest share of people with further values in it.

    Args:
        codes: The records.
        starts: Of the marginals whose answers matter, as the next two.
        features: Their features.
        strides: Their strides.
        part_starts: Where the parts of each such marginal start in the next two.
        parts: The tables whose weights it takes part in, by their numbers.
        rest_of: For each part, the number of the table over the marginal's other features.
        table_starts: Of the tables that are weighed, as the next two.
        table_features: Their features.
        table_strides: Their strides.
        offsets: Where the cells of each of them start in `best`.
        among_all: For each table over other features, its largest share of all people.
        hardly_anyone: How many people, with these other values as among all, are added to a cell.
        best: The cells of all tables that are weighed, one after the other.
        floors: For each of these, the largest share among all.
    """
    records = codes.shape[1]
    size, shift = _room(records)
    cells, first = np.empty(records, np.int64), np.empty(records, np.int64)
    counts, slots = np.empty(records, np.int64), np.empty(size, np.int64)
    each = np.float32(1.0 / records)
    for whole in range(starts.size - 1):
        _add_cells(codes, features, strides, cells, starts[whole], starts[whole + 1])
        kinds = _count(cells, slots, np.uint64(shift), first, counts)
        for i in range(part_starts[whole], part_starts[whole + 1]):
            table, among = parts[i], among_all[rest_of[i]]
            floors[table] = max(floors[table], among)
            for kind in range(kinds):
                cell = offsets[table]
                for axis in range(table_starts[table], table_starts[table + 1]):
                    cell += codes[table_features[axis], first[kind]] * table_strides[axis]
                share = np.float32(counts[kind]) * each + hardly_anyone * among
                best[cell] = max(best[cell], share)
