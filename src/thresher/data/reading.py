"""Private records come in: CSV, Parquet, Arrow, pandas and polars, in chunks, into codes.

Only the *shape* of the data can be at fault here: a missing column, a type without numbers, a
broken file. What Arrow or the system says about a fault may quote a record, so it is never
passed on; a message names the file, the row or the schema's column instead. Not even the file's
own column names are told: of a file without a header line, they are a record.
"""

import lzma
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from thresher.data.records import Records
from thresher.errors import DataError
from thresher.schema import Schema
from thresher.schema.cells import label_text, numbers_of
from thresher.schema.features import Categorical, Codes, has_words

CHUNK_BYTES = 2 << 20
CHUNK_ROWS = 1 << 17
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
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
        >>> from thresher.schema.features import IntegerRange
        >>> schema = Schema([IntegerRange(name="age", low=0, high=99, nulls=0)])
        >>> read(pd.DataFrame({"age": [30, 41, 250]}), schema).codes("age").tolist()
        [30, 41, 99]
    """
    with ExitStack() as stack:
        described, columns, batches = open_batches(source, stack, wanted=schema.names)
        _refuse_missing(described, columns, schema)
        return _coded(described, batches, schema, progress)


def open_batches(source: Any, stack: ExitStack, wanted: Collection[str] | None = None) -> Opened:
    """A name for the source, its columns, and its rows in batches; files close with the stack.

    Only the `wanted` columns are read, or all of them.
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
    described = f"the {type(source).__name__}"
    if isinstance(source, pd.DataFrame):
        columns = [str(name) for name in source.columns]
        _refuse_duplicates(described, columns, wanted)
        # Column by column, so that one odd column cannot make the others unreadable.
        table = pa.table(
            {
                name: _pandas_column(source.iloc[:, place])
                for place, name in enumerate(columns)
                if wanted is None or name in wanted
            }
        )
    else:
        table = _as_arrow(source)
        columns = table.column_names
        _refuse_duplicates(described, columns, wanted)
        table = table.select(_among(columns, wanted))
    return described, columns, iter(table.to_batches(max_chunksize=CHUNK_ROWS))


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


def _pandas_column(column: "pd.Series[Any]") -> pa.Array:
    try:
        cells = pa.Array.from_pandas(column)
    except (pa.ArrowException, TypeError, ValueError, ArithmeticError):
        cells = None
    if cells is None or (column.dtype == object and not _says_as_much_as_text(cells.type)):
        return pa.array(map(_cell_text, column), pa.string())
    return cells


def _says_as_much_as_text(kind: pa.DataType) -> bool:
    """Whether a cell of a mixed column is coded alike if Arrow finds this one type for them all.

    It must be: whether Arrow finds one type depends on every record of the column.
    """
    plain = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    refused = pa.types.is_nested(kind) or pa.types.is_binary(kind)
    return bool(plain or text or refused)


def _cell_text(cell: Any) -> str | None:
    try:
        if pd.api.types.is_scalar(cell) and pd.isna(cell):
            return None
    except ArithmeticError:  # a Decimal that signals when it is looked at
        return None
    if isinstance(cell, float | np.floating):
        return str(label_text("", pa.array([float(cell)]))[0])
    return str(cell).encode("utf-8", "replace").decode()


def _open_parquet(path: Path, stack: ExitStack, wanted: Collection[str] | None) -> Opened:
    try:
        file = stack.enter_context(pq.ParquetFile(path))
        columns = file.schema_arrow.names
        batches = file.iter_batches(batch_size=CHUNK_ROWS, columns=_among(columns, wanted))
    except (pa.ArrowException, OSError):
        raise DataError(_parquet_fault(path)) from None
    _refuse_duplicates(str(path), columns, wanted)

    def readable() -> Iterator[pa.RecordBatch]:
        try:
            yield from batches
        except (pa.ArrowException, OSError):
            raise DataError(_parquet_fault(path)) from None

    return str(path), columns, readable()


def _parquet_fault(path: Path) -> str:
    return f"{path} is not a Parquet file, or it is damaged"


def _among(columns: list[str], wanted: Collection[str] | None) -> list[str]:
    return [name for name in columns if wanted is None or name in wanted]


def _open_csv(path: Path, stack: ExitStack, wanted: Collection[str] | None) -> Opened:
    bad_line: list[str] = []

    def refuse_line(row: Any) -> str:
        bad_line.append(
            f"{path}, row {row.number} (the header is row 1): {row.actual_columns} fields "
            f"where the header has {row.expected_columns}"
        )
        return "error"

    delimiter = "\t" if path.name.lower().endswith(".tsv") else ","
    columns = _csv_header(path, delimiter, stack)
    _refuse_duplicates(str(path), columns, wanted)
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
    except (pa.ArrowException, OSError, EOFError, lzma.LZMAError) as fault:
        if "Empty CSV file" in str(fault):  # a header without so much as a line end
            raise DataError(f"{path} holds no records") from None
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
    ending = path.suffix.lower()
    if ending == ".xz":
        return stack.enter_context(lzma.open(path))
    return stack.enter_context(pa.input_stream(str(path), compression=COMPRESSIONS.get(ending)))


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


def _refuse_duplicates(described: str, columns: list[str], wanted: Collection[str] | None) -> None:
    for place, name in enumerate(columns):
        if name in columns[:place]:
            named = f" ({name!r})" if name in (wanted or ()) else ""
            raise DataError(
                f"{described}: columns {columns.index(name) + 1} and {place + 1} have the same "
                f"name{named}: rename one of them"
            )


def _refuse_missing(described: str, columns: list[str], schema: Schema) -> None:
    missing = [name for name in schema.names if name not in columns]
    if missing:
        spelled = {name.strip().casefold() for name in columns}
        near = [name for name in missing if name.casefold() in spelled]
        raise DataError(
            f"{described} lacks the column{'s' * (len(missing) > 1)} "
            f"{', '.join(map(repr, missing))} of the schema among its {len(columns)}: "
            + (f"mind capitals and blanks in {near[0]!r}" if near else "is there a header line?")
        )


def _coded(
    described: str,
    batches: Iterable[pa.RecordBatch],
    schema: Schema,
    progress: Progress | None,
) -> Records:
    parts: list[list[Codes]] = [[] for _ in schema]
    words = [False] * len(schema)
    numbers = [isinstance(feature, Categorical) for feature in schema]
    rows = 0
    for batch in batches:
        for i, feature in enumerate(schema):
            cells = batch.column(feature.name)
            parts[i].append(feature.encode(cells))
            if not numbers[i]:
                words[i] |= has_words(feature, cells)
                numbers[i] = not np.isnan(numbers_of(feature.name, cells)).all()
        rows += len(batch)
        if progress:
            progress(rows)
    if not rows:
        raise DataError(f"{described} holds no records")
    for feature, has_text, has_numbers in zip(schema, words, numbers, strict=True):
        if has_text and not has_numbers:
            raise DataError(
                f"column {feature.name!r} of {described} holds text and not one number, where the "
                "schema expects numbers: describe it as categorical, or convert it"
            )
    columns = []
    for i in range(len(schema)):
        columns.append(np.concatenate(parts[i]))
        parts[i].clear()
    return Records(schema, columns)
