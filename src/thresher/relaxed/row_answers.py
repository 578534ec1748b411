"""What D' answers: to single queries of any kind, and to all queries of a threshold in slabs."""

from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np
import numpy.typing as npt

from thresher.queries.query import Condition, Query
from thresher.queries.threshold import Threshold
from thresher.relaxed.rows import RelaxedRows
from thresher.relaxed.selected import SelectedQueries, answers
from thresher.relaxed.tables import TableOnRows, TableQueries
from thresher.schema import Schema
from thresher.tables.slabs import Slab
from thresher.tables.threshold_table import Answers

BATCH = 1 << 14


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
    table = TableOnRows(rows, TableQueries(features, threshold.r))
    width = table.cells[1]

    def cells_of(slab: Slab) -> npt.NDArray[np.float32]:
        leading = range(slab.first // width, -(-(slab.first + slab.size) // width))
        start = slab.first - leading.start * width
        return table.slab(leading).reshape(-1)[start : start + slab.size].reshape(slab.shape)

    return cells_of


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
