"""Relaxed rows D': one probability vector per feature and row (Section 2, the space Y)."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thresher.errors import ParameterError
from thresher.schema import Schema

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
class ViewOf:
    """A view of a feature of D', by positions.

    Attributes:
        feature: The position of its base.
        groups: For each value of the base, the number of its group.
        size: The number of groups.
    """

    feature: int
    groups: NDArray[np.int64]
    size: int


@dataclass(frozen=True, eq=False)
class RelaxedRows:
    """The synthetic data set D' in the relaxed space, stored transposed.

    Transposed, because queries walk down a few columns of all rows: `columns[c]` is contiguous.

    Attributes:
        columns: D' as float32 (d' × n'): per feature and row, numbers ≥ 0 that add up to 1.
        sizes: How many values each feature has; their sum is d'.
        views: Views of features. Their columns come last: sums of columns of their bases.

    Example:
        >>> rows = RelaxedRows.uniform((2, 3), rows=4, rng=np.random.default_rng(0))
        >>> rows.columns.shape, rows.count
        ((5, 4), 4)
        >>> bool(np.allclose(rows.block(1).sum(axis=0), 1.0))
        True
    """

    columns: NDArray[np.float32]
    sizes: tuple[int, ...]
    views: tuple[ViewOf, ...] = ()

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

    def with_views(self, schema: Schema) -> "RelaxedRows":
        """The same rows with the views of a schema, whose features these are.

        Example:
            >>> from thresher.schema import IntegerRange, View
            >>> age = IntegerRange(name="age", low=0, high=2, nulls=0)
            >>> schema = Schema([age], [View.at_cuts(age, "old", [2])])
            >>> rows = RelaxedRows(np.array([[0.25], [0.25], [0.5]], np.float32), (3,))
            >>> rows.with_views(schema).block(1).tolist()
            [[0.5], [0.5]]
        """
        if not schema.views:
            return self
        views = tuple(ViewOf(schema.index(v.of), v.map, v.size) for v in schema.views)
        return RelaxedRows.extended(self.feature_columns, schema.sizes, views)

    @classmethod
    def extended(
        cls, columns: NDArray[np.float32], sizes: tuple[int, ...], views: tuple[ViewOf, ...]
    ) -> "RelaxedRows":
        """Rows from the columns of the features alone, to which those of views are added."""
        if not views:
            return cls(columns, sizes)
        starts = offsets_of(sizes)
        parts = [columns]
        for view in views:
            base = columns[starts[view.feature] : starts[view.feature + 1]]
            groups = (base[view.groups == code].sum(axis=0) for code in range(view.size))
            parts.append(np.stack(list(groups)))
        every = (*sizes, *(view.size for view in views))
        return cls(np.concatenate(parts), every, views)

    @property
    def feature_sizes(self) -> tuple[int, ...]:
        """How many values each feature has that is no view."""
        return self.sizes[: len(self.sizes) - len(self.views)]

    @property
    def feature_columns(self) -> NDArray[np.float32]:
        """The columns of the features alone, without copying."""
        return self.columns[: sum(self.feature_sizes)]

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
