"""Records in a JSON lines file, compressed or not: one JSON object on each line.

Every cell arrives as its spelling (see `thresher.schema.cells`), so a number, a truth value or a
text is coded alike whatever stands in the same column elsewhere. Arrow has a reader of JSON, but
it chooses the type of a column by the records in a block, and refuses the others.

A record need not have every column: what it lacks is a missing cell, as is `null`. A file lacks a
column if no record has it.
"""

import json
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from thresher.data import batches as shared
from thresher.data.batches import Batches, among
from thresher.data.packed import BROKEN, BYTE_ORDER_MARK, open_binary
from thresher.errors import DataError
from thresher.schema.cells import spelling
from thresher.schema.coding import spellings_of
from thresher.schema.labels import is_storable

BLOCK_BYTES = 1 << 20
LONGEST_LINE = 2 << 20
MOST_COLUMNS = 20_000

Record = dict[str, Any]

# Whole numbers are read as doubles: their spelling is that of the nearest double anyway, and Python
# refuses whole numbers of very many digits.
_parse: Callable[[str], Any] = json.JSONDecoder(parse_int=float).decode


def open_json_lines(path: Path, stack: ExitStack, wanted: Collection[str] | None) -> Batches:
    r"""The records of a JSON lines file, which closes with the stack.

    Args:
        path: The file.
        stack: What closes the file.
        wanted: The columns to read, or None for all of them.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        ...     path = Path(folder, "people.jsonl")
        ...     _ = path.write_text('{"age": 30}\n{"age": null, "sex": "F"}\n')
        ...     opened = open_json_lines(path, stack, wanted=None)
        ...     opened.columns, [batch.to_pydict() for batch in opened.batches]
        (['age', 'sex'], [{'age': ['30', None], 'sex': [None, 'F']}])
    """
    with ExitStack() as brief:
        columns = _columns(path, _records(path, brief), wanted)
    names = among(columns, wanted)
    schema = pa.schema([(name, pa.large_string()) for name in names])

    def batches() -> Iterator[pa.RecordBatch]:
        rows: list[Record] = []
        for row in _records(path, stack):
            rows.append(row)
            if len(rows) >= shared.CHUNK_ROWS:
                yield _batch(rows, schema)
                rows = []
        if rows:
            yield _batch(rows, schema)

    return Batches(str(path), columns, batches(), names_in_records=True)


def _columns(path: Path, records: Iterator[Record], wanted: Collection[str] | None) -> list[str]:
    """The columns in the order in which they occur, until all that are wanted have occurred."""
    found: dict[str, None] = {}
    lacking = None if wanted is None else set(wanted)
    for record in records:
        if record.keys() <= found.keys():
            continue
        found.update(dict.fromkeys(filter(is_storable, record)))
        if len(found) > MOST_COLUMNS:
            raise DataError(f"{path} has more than {MOST_COLUMNS:,} different keys in its records")
        if lacking is not None:
            lacking -= found.keys()
            if not lacking:
                break
    return list(found)


def _batch(rows: list[Record], schema: pa.Schema) -> pa.RecordBatch:
    columns = [_spelled(name, [row.get(name) for row in rows]) for name in schema.names]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _spelled(name: str, cells: list[Any]) -> pa.Array:
    """The spelling of every cell; columns of text and of numbers take a shorter way to it."""
    kinds = set(map(type, cells)) - {type(None)}
    if kinds == {str}:
        with suppress(UnicodeEncodeError):  # half a character
            return pa.array(cells, pa.large_string())
    if kinds == {float}:
        return spellings_of(name, pa.array(cells, pa.float64())).cast(pa.large_string())
    return pa.array(map(spelling, cells), pa.large_string())


def _records(path: Path, stack: ExitStack) -> Iterator[Record]:
    """The records of a file, one by one. An error names the line and quotes nothing of it."""
    try:
        for number, line in _lines(path, open_binary(path, stack)):
            try:
                record = _parse(line.decode("utf-8"))
            except (ValueError, RecursionError):  # a UnicodeDecodeError is a ValueError
                record = None
            if not isinstance(record, dict):
                raise DataError(
                    f"{path}, line {number}: one JSON object in UTF-8 is expected on each line, "
                    'such as {"age": 30}'
                )
            yield record
    except BROKEN:
        raise DataError(f"{path} cannot be read, or it is damaged") from None


def _lines(path: Path, stream: Any) -> Iterator[tuple[int, bytes]]:
    """The lines of a stream that are not blank, with their numbers."""
    number, tail, mark = 0, b"", BYTE_ORDER_MARK
    while True:
        block = stream.read(BLOCK_BYTES)
        *lines, tail = (tail + block).split(b"\n") if block else (tail, b"")
        for line in lines:
            number += 1
            _refuse_long(path, number, line)
            content = line.removeprefix(mark).strip(b" \t\r")
            mark = b""
            if content:
                yield number, content
        if not block:
            return
        _refuse_long(path, number + 1, tail)


def _refuse_long(path: Path, number: int, line: bytes) -> None:
    if len(line) > LONGEST_LINE:
        raise DataError(f"{path}, line {number}: it has more than {LONGEST_LINE:,} bytes")
