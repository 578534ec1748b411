"""What D' answers: to single queries of any kind, and to all queries of a threshold in slabs."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from math import comb

import numpy as np
from numpy.typing import NDArray

from thresher.queries.condition import Condition
from thresher.queries.query import Query
from thresher.queries.threshold import Threshold
from thresher.relaxed.heavy_cells import SparseRows
from thresher.relaxed.marginal import MarginalOnRows, WalkedTable
from thresher.relaxed.rows import RelaxedRows
from thresher.relaxed.selected import SelectedQueries, answers
from thresher.relaxed.slab_marginals import (
    FilledAnswers,
    RowMarginals,
    filling_takes_less,
    has_few_sets,
)
from thresher.relaxed.surrogate import threshold_by_counting
from thresher.schema import Schema
from thresher.tables.threshold_table import Answers, ThresholdTable, coefficient

BATCH = 1 << 14

FEW = 1 << 22
"""Steps of the dynamic programme, over all queries and rows, that numpy takes in about 20 ms.

Compiled kernels are faster from far fewer steps on, but loading them takes about a second, and
compiling them for the first time on a machine about seven.
"""

HEAVIEST_SUM = 100
"""Beyond this sum of weights, inclusion–exclusion would lose too many digits of float32."""


def selected_queries(queries: Iterable[Query], schema: Schema) -> SelectedQueries:
    """Queries with one value per feature, by the one-hot columns that they match."""
    listed = list(queries)
    first = dict(zip(schema.all_names, schema.offsets.tolist(), strict=True))
    columns = [[first[c.feature] + c.codes[0] for c in query.conditions] for query in listed]
    return SelectedQueries.of(columns, [query.r for query in listed])


def row_table(
    rows: RelaxedRows, schema: Schema, threshold: Threshold, sparse: SparseRows | None = None
) -> Answers:
    """The answers of D' to all consistent queries of a threshold, for any slab.

    Args:
        rows: D'; must not change while the answers are used.
        schema: The features of D'.
        threshold: The threshold. The answers of a marginal (r = k) can be listed.
        sparse: The nonzero numbers of D', where tables of several thresholds share them.

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
    k, r = threshold.k, threshold.r
    sparse = sparse or SparseRows(rows)
    if r == k:
        return MarginalOnRows(sparse, schema, threshold)
    weight = sum(comb(k, i) * abs(coefficient(i, r)) for i in range(r, k + 1))
    features = [schema.index(name) for name in threshold.features]
    if (
        weight <= HEAVIEST_SUM
        and filling_takes_less(sparse, features)
        and has_few_sets(sparse, schema, threshold)
    ):
        return FilledAnswers(sparse, schema, threshold)
    # Of the marginals, one has the full size. So they take less work than r products of that size.
    if weight <= HEAVIEST_SUM and r > 1:
        return ThresholdTable(RowMarginals(sparse, schema, threshold), k, r)
    return WalkedTable(rows, schema, threshold)


def answer_queries(rows: RelaxedRows, schema: Schema, queries: Iterable[Query]) -> Iterator[float]:
    """The answers of D' to queries whose conditions may be sets, ranges and negations.

    A row meets a condition with the sum of the probabilities of its values. So each batch has one
    column per different condition, and every query matches some of these columns.

    Example:
        >>> from thresher.data import datasets
        >>> schema = datasets.adult_schema()
        >>> rows = RelaxedRows.from_codes(schema.sizes, np.zeros((1, len(schema)), int))
        >>> list(answer_queries(rows, schema, [Query.parse("age=..20", schema)]))
        [1.0]
    """
    pending = iter(queries)
    while batch := list(islice(pending, BATCH)):
        places: dict[Condition, int] = {}
        columns = [[places.setdefault(c, len(places)) for c in q.conditions] for q in batch]
        needed = [q.r for q in batch]
        met = _columns_of(rows, schema, places)
        work = rows.count * sum(q.k * min(q.r, q.k - q.r + 1) for q in batch)
        found = _by_numpy(met, columns, needed) if work <= FEW else _compiled(met, columns, needed)
        # Rounding may lift a sum of columns, or a sum over counts of matches, above 1.
        yield from np.clip(found, 0.0, 1.0).tolist()


def _columns_of(
    rows: RelaxedRows, schema: Schema, conditions: Iterable[Condition]
) -> NDArray[np.float32]:
    """How probable it is that each row meets each condition (conditions × n')."""
    listed = list(conditions)
    met = np.empty((len(listed), rows.count), dtype=np.float32)
    for column, condition in zip(met, listed, strict=True):
        block = rows.block(schema.index(condition.feature))
        block.take(condition.codes, axis=0).sum(axis=0, out=column)
    return np.minimum(met, np.float32(1.0), out=met)


def _by_numpy(
    met: NDArray[np.float32], columns: Sequence[Sequence[int]], r: Sequence[int]
) -> NDArray[np.float64]:
    """Answers to a handful of queries: those with the same k and r together."""
    kinds: dict[tuple[int, int], list[int]] = {}
    for place, (chosen, needed) in enumerate(zip(columns, r, strict=True)):
        kinds.setdefault((len(chosen), needed), []).append(place)
    found = np.empty(len(columns))
    exact = met.astype(np.float64)
    for (_, needed), places in kinds.items():
        matches = exact[np.array([columns[place] for place in places]).T]
        found[places] = threshold_by_counting(matches, needed).mean(axis=1)
    return found


def _compiled(
    met: NDArray[np.float32], columns: list[list[int]], r: list[int]
) -> NDArray[np.float64]:
    """Answers to many queries, by the kernel."""
    # numba takes half a second to import: see FEW.
    from thresher.relaxed.compilation import cores_for

    with cores_for(met.shape[1] * sum(map(len, columns))):
        return answers(RelaxedRows(met, (1,) * len(met)), SelectedQueries.of(columns, r))
