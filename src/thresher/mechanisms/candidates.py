"""The tables that may be measured for a workload, and how much its answers feel errors in them."""

from collections.abc import Collection, Iterator
from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt

from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.relaxed.rows import RelaxedRows
from thresher.relaxed.tables import threshold_table
from thresher.schema import Schema
from thresher.tables import Answers, AnswersOf, Slab, Table

MOST_SUBSETS = 5000
"""Subsets of one size that a threshold is taken apart into; of wide ones, only small subsets."""

LARGEST_SEEN = 1 << 22
"""The most cells of a table that is looked at to see how much of an error is felt there."""

ROWS_ASKED = 125
"""About as many rows of D' say how much is felt; more say the same, and take longer."""


def candidates_of(workload: Workload, largest: int) -> dict[Threshold, int]:
    """Tables over two or more features of a threshold, with their numbers of cells.

    Args:
        workload: The thresholds.
        largest: The most cells of a candidate.

    Example:
        >>> from thresher.data.datasets import adult_schema
        >>> work = Workload(adult_schema(), [Threshold(("sex", "race", "education-num"))])
        >>> [table.features for table in candidates_of(work, largest=40)]
        [('education-num', 'sex'), ('race', 'sex')]
    """
    found = {}
    for threshold in workload:
        for table in subsets_of(threshold, workload.schema):
            cells = table.query_count(workload.schema)
            if 1 < cells <= largest:
                found[table] = cells
    return found


def subsets_of(threshold: Threshold, schema: Schema) -> Iterator[Threshold]:
    """The marginals of two or more features of a threshold, in the schema's order."""
    for size in range(2, threshold.k + 1):
        if comb(threshold.k, size) > MOST_SUBSETS:
            break
        yield from _marginals(threshold, size, schema)


def own_of(threshold: Threshold, schema: Schema) -> Iterator[Threshold]:
    """The tables that a threshold's answers need first.

    For a marginal that is the marginal itself. An r-of-k table adds up marginals of r and more
    features, so it is those of r, or of two if r = 1: of one feature, all are measured anyway.
    """
    size = threshold.k if threshold.r == threshold.k else max(2, threshold.r)
    return _marginals(threshold, size if comb(threshold.k, size) <= MOST_SUBSETS else 2, schema)


def _marginals(threshold: Threshold, size: int, schema: Schema) -> Iterator[Threshold]:
    return map(Threshold, combinations(sorted(threshold.features, key=schema.index), size))


class Felt:
    """How much the answers to a workload feel an error in a cell of a table.

    People whom D' has in a cell of a table, and should not, or the other way round, count in full
    for an r-of-k query that names the cell's values if there are r or more of those. If there are
    fewer, they count only as far as they have more of the query's values: at most the largest
    share that any such values have in the cell, as D' has them. Where D' has hardly anyone, that
    is the largest share that such values have among all.

    Args:
        workload: The thresholds.
        tables: The tables in which errors are made.

    Example:
        >>> from thresher.schema.features import IntegerRange
        >>> from thresher.tables import slabs_of
        >>> schema = Schema(IntegerRange(name=x, low=0, high=1, nulls=0) for x in "abc")
        >>> table = Threshold(("a", "b"))
        >>> felt = Felt(Workload(schema, [Threshold(("a", "b", "c"))]), [table])
        >>> people = np.array([[0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 1]])
        >>> rows = RelaxedRows.from_codes(schema.sizes, people)
        >>> felt.weights(rows)(table)(next(slabs_of((2, 2)))).tolist()  # c is 0 for 3 of 4
        [[0.75, 0.75], [0.75, 0.75]]
    """

    def __init__(self, workload: Workload, tables: Collection[Threshold]) -> None:
        self._schema = schema = workload.schema
        through: dict[Threshold, list[Threshold]] = {}
        in_full: set[Threshold] = set()
        for threshold in workload:
            parts = [table for table in subsets_of(threshold, schema) if table in tables]
            in_full.update(table for table in parts if table.k >= threshold.r)
            fewer = [table for table in parts if table.k < threshold.r]
            if fewer and comb(threshold.k, threshold.r) > MOST_SUBSETS:
                in_full.update(fewer)
                continue
            for whole in _marginals(threshold, threshold.r, schema) if fewer else ():
                inside = [table for table in fewer if {*table.features} <= {*whole.features}]
                if whole.query_count(schema) > LARGEST_SEEN:
                    in_full.update(inside)
                else:
                    through.setdefault(whole, []).extend(inside)
        self._through = {
            whole: partly
            for whole, inside in through.items()
            if (partly := [table for table in dict.fromkeys(inside) if table not in in_full])
        }

    def weights(self, rows: RelaxedRows) -> AnswersOf:
        """For each cell of each table, how much of an error in it is felt: at most 1."""
        every = max(1, rows.count // ROWS_ASKED)
        some = RelaxedRows(np.ascontiguousarray(rows.columns[:, ::every]), rows.sizes)
        hardly_anyone = np.float32(1.0 / rows.count)
        felt: dict[Threshold, npt.NDArray[np.float32]] = {}
        for whole, inside in self._through.items():
            shares = threshold_table(some, self._schema, whole)
            for table in inside:
                axes = tuple(i for i, f in enumerate(whole.features) if f not in table.features)
                others = tuple(i for i in range(whole.k) if i not in axes)
                of_all = shares.sum(axis=others).max()
                here = shares.max(axis=axes) + hardly_anyone * of_all
                here /= shares.sum(axis=axes) + hardly_anyone
                felt[table] = np.maximum(felt.get(table, np.float32(0.0)), here)

        def weights_of(table: Threshold) -> Answers:
            known = felt.get(table)

            def weights(slab: Slab) -> Table:
                return np.ones(slab.shape, np.float32) if known is None else known[slab.index]

            return weights

        return weights_of
