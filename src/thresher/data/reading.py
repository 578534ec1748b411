"""Private records come in: CSV, Parquet, Arrow, pandas and polars, in chunks, into codes.

Only the *shape* of the data can be at fault here: a missing column, a declared type without
numbers, a broken file. No cell is ever refused, so whether reading fails does not depend on what
the records say. The shape of a file is how it is written: its encoding, the number of cells in
each line, its quotes. A fault in that is told, although a record may have caused it.

What Arrow or the system says about a fault may quote a record, so it is never passed on. A message
names the file, the line or the schema's column instead. It does not tell the names of a file's
columns either: in a file without a header line they are a record.
"""

from collections.abc import Callable, Collection
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from thresher.data.batches import Batches
from thresher.data.engines.address import is_address, without_secrets
from thresher.data.records import Records
from thresher.errors import DataError
from thresher.schema import Schema
from thresher.schema.feature import Codes

CSV_ENDINGS = (".csv", ".csv.gz", ".csv.bz2", ".csv.xz", ".csv.zst", ".tsv")
PARQUET_ENDINGS = (".parquet", ".pq")

Progress = Callable[[int], None]


def read(
    source: Any,
    schema: Schema,
    progress: Progress | None = None,
    *,
    line_breaks_in_cells: bool = False,
) -> Records:
    """Read private records and code them by a schema.

    How a cell is coded depends on that cell and the schema alone: see `thresher.schema.cells`.
    Text in a column of numbers is coded as `nulls` says, and is never an error.

    Whether reading fails can depend on the shape of a file: its encoding, its quotes, the number of
    cells in each line, the types that it declares. It does not depend on what the cells say.

    Args:
        source: A path to a CSV or Parquet file, a pandas or polars data frame, or an Arrow table.
        schema: The public description of the columns. Columns it does not name are ignored.
        progress: Called with the number of records read so far.
        line_breaks_in_cells: Whether a quoted cell of a CSV file may go on over several lines. By
            default each line is a record, and a quote that is not closed in its line is an error.
            Empty lines are skipped, except in a file of one column, where each is a missing cell.

    Example:
        >>> import pandas as pd
        >>> from thresher.schema.features import IntegerRange
        >>> schema = Schema([IntegerRange(name="age", low=0, high=99, nulls=0)])
        >>> read(pd.DataFrame({"age": [30, 41, 250]}), schema).codes("age").tolist()
        [30, 41, 99]
    """
    with ExitStack() as stack:
        opened = open_batches(
            source, stack, schema.names, line_breaks_in_cells=line_breaks_in_cells
        )
        _refuse_missing(opened, schema)
        return _coded(opened, schema, progress)


def open_batches(
    source: Any,
    stack: ExitStack,
    wanted: Collection[str] | None = None,
    *,
    line_breaks_in_cells: bool = False,
) -> Batches:
    """Open a source of records; files close with the stack.

    Args:
        source: What `read` takes.
        stack: What closes files.
        wanted: The columns to read, or None for all of them.
        line_breaks_in_cells: As for `read`.

    Example:
        >>> import pandas as pd
        >>> with ExitStack() as stack:
        ...     open_batches(pd.DataFrame({"age": [30]}), stack).columns
        ['age']
    """
    # Each kind of source has a module, imported when it is needed: Arrow and pandas load slowly.
    if not isinstance(source, str | Path):
        from thresher.data.frames import open_frame

        return open_frame(source, wanted)
    path = _file(source)
    if path.name.lower().endswith(PARQUET_ENDINGS):
        from thresher.data.parquet import open_parquet

        return open_parquet(path, stack, wanted)
    if path.name.lower().endswith(CSV_ENDINGS):
        from thresher.data.delimited import open_delimited

        return open_delimited(path, stack, wanted, line_breaks_in_cells=line_breaks_in_cells)
    raise DataError(
        f"{path}: the kind of file is told by its ending; known are "
        f"{', '.join(CSV_ENDINGS + PARQUET_ENDINGS)}"
    )


def _file(source: str | Path) -> Path:
    if is_address(source):
        raise DataError(
            f"{without_secrets(str(source))} is a table of a database, and no file: use `connect`"
        )
    path = Path(source)
    try:
        if not path.is_file():
            raise DataError(f"there is no file {path}")
        if path.stat().st_size == 0:
            raise DataError(f"{path} is empty: a header line and records are expected")
    except OSError as fault:
        raise DataError(f"{path} cannot be read: {fault.strerror}") from None
    return path


def _refuse_missing(opened: Batches, schema: Schema) -> None:
    there = set(opened.columns)
    missing = [name for name in schema.names if name not in there]
    if missing:
        spelled = {name.strip().casefold() for name in there}
        near = [name for name in missing if name.casefold() in spelled]
        raise DataError(
            f"{opened.described} lacks the column{'s' * (len(missing) > 1)} "
            f"{', '.join(map(repr, missing))} of the schema among its {len(opened.columns)}: "
            + (f"mind capitals and blanks in {near[0]!r}" if near else "is there a header line?")
        )


def _coded(opened: Batches, schema: Schema, progress: Progress | None) -> Records:
    parts: list[list[Codes]] = [[] for _ in schema]
    rows = 0
    for batch in opened.batches:
        for part, feature in zip(parts, schema, strict=True):
            part.append(feature.encode(batch.column(feature.name)))
        rows += len(batch)
        if progress:
            progress(rows)
    if not rows:
        raise DataError(f"{opened.described} holds no records")
    columns = []
    for part in parts:
        columns.append(np.concatenate(part))
        part.clear()
    return Records(schema, columns)
