"""Counting marginal tables on coded records."""

from collections.abc import Sequence

import numpy as np

from thresher.data.private import FeatureSet
from thresher.schema import Schema
from thresher.schema.feature import Codes
from thresher.tables.sparse import SparseTable, check_countable


def counted(
    schema: Schema, columns: Sequence[Codes], feature_sets: Sequence[FeatureSet]
) -> list[SparseTable]:
    """The marginal tables of coded columns, one column for each feature of the schema.

    Example:
        >>> from thresher.schema import IntegerRange
        >>> schema = Schema(IntegerRange(name=x, low=0, high=2, nulls=0) for x in "ab")
        >>> [table] = counted(schema, [np.array([0, 2, 2]), np.array([1, 1, 1])], [("a", "b")])
        >>> table.cells.tolist(), table.counts.tolist()
        ([1, 7], [1, 2])
    """
    tables = []
    for features in feature_sets:
        shape = tuple(schema[name].size for name in features)
        check_countable(shape, f"the table over {', '.join(features)}")
        cells = np.zeros(len(columns[0]), dtype=np.int64)
        for name, size in zip(features, shape, strict=True):
            cells *= size
            cells += columns[schema.index(name)]
        tables.append(SparseTable.of_cells(shape, cells))
    return tables
