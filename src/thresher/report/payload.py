"""A release packed for the page: facts as JSON and arrays of numbers, compressed into one text.

`explorer/src/engine/payload.js` opens it again.
"""

import base64
import gzip
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

TYPES = ("<u1", "<u2", "<u4", "<i2", "<i4", "<f4", "<f8")


def packed(facts: Mapping[str, Any]) -> str:
    r"""Facts as a text in base64; every numpy array among them becomes an array of the page.

    Example:
        >>> text = packed({"n": 3, "counts": np.array([1, 2, 300])})
        >>> gzip.decompress(base64.b64decode(text))[4:]
        b'{"n":3,"counts":{"array":0},"arrays":[["u2",3]]}\x01\x02,\x00\x00\x01'
    """
    arrays: list[npt.NDArray[Any]] = []
    told = {key: _told(value, arrays) for key, value in facts.items()}
    told["arrays"] = [[array.dtype.str[1:], array.size] for array in arrays]
    header = json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()
    parts = [len(header).to_bytes(4, "little"), header, *map(_shuffled, arrays)]
    # Without the time, the same release gives the same page.
    return base64.b64encode(gzip.compress(b"".join(parts), 9, mtime=0)).decode("ascii")


def smallest(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """An array in the smallest type of the page that has all its numbers exactly.

    Example:
        >>> smallest(np.array([1, -2])).dtype, smallest(np.array([0.5])).dtype
        (dtype('int16'), dtype('float64'))
    """
    if array.dtype.kind == "f":
        return array.astype("<f4" if array.dtype == np.float32 else "<f8")
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
    for name in TYPES:
        limits = np.iinfo(name) if np.dtype(name).kind in "iu" else None
        if limits is not None and limits.min <= low and high <= limits.max:
            return array.astype(name)
    return array.astype("<f8")


def _told(value: Any, arrays: list[npt.NDArray[Any]]) -> Any:
    if isinstance(value, np.ndarray):
        arrays.append(smallest(value.reshape(-1)))
        return {"array": len(arrays) - 1}
    if isinstance(value, Mapping):
        return {key: _told(entry, arrays) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_told(entry, arrays) for entry in value]
    return value


def _shuffled(array: npt.NDArray[Any]) -> bytes:
    """First the first bytes of all numbers, then the second ones, …: this compresses better."""
    planes = np.frombuffer(array.tobytes(), np.uint8).reshape(array.size, array.itemsize)
    return planes.T.tobytes()
