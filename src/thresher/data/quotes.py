"""Quotes in a CSV file, checked while it is read.

A reader of CSV takes an opening quote to the next quote, over any number of lines, so one stray
quote can swallow a thousand records without a word. Here each line is a record, unless the user
says that cells may hold line breaks, and quotes must be as RFC 4180 has them:

- a cell that begins with a quote ends with one, and quotes inside it are doubled;
- a quote elsewhere in a cell that does not begin with one is a plain character. Where cells may
  hold line breaks such a quote is an error, since it would be taken for an opening one.
"""

import re
import sys
from contextlib import suppress
from lzma import LZMAError
from typing import Any

import numpy as np
import numpy.typing as npt

QUOTE, LINE_FEED, CARRIAGE_RETURN = b'"\n\r'
CHUNK = 1 << 20
LINE_END = re.compile(rb"\r\n|\n|\r")

UNCLOSED = "a quote is not closed where its cell ends"
MISPLACED = "a quote stands inside a cell, neither doubled nor at its ends"


class QuoteError(OSError):
    """A quote is wrong in a line of a file. The message quotes nothing of the line.

    Example:
        >>> str(QuoteError(3, UNCLOSED))
        'line 3: a quote is not closed where its cell ends'
    """

    def __init__(self, line: int, words: str) -> None:
        super().__init__(f"line {line}: {words}")


class OneRecordPerLine:
    r"""Checks the quotes of a file in which each line is a record.

    Args:
        delimiter: What separates cells.
        line: The number of the first line that will be added.
        longest: The most bytes that a line may have. A reader has a limit too, but whether it
            takes a line that is longer depends on the lines before.

    Example:
        >>> check = OneRecordPerLine(b",", line=2)
        >>> check.add(b'1,"a, b"\n2,"c\n3,d\n')
        Traceback (most recent call last):
        thresher.data.quotes.QuoteError: line 3: a quote is not closed where its cell ends
    """

    def __init__(self, delimiter: bytes, line: int, longest: int = sys.maxsize) -> None:
        self._delimiter = delimiter
        self._line = line
        self._longest = longest
        self._unended = 0  # the bytes of the line that is not yet complete
        self._tail: list[bytes] = []  # a line that is not yet complete
        cell, end = re.escape(delimiter), re.escape(delimiter) + b"|$"
        one = b'(?>"(?:[^"]|"")*+"(?=%b)|(?!")[^%b]*+)' % (end, cell)
        self._sound = re.compile(b"%b(?:%b%b)*+" % (one, cell, one), re.DOTALL)

    def add(self, block: bytes) -> None:
        """Check some more bytes of the file."""
        self._check_length(block)
        cut = max(block.rfind(b"\n"), block.rfind(b"\r", 0, -1)) + 1
        if not cut:
            self._tail.append(block)
            return
        self._check(b"".join((*self._tail, block[:cut])))
        self._tail = [block[cut:]]

    def close(self) -> None:
        """Check what is left at the end of the file."""
        self._check(b"".join(self._tail))
        self._tail = []

    def _check_length(self, block: bytes) -> None:
        """Refuse a line that is too long; a block has no more bytes than a line may have."""
        first = LINE_END.search(block)
        self._unended += first.start() if first else len(block)
        if self._unended > self._longest:
            raise OSError(f"a line has more than {self._longest} bytes")
        if first:
            self._unended = len(block) - 1 - max(block.rfind(b"\n"), block.rfind(b"\r"))

    def _check(self, data: bytes) -> None:
        if b'"' in data:
            self._check_quotes(data)
        self._line += lines_in(data)

    def _check_quotes(self, data: bytes) -> None:
        letters = np.frombuffer(data, np.uint8)
        quotes = np.flatnonzero(letters == QUOTE)
        ends = np.flatnonzero(letters == LINE_FEED)
        if b"\r" in data:
            ends = np.flatnonzero((letters == LINE_FEED) | (letters == CARRIAGE_RETURN))
        line_of = np.searchsorted(ends, quotes)
        place_in_line = np.arange(len(quotes)) - np.searchsorted(line_of, line_of)
        wrong = ~_well_placed(letters, quotes, place_in_line % 2 == 0, self._delimiter)
        unclosed = np.flatnonzero(np.bincount(line_of) % 2)
        for line in np.union1d(line_of[wrong], unclosed).tolist():
            start = int(ends[line - 1]) + 1 if line else 0
            stop = int(ends[line]) if line < len(ends) else len(data)
            if not self._sound.fullmatch(data[start:stop]):
                raise QuoteError(self._line + lines_in(data[:start]), UNCLOSED)


class LineBreaksInCells:
    r"""Checks the quotes of a file whose cells may hold line breaks.

    Args:
        delimiter: What separates cells.
        line: The number of the first line that will be added.

    Example:
        >>> check = LineBreaksInCells(b",", line=2)
        >>> check.add(b'1,"a\nb"\n2,c\n3,"d\n')
        >>> check.close()
        Traceback (most recent call last):
        thresher.data.quotes.QuoteError: line 5: a quote is not closed where its cell ends
    """

    def __init__(self, delimiter: bytes, line: int) -> None:
        self._delimiter = delimiter
        self._line = line
        self._quotes = 0
        self._opened = line  # the line of the last opening quote
        self._before = b"\n"
        self._next = b""  # the last byte seen, whose follower is not known yet

    def add(self, block: bytes) -> None:
        """Check some more bytes of the file."""
        data = self._next + block
        self._check(data[:-1], after=data[-1:])
        self._next = data[-1:]

    def close(self) -> None:
        """Check what is left at the end of the file."""
        self._check(self._next, after=b"\n")
        self._next = b""
        if self._quotes % 2:
            raise QuoteError(self._opened, UNCLOSED)

    def _check(self, data: bytes, after: bytes) -> None:
        if b'"' in data:
            whole = self._before + data + after
            letters = np.frombuffer(whole, np.uint8)
            quotes = np.flatnonzero(letters[1:-1] == QUOTE) + 1
            opening = (self._quotes + np.arange(len(quotes))) % 2 == 0
            wrong = np.flatnonzero(~_well_placed(letters, quotes, opening, self._delimiter))
            if len(wrong):
                raise QuoteError(self._line + lines_in(whole[1 : quotes[wrong[0]]]), MISPLACED)
            if opening.any():
                self._opened = self._line + lines_in(whole[1 : quotes[opening][-1]])
            self._quotes += len(quotes)
        self._line += lines_in(data, after)
        self._before = data[-1:] or self._before


class CheckedStream:
    r"""A binary stream whose bytes are checked as they are read.

    Args:
        head: Bytes that come before those of the stream.
        stream: The rest.
        check: What looks at the bytes.
        mark: Bytes that a reader drops at the beginning, such as a byte order mark; not checked.

    Example:
        >>> import io
        >>> stream = CheckedStream(b"1,2\n", io.BytesIO(b"3,4\n"), OneRecordPerLine(b",", 2))
        >>> stream.read(100), stream.read(100), stream.read(100)
        (b'1,2\n', b'3,4\n', b'')
    """

    closed = False

    def __init__(
        self,
        head: bytes,
        stream: Any,
        check: OneRecordPerLine | LineBreaksInCells,
        mark: bytes = b"",
    ):
        self._head, self._mark = head, mark
        self._stream = stream
        self._check = check
        self.fault: QuoteError | None = None

    def read(self, size: int) -> bytes:
        """The next bytes of the file, at most `size`; none at its end."""
        mark = self._mark if size > len(self._mark) else b""
        size -= len(mark)
        if self._head:
            block, self._head = self._head[:size], self._head[size:]
        else:
            block = self._stream.read(size)
        try:
            if block:
                self._check.add(block)
            elif size:
                self._check.close()
        except QuoteError as fault:
            self.fault = fault
            raise
        if mark and block:
            self._mark = b""
            return mark + block
        return block

    def find_fault(self) -> None:
        """Read on to the next fault, after a reader has given up without one."""
        with suppress(OSError, EOFError, LZMAError):
            while self.read(CHUNK):
                pass

    def close(self) -> None:
        """Nothing: the stream belongs to who opened it."""


def lines_in(data: bytes, after: bytes = b"") -> int:
    r"""How many line ends stand in some bytes; CR LF is one, also if LF is what comes `after`.

    Example:
        >>> lines_in(b"a\nb\r\nc\r"), lines_in(b"a\r", after=b"\n")
        (3, 0)
    """
    if b"\r" not in data:
        return data.count(b"\n")
    ends = data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")
    return ends - (data[-1:] == b"\r" and after == b"\n")


def _well_placed(
    letters: npt.NDArray[np.uint8],
    quotes: npt.NDArray[np.int64],
    opening: npt.NDArray[np.bool_],
    delimiter: bytes,
) -> npt.NDArray[np.bool_]:
    """Whether quotes that alternately open and close stand at the ends of cells.

    A doubled quote closes and opens again, so a quote beside a quote is well placed.
    """
    borders = np.zeros(256, dtype=np.bool_)
    borders[[QUOTE, LINE_FEED, CARRIAGE_RETURN, delimiter[0]]] = True
    beside = np.where(opening, quotes - 1, quotes + 1)
    inside = (beside >= 0) & (beside < len(letters))
    return np.asarray(~inside | borders[letters[np.clip(beside, 0, len(letters) - 1)]])
