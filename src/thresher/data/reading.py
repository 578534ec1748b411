"""Private records come in from files and data frames, in chunks, and become codes.

Only the *shape* of the data can be at fault here: a missing column, a declared type without
numbers, a broken file. No cell is ever refused, so whether reading fails does not depend on what
the records say. The shape of a file is how it is written: its encoding, the number of cells in
each line, its quotes. A fault in that is told, although a record may have caused it.

What Arrow or the system says about a fault may quote a record, so it is never passed on. A message
names the file, the line or the schema's column instead. It does not tell the names of a file's
columns either: in a file without a header line they are a record.
"""

import math
from collections.abc import Collection
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from thresher.data.batches import Batches, refuse_missing
from thresher.data.files import RecordFiles, bytes_per_record, rows_in_metadata, stamped
from thresher.data.paths import ENDINGS, files_of
from thresher.data.persons import PersonIds
from thresher.data.private import Progress
from thresher.data.records import Records
from thresher.errors import DataError
from thresher.parallel import in_order
from thresher.schema import Schema
from thresher.schema.feature import Codes

if TYPE_CHECKING:
    import pyarrow as pa

FILES = (str, Path, list, tuple)
"""What names files."""

IN_MEMORY = 256 << 20
"""Files are kept in memory if their codes take at most this many bytes."""


@overload
def read(
    source: Any,
    schema: Schema,
    progress: Progress | None = None,
    *,
    line_breaks_in_cells: bool = False,
    person: str | None = None,
    case_sensitive_ids: bool = False,
    in_memory: Literal[True],
) -> Records: ...
@overload
def read(
    source: Any,
    schema: Schema,
    progress: Progress | None = None,
    *,
    line_breaks_in_cells: bool = False,
    person: str | None = None,
    case_sensitive_ids: bool = False,
    in_memory: bool | None = None,
) -> Records | RecordFiles: ...
def read(
    source: Any,
    schema: Schema,
    progress: Progress | None = None,
    *,
    line_breaks_in_cells: bool = False,
    person: str | None = None,
    case_sensitive_ids: bool = False,
    in_memory: bool | None = None,
) -> Records | RecordFiles:
    """Read private records and code them by a schema.

    Small files are kept in memory. Large ones are not: they are read again, batch by batch, when
    something is counted, and must not change until then. They are large if their codes (mostly one
    byte for each cell) take more than 256 MiB.

    How a cell is coded depends on that cell and the schema alone: see `thresher.schema.cells`.
    Text in a column of numbers is coded as `nulls` says, and is never an error.

    Whether reading fails can depend on the shape of a file: its encoding, its quotes, the number of
    cells in each line, the types that it declares. It does not depend on what the cells say.

    Args:
        source: A path to a CSV, JSON lines or Parquet file, a folder or a pattern such as
            `part-*.parquet`, a list of paths, a pandas or polars data frame, or an Arrow table.
        schema: The public description of the columns. Columns it does not name are ignored.
        progress: Called with the number of records read so far.
        line_breaks_in_cells: Whether a quoted cell of a CSV file may go on over several lines. By
            default each line is a record, and a quote that is not closed in its line is an error.
            Empty lines are skipped, except in a file of one column, where each is a missing cell.
        person: The column that says whose row it is, if a person can have several. It must not be
            a feature of the schema. Every row needs an id. Such records are kept in memory.
        case_sensitive_ids: Whether ids that differ only in capitals are different persons. By
            default, such ids are an error.
        in_memory: Whether to keep files in memory, however large or small they are.

    Example:
        >>> import pandas as pd
        >>> from thresher.schema.features import IntegerRange
        >>> schema = Schema([IntegerRange(name="age", low=0, high=99, nulls=0)])
        >>> read(pd.DataFrame({"age": [30, 41, 250]}), schema).codes("age").tolist()
        [30, 41, 99]
    """
    if person in schema.names:
        raise DataError(
            f"{person!r} says whose row it is and must not be a feature: take it out of the schema"
        )
    files = stamped(files_of(source)) if isinstance(source, FILES) else ()
    keep = in_memory or person is not None or not files
    limit = math.inf if keep else (IN_MEMORY if in_memory is None else 0)
    n = rows_in_metadata(files) if files else None
    if n is None or n * bytes_per_record(schema) <= limit:
        ids = None if person is None else ids_in(source, person, case_sensitive_ids)
        coded = _Coded(schema, limit, ids)
        with ExitStack() as stack:
            wanted = schema.names if person is None else (*schema.names, person)
            opened = open_batches(source, stack, wanted, line_breaks_in_cells=line_breaks_in_cells)
            refuse_missing(opened.described, opened.columns, schema.names)
            if person is not None and person not in opened.columns:
                raise DataError(f"{opened.described} lacks the column {person!r} with ids")
            coded.take_all(opened, progress)
        if coded.fits:
            return coded.records()
        n = coded.rows
    return RecordFiles(schema, files, n, line_breaks_in_cells=line_breaks_in_cells)


def ids_in(source: Any, person: str, case_sensitive: bool) -> PersonIds:
    """What reads the ids of persons in a source, as `read` does.

    Example:
        >>> import pandas as pd
        >>> ids_in(pd.DataFrame({"patient": [7]}), "patient", case_sensitive=False).name
        'patient'
    """
    files = files_of(source) if isinstance(source, FILES) else ()
    in_json = any(file.name.lower().endswith(ENDINGS["JSON lines"]) for file in files)
    return PersonIds(person, case_sensitive, numbers_as_text=in_json)


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
    if not isinstance(source, FILES):
        from thresher.data.frames import open_frame

        return open_frame(source, wanted)
    from thresher.data.paths import open_paths

    return open_paths(source, stack, wanted, line_breaks_in_cells=line_breaks_in_cells)


class _Coded:
    """Coded records, as far as they fit into a limit of bytes; beyond it, only their number."""

    def __init__(self, schema: Schema, limit: float, ids: PersonIds | None) -> None:
        self.rows, self.fits = 0, True
        self._schema, self._limit, self._ids = schema, limit, ids
        self._parts: list[dict[str, Codes]] = []

    def take_all(self, opened: Batches, progress: Progress | None) -> None:
        """Read all batches; two are coded at a time on two cores."""
        from thresher.data.batch_coding import BatchCoder

        coder = BatchCoder(self._schema)

        def code(batch: "pa.RecordBatch") -> "tuple[pa.RecordBatch, dict[str, Codes]]":
            return batch, coder.codes(batch) if self.fits else {}

        for batch, codes in in_order(code, opened.batches):
            self.rows += len(batch)
            if self._ids is not None:
                self._ids.add(batch.column(self._ids.name))
            if self.rows * bytes_per_record(self._schema) > self._limit:
                self.fits = False
                self._parts.clear()
            if self.fits:
                self._parts.append(codes)
            if progress:
                progress(self.rows)
        if not self.rows:
            raise DataError(f"{opened.described} holds no records")

    def records(self) -> Records:
        """The records; their parts are given back column by column."""
        columns = []
        for name in self._schema.names:
            columns.append(np.concatenate([part.pop(name) for part in self._parts]))
        return Records(self._schema, columns, None if self._ids is None else self._ids.column())
