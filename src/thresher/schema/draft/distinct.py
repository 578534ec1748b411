"""How many different values a column has, and how often they recur, in little memory.

A value is kept if its hash ends in enough zero bits. Where too many are kept, one more zero bit is
asked for, which drops about half of them. So what is kept is a random sample of the *different*
values, each with its exact number of cells, and it does not depend on the order of the records.
"""

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

MOST_KEPT = 1 << 16


class DistinctValues:
    """The different values of a column, counted exactly up to 65,536 and estimated beyond.

    Example:
        >>> values = DistinctValues()
        >>> values.add(pa.array(["a", "b"]), np.array([2, 1]))
        >>> values.add(pa.array(["b", "c"]), np.array([1, 1]))
        >>> values.number, values.most_cells
        (3, 2)
    """

    def __init__(self) -> None:
        self._bits = 0
        self._hashes = np.empty(0, dtype=np.uint64)
        self._cells = np.empty(0, dtype=np.int64)

    def add(self, values: pa.Array, cells: npt.NDArray[np.int64]) -> None:
        """Count some more cells: values that differ from each other, and the cells of each."""
        if not len(values):
            return
        hashes = pd.util.hash_array(values.to_numpy(zero_copy_only=False), categorize=False)
        kept = _ends_in_zeros(hashes, self._bits)
        self._merge(hashes[kept], cells[kept])
        while len(self._hashes) > MOST_KEPT:
            self._bits += 1
            kept = _ends_in_zeros(self._hashes, self._bits)
            self._hashes, self._cells = self._hashes[kept], self._cells[kept]

    @property
    def number(self) -> int:
        """How many different values there are, about."""
        return len(self._hashes) << self._bits

    @property
    def most_cells(self) -> int:
        """The most cells that one value has, among the values that are kept."""
        return int(self._cells.max(initial=0))

    def _merge(self, hashes: npt.NDArray[np.uint64], cells: npt.NDArray[np.int64]) -> None:
        both = np.concatenate((self._hashes, hashes))
        self._hashes, places = np.unique(both, return_inverse=True)
        totals = np.zeros(len(self._hashes), dtype=np.int64)
        np.add.at(totals, places, np.concatenate((self._cells, cells)))
        self._cells = totals


def _ends_in_zeros(hashes: npt.NDArray[np.uint64], bits: int) -> npt.NDArray[np.bool_]:
    return np.asarray(hashes & np.uint64((1 << bits) - 1) == 0)
