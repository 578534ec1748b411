"""The lines of a text file, or of standard input."""

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

from thresher.errors import DataError


def lines_of(file: Path) -> Iterator[str]:
    """The lines of a text file in UTF-8; - is standard input."""
    try:
        with (
            nullcontext(sys.stdin) if str(file) == "-" else file.open(encoding="utf-8-sig") as text
        ):
            yield from text
    except OSError as fault:
        raise DataError(f"{file} cannot be read: {fault.strerror}") from None
    except UnicodeDecodeError:
        raise DataError(f"{file} is not text in UTF-8") from None
