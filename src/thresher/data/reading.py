"""Private records come in: CSV, Parquet, Arrow, pandas and polars, in chunks, into codes.

Only the *shape* of the data can be at fault here: a missing column, a type without numbers, a
broken file. What Arrow or the system says about a fault may quote a record, so it is never
passed on; a message names the file, the line or the column instead.
"""

import lzma
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from thresher.data.records import Records
from thresher.errors import DataError
from thresher.features import Categorical, Codes
from thresher.schema import Schema

CHUNK_BYTES = 8 << 20
CHUNK_ROWS = 1 << 17
CSV_ENDINGS = (".csv", ".csv.gz", ".csv.bz2", ".csv.xz", ".csv.zst", ".tsv")
PARQUET_ENDINGS = (".parquet", ".pq")

Progress = Callable[[int], None]
Opened = tuple[str, list[str], Iterator[pa.RecordBatch]]


def read(source: Any, schema: Schema, progress: Progress | None = None) -> Records:
    """Read private records and code them by a schema.

    Args:
        source: A path to a CSV or Parquet file, a pandas or polars data frame, or an Arrow table.
        schema: The public description of the columns. Columns it does not name are ignored.
        progress: Called with the number of records read so far.

    Example:
        >>> import pandas as pd
        >>> from thresher.features import IntegerRange
        >>> schema = Schema([IntegerRange(name="age", low=0, high=99, nulls=0)])
        >>> read(pd.DataFrame({"age": [30, 41, 250]}), schema).codes("age").tolist()
        [30, 41, 99]
    """
    with ExitStack() as stack:
        described, columns, batches = open_batches(source, stack, wanted=schema.names)
        _check_columns(described, columns, schema)
        return _coded(described, batches, schema, progress)


def open_batches(source: Any, stack: ExitStack, wanted: Collection[str] | None = None) -> Opened:
    """A name for the source, its columns, and its rows in batches; files close with the stack.

    Of a file, only the `wanted` columns are read, or all of them.
    """
    if isinstance(source, str | Path):
        path = Path(source)
        if not path.is_file():
            raise DataError(f"there is no file {path}")
        if path.stat().st_size == 0:
            raise DataError(f"{path} is empty: a header line and records are expected")
        if path.name.lower().endswith(PARQUET_ENDINGS):
            return _open_parquet(path, stack, wanted)
        if path.name.lower().endswith(CSV_ENDINGS):
            return _open_csv(path, stack, wanted)
        raise DataError(
            f"{path}: the kind of file is told by its ending; known are "
            f"{', '.join(CSV_ENDINGS + PARQUET_ENDINGS)}"
        )
    table = _as_arrow(source)
    return (
        f"the {type(source).__name__}",
        table.column_names,
        iter(table.to_batches(max_chunksize=CHUNK_ROWS)),
    )


def _as_arrow(source: Any) -> pa.Table:
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if isinstance(source, pd.DataFrame):
        # Column by column, so that one odd column cannot make the others unreadable.
        _refuse_duplicates("the DataFrame", [str(name) for name in source.columns])
        return pa.table({str(name): _pandas_column(str(name), source[name]) for name in source})
    if hasattr(source, "collect") and hasattr(source, "collect_schema"):
        source = source.collect()
    if hasattr(source, "to_arrow"):
        table = source.to_arrow()
        if isinstance(table, pa.Table):
            return table
    raise DataError(
        f"records cannot be read from a {type(source).__name__}: give a path, "
        "a pandas or polars data frame, or an Arrow table"
    )


def _pandas_column(name: str, column: "pd.Series[Any]") -> pa.Array:
    try:
        return pa.Array.from_pandas(column)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        mixed = column.map(
            lambda cell: None if pd.api.types.is_scalar(cell) and pd.isna(cell) else str(cell)
        )
        return pa.array(mixed, pa.string())


def _open_parquet(path: Path, stack: ExitStack, wanted: Collection[str] | None) -> Opened:
    try:
        file = stack.enter_context(pq.ParquetFile(path))
        columns = file.schema_arrow.names
        batches = file.iter_batches(batch_size=CHUNK_ROWS, columns=_among(columns, wanted))
        return str(path), columns, batches
    except (pa.ArrowException, OSError):
        raise DataError(f"{path} is not a Parquet file, or it is damaged") from None


def _among(columns: list[str], wanted: Collection[str] | None) -> list[str]:
    return [name for name in columns if wanted is None or name in wanted]


def _open_csv(path: Path, stack: ExitStack, wanted: Collection[str] | None) -> Opened:
    bad_line: list[str] = []

    def refuse_line(row: Any) -> str:
        bad_line.append(
            f"{path}, line {row.number}: {row.actual_columns} fields where the header has "
            f"{row.expected_columns}"
        )
        return "error"

    delimiter = "\t" if path.name.lower().endswith(".tsv") else ","
    columns = _csv_header(path, delimiter, stack)
    _refuse_duplicates(str(path), columns)
    try:
        reader = pa_csv.open_csv(
            _binary(path, stack),
            read_options=pa_csv.ReadOptions(block_size=CHUNK_BYTES, use_threads=False),
            parse_options=pa_csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, invalid_row_handler=refuse_line
            ),
            # Every cell arrives as text: what a cell means is the schema's to say, and a type
            # inferred from the first chunk must not make a later record raise.
            convert_options=pa_csv.ConvertOptions(
                include_columns=_among(columns, wanted),
                column_types=dict.fromkeys(columns, pa.string()),
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
                null_values=[""],
            ),
        )
    except (pa.ArrowException, OSError):
        raise DataError(_csv_fault(path, bad_line)) from None
    stack.callback(reader.close)

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            yield from reader
        except (pa.ArrowException, OSError, EOFError, lzma.LZMAError):
            raise DataError(_csv_fault(path, bad_line)) from None

    return str(path), columns, batches()


def _csv_fault(path: Path, bad_line: list[str]) -> str:
    if bad_line:
        return bad_line[0]
    return f"{path} cannot be read as CSV in UTF-8, or it is damaged"


def _binary(path: Path, stack: ExitStack) -> Any:
    if path.name.lower().endswith(".xz"):
        return stack.enter_context(lzma.open(path))
    return stack.enter_context(pa.input_stream(str(path), compression="detect"))


def _csv_header(path: Path, delimiter: str, stack: ExitStack) -> list[str]:
    try:
        names = pd.read_csv(
            _binary(path, stack), sep=delimiter, nrows=1, header=None, dtype=str, na_filter=False
        )
    except (pd.errors.EmptyDataError, pd.errors.ParserError):
        raise DataError(f"{path} is empty: a header line and records are expected") from None
    except (UnicodeDecodeError, OSError, EOFError, lzma.LZMAError):
        raise DataError(_csv_fault(path, [])) from None
    return [str(name) for name in names.iloc[0]]


def _refuse_duplicates(described: str, columns: list[str]) -> None:
    twice = sorted({name for name in columns if columns.count(name) > 1})
    if twice:
        raise DataError(f"{described} has the column {twice[0]!r} twice: rename one of them")


def _check_columns(described: str, columns: list[str], schema: Schema) -> None:
    missing = [name for name in schema.names if name not in columns]
    if missing:
        raise DataError(
            f"{described} lacks the column{'s' * (len(missing) > 1)} "
            f"{', '.join(map(repr, missing))} of the schema; it has: {', '.join(columns)}"
        )


def _coded(
    described: str,
    batches: Iterable[pa.RecordBatch],
    schema: Schema,
    progress: Progress | None,
) -> Records:
    parts: list[list[Codes]] = [[] for _ in schema]
    has_cells = [False] * len(schema)
    has_numbers = [isinstance(feature, Categorical) for feature in schema]
    rows = 0
    for batch in batches:
        for i, feature in enumerate(schema):
            cells = batch.column(feature.name)
            parts[i].append(feature.encode(cells))
            if not has_numbers[i]:
                has_cells[i] |= cells.null_count < len(cells)
                has_numbers[i] = _any_number(cells)
        rows += len(batch)
        if progress:
            progress(rows)
    if not rows:
        raise DataError(f"{described} holds no records")
    for feature, cells_seen, numbers_seen in zip(schema, has_cells, has_numbers, strict=True):
        if cells_seen and not numbers_seen:
            raise DataError(
                f"column {feature.name!r} of {described} holds text and not one number, where the "
                "schema expects numbers: describe it as categorical, or convert it"
            )
    columns = []
    for i in range(len(schema)):
        columns.append(np.concatenate(parts[i]))
        parts[i].clear()
    return Records(schema, columns)


def _any_number(cells: pa.Array) -> bool:
    if not (pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type)):
        return True
    number = r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$"
    return bool(pc.any(pc.match_substring_regex(cells, number)).as_py())
