"""Records in a CSV file (separated by commas, semicolons, tabs or bars), compressed or not."""

import csv
import re
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv

from thresher.data.batches import Batches, among, refuse_duplicates
from thresher.data.header import (
    SEPARATORS,
    first_line,
    is_utf_16,
    names_in,
    refuse_other_separator,
    separator_of,
)
from thresher.data.packed import BROKEN, BYTE_ORDER_MARK, open_binary
from thresher.data.quotes import (
    CheckedStream,
    LineBreaksInCells,
    OneRecordPerLine,
    QuoteError,
    lines_in,
)
from thresher.errors import DataError

CHUNK_BYTES = 2 << 20
UNEVEN = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")
"""What Arrow says of a row of the wrong length, before it quotes the row.

Arrow has a callback for such rows, but it prints a traceback if the row is not UTF-8.
"""


def open_delimited(
    path: Path, stack: ExitStack, wanted: Collection[str] | None, *, line_breaks_in_cells: bool
) -> Batches:
    r"""The records of a CSV or TSV file, which closes with the stack.

    Args:
        path: The file. What separates its cells is told by its header: see `thresher.data.header`.
        stack: What closes the file.
        wanted: The columns to read, or None for all of them.
        line_breaks_in_cells: Whether a quoted cell may go on over several lines.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        ...     path = Path(folder, "people.csv")
        ...     _ = path.write_text("age,sex\n30,F\n")
        ...     open_delimited(path, stack, None, line_breaks_in_cells=False).columns
        ['age', 'sex']
    """
    try:
        stream = open_binary(path, stack)
        header, rest = first_line(stream, line_breaks_in_cells)
    except BROKEN:
        raise DataError(_fault(path)) from None
    if not header.strip(b"\r\n"):
        raise DataError(f"{path} is empty: a header line and records are expected")
    delimiter, columns = _dialect(path, header, wanted, line_breaks_in_cells)
    refuse_duplicates(str(path), columns, wanted)
    line = 1 + lines_in(header)
    check = (
        LineBreaksInCells(delimiter.encode(), line)
        if line_breaks_in_cells
        else OneRecordPerLine(delimiter.encode(), line, CHUNK_BYTES)
    )
    # Arrow drops a byte order mark at the beginning. Without this one, it would drop what may be
    # a part of the first record.
    checked = CheckedStream(rest, stream, check, mark=BYTE_ORDER_MARK)
    try:
        reader = _reader(checked, delimiter, columns, wanted, line_breaks_in_cells)
        stack.callback(reader.close)
    except BROKEN as fault:
        if "Empty CSV file" in str(fault) and not checked.fault:
            return Batches(str(path), columns, iter(()))
        raise _explained(path, fault, checked, delimiter, line_breaks_in_cells) from None

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            yield from reader
        except BROKEN as fault:
            raise _explained(path, fault, checked, delimiter, line_breaks_in_cells) from None

    return Batches(str(path), columns, batches())


def _dialect(
    path: Path, header: bytes, wanted: Collection[str] | None, line_breaks_in_cells: bool
) -> tuple[str, list[str]]:
    """What separates cells, and the names of the columns."""
    try:
        text = header.decode("utf-8")
        delimiter = separator_of(path, text.strip("\r\n"))
        columns = names_in(header, delimiter, line_breaks_in_cells)
        refuse_other_separator(path, text, delimiter, wanted)
    except QuoteError as fault:
        raise DataError(_quote_fault(path, fault, line_breaks_in_cells)) from None
    except (UnicodeDecodeError, csv.Error):
        advice = ": it is in UTF-16, so save it as UTF-8" if is_utf_16(header) else ""
        raise DataError(_fault(path) + advice) from None
    return delimiter, columns


def _reader(
    stream: CheckedStream,
    delimiter: str,
    columns: list[str],
    wanted: Collection[str] | None,
    line_breaks_in_cells: bool,
) -> Any:
    return pa_csv.open_csv(
        stream,
        read_options=pa_csv.ReadOptions(
            block_size=CHUNK_BYTES, use_threads=False, column_names=columns
        ),
        parse_options=pa_csv.ParseOptions(
            delimiter=delimiter,
            newlines_in_values=line_breaks_in_cells,
            # In a file of one column, an empty line is a record whose cell is missing.
            ignore_empty_lines=len(columns) > 1,
        ),
        # Every cell arrives as text: what a cell means is for the schema to say, and a type
        # inferred from the first chunk must not make a later record raise.
        convert_options=pa_csv.ConvertOptions(
            include_columns=among(columns, wanted),
            column_types=dict.fromkeys(columns, pa.string()),
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
            null_values=[""],
        ),
    )


def _explained(
    path: Path,
    fault: Exception,
    stream: CheckedStream,
    delimiter: str,
    line_breaks_in_cells: bool,
) -> DataError:
    """The error to raise in place of one that may quote a record."""
    row = UNEVEN.search(str(fault))
    if not row and not stream.fault:
        # A reader may give up on an open quote before the check has seen where it leads.
        stream.find_fault()
    if stream.fault:
        return DataError(_quote_fault(path, stream.fault, line_breaks_in_cells))
    if row:
        number, expected, found = map(int, row.groups())
        return DataError(
            f"{path}, row {number + 1} (the header is row 1): {found} fields "
            f"where the header has {expected}; cells are separated by {SEPARATORS[delimiter]}, "
            "and a cell that holds one needs quotation marks" + _of_one_field(delimiter, found)
        )
    return DataError(_fault(path))


def _of_one_field(delimiter: str, found: int) -> str:
    if found > 1:
        return ""
    other = SEPARATORS[";" if delimiter == "," else ","]
    return f"; if the records are separated by {other}, separate the names of the header alike"


def _quote_fault(path: Path, fault: QuoteError, line_breaks_in_cells: bool) -> str:
    advice = "close it, or double a quote that belongs to the text"
    if not line_breaks_in_cells:
        advice += "; if cells of this file hold line breaks, read it with line_breaks_in_cells"
    return f"{path}, {fault}: {advice}"


def _fault(path: Path) -> str:
    return (
        f"{path} cannot be read as CSV in UTF-8 with lines of at most {CHUNK_BYTES:,} bytes, "
        "or it is damaged"
    )
