"""Coding batches of records, each distinct cell once where that is faster.

The code of a cell depends on that cell and the schema alone. So a column with few distinct cells
is coded by a look-up: the distinct cells are coded as `Feature.encode` says, and each cell takes
the code of its like. Text goes through a dictionary, and a whole number is the place in the table.
"""

from collections.abc import Collection
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thresher.schema import Schema
from thresher.schema.feature import Codes, Feature

LARGEST_LOOKUP = 1 << 22
"""The most whole numbers of a column that are coded ahead."""

LOOKUP_PER_ROW = 4
"""So many may be coded ahead for each row of the first batch; later, for each row seen so far."""

DISTINCT_SHARE = 0.5
"""Text with a larger share of distinct cells than this is coded cell by cell."""

Lookup: TypeAlias = tuple[int, Codes]
"""The codes of consecutive whole numbers, and the first of these."""


class BatchCoder:
    """Codes batches of records by a schema. Several threads can use one.

    Args:
        schema: The features.
        names: The features to code; all of them if not given.

    Example:
        >>> from thresher.schema import IntegerRange
        >>> coder = BatchCoder(Schema([IntegerRange(name="age", low=16, high=99, nulls=16)]))
        >>> batch = pa.record_batch({"age": pa.array([20, None, 300], pa.int16())})
        >>> coder.codes(batch)["age"].tolist()
        [4, 0, 83]
    """

    def __init__(self, schema: Schema, names: Collection[str] | None = None) -> None:
        chosen = set(schema.names if names is None else names)
        self._columns = [_Column(feature) for feature in schema if feature.name in chosen]

    def codes(self, batch: pa.RecordBatch) -> dict[str, Codes]:
        """The codes of each feature."""
        return {
            column.feature.name: column.codes(batch.column(column.feature.name))
            for column in self._columns
        }


class _Column:
    """Codes one column, and remembers what was worth it."""

    def __init__(self, feature: Feature) -> None:
        self.feature = feature
        self._rows = 0
        self._few_distinct = True
        self._lookups: dict[pa.DataType, Lookup] = {}

    def codes(self, cells: pa.Array) -> Codes:
        kind = cells.type
        self._rows += len(cells)
        if pa.types.is_dictionary(kind) and len(cells.dictionary) <= len(cells):
            return self._by_dictionary(cells)
        if pa.types.is_integer(kind):
            return self._by_lookup(cells)
        if self._few_distinct and (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            encoded = cells.dictionary_encode()
            self._few_distinct = len(encoded.dictionary) <= DISTINCT_SHARE * len(cells)
            return self._by_dictionary(encoded)
        return self.feature.encode(cells)

    def _by_dictionary(self, cells: pa.DictionaryArray) -> Codes:
        codes = self.feature.encode(cells.dictionary)
        places = cells.indices
        if places.null_count:
            codes = np.concatenate([codes, self._missing(cells.dictionary.type)])
            places = places.cast(pa.int64()).fill_null(len(codes) - 1)
        return codes.take(np.asarray(places))

    def _by_lookup(self, cells: pa.Array) -> Codes:
        ends = pc.min_max(cells).as_py()
        lowest, highest = ends["min"], ends["max"]
        lookup = None if lowest is None else self._lookup(cells.type, lowest, highest)
        if lookup is None:
            return self.feature.encode(cells)
        first, codes = lookup
        present = cells.fill_null(lowest) if cells.null_count else cells
        numbers = np.asarray(present)
        # The difference may not fit into a signed type of this width; unsigned, it does.
        places = (numbers - numbers.dtype.type(first)).view(f"u{numbers.dtype.itemsize}")
        coded: Codes = codes.take(places.astype(np.intp, copy=False))
        if cells.null_count:
            coded[np.asarray(cells.is_null())] = self._missing(cells.type)
        return coded

    def _lookup(self, kind: pa.DataType, lowest: int, highest: int) -> Lookup | None:
        """The codes of a range of whole numbers, or None if it is too long to be worth it."""
        known = self._lookups.get(kind)
        if known is not None:
            first, codes = known
            if first <= lowest and highest < first + len(codes):
                return known
            lowest, highest = min(lowest, first), max(highest, first + len(codes) - 1)
        length = highest - lowest + 1
        if length > min(LARGEST_LOOKUP, LOOKUP_PER_ROW * self._rows):
            return None
        dtype = kind.to_pandas_dtype()
        numbers = dtype(lowest) + np.arange(length).astype(dtype)
        found = lowest, self.feature.encode(pa.array(numbers, kind))
        self._lookups[kind] = found
        return found

    def _missing(self, kind: pa.DataType) -> Codes:
        return self.feature.encode(pa.nulls(1, kind))
