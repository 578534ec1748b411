"""What D' answers: to single queries of any kind, and to all queries of a threshold in slabs."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from math import comb

import numpy as np

from thresher.queries.condition import Condition
from thresher.queries.query import Query
from thresher.queries.threshold import Threshold
from thresher.relaxed.rows import RelaxedRows
from thresher.relaxed.selected import SelectedQueries, answers
from thresher.relaxed.tables import TableOnRows, TableQueries
from thresher.schema import Schema
from thresher.tables.slabs import Slab
from thresher.tables.threshold_table import Answers, Axes, Table, ThresholdTable, coefficient

BATCH = 1 << 14

HEAVIEST_SUM = 100
"""Beyond this sum of weights, inclusion–exclusion would lose too many digits of float32."""


def selected_queries(queries: Iterable[Query], schema: Schema) -> SelectedQueries:
    """Queries with one value per feature, by the one-hot columns that they match."""
    listed = list(queries)
    columns = [
        [int(schema.offsets[schema.index(c.feature)]) + c.codes[0] for c in query.conditions]
        for query in listed
    ]
    return SelectedQueries.of(columns, [query.r for query in listed])


def row_table(rows: RelaxedRows, schema: Schema, threshold: Threshold) -> Answers:
    """The answers of D' to all consistent queries of a threshold, for any slab.

    Example:
        >>> from thresher.data import datasets
        >>> from thresher.tables import slabs_of
        >>> schema = datasets.adult_schema()
        >>> rows = RelaxedRows.uniform(schema.sizes, rows=10, rng=np.random.default_rng(0))
        >>> threshold = Threshold(("race", "sex"))
        >>> table = row_table(rows, schema, threshold)
        >>> [slab] = slabs_of(threshold.shape(schema))
        >>> round(float(table(slab).sum()), 3)
        1.0
    """
    features = tuple(schema.index(name) for name in threshold.features)
    k, r = threshold.k, threshold.r
    weight = sum(comb(k, i) * abs(coefficient(i, r)) for i in range(r, k + 1))
    if 1 < r < k and weight <= HEAVIEST_SUM:
        # One matrix product of the full size and many small ones, in place of several full ones.
        return ThresholdTable(_RowMarginals(rows, features), k, r)
    return _cells_of(rows, TableQueries(features, r))


def _cells_of(rows: RelaxedRows, queries: TableQueries) -> Callable[[Slab], Table]:
    table = TableOnRows(rows, queries)
    width = table.cells[1]

    def cells_of(slab: Slab) -> Table:
        leading = range(slab.first // width, -(-(slab.first + slab.size) // width))
        start = slab.first - leading.start * width
        return table.slab(leading).reshape(-1)[start : start + slab.size].reshape(slab.shape)

    return cells_of


class _RowMarginals:
    """The marginal tables of D' over subsets of some features."""

    def __init__(self, rows: RelaxedRows, features: tuple[int, ...]) -> None:
        self._rows, self._features = rows, features
        self._tables: dict[Axes, Callable[[Slab], Table]] = {}

    def marginal(self, axes: Axes, slab: Slab) -> Table:
        """The part of a marginal table that lies in a slab."""
        if axes not in self._tables:
            queries = TableQueries(tuple(self._features[axis] for axis in axes), len(axes))
            self._tables[axes] = _cells_of(self._rows, queries)
        return self._tables[axes](slab)


def answer_queries(rows: RelaxedRows, schema: Schema, queries: Iterable[Query]) -> Iterator[float]:
    """The answers of D' to queries whose conditions may be sets, ranges and negations.

    The factor of a condition is the sum of its columns. Each batch gets a small D' with one
    column per different condition, so that the fused kernel serves every kind of query.
    """
    pending = iter(queries)
    while batch := list(islice(pending, BATCH)):
        places: dict[Condition, int] = {}
        columns = [[places.setdefault(c, len(places)) for c in q.conditions] for q in batch]
        factors = np.empty((len(places), rows.count), dtype=np.float32)
        for condition, place in places.items():
            block = rows.block(schema.index(condition.feature))
            factors[place] = np.minimum(block[list(condition.codes)].sum(axis=0), 1.0)
        met = RelaxedRows(factors, (1,) * len(places))
        found = answers(met, SelectedQueries.of(columns, [q.r for q in batch]))
        # Rounding may lift a sum of columns, or a sum over counts of matches, above 1.
        yield from np.clip(found, 0.0, 1.0).tolist()
