"""Whole tables on D': the answers to all consistent queries of a threshold, by matrix products.

`thresher.relaxed.split` has the identity. Here its two sides are computed on the rows of D', one
slab of leading cells at a time, so that any table stays under a memory ceiling. The transpose, two
more matrix products, gives derivatives by D'.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.errors import ParameterError
from thresher.queries.threshold import Threshold
from thresher.relaxed.counting import MatchCounts, count_matches
from thresher.relaxed.rows import RelaxedRows
from thresher.relaxed.split import TableSplit, split_table
from thresher.schema import Schema

Array = NDArray[Any]


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
        """What is added to the product: one number for each trailing cell, a mean over rows.

        It is the mean of G_r. Where the leading side holds 1 - F_i in place of F_i, the sum over i
        of E_{r-i} belongs to it too, because F_i · E = E - (1 - F_i) · E.
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

        Where that takes less work it is 1 - F_i, and the product is subtracted.
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
    """The sum over states, without a copy if there is only one."""
    total: Array = counts[0] if len(counts) == 1 else counts.sum(axis=0)
    return total


def _product(left: Array, right: Array) -> Array:
    """The matrix product, without warnings about numbers that are not in it.

    BLAS computes with whole vector registers. What stands beyond the end of a short row can raise
    the processor's flag for an invalid number, although no result depends on it.
    """
    with np.errstate(invalid="ignore"):
        product: Array = left @ right
    return product


class TableOnRows:
    """One threshold's table on one D', slab by slab, with the transpose for derivatives.

    Example:
        >>> from thresher.data import datasets
        >>> schema = datasets.adult_schema()
        >>> rows = RelaxedRows.uniform(schema.sizes, rows=5, rng=np.random.default_rng(0))
        >>> table = TableOnRows(rows, schema, Threshold(("race", "sex", "income")))
        >>> table.cells
        (5, 4)
        >>> bool(np.isclose(table.slab(range(0, 5)).sum(), 1.0))
        True
    """

    def __init__(self, rows: RelaxedRows, schema: Schema, threshold: Threshold) -> None:
        """Prepare the trailing side, which all slabs share.

        Args:
            rows: D'; must not change while this object is used.
            schema: The features of D'.
            threshold: Whose table; its features are the axes, in their order.
        """
        if rows.feature_sizes != schema.sizes:
            raise ParameterError("D' does not have the features of this schema")
        self._rows = rows
        self._split = split_table(threshold.shape(schema), threshold.r)
        features = tuple(schema.index(name) for name in threshold.features)
        cut = len(self._split.leading)
        self._leading_features, self._trailing_features = features[:cut], features[cut:]
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
        table: NDArray[np.float32] = _product(self._leading(leading).factor(), self._exactly.T)
        table *= self._scale
        if self._base is not None:
            table += self._base
        return table

    def pull_back_slab(
        self, leading: range, pull: NDArray[np.float32], gradient: NDArray[np.float32]
    ) -> None:
        """Add to `gradient` what `pull`, derivatives by a slab, means for the leading features.

        The part for the trailing features is summed over slabs; `finish_pull_back` adds it.
        """
        self._pull_base += pull.sum(axis=0) * np.float32(1.0 / self._rows.count)
        pull = pull * self._scale
        side = self._leading(leading)
        trailing_share = _product(pull.T, side.factor())
        if self._pull_exactly is None:
            self._pull_exactly = trailing_share
        else:
            self._pull_exactly += trailing_share
        leading_share = _product(pull, self._exactly)
        side.pull_back(leading_share, self._blocks(gradient, self._leading_features))

    def finish_pull_back(self, gradient: NDArray[np.float32]) -> None:
        """Add to `gradient` what all slabs mean for the trailing features."""
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


def nonzeros_take_less(rows: RelaxedRows, schema: Schema, threshold: Threshold) -> bool:
    """Whether a marginal (r = k) takes less work by the nonzero entries of D' than by products.

    One or two features are not worth loading numba for, which takes half a second.

    Example:
        >>> from thresher.data import datasets
        >>> schema = datasets.adult_schema()
        >>> rows = RelaxedRows.from_codes(schema.sizes, np.zeros((2, len(schema)), int))
        >>> nonzeros_take_less(rows, schema, Threshold(("age", "race", "sex")))
        True
    """
    if threshold.k < 3:
        return False
    features = [schema.index(name) for name in threshold.features]
    split = split_table(threshold.shape(schema), threshold.r)
    return rows.nonzeros.work(features) < split.cost


def threshold_table(rows: RelaxedRows, schema: Schema, threshold: Threshold) -> NDArray[np.float32]:
    """The answers of D' to all consistent queries of a threshold, one axis per feature.

    Args:
        rows: D'.
        schema: The features of D'.
        threshold: The threshold; r = k gives the marginal table of D'.

    Returns:
        The table T_r, fractions of rows.

    Example:
        >>> from thresher.schema import IntegerRange
        >>> schema = Schema(IntegerRange(name=x, low=0, high=1, nulls=0) for x in "ab")
        >>> rows = RelaxedRows.from_codes((2, 2), np.array([[1, 0], [1, 1], [0, 1], [1, 1]]))
        >>> threshold_table(rows, schema, Threshold(("a", "b"))).tolist()
        [[0.0, 0.25], [0.25, 0.5]]
        >>> threshold_table(rows, schema, Threshold(("a", "b"), r=1)).tolist()
        [[0.5, 0.75], [0.75, 1.0]]
    """
    table = TableOnRows(rows, schema, threshold)
    return table.slab(range(table.cells[0])).reshape(threshold.shape(schema))
