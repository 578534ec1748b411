"""The typical error: the median over the cells with people in them. Not for publication."""

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

MOST_CELLS = 1 << 14
"""Of a threshold with more cells that have people in them, so many at equal distances are taken."""

MOST_SLABS = 8
"""Of a table with more slabs, so many at equal distances are looked at."""

Floats = npt.NDArray[np.float64]


def typical_error(answers_of: AnswersOf, records: PrivateData, workload: Workload) -> float:
    """The median error over the cells of a workload with people in them. Not for publication.

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
    gaps, weights = [], []
    for threshold in workload:
        for found, weight in _gaps(answers_of, known, threshold, schema):
            gaps.append(found)
            weights.append(np.full(len(found), weight))
    return _median(np.concatenate(gaps), np.concatenate(weights))


def _gaps(
    answers_of: AnswersOf, records: PrivateData, threshold: Threshold, schema: Schema
) -> Iterator[tuple[Floats, float]]:
    """Errors of cells with people in them, and how many cells each of these stands for."""
    answers = answers_of(threshold)
    if threshold.r == threshold.k and isinstance(answers, Listable):
        [table] = counts_of(records, schema, [threshold.features])
        every = ceil(len(table.cells) / MOST_CELLS)
        shares = table.counts[::every] / records.n
        yield np.abs(shares - answers.at(table.cells[::every])), float(every)
        return
    truth, shape = exact_table(records, threshold, schema), threshold.shape(schema)
    slabs = ceil(threshold.query_count(schema) / SLAB_CELLS)
    every_slab = ceil(slabs / MOST_SLABS)
    for slab in islice(slabs_of(shape), 0, None, every_slab):
        counts = truth(slab).reshape(-1)
        there = np.flatnonzero(counts)
        every = max(1, ceil(len(there) / MOST_CELLS))
        some = there[::every]
        given = np.asarray(answers(slab)).reshape(-1)[some]
        yield np.abs(counts[some] / records.n - given), float(every * every_slab)


def _median(values: Floats, weights: Floats) -> float:
    """The middle of values that each stand for several."""
    order = np.argsort(values)
    cumulative = np.cumsum(weights[order])
    half = cumulative[-1] / 2
    low, high = (int(np.searchsorted(cumulative, half, side)) for side in ("left", "right"))
    return float(values[order[[low, high]]].mean())
