"""The largest error of an r-of-k threshold with r < k, without looking at most cells.

Take two of the features, c and d, and let p be values of the others. With m matches among p,

    [m + c + d ≥ r] = [m + c ≥ r] + [m + d ≥ r] - [m ≥ r] + c·d·([m = r-2] - [m = r-1]),

so an answer is the sum of three answers about fewer features and a part that is at most the share
of people with both values. The same holds for errors. The tables of these three are far smaller.
For a row of cells (p, c), they tell how large an error can be in it. Almost always, that is less
than an error which is already known. The other rows are computed cell by cell, or walked if there
are too many of them. So the result is that of looking at all cells, up to rounding, and it never
takes much more time. Not for publication.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thresher.queries.threshold import Threshold
from thresher.relaxed.heavy_cells import SparseRows
from thresher.relaxed.marginal import WalkedTable
from thresher.relaxed.row_answers import row_table
from thresher.relaxed.slab_marginals import FilledAnswers, RowMarginals
from thresher.schema import Schema
from thresher.tables import Slab, SparseTable, ThresholdTable, slabs_of, threshold_counts
from thresher.tables.threshold_table import Answers

SMALLEST_BOUNDED = 1 << 20
"""Tables with fewer cells are walked: it takes milliseconds."""

MOST_KEPT = 1 << 25
"""The most cells of the smaller tables: 256 MiB."""

WALKED = 10.0
"""Walking over a cell takes as long as so many steps of computing a single one."""

Gaps = Callable[[npt.NDArray[Any], npt.NDArray[Any], int], float]
"""The largest gap between some counts, over n, and some answers."""

Errors = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Compared:
    """The records and D' on the features of one threshold, reordered: c first, d last.

    Attributes:
        table: The counts of the records.
        names: The features.
        r: How many values must match.
        n: The number of records.
        sparse: D'.
        schema: The features of D'.
    """

    table: SparseTable
    names: tuple[str, ...]
    r: int
    n: int
    sparse: SparseRows
    schema: Schema

    def both(self, axes: tuple[int, ...]) -> tuple[Answers, Answers]:
        """The counts, and the answers of D', of the r-of-k threshold over some of the features."""
        threshold = Threshold([self.names[axis] for axis in axes], self.r)
        answers = row_table(self.sparse.rows, self.schema, threshold, self.sparse)
        return threshold_counts(self.table.onto(axes), self.r), answers

    def errors(self, axes: tuple[int, ...]) -> Errors:
        """The errors of that threshold, with one axis for each feature; 0 if r is above k."""
        shape = tuple(self.table.shape[axis] for axis in axes)
        errors = np.zeros(math.prod(shape))
        if len(axes) >= self.r:
            counts, answers = self.both(axes)
            for slab in slabs_of(shape):
                here = slice(slab.first, slab.first + slab.size)
                errors[here] = (counts(slab) / self.n - answers(slab)).reshape(-1)
        return errors.reshape(shape)

    def columns(self, axis: int) -> npt.NDArray[np.float32]:
        """The columns of D' of one feature (values × rows)."""
        return self.sparse.rows.block(self.schema.index(self.names[axis]))

    def surplus(self) -> tuple[Errors, Errors]:
        """How much larger and how much smaller an error can be because of c·d (c × d)."""
        pairs = self.table.onto((0, len(self.names) - 1))
        true = np.zeros(math.prod(pairs.shape))
        true[pairs.cells] = pairs.counts / self.n
        true = true.reshape(pairs.shape)
        first, last = self.columns(0).astype(np.float64), self.columns(len(self.names) - 1)
        public = np.abs(first @ last.T / self.sparse.rows.count)
        if self.r == 1:  # there is no [m = -1]
            return public, true
        return true + public, true + public


def rows_behind(answers: object) -> SparseRows | None:
    """The D' whose answers to a threshold with r < k these are, or None if they are no D's."""
    if isinstance(answers, ThresholdTable) and isinstance(answers.marginals, RowMarginals):
        return answers.marginals.sparse
    if isinstance(answers, FilledAnswers):
        return answers.sparse
    return SparseRows(answers.rows) if isinstance(answers, WalkedTable) else None


def can_be_bounded(threshold: Threshold, schema: Schema, sparse: SparseRows) -> bool:
    """Whether a table is large enough to be worth it, and the smaller tables fit into memory.

    Args:
        threshold: The threshold.
        schema: The features.
        sparse: D'. Bounds need shares, which are between 0 and 1.
    """
    cells, sizes = threshold.query_count(schema), sorted(threshold.shape(schema))
    return (
        threshold.r < threshold.k
        and cells >= SMALLEST_BOUNDED
        and cells // sizes[-2] <= MOST_KEPT
        and all(sparse.columns(schema.index(name)).are_shares for name in threshold.features)
    )


def largest_bounded_error(
    table: SparseTable, threshold: Threshold, sparse: SparseRows, schema: Schema, n: int, gaps: Gaps
) -> float:
    """The largest gap between a share of the records and an answer of D', over all cells.

    Args:
        table: The counts of the records over the threshold's features.
        threshold: The threshold, with r < k.
        sparse: D', with its nonzero numbers.
        schema: The features of D'.
        n: The number of records.
        gaps: What looks at all cells of a slab.
    """
    order = _ordered(table, threshold, sparse, schema, n)
    names = tuple(threshold.features[axis] for axis in order)
    return _Search(Compared(table.onto(order), names, threshold.r, n, sparse, schema), gaps).run()


def _ordered(
    table: SparseTable, threshold: Threshold, sparse: SparseRows, schema: Schema, n: int
) -> tuple[int, ...]:
    """The axes: first and last those with the most values that are not too common.

    The tables without one of them must fit into memory, which those of the longest axes do.
    """
    cells = math.prod(table.shape)

    def many(axis: int) -> float:
        if cells // table.shape[axis] > MOST_KEPT:
            return 0.0
        shares = sparse.rows.block(schema.index(threshold.features[axis])).mean(axis=1)
        common = max(float(table.onto((axis,)).counts.max()) / n, float(shares.max()))
        return 1.0 + table.shape[axis] * (1.0 - min(1.0, common))

    last, first, *others = sorted(range(threshold.k), key=many, reverse=True)
    return first, *sorted(others), last


class _Search:
    """The search in one table."""

    def __init__(self, compared: Compared, gaps: Gaps) -> None:
        self._compared, self._gaps = compared, gaps
        shape, k = compared.table.shape, len(compared.names)
        self._middle = tuple(range(1, k - 1))
        self._sizes = np.array(shape[1:-1], dtype=np.int64)
        self._first = compared.errors((0, *self._middle)).reshape(shape[0], -1)
        second = compared.errors((*self._middle, k - 1)).reshape(-1, shape[-1])
        second -= compared.errors(self._middle).reshape(-1, 1)
        self._second, self._high, self._low = second, second.max(axis=1), second.min(axis=1)
        self._more, self._less = compared.surplus()
        self._codes = np.array([compared.table.axis_codes(axis) for axis in range(1, k)])
        firsts = compared.table.axis_codes(0)
        self._ranges = np.searchsorted(firsts, np.arange(shape[0] + 1))
        features = [compared.schema.index(name) for name in compared.names]
        self._offsets = compared.sparse.rows.offsets[features[1:-1]]
        self._last = compared.sparse.columns(features[-1])
        self._whole: tuple[Answers, Answers] | None = None

    def run(self) -> float:
        """The largest error."""
        # numba takes half a second to import, and this module is loaded with the package.
        from thresher.evaluation.bounded_kernels import largest_bound, open_rows

        best = 0.0
        promising: list[tuple[float, int]] = []
        for value, first in enumerate(self._first):
            more, less = float(self._more[value].max()), float(self._less[value].max())
            at = largest_bound(first, self._high, self._low, more, less)
            best = max(best, self._computed(value, np.array([at])))
            bound = max(first[at] + self._high[at] + more, -(first[at] + self._low[at] - less))
            promising.append((float(bound), value))
        rows = np.empty(self._first.shape[1], dtype=np.int64)
        for bound, value in sorted(promising, reverse=True):
            if bound <= best:
                break
            args = (self._first[value], self._second, self._high, self._low)
            number = open_rows(*args, self._more[value], self._less[value], best, rows)
            if number * self._steps(value) > WALKED * rows.size * self._second.shape[1]:
                best = max(best, self._walked(value))
            elif number:
                best = max(best, self._computed(value, rows[:number]))
        return best

    def _steps(self, value: int) -> float:
        """About how many steps the cells of a row take, one by one."""
        records = self._ranges[value + 1] - self._ranges[value]
        rows = np.count_nonzero(self._compared.columns(0)[value])
        middle = len(self._middle)
        per_row = middle * (middle + 1) + len(self._last.codes) / self._compared.sparse.rows.count
        return float(records * (middle + 1) + rows * per_row + self._second.shape[1])

    def _computed(self, value: int, rows: npt.NDArray[np.int64]) -> float:
        """The largest error in some rows of one value of the first feature."""
        from thresher.evaluation.bounded_kernels import largest_in_rows

        here = slice(self._ranges[value], self._ranges[value + 1])
        compared = self._compared
        worst: float = largest_in_rows(
            rows,
            self._sizes,
            compared.r,
            self._first[value],
            self._second,
            np.ascontiguousarray(self._codes[:, here]),
            compared.table.counts[here],
            float(compared.n),
            compared.sparse.rows.columns,
            self._offsets,
            np.ascontiguousarray(compared.columns(0)[value]),
            self._last.starts,
            self._last.codes,
            self._last.shares,
        )
        return worst

    def _walked(self, value: int) -> float:
        """The largest error of one value of the first feature, by looking at all cells."""
        if self._whole is None:
            self._whole = self._compared.both(tuple(range(len(self._compared.names))))
        counts, answers = self._whole
        return max(
            self._gaps(counts(slab).reshape(-1), answers(slab).reshape(-1), self._compared.n)
            for slab in self._slabs(value)
        )

    def _slabs(self, value: int) -> Iterator[Slab]:
        shape = self._compared.table.shape
        for slab in slabs_of(shape[1:]):
            yield Slab(shape, (range(value, value + 1), *slab.ranges))
