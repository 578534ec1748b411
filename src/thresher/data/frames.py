"""Records in memory: pandas and polars data frames, and Arrow tables."""

from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from thresher.data import batches as shared
from thresher.data.batches import Batches, among, refuse_duplicates
from thresher.errors import DataError
from thresher.schema.cells import spelling, whole_characters
from thresher.schema.coding import spellings_of


def open_frame(source: Any, wanted: Collection[str] | None) -> Batches:
    """The records of a data frame or an Arrow table.

    Args:
        source: A pandas or polars data frame, an Arrow table or an Arrow record batch.
        wanted: The columns to read, or None for all of them.

    Example:
        >>> opened = open_frame(pd.DataFrame({"age": [30, 41]}), wanted=None)
        >>> opened.columns, sum(len(batch) for batch in opened.batches)
        (['age'], 2)
    """
    described = f"the {type(source).__name__}"
    if isinstance(source, pd.DataFrame):
        columns = [whole_characters(str(name)) for name in source.columns]
        refuse_duplicates(described, columns, wanted)
        chosen = set(among(columns, wanted))
        table = pa.table(
            {
                name: column_of(source.iloc[:, place])
                for place, name in enumerate(columns)
                if name in chosen
            }
        )
    else:
        table = _as_arrow(source)
        columns = table.column_names
        refuse_duplicates(described, columns, wanted)
        table = table.select(among(columns, wanted))
    return Batches(described, columns, iter(table.to_batches(max_chunksize=shared.CHUNK_ROWS)))


def column_of(column: "pd.Series[Any]") -> pa.Array | pa.ChunkedArray:
    """A column of pandas as Arrow cells: numbers or spellings.

    pandas chooses the type of a column by all of its cells: one missing truth value turns a
    column of type bool into one of objects. So no type of pandas is refused, and every cell of
    a type other than numbers and text is spelled, cell by cell if need be.

    Example:
        >>> column_of(pd.Series([True, False])).to_pylist()
        ['true', 'false']
        >>> column_of(pd.Series([True, None])).to_pylist()
        ['true', None]
    """
    kind = column.dtype
    if isinstance(kind, pd.CategoricalDtype):
        return _category_column(column)
    if isinstance(kind, pd.ArrowDtype):  # declared by its owner, not chosen by pandas
        return pa.array(column)
    try:
        if isinstance(kind, pd.StringDtype) or _is_all_text(column):
            return _one_array(pa.array(column, pa.large_string(), from_pandas=True))
        if pd.api.types.is_bool_dtype(kind) or kind.kind in "iufM":
            cells = _one_array(pa.array(column, from_pandas=True))
            return cells if kind.kind in "iuf" else spellings_of(str(column.name), cells)
    except (pa.ArrowException, TypeError, ValueError, ArithmeticError):
        pass  # half a character, or a type that Arrow does not have
    return pa.array(map(spelling, column), pa.large_string())


def _is_all_text(column: "pd.Series[Any]") -> bool:
    try:
        return column.dtype == object and pd.api.types.infer_dtype(column, skipna=True) == "string"
    except Exception:  # a cell can be any object, and may raise even when asked for its class
        return False


def _category_column(column: "pd.Series[Any]") -> pa.Array | pa.ChunkedArray:
    categories = column_of(pd.Series(column.cat.categories))
    codes = np.asarray(column.cat.codes)
    return categories.take(pa.array(codes, mask=codes < 0))


def _one_array(cells: pa.Array | pa.ChunkedArray) -> pa.Array:
    return cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells


def _as_arrow(source: Any) -> pa.Table:
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    kind = type(source).__name__
    try:
        if hasattr(source, "collect") and hasattr(source, "collect_schema"):
            source = source.collect()
        if hasattr(source, "to_arrow"):
            table = source.to_arrow()
            if isinstance(table, pa.Table):
                return table
    except Exception:
        raise DataError(
            f"the {kind} cannot be turned into an Arrow table: run its `collect` or `to_arrow` "
            "to see why (what they say may quote records)"
        ) from None
    raise DataError(
        f"records cannot be read from a {kind}: give a path, "
        "a pandas or polars data frame, or an Arrow table"
    )
