"""Codes for the columns of a public table.

The bins are quantiles of the public data and the categories are those that occur. A schema for
private data must not be made like this: it would tell about the records.
"""

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks.tables.packages import READERS
from benchmarks.tables.sources import PublicTable
from thresher.data.records import Records
from thresher.schema import Schema
from thresher.schema.features import IntegerRange

MOST_FEATURES = 50
MOST_VALUES = 1200
"""Text with more values names the records; the column is left out."""
MOST_NUMBERS = 64
"""Numbers with more values are put into bins."""
BINS = 32


def coded_records(table: PublicTable) -> Records:
    """A public table, coded: the target first, then the others in their order."""
    frame = READERS[table.package](table.source)
    others = [c for c in frame.columns if c not in ("rownames", table.target, *table.dropped)]
    columns = {}
    for name in (table.target, *others):
        codes = _codes(frame[name], whole=name in table.whole)
        if 2 <= codes.max() + 1 <= MOST_VALUES and len(columns) < MOST_FEATURES:
            columns[name] = codes
    return records(columns)


def records(columns: dict[str, npt.NDArray[np.int64]]) -> Records:
    """Records whose features are coded 0 to size-1."""
    schema = Schema(
        IntegerRange(name=name, low=0, high=int(codes.max()), nulls=0)
        for name, codes in columns.items()
    )
    return Records(schema, list(columns.values()))


def _codes(column: pd.Series, whole: bool) -> npt.NDArray[np.int64]:
    """Categories in their order, or bins; what is missing is the last value."""
    if pd.api.types.is_numeric_dtype(column) and not whole and column.nunique() > MOST_NUMBERS:
        known = column.dropna().to_numpy(float)
        edges = np.unique(np.quantile(known, np.arange(1, BINS) / BINS))
        codes = np.searchsorted(edges, column.to_numpy(float), side="right").astype(np.int64)
        codes[column.isna()] = -1
        codes = pd.factorize(codes, sort=True)[0] - int((codes < 0).any())
    else:
        codes = pd.factorize(column, sort=True)[0].astype(np.int64)
    return np.where(codes < 0, codes.max() + 1, codes)
