"""The variances of the errors of D', the synthetic rows that were fitted to measurements.

Three public facts bound the error of an answer of D'. The tightest bound counts.

- The query itself was measured.
- A marginal table that has all features of the query was measured, or its prediction error is
  known. The query adds up cells of that table.
- An r-of-k answer is a weighted sum of cells of marginals, each with a bound of its own.
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from operator import and_, itemgetter
from typing import Any

import numpy as np

from thresher.privacy.measurements import Measurement, measured_queries, measured_tables
from thresher.queries.condition import Condition
from thresher.queries.threshold import Threshold
from thresher.relaxed.rows import RelaxedRows
from thresher.release.uncertainty import NORMAL_95, Codes, QueryKind, variance_in_cells
from thresher.schema import Schema

FITTED = 2.0
"""D' is as far from a measurement as the measurement is from the truth: the variances add up.

Where D' is further off (among hundreds of tables, a one-way table has little weight), the excess is
added. It is public.
"""

MOST_CHECKED = 2
"""The most features of a measured table that D' is compared with. Larger ones take too long."""

MOST_EXPANDED = 10
"""The most features of an r-of-k query that is expanded into all of its marginals."""


class FittedVariances:
    """The variances of the errors of answers of D'.

    Args:
        schema: The features.
        fitted: What D' was fitted to.
        predicted: Thresholds that the prediction error is about.
        prediction_error: The prediction error of D', if it is known.
        clamping: Measured tables that D' was not fitted to, but whose noisy cells limit the answers
            to single cells.
        rows: D', to find out how well it fits the smaller tables, if that should count.
    """

    def __init__(
        self,
        schema: Schema,
        fitted: Sequence[Measurement],
        predicted: Iterable[Threshold],
        prediction_error: float | None,
        clamping: Iterable[Measurement] = (),
        rows: RelaxedRows | None = None,
    ) -> None:
        self._schema = schema
        self._queries = _query_variances(fitted)
        self._cells = _cell_variances(fitted)
        if rows is not None:
            for table, excess in _excesses(fitted, rows, schema).items():
                self._cells[table] += excess
        self._clamped = _cell_variances(clamping)
        if prediction_error is not None:
            for table in predicted:
                variance = _predicted_variance(prediction_error, table, schema)
                self._cells[table] = min(variance, self._cells.get(table, math.inf))
        self._covering = _Covering.of(self._cells, schema)
        self._sizes = cache(lambda features: Threshold(features).shape(schema))

    def of_kind(self, kind: QueryKind) -> float:
        """The tightest bound; infinite where no table covers the query."""
        features, allowed, r = kind
        sizes = self._sizes(features)
        cells = variance_in_cells(sizes, allowed, r, sums_to_one=True)
        if not cells:
            return 0.0  # the query is true of everybody, or of nobody
        variance = cells * self._per_cell(features, sizes, r)
        if r == len(features) == sum(allowed):  # a single cell
            variance = min(variance, self._clamped.get(Threshold(features), math.inf))
        if r < len(features) <= MOST_EXPANDED:
            variance = min(variance, self._expanded(kind, sizes))
        return variance

    def of_measured(self, kind: QueryKind) -> Mapping[Codes, float]:
        """The variances for queries that were measured themselves."""
        asked = Threshold(kind.features, kind.r)
        found = {}
        for conditions, variance in self._queries.get(asked, {}).items():
            codes = {c.feature: c.codes for c in conditions}
            found[tuple(codes[name] for name in kind.features)] = variance
        return found

    def facts(self) -> Mapping[str, Any]:
        """All that its variances follow from: features by their places, as plain values."""

        def tables(some: Mapping[Threshold, float]) -> list[Mapping[str, Any]]:
            return [
                {"features": self._places(t.features), "r": t.r, "variance": variance}
                for t, variance in some.items()
            ]

        return {
            "tables": tables(self._cells),
            "clamped": tables(self._clamped),
            "queries": [
                {
                    "conditions": [
                        {"feature": self._schema.index(c.feature), "codes": list(c.codes)}
                        for c in conditions
                    ],
                    "r": threshold.r,
                    "variance": variance,
                }
                for threshold, alike in self._queries.items()
                for conditions, variance in alike.items()
            ],
            "most_expanded": MOST_EXPANDED,
        }

    def _places(self, features: Iterable[str]) -> list[int]:
        return [self._schema.index(name) for name in features]

    def _per_cell(self, features: tuple[str, ...], sizes: tuple[int, ...], r: int) -> float:
        """The variance of an answer per unit of `variance_in_cells`."""
        per_cell = self._covering.least(features) / math.prod(sizes)
        one_query = variance_in_cells(sizes, (1,) * len(sizes), r, sums_to_one=True)
        if one_query:
            measured = self._cells.get(Threshold(features, r), math.inf)
            per_cell = min(per_cell, measured / one_query)
        return per_cell

    def _expanded(self, kind: QueryKind, sizes: tuple[int, ...]) -> float:
        """The variance of an r-of-k answer as a sum of marginals of r and more features.

        By inclusion and exclusion, a marginal of s features has the weight C(s - 1, r - 1).
        """
        features, allowed, r = kind
        variance = 0.0
        for size in range(r, len(features) + 1):
            for subset in itertools.combinations(range(len(features)), size):
                shape = tuple(sizes[i] for i in subset)
                met = tuple(allowed[i] for i in subset)
                cells = variance_in_cells(shape, met, size, sums_to_one=True)
                if cells:
                    per_cell = self._covering.least(features[i] for i in subset) / math.prod(shape)
                    variance += math.comb(size - 1, r - 1) ** 2 * per_cell * cells
        return variance


@dataclass(frozen=True, eq=False)
class _Covering:
    """Marginal tables, ordered by the sum of their cells' variances, smallest first.

    Attributes:
        sums: Each table's sum of variances.
        having: For each feature, the tables that have it, as bits of a whole number.
    """

    sums: tuple[float, ...]
    having: Mapping[str, int]

    @classmethod
    def of(cls, cells: Mapping[Threshold, float], schema: Schema) -> "_Covering":
        """The marginal tables among some, given the variance of a cell of each."""
        listed = sorted(
            (
                (variance * table.query_count(schema), table.features)
                for table, variance in cells.items()
                if table.r == table.k
            ),
            key=itemgetter(0),
        )
        places: dict[str, list[int]] = {}
        for place, (_, features) in enumerate(listed):
            for name in features:
                places.setdefault(name, []).append(place)
        having = {}
        for name, some in places.items():
            bits = np.zeros(len(listed), dtype=np.uint8)
            bits[some] = 1
            having[name] = int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")
        return cls(tuple(total for total, _ in listed), having)

    def least(self, names: Iterable[str]) -> float:
        """The smallest sum among the tables that have all these features; infinite if none has."""
        common = reduce(and_, (self.having.get(name, 0) for name in names))
        return self.sums[(common & -common).bit_length() - 1] if common else math.inf


def _cell_variances(measurements: Iterable[Measurement]) -> dict[Threshold, float]:
    """For each measured table, the variance of the error of D' in a cell."""
    cells: dict[Threshold, float] = {}
    for m in measured_tables(measurements):
        cells[m.threshold] = _pooled(cells.get(m.threshold), m)
    return cells


def _excesses(
    fitted: Iterable[Measurement], rows: RelaxedRows, schema: Schema
) -> dict[Threshold, float]:
    """By how much the mean square difference of D' and small tables exceeds that of their noise.

    A cell's weight in the mean is its share of people, as in `prediction_error`.
    """
    found: dict[Threshold, float] = {}
    for m in measured_tables(fitted):
        if m.threshold.k > MOST_CHECKED or m.threshold.r < m.threshold.k:
            continue
        blocks = [rows.block(schema.index(name)) for name in m.threshold.features]
        says = blocks[0] @ blocks[1].T if len(blocks) == 2 else blocks[0].sum(axis=1)
        says = says.astype(np.float64) / rows.count
        squares = float((says * (says - m.answers) ** 2).sum()) / max(float(says.sum()), 1e-9)
        if squares > FITTED * m.noise**2:  # up to there, it may be chance
            found[m.threshold] = max(found.get(m.threshold, 0.0), squares - m.noise**2)
    return found


def _query_variances(
    measurements: Iterable[Measurement],
) -> dict[Threshold, dict[frozenset[Condition], float]]:
    """For each single query that was measured, the variance of the error of D'."""
    queries: dict[Threshold, dict[frozenset[Condition], float]] = {}
    for m in measured_queries(measurements):
        alike, conditions = queries.setdefault(m.query.threshold, {}), frozenset(m.query.conditions)
        alike[conditions] = _pooled(alike.get(conditions), m)
    return queries


def _pooled(before: float | None, m: Measurement) -> float:
    """The variance after one more measurement of the same: precisions add up."""
    variance = FITTED * m.noise**2
    return variance if before is None else before * variance / (before + variance)


def _predicted_variance(prediction_error: float, table: Threshold, schema: Schema) -> float:
    """The prediction error as the variance of independent noise in the cells of a table."""
    cells = table.query_count(schema)
    # The errors of D' in a marginal sum to 0, which `variance_in_cells` takes off again.
    left = 1.0 - 1.0 / cells if table.r == table.k and cells > 1 else 1.0
    return (prediction_error / NORMAL_95) ** 2 / left
