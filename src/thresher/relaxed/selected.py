"""Selected queries: any set of r-of-k queries as arrays, answered on D' by compiled kernels."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thresher.errors import ParameterError
from thresher.relaxed.rows import RelaxedRows


@dataclass(frozen=True, eq=False)
class SelectedQueries:
    """A set of r-of-k queries by the one-hot columns that they match.

    Attributes:
        columns: One-hot columns of D' of each query (q × k), int32. A query on fewer features is
            padded with -1 at its end.
        r: How many of its columns each query asks for (q), int32.

    Example:
        "Feature 0 is 1", and "at least one of: feature 0 is 0, feature 1 is 2":

        >>> queries = SelectedQueries.of([[1], [0, 4]], r=[1, 1])
        >>> rows = RelaxedRows.from_codes((2, 3), np.array([[1, 0], [1, 2], [0, 1], [1, 1]]))
        >>> answers(rows, queries).tolist()
        [0.75, 0.5]
    """

    columns: NDArray[np.int32]
    r: NDArray[np.int32]

    def __post_init__(self) -> None:
        if self.columns.ndim != 2 or self.r.shape != self.columns.shape[:1]:
            raise ParameterError(
                f"columns {self.columns.shape} and r {self.r.shape} must be (q, k) and (q,)"
            )
        if self.columns.dtype != np.int32 or self.r.dtype != np.int32:
            raise ParameterError("columns and r must be int32; see SelectedQueries.of")
        if np.any(self.r < 1) or np.any(self.r > self.lengths):
            raise ParameterError("r must be at least 1 and at most k for every query")
        ordered = np.sort(self.columns, axis=1)
        if np.any((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)):
            raise ParameterError("a query names the same column twice; name every column once")
        if np.any((self.columns[:, 1:] >= 0) & (self.columns[:, :-1] < 0)):
            raise ParameterError("pad shorter queries with -1 at the end only")

    @classmethod
    def of(
        cls,
        columns: list[list[int]] | list[tuple[int, ...]] | NDArray[np.integer],
        r: int | list[int] | NDArray[np.integer],
    ) -> "SelectedQueries":
        """Build from lists of one-hot columns, of equal or mixed length; one r, or one each."""
        longest = max((len(query) for query in columns), default=1)
        padded = np.full((len(columns), longest), -1, np.int32)
        for row, query in zip(padded, columns, strict=True):
            row[: len(query)] = query
        return cls(padded, np.broadcast_to(np.asarray(r, np.int32), len(columns)).copy())

    def __len__(self) -> int:
        return len(self.r)

    @property
    def lengths(self) -> NDArray[np.int32]:
        """The number of columns of each query: k in the paper."""
        present: NDArray[np.int32] = np.sum(self.columns >= 0, axis=1, dtype=np.int32)
        return present

    def check_fit(self, rows: RelaxedRows) -> None:
        """Raise unless every column exists in D'."""
        if len(self) and int(self.columns.max()) >= len(rows.columns):
            raise ParameterError(
                f"a query names column {int(self.columns.max())}, but D' has only "
                f"{len(rows.columns)} columns"
            )


def answers(rows: RelaxedRows, queries: SelectedQueries) -> NDArray[np.float64]:
    """q̂(D') for every query: the mean of its surrogate over the rows.

    Args:
        rows: D'.
        queries: What to ask.

    Returns:
        One fraction for each query.
    """
    # numba takes half a second to import: see `row_answers`, which often does without it.
    from thresher.relaxed.kernels import ROW_BLOCK, sum_over_rows

    queries.check_fit(rows)
    partial = np.empty((-(-rows.count // ROW_BLOCK), len(queries)))
    sum_over_rows(rows.columns, queries.columns, queries.lengths, queries.r, partial)
    total: NDArray[np.float64] = partial.sum(axis=0)
    return total / rows.count


def pull_back(
    rows: RelaxedRows,
    queries: SelectedQueries,
    coefficients: NDArray[np.float64],
    gradient: NDArray[np.float32],
) -> None:
    """Add the gradient, by D', of Σ_i coefficient_i · q̂_i(D').

    Args:
        rows: D'.
        queries: The queries q̂.
        coefficients: One number for each query.
        gradient: Array like `rows.columns`, added to in place.
    """
    from thresher.relaxed.kernels import add_gradient

    queries.check_fit(rows)
    scaled = (coefficients / rows.count).astype(np.float32)
    add_gradient(rows.columns, queries.columns, queries.lengths, queries.r, scaled, gradient)
