"""The largest shares that values have within cells, on records drawn from D'.

A table over eight features can have 10^17 cells, and a row of D' can spread its mass over millions
of them. But a few thousand records fall in a few thousand cells. They are found by hashing, so the
work grows with the records and the number of tables, and not with cells.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import prod

import numpy as np
import numpy.typing as npt

from thresher.mechanisms.adaptive_tables.people_kernels import largest_cells, raise_to_shares
from thresher.queries.threshold import Threshold
from thresher.relaxed.rounding import round_rows
from thresher.relaxed.rows import RelaxedRows
from thresher.schema import Schema
from thresher.tables.sparse import MOST_CELLS

PEOPLE = 4000
"""About how many records are drawn from D': the same number from each of its rows."""

SEED = 0
"""Of the records drawn. They come from D', which is public, so the seed protects nothing."""

Whole = npt.NDArray[np.int64]

Positions = tuple[int, ...]
"""Features, by their positions in the schema."""


class PeopleWeights:
    """Computes the weights of errors in some tables on records drawn from D'.

    Args:
        schema: The features.
        parts_of: For each marginal whose answers matter, the tables whose weights it takes part in.
    """

    def __init__(self, schema: Schema, parts_of: Mapping[Threshold, Sequence[Threshold]]) -> None:
        self._sizes = schema.all_sizes
        tables = dict.fromkeys(part for parts in parts_of.values() for part in parts)
        self._index = {table: i for i, table in enumerate(tables)}
        self._tables = [_positions(table, schema) for table in tables]
        cells = [self._cells(features) for features in self._tables]
        self._offsets = np.cumsum([0, *cells], dtype=np.int64)
        wholes, parts, rests, places = [], [], dict[Positions, int](), []
        for whole, chosen in parts_of.items():
            features = _positions(whole, schema)
            wholes.append(features)
            parts.append([self._index[part] for part in chosen])
            for part in parts[-1]:
                rest = tuple(f for f in features if f not in self._tables[part])
                places.append(rests.setdefault(rest, len(rests)))
        self._wholes, self._rests = self._flat(wholes), self._flat(rests)
        self._parts = np.array([part for some in parts for part in some], dtype=np.int64)
        self._part_starts = np.cumsum([0, *map(len, parts)], dtype=np.int64)
        self._rest_of = np.array(places, dtype=np.int64)

    def on(self, rows: RelaxedRows) -> "DrawnWeights":
        """The weights according to D'."""
        count = rows.count * max(1, round(PEOPLE / rows.count))
        drawn = round_rows(rows, count, np.random.default_rng(SEED))
        codes = np.ascontiguousarray(drawn.T, dtype=np.int64)
        hardly_anyone = np.float32(1.0 / rows.count)
        among_all = largest_cells(codes, *self._rests)
        best = np.zeros(self._offsets[-1], dtype=np.float32)
        floors = np.zeros(len(self._tables), dtype=np.float32)
        raise_to_shares(
            codes, *self._wholes, self._part_starts, self._parts, self._rest_of,
            *self._flat(self._tables), self._offsets, among_all, hardly_anyone, best, floors,
        )  # fmt: skip
        return DrawnWeights(self, codes, hardly_anyone, best, floors)

    def place(self, table: Threshold) -> int | None:
        """The number of a table among those that are weighed; None if it is not one of them."""
        return self._index.get(table)

    def cells_of(self, place: int, codes: Whole) -> Whole:
        """The cell of a table that each record falls in."""
        features = self._tables[place]
        shape = [self._sizes[f] for f in features]
        cells = np.ravel_multi_index([codes[f] for f in features], shape)
        return np.asarray(cells, dtype=np.int64)

    def range_of(self, place: int) -> slice:
        """Where the cells of a table stand among those of all tables."""
        return slice(int(self._offsets[place]), int(self._offsets[place + 1]))

    def _cells(self, features: Positions) -> int:
        return prod(self._sizes[f] for f in features)

    def _flat(self, tables: Iterable[Positions]) -> tuple[Whole, Whole, Whole]:
        """Where the features of each table start, all features, and their strides."""
        listed = list(tables)
        starts = np.cumsum([0, *map(len, listed)], dtype=np.int64)
        features = [f for some in listed for f in some]
        strides = [stride for some in listed for stride in self._strides(some)]
        return starts, np.array(features, dtype=np.int64), np.array(strides, dtype=np.int64)

    def _strides(self, features: Positions) -> list[int]:
        """What tells cells apart: their places in C order, or hashes if they are too many."""
        if self._cells(features) <= MOST_CELLS:
            return [self._cells(features[i + 1 :]) for i in range(len(features))]
        # Two of a few thousand records share a hash of 64 bits with a probability below 10^-12.
        drawn = np.random.default_rng(SEED).integers(0, 2**62, len(features))
        return [2 * int(number) + 1 for number in drawn]


class DrawnWeights:
    """Weights that are divided by the share of people in each cell when a table is asked for."""

    def __init__(
        self,
        weighing: PeopleWeights,
        codes: Whole,
        hardly_anyone: np.float32,
        best: npt.NDArray[np.float32],
        floors: npt.NDArray[np.float32],
    ) -> None:
        self._weighing, self._codes, self._hardly_anyone = weighing, codes, hardly_anyone
        self._best, self._floors = best, floors

    def of(self, place: int) -> npt.NDArray[np.float32]:
        """The weights of all cells of a table, flat in C order."""
        here = self._best[self._weighing.range_of(place)]
        cells = self._weighing.cells_of(place, self._codes)
        people = np.bincount(cells, minlength=len(here)).astype(np.float32)
        shares = people * np.float32(1.0 / self._codes.shape[1])
        largest = np.maximum(here, self._hardly_anyone * self._floors[place])
        return np.asarray(largest / (shares + self._hardly_anyone))


def _positions(table: Threshold, schema: Schema) -> Positions:
    return tuple(schema.index(name) for name in table.features)
