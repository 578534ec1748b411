"""The header line of a delimited file: where it ends, what separates cells, and the names.

What separates the cells of a file is told by its ending (`.tsv`: tabs) or by its header line alone,
never by a record: of comma, semicolon, tab and vertical bar, the one that occurs most often
outside quotation marks. If two occur equally often, the one that is named first here wins, so that
a file of one column counts as separated by commas.
"""

import csv
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

from thresher.data.packed import BYTE_ORDER_MARK
from thresher.data.quotes import LINE_END, LineBreaksInCells, OneRecordPerLine
from thresher.errors import DataError

LONGEST_HEADER = 16 << 20
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
QUOTED = re.compile(r'(^|[,;\t|])"(?:[^"]|"")*"')


def first_line(stream: Any, line_breaks_in_cells: bool) -> tuple[bytes, bytes]:
    r"""The header with the empty lines before it, and what was read beyond it.

    Example:
        >>> import io
        >>> first_line(io.BytesIO(b"age,sex\n30,F\n"), line_breaks_in_cells=False)
        (b'age,sex\n', b'30,F\n')
    """
    head = b""
    while len(head) < LONGEST_HEADER:
        block = stream.read(1 << 16)
        head += block
        if not head.startswith(BYTE_ORDER_MARK[: len(head)]) or len(head) >= 3:
            text = head.removeprefix(BYTE_ORDER_MARK)
            end = _header_end(text, line_breaks_in_cells, complete=not block)
            if end is not None:
                return text[:end], text[end:]
        if not block:
            break
    return head.removeprefix(BYTE_ORDER_MARK), b""


def separator_of(path: Path, header: str) -> str:
    """What separates the cells of a file, by its ending and its header line.

    Example:
        >>> separator_of(Path("x.csv"), "age;sex;income, gross")
        ';'
        >>> separator_of(Path("x.csv"), 'age,sex,"income;a;b;c"')
        ','
    """
    bare = QUOTED.sub(r"\1", header)
    most = max(SEPARATORS, key=bare.count)
    if not re.search(r"\.tsv(\.\w+)?$", path.name, re.IGNORECASE):
        return most
    if most != "\t" and "\t" not in bare and most in bare:
        raise DataError(
            f"{path}: by its ending, its cells are separated by tabs, but its header has "
            f"{SEPARATORS[most]} and no tab: rename it to end with .csv"
        )
    return "\t"


def names_in(header: bytes, separator: str, line_breaks_in_cells: bool) -> list[str]:
    r"""The names of the columns; raises QuoteError if a quotation mark is wrong.

    Example:
        >>> names_in(b'age;"sex"\r\n', ";", line_breaks_in_cells=False)
        ['age', 'sex']
    """
    kind = LineBreaksInCells if line_breaks_in_cells else OneRecordPerLine
    check = kind(separator.encode(), 1)
    check.add(header)
    check.close()
    text = header.decode("utf-8").strip("\r\n")
    return next(csv.reader(text.splitlines(keepends=True), delimiter=separator))


def refuse_other_separator(
    path: Path, header: str, separator: str, wanted: Collection[str] | None
) -> None:
    """Raise if another separator would give the schema's columns, and the one in use does not.

    Example:
        >>> refuse_other_separator(Path("x.csv"), "age;income,a,b", ",", ["age"])
        Traceback (most recent call last):
        thresher.errors.DataError: x.csv: its header has more commas than semicolons, so it counts \
as separated by commas. Separated by semicolons it would have the columns of the schema: put the \
names that hold commas in quotation marks
    """
    columns = set(wanted or ())
    if columns <= set(_split(header, separator)):
        return
    for other, words in SEPARATORS.items():
        if other != separator and columns <= set(_split(header, other)):
            kind = SEPARATORS[separator]
            raise DataError(
                f"{path}: its header has more {kind} than {words}, so it counts as separated by "
                f"{kind}. Separated by {words} it would have the columns of the schema: put the "
                f"names that hold {kind} in quotation marks"
            )


def is_utf_16(header: bytes) -> bool:
    r"""Whether a file begins as those do that a spreadsheet saves as "Unicode text".

    Example:
        >>> is_utf_16("age".encode("utf-16")), is_utf_16(b"age")
        (True, False)
    """
    return header.startswith(UTF_16)


def _split(header: str, separator: str) -> list[str]:
    return next(csv.reader([header.strip("\r\n")], delimiter=separator), [])


def _header_end(text: bytes, line_breaks_in_cells: bool, complete: bool) -> int | None:
    """Where the header ends, if that is known yet."""
    start = re.match(rb"[\r\n]*", text)
    for end in LINE_END.finditer(text, start.end() if start else 0):
        if end.end() == len(text) and not complete and text.endswith(b"\r"):
            return None  # perhaps half of a CR LF
        if not line_breaks_in_cells or text.count(b'"', 0, end.start()) % 2 == 0:
            return end.end()
    return len(text) if complete else None
