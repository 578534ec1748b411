"""Files of text, compressed or not, as streams of bytes."""

import lzma
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa

COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
BROKEN = (pa.ArrowException, OSError, EOFError, lzma.LZMAError, UnicodeDecodeError)
"""What a damaged file can raise. Their messages may quote a record."""


def open_binary(path: Path, stack: ExitStack) -> Any:
    """The bytes of a file, unpacked as its ending says; it closes with the stack.

    Example:
        >>> import gzip, tempfile
        >>> with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        ...     path = Path(folder, "people.csv.gz")
        ...     _ = path.write_bytes(gzip.compress(b"age,sex"))
        ...     open_binary(path, stack).read(100)
        b'age,sex'
    """
    ending = path.suffix.lower()
    if ending == ".xz":
        return stack.enter_context(lzma.open(path))
    return stack.enter_context(pa.input_stream(str(path), compression=COMPRESSIONS.get(ending)))
