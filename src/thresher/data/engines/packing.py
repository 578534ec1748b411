"""Several codes in one whole number, so that a row travels as a few numbers.

A database sends and groups a row of two 64-bit numbers several times faster than one of fourteen
small ones. The codes c1, c2, c3 of features with t1, t2, t3 values are packed as
(c1·t2 + c2)·t3 + c3, as in the cells of a table.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

LARGEST_KEY = 2**62


@dataclass(frozen=True)
class Key:
    """Some features whose codes are packed into one number.

    Attributes:
        names: The features.
        sizes: How many values each of them can take.

    Example:
        >>> key = Key(("a", "b"), (3, 10))
        >>> key.packed(["x", "y"])
        'CAST(x AS BIGINT) * 10 + CAST(y AS BIGINT)'
        >>> {name: codes.tolist() for name, codes in key.unpacked(np.array([25])).items()}
        {'a': [2], 'b': [5]}
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]

    def packed(self, expressions: Sequence[str]) -> str:
        """The expression of the number, from the expressions of the codes."""
        return " + ".join(
            f"CAST({code} AS BIGINT)" + (f" * {after}" if after > 1 else "")
            for place, code in enumerate(expressions)
            for after in [math.prod(self.sizes[place + 1 :])]
        )

    def unpacked(self, numbers: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[Any]]:
        """The codes in some numbers."""
        codes = {}
        for name, size in zip(reversed(self.names[1:]), reversed(self.sizes[1:]), strict=True):
            numbers, code = np.divmod(numbers, size)
            codes[name] = code.astype(np.min_scalar_type(size - 1))
        first = numbers.astype(np.min_scalar_type(self.sizes[0] - 1))
        return {self.names[0]: first, **codes}


def keys_of(sizes: dict[str, int]) -> list[Key]:
    """As few keys as it takes for some features, in order.

    Args:
        sizes: How many values each feature can take.

    Example:
        >>> [key.names for key in keys_of({"a": 2**40, "b": 2**20, "c": 2**20})]
        [('a', 'b'), ('c',)]
    """
    groups: list[list[str]] = []
    room = 0
    for name, size in sizes.items():
        if room < size:
            groups.append([])
            room = LARGEST_KEY
        groups[-1].append(name)
        room //= size
    return [Key(tuple(group), tuple(sizes[name] for name in group)) for group in groups]
