"""Relaxed rows D': one probability vector per feature and row (Section 2, the space Y)."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thresher.errors import ParameterError

if TYPE_CHECKING:
    from thresher.relaxed.nonzeros import Nonzeros


def offsets_of(sizes: tuple[int, ...]) -> NDArray[np.int64]:
    """Where each feature's one-hot columns start, and d' at the end.

    Example:
        >>> offsets_of((2, 3)).tolist()
        [0, 2, 5]
    """
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)


@dataclass(frozen=True, eq=False)
class RelaxedRows:
    """The synthetic data set D' in the relaxed space, stored transposed.

    Transposed, because queries walk down a few columns of all rows: `columns[c]` is contiguous.

    Attributes:
        columns: D' as float32 (d' × n'): per feature and row, numbers ≥ 0 that add up to 1.
        sizes: How many values each feature has; their sum is d'.

    Example:
        >>> rows = RelaxedRows.uniform((2, 3), rows=4, rng=np.random.default_rng(0))
        >>> rows.columns.shape, rows.count
        ((5, 4), 4)
        >>> bool(np.allclose(rows.block(1).sum(axis=0), 1.0))
        True
    """

    columns: NDArray[np.float32]
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.sizes or min(self.sizes) < 1:
            raise ParameterError(f"sizes={self.sizes}: every feature needs at least one value")
        if self.columns.ndim != 2 or self.columns.shape[0] != sum(self.sizes):
            raise ParameterError(
                f"columns has shape {self.columns.shape}; sizes={self.sizes} ask for "
                f"({sum(self.sizes)}, number of rows)"
            )
        if self.columns.shape[1] < 1:
            raise ParameterError("columns has no rows; at least one synthetic row is needed")
        if self.columns.dtype != np.float32 or not self.columns.flags.c_contiguous:
            raise ParameterError(
                "columns must be C-contiguous float32: np.ascontiguousarray(columns, np.float32)"
            )

    @classmethod
    def uniform(cls, sizes: tuple[int, ...], rows: int, rng: np.random.Generator) -> "RelaxedRows":
        """Start as the paper does: uniform random numbers, projected by Sparsemax.

        Args:
            sizes: How many values each feature has.
            rows: n', the number of synthetic rows.
            rng: Source of (public) randomness.

        Returns:
            New relaxed rows.
        """
        if rows < 1:
            raise ParameterError(f"rows={rows}: at least one synthetic row is needed, e.g. 1000")
        # numba takes half a second to import, and most readers of D' never project.
        from thresher.relaxed.sparsemax import sparsemax

        columns = rng.random((sum(sizes), rows), dtype=np.float32)
        sparsemax(columns, offsets_of(sizes))
        return cls(columns, tuple(sizes))

    @classmethod
    def from_codes(cls, sizes: tuple[int, ...], codes: NDArray[np.integer]) -> "RelaxedRows":
        """One-hot rows from records, given as value numbers (n' × d).

        Example:
            >>> RelaxedRows.from_codes((2, 3), np.array([[1, 0], [0, 2]])).columns.T.tolist()
            [[0.0, 1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0, 1.0]]
        """
        columns = np.zeros((sum(sizes), codes.shape[0]), np.float32)
        position = codes.astype(np.int64) + offsets_of(sizes)[:-1]
        columns[position, np.arange(codes.shape[0])[:, None]] = 1.0
        return cls(columns, tuple(sizes))

    @property
    def count(self) -> int:
        """n', the number of synthetic rows."""
        return int(self.columns.shape[1])

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where each feature's columns start, and d' at the end."""
        return offsets_of(self.sizes)

    @cached_property
    def nonzeros(self) -> "Nonzeros":
        """The entries that are not zero. They are listed once, so D' must not change afterwards."""
        # numba takes half a second to import, and most readers of D' do without.
        from thresher.relaxed.nonzeros import Nonzeros

        return Nonzeros.of(self.columns, self.sizes)

    def block(self, feature: int) -> NDArray[np.float32]:
        """The columns of one feature (its number of values × n'), without copying."""
        start = sum(self.sizes[:feature])
        return self.columns[start : start + self.sizes[feature]]
