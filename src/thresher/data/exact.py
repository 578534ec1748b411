"""Exact answers on the records: integers, not private, for the wall and for evaluation."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from thresher.data.private import PrivateData
from thresher.data.records import Records
from thresher.data.viewed import counts_of
from thresher.queries.query import Query
from thresher.queries.rewriting import on_columns
from thresher.queries.threshold import Threshold
from thresher.schema import Schema
from thresher.tables.slabs import MEMORY_CEILING, SLAB_CELLS, Slab, slabs_of
from thresher.tables.sparse import SparseTable, check_countable, threshold_counts
from thresher.tables.threshold_table import Answers, Table, check_fits


def exact_table(data: PrivateData, threshold: Threshold, schema: Schema | None = None) -> Answers:
    """The exact counts of all consistent queries of a threshold, for any slab. Not private.

    Args:
        data: The private records.
        threshold: The threshold.
        schema: The schema with the views that it names; that of the records if not given.

    Example:
        >>> from thresher.data import datasets
        >>> counts_in = exact_table(datasets.adult(), Threshold(("race", "sex")))
        >>> [int(counts_in(slab).sum()) for slab in slabs_of((5, 2), 10)]
        [48842]
    """
    schema = schema or data.schema
    check_countable(threshold.shape(schema), threshold)
    [table] = counts_of(data, schema, [threshold.features])
    return threshold_counts(table, threshold.r)


def exact_slabs(
    data: PrivateData, threshold: Threshold, cells: int = SLAB_CELLS
) -> Iterator[tuple[Slab, Table]]:
    """Walk the exact counts of all consistent queries of a threshold, slab by slab.

    Not private: for the privacy wall and for evaluation.

    Example:
        >>> from thresher.data import datasets
        >>> threshold = Threshold(("age", "race", "sex"), r=2)
        >>> max(int(counts.max()) for _, counts in exact_slabs(datasets.adult(), threshold))
        29316
    """
    counts_in = exact_table(data, threshold)
    for slab in slabs_of(threshold.shape(data.schema), cells):
        yield slab, counts_in(slab)


def exact_answers(
    data: PrivateData, threshold: Threshold, memory: int = MEMORY_CEILING
) -> npt.NDArray[np.int64]:
    """The exact counts of all consistent queries of a threshold, one axis per feature.

    Not private: for evaluation.

    Args:
        data: The private records.
        threshold: The threshold.
        memory: The most bytes that the table may take.

    Example:
        >>> from thresher.data import datasets
        >>> table = exact_answers(datasets.adult(), Threshold(("race", "sex", "income"), r=2))
        >>> table.shape, int(table[4, 0, 1])
        ((5, 2, 2), 4379)
    """
    check_fits(threshold, data.schema, memory)
    shape = threshold.shape(data.schema)
    answers = np.empty(math.prod(shape), dtype=np.int64)
    for slab, counts in exact_slabs(data, threshold):
        answers[slab.first : slab.first + slab.size] = counts.reshape(-1)
    return answers.reshape(shape)


def exact_answer(data: PrivateData, query: Query | str) -> float:
    """The fraction of records that meet a query, exactly. Not private: for evaluation.

    Example:
        >>> from thresher.data import datasets
        >>> round(exact_answer(datasets.adult(), "2 of: race=Black, sex=Female, income=>50K"), 4)
        0.0897
    """
    return exact_count(data, query) / data.n


def exact_count(data: PrivateData, query: Query | str) -> int:
    """The number of records that meet a query. Not private.

    Example:
        >>> from thresher.data import datasets
        >>> exact_count(datasets.adult(), "income=>50K")
        11687
    """
    if isinstance(query, str):
        query = Query.parse(query, data.schema)
    query.check(data.schema)
    query = on_columns(query, data.schema)
    if isinstance(data, Records):
        codes = [data.codes(condition.feature) for condition in query.conditions]
        return int(np.count_nonzero(_meets(query, codes, query.threshold.shape(data.schema))))
    check_countable(query.threshold.shape(data.schema), query.threshold)
    [table] = data.counts([query.threshold.features])
    return count_in(table, query)


def count_in(table: SparseTable, query: Query) -> int:
    """The number of records that meet a query, from the table over its features in their order.

    Example:
        >>> from thresher.queries import Condition
        >>> table = SparseTable.of_cells((2, 2), np.array([0, 3, 3]))
        >>> count_in(table, Query([Condition("a", [0]), Condition("b", [1])], r=1))
        3
    """
    codes = [table.axis_codes(axis) for axis in range(query.k)]
    return int(table.counts[_meets(query, codes, table.shape)].sum())


def _meets(
    query: Query, codes: Sequence[npt.NDArray[np.integer[Any]]], shape: Sequence[int]
) -> npt.NDArray[np.bool_]:
    """Which of some records, or cells, meet a query; `codes` has a column for each condition."""
    matches = np.zeros(len(codes[0]), dtype=np.uint16)
    for condition, column, size in zip(query.conditions, codes, shape, strict=True):
        meets = np.zeros(size, dtype=np.uint16)
        meets[list(condition.codes)] = 1
        matches += meets[column]
    return matches >= query.r
