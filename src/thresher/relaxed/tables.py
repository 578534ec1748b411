"""Whole tables on D': all consistent queries of a threshold at once, by matrix products.

Split the k features of a threshold in two groups, leading and trailing. On one row, at least r
of k match if r of the trailing group do, or exactly r - i of them while at least i of the leading
group do. So with F_i = P(at least i of the leading group), E_j = P(exactly j of the trailing
group) and G_r = P(at least r of the trailing group),

    T_r(y) = mean over rows of  G_r[y_trailing] + Σ_i F_i[y_leading] · E_{r-i}[y_trailing] ,

a matrix product of leading cells × rows with rows × trailing cells. For r = k, r = 1, and for any
r when a group is a single feature, one term is left. Nothing cancels, unlike in the inclusion–
exclusion form, it holds off the simplex too, and its transpose is two more matrix products.
Slabs of leading cells keep any table under a memory ceiling.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.errors import ParameterError
from thresher.relaxed.counting import MatchCounts, count_matches
from thresher.relaxed.rows import RelaxedRows
from thresher.tables.slabs import SLAB_CELLS

Array = NDArray[Any]

# A cell of a group costs about as much as this many multiply-adds per row in a matrix product.
_GROUP_CELL_COST = 25


@dataclass(frozen=True)
class TableQueries:
    """All consistent queries of one threshold: at least r of these features take given values.

    Attributes:
        features: Positions of the k features, in the order of the table's axes.
        r: How many of them must match.

    Example:
        >>> rows = RelaxedRows.from_codes((2, 3), np.array([[1, 0], [1, 2], [0, 1], [1, 1]]))
        >>> threshold_table(rows, TableQueries((0, 1), r=1)).tolist()
        [[0.5, 0.5, 0.5], [0.75, 1.0, 0.75]]
    """

    features: tuple[int, ...]
    r: int

    def __post_init__(self) -> None:
        if len(set(self.features)) != len(self.features) or not self.features:
            raise ParameterError(f"features={self.features}: name each feature once, at least one")
        if not 1 <= self.r <= len(self.features):
            raise ParameterError(f"r={self.r}: needs 1 <= r <= k={len(self.features)}")

    def shape(self, sizes: tuple[int, ...]) -> tuple[int, ...]:
        """The table's shape, given the number of values of every feature of the schema."""
        return tuple(sizes[feature] for feature in self.features)


@dataclass(frozen=True)
class TableSplit:
    """How a table is divided into leading and trailing features, and what each side must know.

    Attributes:
        leading: Sizes of the leading features.
        trailing: Sizes of the trailing features; none when k = 1.
        r: How many of all must match.
    """

    leading: tuple[int, ...]
    trailing: tuple[int, ...]
    r: int

    @property
    def terms(self) -> range:
        """The i of the sum: at least i leading matches meet exactly r - i trailing ones."""
        return range(max(1, self.r - len(self.trailing)), min(len(self.leading), self.r) + 1)

    @property
    def has_base(self) -> bool:
        """Whether the trailing group alone can have r matches (the term G_r)."""
        return self.r <= len(self.trailing)

    @property
    def leading_from_below(self) -> bool:
        """Whether F_i is cheaper as 1 - P(fewer than i) than as P(i or more)."""
        return self.terms[-1] < len(self.leading) - self.terms[0] + 1

    @property
    def leading_window(self) -> tuple[int, int]:
        """The counts of leading matches that F_i is made of."""
        if self.leading_from_below:
            return 0, self.terms[-1] - 1
        return self.terms[0], len(self.leading)

    @property
    def trailing_window(self) -> tuple[int, int]:
        """The counts of trailing matches that E_{r-i} and 1 - G_r are made of."""
        return 0 if self.has_base else self.r - self.terms[-1], self.r - self.terms[0]

    @property
    def cells(self) -> tuple[int, int]:
        """Number of leading and of trailing cells."""
        return prod(self.leading), prod(self.trailing)

    @property
    def cost(self) -> int:
        """Work for each row, in multiply-adds of a matrix product."""
        leading, trailing = self.cells
        low, high = self.leading_window
        group_work = leading * (high - low + 1)
        low, high = self.trailing_window
        group_work += trailing * (high - low + 1)
        # Every slab's product reads the whole trailing side again.
        group_work += len(self.terms) * trailing * (leading * trailing // SLAB_CELLS)
        return len(self.terms) * leading * trailing + _GROUP_CELL_COST * group_work


def split_table(queries: TableQueries, sizes: tuple[int, ...]) -> TableSplit:
    """Divide a table's features where the work is least.

    Example:
        >>> split_table(TableQueries((0, 1, 2), r=3), (50, 40, 2)).leading
        (50,)
    """
    shape = queries.shape(sizes)
    cuts = range(1, max(2, len(shape)))
    splits = [TableSplit(shape[:cut], shape[cut:], queries.r) for cut in cuts]
    return min(splits, key=lambda split: split.cost)


@dataclass(frozen=True, eq=False)
class _Trailing:
    """The trailing side of the matrix product, shared by all slabs of a table."""

    split: TableSplit
    counts: MatchCounts

    @classmethod
    def of(cls, split: TableSplit, blocks: list[Array], rows: int) -> "_Trailing":
        if not blocks:
            nothing = np.ones((1, 1, rows), np.float32)
            return cls(split, MatchCounts((nothing,), (0,), (0,), ()))
        return cls(split, count_matches(blocks, *split.trailing_window))

    def exactly(self) -> Array:
        """E_{r-i} for every term i, side by side (trailing cells × (terms · rows))."""
        low = self.split.trailing_window[0]
        counts = self.counts.last
        chosen = [counts[self.split.r - i - low] for i in self.split.terms]
        return chosen[0] if len(chosen) == 1 else np.concatenate(chosen, axis=1)

    def base(self) -> Array | None:
        """What the product lacks, one number for each trailing cell: means over rows.

        G_r; and where the leading side is given from below, as 1 - F_i, the E_{r-i} that it takes.
        """
        if not (self.split.has_base or self.split.leading_from_below):
            return None
        low = self.split.trailing_window[0]
        means = self.counts.last.mean(axis=2)
        base: Array = 1.0 - means.sum(axis=0) if self.split.has_base else np.zeros_like(means[0])
        if self.split.leading_from_below:
            for i in self.split.terms:
                base += means[self.split.r - i - low]
        return base

    def pull_back(self, pull_exactly: Array, pull_base: Array, into: list[Array]) -> None:
        """Add what derivatives by `exactly` and `base` mean for the trailing features."""
        low = self.split.trailing_window[0]
        rows = self.counts.last.shape[2]
        if self.split.leading_from_below:
            pull_exactly += pull_base[:, None]
        if len(self.counts.last) == 1:
            pull = pull_exactly[None]
        else:
            pull = np.zeros_like(self.counts.last)
            for term, i in enumerate(self.split.terms):
                pull[self.split.r - i - low] = pull_exactly[:, term * rows : (term + 1) * rows]
        if self.split.has_base:
            pull -= pull_base[None, :, None]
        self.counts.pull_back(pull, into)


@dataclass(frozen=True, eq=False)
class _Leading:
    """One slab of the leading side of the matrix product."""

    split: TableSplit
    counts: MatchCounts

    def factor(self) -> Array:
        """F_i for every term i, side by side (leading cells of the slab × (terms · rows)).

        Where it is cheaper from below: 1 - F_i, for a product of which the negative counts.
        """
        low = self.split.leading_window[0]
        counts = self.counts.last
        if self.split.leading_from_below:
            chosen = [_added(counts[: i - low]) for i in self.split.terms]
        else:
            chosen = [_added(counts[i - low :]) for i in self.split.terms]
        return chosen[0] if len(chosen) == 1 else np.concatenate(chosen, axis=1)

    def pull_back(self, pull_factor: Array, into: list[Array]) -> None:
        """Add what derivatives by `factor` mean for the leading features."""
        low = self.split.leading_window[0]
        if len(self.counts.last) == 1:
            self.counts.pull_back(pull_factor[None], into)
            return
        pull = np.zeros_like(self.counts.last)
        rows = pull.shape[2]
        for term, i in enumerate(self.split.terms):
            part = pull_factor[:, term * rows : (term + 1) * rows]
            states = slice(i - low) if self.split.leading_from_below else slice(i - low, None)
            pull[states] += part
        self.counts.pull_back(pull, into)


def _added(counts: Array) -> Array:
    """The sum over states; of one state, not a copy."""
    total: Array = counts[0] if len(counts) == 1 else counts.sum(axis=0)
    return total


class TableOnRows:
    """One threshold's table on one D', slab by slab, with the transpose for derivatives.

    Example:
        >>> rows = RelaxedRows.uniform((4, 3, 2), rows=5, rng=np.random.default_rng(0))
        >>> table = TableOnRows(rows, TableQueries((0, 1, 2), r=3))
        >>> table.cells
        (4, 6)
        >>> bool(np.isclose(table.slab(range(0, 4)).sum(), 1.0))
        True
    """

    def __init__(self, rows: RelaxedRows, queries: TableQueries) -> None:
        """Prepare the trailing side, which all slabs share.

        Args:
            rows: D'; must not change while this object is used.
            queries: The table.
        """
        if not all(0 <= feature < len(rows.sizes) for feature in queries.features):
            raise ParameterError(
                f"features={queries.features}: D' has features 0 to {len(rows.sizes) - 1}"
            )
        self._rows = rows
        self._split = split_table(queries, rows.sizes)
        cut = len(self._split.leading)
        self._leading_features = queries.features[:cut]
        self._trailing_features = queries.features[cut:]
        blocks = [rows.block(feature) for feature in self._trailing_features]
        self._trailing = _Trailing.of(self._split, blocks, rows.count)
        self._exactly = self._trailing.exactly()
        self._base = self._trailing.base()
        sign = -1.0 if self._split.leading_from_below else 1.0
        self._scale = np.float32(sign / rows.count)
        self._pull_exactly: Array | None = None
        self._pull_base = np.zeros(self.cells[1], np.float32)

    @property
    def cells(self) -> tuple[int, int]:
        """Number of leading cells, which slabs divide, and of trailing cells."""
        return self._split.cells

    def slabs(self, ceiling: int) -> Iterator[range]:
        """Ranges of leading cells whose working arrays each fit into `ceiling` bytes."""
        leading, trailing = self.cells
        states = self._split.leading_window[1] - self._split.leading_window[0] + 1
        per_cell = 4 * (trailing + (states + len(self._split.terms)) * self._rows.count)
        step = max(1, ceiling // per_cell)
        for start in range(0, leading, step):
            yield range(start, min(leading, start + step))

    def slab(self, leading: range) -> NDArray[np.float32]:
        """T_r for a contiguous range of leading cells (len(leading) × trailing cells)."""
        table: NDArray[np.float32] = self._leading(leading).factor() @ self._exactly.T
        table *= self._scale
        if self._base is not None:
            table += self._base
        return table

    def pull_back_slab(
        self, leading: range, pull: NDArray[np.float32], gradient: NDArray[np.float32]
    ) -> None:
        """Add to `gradient` what `pull`, derivatives by a slab, means for the leading features.

        The trailing features' share gathers over slabs, until `finish_pull_back`.
        """
        self._pull_base += pull.sum(axis=0) * np.float32(1.0 / self._rows.count)
        pull = pull * self._scale
        side = self._leading(leading)
        trailing_share = pull.T @ side.factor()
        if self._pull_exactly is None:
            self._pull_exactly = trailing_share
        else:
            self._pull_exactly += trailing_share
        side.pull_back(pull @ self._exactly, self._blocks(gradient, self._leading_features))

    def finish_pull_back(self, gradient: NDArray[np.float32]) -> None:
        """Add the trailing features' share of all slabs to `gradient`."""
        if self._pull_exactly is not None:
            into = self._blocks(gradient, self._trailing_features)
            self._trailing.pull_back(self._pull_exactly, self._pull_base, into)
            self._pull_exactly = None
            self._pull_base[:] = 0.0

    def _leading(self, leading: range) -> _Leading:
        blocks = [self._rows.block(feature) for feature in self._leading_features]
        return _Leading(
            self._split, count_matches(blocks, *self._split.leading_window, cells=leading)
        )

    def _blocks(self, columns: Array, features: tuple[int, ...]) -> list[Array]:
        starts = self._rows.offsets
        return [columns[starts[feature] : starts[feature + 1]] for feature in features]


def threshold_table(rows: RelaxedRows, queries: TableQueries) -> NDArray[np.float32]:
    """All consistent queries of a threshold on D', one axis per feature.

    Args:
        rows: D'.
        queries: The threshold.

    Returns:
        The table T_r, fractions of rows.
    """
    table = TableOnRows(rows, queries)
    return table.slab(range(table.cells[0])).reshape(queries.shape(rows.sizes))


def marginal(rows: RelaxedRows, features: tuple[int, ...]) -> NDArray[np.float32]:
    """The marginal table M_S of D' over some features.

    Example:
        >>> rows = RelaxedRows.from_codes((2, 3), np.array([[1, 0], [1, 2], [0, 1], [1, 1]]))
        >>> marginal(rows, (1,)).tolist()
        [0.25, 0.5, 0.25]
    """
    return threshold_table(rows, TableQueries(features, r=len(features)))


def threshold_slabs(
    rows: RelaxedRows, queries: TableQueries, ceiling: int
) -> Iterator[tuple[range, NDArray[np.float32]]]:
    """A threshold's table in pieces: ranges of the flattened table, in order, with their answers.

    Args:
        rows: D'.
        queries: The threshold.
        ceiling: Bytes that one piece and its working arrays may take, about.

    Yields:
        Which cells of the flattened (C order) table, and T_r there.

    Example:
        >>> rows = RelaxedRows.uniform((4, 3), rows=5, rng=np.random.default_rng(0))
        >>> [cells for cells, _ in threshold_slabs(rows, TableQueries((0, 1), 2), ceiling=128)]
        [range(0, 6), range(6, 12)]
    """
    table = TableOnRows(rows, queries)
    width = table.cells[1]
    for leading in table.slabs(ceiling):
        yield range(leading.start * width, leading.stop * width), table.slab(leading).ravel()
