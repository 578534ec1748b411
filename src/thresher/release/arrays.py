"""Arrays in .npz files, read only if they are as large as they should be.

A zip file of a few kilobytes can inflate to gigabytes. So the zip directory and the header of each
array are compared with what is expected, before anything is inflated. Nothing is unpickled.
"""

import math
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from thresher.errors import ReleaseError
from thresher.tables import MEMORY_CEILING

LONGEST_HEADER = 4096

_MAGIC = b"\x93NUMPY\x01\x00"
_HEADER = re.compile(
    r"\{'descr': '(?P<dtype>[^']{1,20})', 'fortran_order': (?P<fortran>True|False), "
    r"'shape': \((?P<shape>(\d{1,18}(, ?|(?=\))))*)\), \}\s*",
    re.ASCII,
)


@dataclass(frozen=True)
class Expected:
    """What an array must be.

    Attributes:
        shape: Its shape. None stands for any length from 1 to `longest`.
        dtype: The type of its numbers, such as `"<i8"`.
        longest: The longest length that None in `shape` stands for.
    """

    shape: tuple[int | None, ...]
    dtype: str
    longest: int = 0

    @property
    def most_bytes(self) -> int:
        """The size of the largest array that is allowed, with its header."""
        cells = math.prod(self.longest if size is None else size for size in self.shape)
        return cells * np.dtype(self.dtype).itemsize + LONGEST_HEADER

    def allows(self, shape: tuple[int, ...]) -> bool:
        """Whether an array may have this shape."""
        return len(shape) == len(self.shape) and all(
            1 <= size <= self.longest if most is None else size == most
            for size, most in zip(shape, self.shape, strict=True)
        )


def read_arrays(path: Path, expected: Mapping[str, Expected]) -> dict[str, npt.NDArray[Any]]:
    """The arrays of an .npz file.

    Args:
        path: The file.
        expected: For each array that the file must have, what it must be.

    Raises:
        ReleaseError: The file has other arrays, or larger ones than the memory ceiling.
    """
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        if sorted(entry.filename for entry in entries) != sorted(f"{n}.npy" for n in expected):
            raise ReleaseError(f"{path.name} has other arrays than release.json says")
        total = 0
        for entry in entries:
            what = expected[entry.filename.removesuffix(".npy")]
            if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ReleaseError(f"{path.name} is compressed in a way that numpy does not write")
            total += entry.file_size
            if entry.file_size > what.most_bytes:
                raise ReleaseError(f"{path.name} has a larger array than release.json says")
        if total > MEMORY_CEILING:
            raise ReleaseError(
                f"{path.name} holds {total / 2**30:.1f} GiB; thresher reads up to "
                f"{MEMORY_CEILING / 2**30:.0f} GiB"
            )
        return {name: _read(archive, name, what, path.name) for name, what in expected.items()}


def _read(archive: zipfile.ZipFile, name: str, what: Expected, file: str) -> npt.NDArray[Any]:
    with archive.open(f"{name}.npy") as stream:
        is_fortran, shape = _header(stream, what, file)
        size = math.prod(shape) * np.dtype(what.dtype).itemsize
        content = stream.read(size)
        if len(content) != size or stream.read(1):
            raise ReleaseError(f"{file} has an array of another size than its header says")
    return np.frombuffer(content, what.dtype).reshape(shape, order="F" if is_fortran else "C")


def _header(stream: IO[bytes], what: Expected, file: str) -> tuple[bool, tuple[int, ...]]:
    """Whether an array is in Fortran's order, and its shape, if it is as expected.

    numpy's reader evaluates the header as Python and mends what it cannot evaluate. This one reads
    what numpy writes, and nothing else.
    """
    start = stream.read(len(_MAGIC) + 2)
    length = int.from_bytes(start[len(_MAGIC) :], "little")
    header = stream.read(min(length, LONGEST_HEADER)).decode("latin-1")
    found = _HEADER.fullmatch(header)
    if not start.startswith(_MAGIC) or found is None:
        raise ReleaseError(f"{file} has an array whose header cannot be read")
    dtype, is_fortran = found["dtype"], found["fortran"] == "True"
    shape = tuple(int(size) for size in found["shape"].split(",") if size.strip())
    if dtype != what.dtype or not what.allows(shape):
        raise ReleaseError(
            f"{file} has an array of shape {shape} and type {dtype}, which is not what the schema "
            "and release.json say"
        )
    return is_fortran, shape
