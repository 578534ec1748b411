"""Exact answers on the records: integers, not private, for the wall and for evaluation."""

import math
from collections.abc import Iterator
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from thresher.data.records import Records
from thresher.errors import ResourceError
from thresher.queries.query import Query
from thresher.queries.threshold import Threshold
from thresher.tables.slabs import MEMORY_CEILING, SLAB_CELLS, Slab, slabs_of
from thresher.tables.threshold_table import (
    Answers,
    Axes,
    Table,
    ThresholdTable,
    check_fits,
    coefficient,
)

KEPT_BYTES = MEMORY_CEILING // 4
"""Bytes that the cells of the records, kept from slab to slab, may take."""


class RecordMarginals:
    """The marginal tables of a threshold's features, counted on the records. Not private.

    Example:
        >>> from thresher.data import datasets
        >>> RecordMarginals(datasets.adult(), Threshold(("race", "sex"))).shape
        (5, 2)
    """

    def __init__(self, records: Records, threshold: Threshold) -> None:
        self.columns = [records.codes(name) for name in threshold.features]
        self.shape = threshold.shape(records.schema)
        self._cells: dict[Axes, npt.NDArray[np.int64]] = {}
        # The identity's partial sums stay below this, whatever the order of summation.
        k, r = threshold.k, threshold.r
        largest = records.n * sum(math.comb(k, i) * abs(coefficient(i, r)) for i in range(r, k + 1))
        self.dtype: type[np.signedinteger[Any]] = np.int32 if largest < 2**31 else np.int64

    def marginal(self, axes: Axes, slab: Slab) -> Table:
        """How many records fall in each cell of the slab."""
        counts = np.zeros(slab.size, dtype=self.dtype)
        _tally(self._cells_of(axes), slab.first, counts)
        return counts.reshape(slab.shape)

    def _cells_of(self, axes: Axes) -> npt.NDArray[np.int64]:
        """The cell of every record in the table over the axes, in C order."""
        if axes not in self._cells:
            cells = self.columns[axes[0]].astype(np.int64)
            for axis in axes[1:]:
                cells *= self.shape[axis]
                cells += self.columns[axis]
            if (len(self._cells) + 1) * cells.nbytes > KEPT_BYTES:
                return cells
            self._cells[axes] = cells
        return self._cells[axes]


@numba.njit(cache=True, nogil=True)
def _tally(cells, first, counts):  # type: ignore[no-untyped-def]
    for cell in cells:
        place = cell - first
        if 0 <= place < counts.size:
            counts[place] += 1


def exact_table(records: Records, threshold: Threshold) -> Answers:
    """The exact counts of all consistent queries of a threshold, for any slab. Not private.

    Example:
        >>> from thresher.data import datasets
        >>> counts_in = exact_table(datasets.adult(), Threshold(("race", "sex")))
        >>> [int(counts_in(slab).sum()) for slab in slabs_of((5, 2), 10)]
        [48842]
    """
    return ThresholdTable(RecordMarginals(records, threshold), threshold.k, threshold.r)


def exact_slabs(
    records: Records, threshold: Threshold, cells: int = SLAB_CELLS
) -> Iterator[tuple[Slab, Table]]:
    """Walk the exact counts of all consistent queries of a threshold, slab by slab.

    Not private: for the privacy wall and for evaluation.

    Example:
        >>> from thresher.data import datasets
        >>> threshold = Threshold(("age", "race", "sex"), r=2)
        >>> max(int(counts.max()) for _, counts in exact_slabs(datasets.adult(), threshold))
        29316
    """
    shape = threshold.shape(records.schema)
    if math.prod(shape) >= 2**63:
        raise ResourceError(f"{threshold} has {math.prod(shape)} queries: too many to walk")
    counts_in = exact_table(records, threshold)
    for slab in slabs_of(shape, cells):
        yield slab, counts_in(slab)


def exact_answers(
    records: Records, threshold: Threshold, memory: int = MEMORY_CEILING
) -> npt.NDArray[np.int64]:
    """The exact counts of all consistent queries of a threshold, one axis per feature.

    Not private: for evaluation.

    Args:
        records: The private records.
        threshold: The threshold.
        memory: The most bytes that the table may take.

    Example:
        >>> from thresher.data import datasets
        >>> table = exact_answers(datasets.adult(), Threshold(("race", "sex", "income"), r=2))
        >>> table.shape, int(table[4, 0, 1])
        ((5, 2, 2), 4379)
    """
    check_fits(threshold, records.schema, memory)
    shape = threshold.shape(records.schema)
    answers = np.empty(math.prod(shape), dtype=np.int64)
    for slab, counts in exact_slabs(records, threshold):
        answers[slab.first : slab.first + slab.size] = counts.reshape(-1)
    return answers.reshape(shape)


def exact_answer(records: Records, query: Query | str) -> float:
    """The fraction of records that meet a query, exactly. Not private: for evaluation.

    Example:
        >>> from thresher.data import datasets
        >>> round(exact_answer(datasets.adult(), "2 of: race=Black, sex=Female, income=>50K"), 4)
        0.0897
    """
    return exact_count(records, query) / records.n


def exact_count(records: Records, query: Query | str) -> int:
    """The number of records that meet a query, by a scan. Not private.

    Example:
        >>> from thresher.data import datasets
        >>> exact_count(datasets.adult(), "income=>50K")
        11687
    """
    if isinstance(query, str):
        query = Query.parse(query, records.schema)
    query.check(records.schema)
    matches = np.zeros(records.n, dtype=np.uint16)
    for condition in query.conditions:
        meets = np.zeros(records.schema[condition.feature].size, dtype=np.uint16)
        meets[list(condition.codes)] = 1
        matches += meets[records.codes(condition.feature)]
    return int(np.count_nonzero(matches >= query.r))
