"""The typical error: the median over the cells that many people are in. Not for publication.

Most cells of a large table have one or two people. Whether such a cell errs by one person or by
three is of little interest to anybody, and depends on how people are spread. So a typical cell is
one with at least 1 % of the people.
"""

from collections.abc import Iterator
from itertools import islice
from math import ceil

import numpy as np
import numpy.typing as npt

from thresher.data.exact import exact_table
from thresher.data.known import counted_ahead
from thresher.data.private import PrivateData
from thresher.data.viewed import counts_of
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.schema import Schema
from thresher.tables import AnswersOf, slabs_of
from thresher.tables.listing import Listable
from thresher.tables.slabs import SLAB_CELLS

SHARE = 0.01
"""A typical cell has at least this share of the people."""

OF_LARGEST = 0.5
"""Where no cell has so many, typical ones have at least this part of what the largest has."""

MOST_SLABS = 8
"""Of a table with more slabs, so many at equal distances are looked at."""

Floats = npt.NDArray[np.float64]


def typical_error(answers_of: AnswersOf, records: PrivateData, workload: Workload) -> float:
    """The median error over the cells of a workload with 1 % of the people or more.

    Where no cell has so many, it is over those with at least half as many as the largest one. Not
    for publication.

    Args:
        answers_of: The answers, such as those of `release.source.table`.
        records: The private records.
        workload: The thresholds to compare on.

    Example:
        >>> import thresher as th
        >>> data = th.datasets.adult()
        >>> work = th.Workload(data.schema, [th.Threshold(("sex", "income"))])
        >>> zeros = th.All0(epsilon=1.0).fit(data, work)
        >>> round(typical_error(zeros.source.table, data, work), 3)  # half of 0.203 and 0.295 …
        0.249
    """
    schema = workload.schema
    known = counted_ahead(records, (schema.bases(threshold.features) for threshold in workload))
    least = SHARE
    for _ in range(2):
        found = [f for t in workload for f in _found(answers_of, known, schema, t, least)]
        gaps = np.concatenate([gaps for gaps, _, _ in found])
        if len(gaps):
            break
        least = OF_LARGEST * max(largest for _, _, largest in found)
    weights = np.concatenate([np.full(len(gaps), weight) for gaps, weight, _ in found])
    return _median(gaps, weights)


def typical_cell(counts: npt.NDArray[np.int64], n: int) -> int:
    """The place of a typical cell of one table: that with the middle one of the large counts.

    Args:
        counts: The counts of all cells with people in them.
        n: The number of people.

    Example:
        >>> typical_cell(np.array([1, 30, 2, 500, 40]), 573)
        4
    """
    least = min(SHARE * n, OF_LARGEST * int(counts.max()))
    large = np.flatnonzero(counts >= least)
    return int(large[np.argsort(counts[large], kind="stable")[len(large) // 2]])


def _found(
    answers_of: AnswersOf, records: PrivateData, schema: Schema, threshold: Threshold, least: float
) -> Iterator[tuple[Floats, float, float]]:
    """Errors of cells with so large a share, how many cells each stands for, the largest share."""
    answers = answers_of(threshold)
    if threshold.r == threshold.k and isinstance(answers, Listable):
        [table] = counts_of(records, schema, [threshold.features])
        shares: Floats = table.counts / records.n
        large = shares >= least
        yield np.abs(shares[large] - answers.at(table.cells[large])), 1.0, float(shares.max())
        return
    truth, shape = exact_table(records, threshold, schema), threshold.shape(schema)
    every = ceil(ceil(threshold.query_count(schema) / SLAB_CELLS) / MOST_SLABS)
    for slab in islice(slabs_of(shape), 0, None, every):
        shares = np.asarray(truth(slab), dtype=np.float64).reshape(-1) / records.n
        large = shares >= least
        given = np.asarray(answers(slab)).reshape(-1)[large]
        yield np.abs(shares[large] - given), float(every), float(shares.max())


def _median(values: Floats, weights: Floats) -> float:
    """The middle of values that each stand for several."""
    order = np.argsort(values)
    cumulative = np.cumsum(weights[order])
    half = cumulative[-1] / 2
    low, high = (int(np.searchsorted(cumulative, half, side)) for side in ("left", "right"))
    return float(values[order[[low, high]]].mean())
