"""How much an error in a cell of a table matters to the answers of a workload."""

from collections.abc import Collection, Iterator, Sequence
from functools import cache, cached_property
from math import comb, prod

import numpy as np
import numpy.typing as npt

from thresher.mechanisms.adaptive_tables.candidates import (
    MOST_SUBSETS,
    marginals_of,
    subsets_of,
)
from thresher.mechanisms.adaptive_tables.people import PeopleWeights
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.relaxed.rows import RelaxedRows
from thresher.schema import Schema
from thresher.tables import Answers, AnswersOf
from thresher.tables.listing import Same

LARGEST_WEIGHED = 1 << 22
"""The most cells of a marginal that is computed whole on D' to find weights."""

MOST_STEPS = 1 << 25
"""The most steps of computing such marginals on D', all together: half a second.

If a marginal is larger, or all together take more steps, the weights are computed on records that
are drawn from D' (see `people`).
"""

ROWS_SAMPLED = 125
"""About how many rows of D' are used for whole marginals. More rows give the same weights."""

Weights = npt.NDArray[np.float32]


class ErrorWeights:
    """Weights, at most 1, of the errors in the cells of tables.

    Suppose D' has a share of people in a cell of a table over features S who do not belong there.
    An r-of-k query that names the cell's values is off by that whole share if |S| ≥ r: the weight
    is 1. If |S| < r, these people count for the query only if they also have more of its values.
    The weight is the largest share that any such further values have within the cell, according to
    D'. Where D' has hardly anyone in the cell, it tends to the largest share that such values have
    among all people.

    For example, an error in age × weight hardly matters to age × weight × hours, because it is
    spread over a hundred values of hours. An error in age × sex matters to age × sex × country,
    because most people are from one country.

    All weights of a table are multiplied by the largest weight, as a part of the largest of all, of
    a threshold of the workload that has its features.

    Args:
        workload: The thresholds.
        tables: The tables in which errors are made.

    Example:
        >>> from thresher.schema import Schema
        >>> from thresher.schema.features import IntegerRange
        >>> from thresher.tables import slabs_of
        >>> schema = Schema(IntegerRange(name=x, low=0, high=1, nulls=0) for x in "abc")
        >>> table = Threshold(("a", "b"))
        >>> weights = ErrorWeights(Workload(schema, [Threshold(("a", "b", "c"))]), [table])
        >>> people = np.array([[0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 1]])
        >>> rows = RelaxedRows.from_codes(schema.sizes, people)
        >>> weights.on(rows)(table)(next(slabs_of((2, 2)))).tolist()  # c is 0 for 3 of 4
        [[0.75, 0.75], [0.75, 0.75]]
    """

    def __init__(self, workload: Workload, tables: Collection[Threshold]) -> None:
        self._workload, self._schema = workload, (schema := workload.schema)
        self._known_parts: dict[Threshold, float] = {}
        parts_of: dict[Threshold, list[Threshold]] = {}
        of_weight_one: set[Threshold] = set()
        for threshold in workload:
            inside = [table for table in subsets_of(threshold, schema) if table in tables]
            of_weight_one.update(table for table in inside if table.k >= threshold.r)
            smaller = [table for table in inside if table.k < threshold.r]
            if smaller and comb(threshold.k, threshold.r) > MOST_SUBSETS:
                of_weight_one.update(smaller)
                continue
            for whole in marginals_of(threshold, threshold.r, schema) if smaller else ():
                parts = [table for table in smaller if {*table.features} <= {*whole.features}]
                parts_of.setdefault(whole, []).extend(parts)
        # For each marginal of r features, the tables whose weights it takes part in.
        self._parts_of = {
            whole: weighed
            for whole, parts in parts_of.items()
            if (weighed := [table for table in dict.fromkeys(parts) if table not in of_weight_one])
        }

        self._largest = max((w.query_count(schema) for w in self._parts_of), default=0)

    @cached_property
    def _by_people(self) -> PeopleWeights:
        return PeopleWeights(self._schema, self._parts_of)

    def on(self, rows: RelaxedRows) -> AnswersOf:
        """The weights of the cells of every table, according to D' and the workload's weights."""
        by_cell = self._by_cell(rows)
        if not self._workload.has_weights:
            return by_cell

        def weights_of(table: Threshold) -> Answers:
            part, weights = self._part_of(table), by_cell(table)
            if isinstance(weights, Same):
                return Same(part * weights.number)
            return lambda slab: np.float32(part) * weights(slab)

        return weights_of

    def _part_of(self, table: Threshold) -> float:
        """The weight of a table in the workload, which is the same in every round."""
        if table not in self._known_parts:
            self._known_parts[table] = self._workload.weight_of(table.features)
        return self._known_parts[table]

    def _by_cell(self, rows: RelaxedRows) -> AnswersOf:
        every = max(1, rows.count // ROWS_SAMPLED)
        sample = RelaxedRows(np.ascontiguousarray(rows.columns[:, ::every]), rows.sizes)
        if self._largest > LARGEST_WEIGHED or self._steps(sample) > MOST_STEPS:
            return self._on_people(rows)
        return self._on_whole_marginals(sample, np.float32(1.0 / rows.count))

    def _steps(self, sample: RelaxedRows) -> float:
        """About how many nonzero cells all rows together have in all marginals."""
        per_row = sample.nonzeros.per_row
        positions = ([self._schema.index(name) for name in w.features] for w in self._parts_of)
        return sample.count * sum(prod(per_row[f] for f in features) for features in positions)

    def _on_people(self, rows: RelaxedRows) -> AnswersOf:
        drawn = self._by_people.on(rows)

        def weights_of(table: Threshold) -> Answers:
            place = self._by_people.place(table)
            if place is None:
                return Same(1.0)
            known = cache(lambda: drawn.of(place).reshape(table.shape(self._schema)))
            return lambda slab: known()[slab.index]

        return weights_of

    def _on_whole_marginals(self, sample: RelaxedRows, hardly_anyone: np.float32) -> AnswersOf:
        found = _Shares(sample, self._schema)
        weights: dict[Threshold, Weights] = {}
        for whole, parts in self._parts_of.items():
            for table, largest in found.largest_within(whole, parts, hardly_anyone):
                weights[table] = np.maximum(weights.get(table, np.float32(0.0)), largest)

        def weights_of(table: Threshold) -> Answers:
            known = weights.get(table)
            return Same(1.0) if known is None else lambda slab: known[slab.index]

        return weights_of


class _Shares:
    """The largest shares that values of some features have within cells of others, on some rows.

    Only cells with people in them are visited, so the work does not grow with the other cells.
    """

    def __init__(self, rows: RelaxedRows, schema: Schema) -> None:
        self._rows, self._schema = rows, schema
        self._marginals: dict[tuple[int, ...], Weights] = {}

    def largest_within(
        self, whole: Threshold, parts: Sequence[Threshold], hardly_anyone: np.float32
    ) -> Iterator[tuple[Threshold, Weights]]:
        """For each cell of each part, the largest share that values of the rest of `whole` have."""
        features = self._positions(whole)
        chosen = [self._positions(table) for table in parts]
        found = self._rows.nonzeros.largest_within(features, chosen)
        for table, part, largest in zip(parts, chosen, found, strict=True):
            rest = tuple(feature for feature in features if feature not in part)
            among_all = self._marginal(rest).max()
            shares = (largest + hardly_anyone * among_all) / (self._marginal(part) + hardly_anyone)
            yield table, shares.reshape(table.shape(self._schema))

    def _marginal(self, features: tuple[int, ...]) -> Weights:
        if features not in self._marginals:
            self._marginals[features] = self._rows.nonzeros.marginal(features)
        return self._marginals[features]

    def _positions(self, table: Threshold) -> tuple[int, ...]:
        return tuple(self._schema.index(name) for name in table.features)
