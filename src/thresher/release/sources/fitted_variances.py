"""The variances of the errors of D', the synthetic rows that were fitted to measurements.

A condition, whatever it allows, is one merged value of its feature. Two things bound the error of
an answer, and the smaller bound counts; docs/topics/margins-of-error.md has the formulas.

- *As a sum of cells*: a measured marginal table that has all features of the query.
- *In parts* (`parts`): the errors in the shares of the conditions, and in how each two or three of
  them depend on each other, each as often as it counts for the answer.

If the query itself was measured, or prediction error is about it, that bound counts as well.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import combinations
from types import MappingProxyType
from typing import Any

from thresher.privacy.measurements import (
    Measurement,
    TableMeasurement,
    measured_queries,
    measured_tables,
)
from thresher.queries.condition import Condition
from thresher.queries.query import Query
from thresher.queries.threshold import Threshold
from thresher.relaxed.rows import RelaxedRows
from thresher.release.sources.dependence import Pairs, noise_of_total, one_way
from thresher.release.sources.joint_tables import JointTable
from thresher.release.sources.parts import (
    LARGEST_PART,
    PARTS,
    Alone,
    excess_of,
    misfit_of,
    variance_in_parts,
)
from thresher.release.uncertainty import NORMAL_95, REMEMBERED, Variance
from thresher.schema import Schema

SINGLE = 2.0
"""The variance of an answer that was measured alone, in units of the variance of the noise.

D' follows the noise in part, and is off by more than noise now and then.
"""

CORRECTED = 1.25
"""The same for an answer that is corrected by noisy ones from residuals. On nine fits of seven
tables with 64 r-of-k thresholds, 1 had 92.7 to 99.9 % of the answers inside, 2 had 96.5 to 99.9 %.
"""

UNMEASURED = 0.52
"""The typical error of D' in the share of a condition of which nothing was measured.

It could be any share, so the margin is as wide as can be. Only RAP leaves one-way tables out.
"""


class FittedVariances:
    """The variances of the errors of answers of D'.

    Args:
        schema: The features.
        rows: D'.
        fitted: What D' was fitted to.
        predicted: Thresholds that the prediction error is about.
        prediction_error: The prediction error of D', if it is known.
        clamping: Measured tables that D' was not fitted to, but whose noisy cells limit the answers
            to single cells.
        corrected: Thresholds whose noisy answers limit those of D', with the variance of the noise.
    """

    def __init__(
        self,
        schema: Schema,
        rows: RelaxedRows,
        fitted: Sequence[Measurement],
        predicted: Iterable[Threshold] = (),
        prediction_error: float | None = None,
        clamping: Iterable[Measurement] = (),
        corrected: Mapping[Threshold, float] = MappingProxyType({}),
    ) -> None:
        self._schema = schema
        # D' does not tell who is a single person, so one person is the least standard deviation.
        self._floor = float(fitted[0].n) ** -2 if fitted else 0.0
        self._cells = _cell_variances(m for m in fitted if not isinstance(m, JointTable))
        self._joint = {m.threshold.features: m.weight for m in fitted if isinstance(m, JointTable)}
        self._excesses = _excesses(fitted, rows, schema)
        self._clamped = {table: SINGLE * v for table, v in _cell_variances(clamping).items()}
        self._clamped |= {threshold: CORRECTED * v for threshold, v in corrected.items()}
        self._queries = _query_variances(fitted)
        self._predicted = frozenset(predicted) if prediction_error is not None else frozenset()
        self._prediction = ((prediction_error or 0.0) / NORMAL_95) ** 2
        self._covering = _Covering(self.table_weights, self._joint)
        self._pairs = Pairs(rows, schema, _marginals(fitted))
        self._one_way = cache(lambda name: one_way(rows, schema, name))
        self._of_queries = bool(
            self._queries
            or self._predicted
            or self._clamped
            or any(table.r < table.k for table in self._cells)
        )
        # Streams of millions of queries pass here, and conditions recur.
        self._alone = lru_cache(REMEMBERED)(self._alone_of)

    @property
    def table_weights(self) -> dict[tuple[str, ...], float]:
        """W of each measured marginal table: the variance of a cell's noise, times the cells."""
        return {
            table.features: variance * table.query_count(self._schema)
            for table, variance in self._cells.items()
            if table.r == table.k
        }

    @property
    def excesses(self) -> Mapping[str, float]:
        """The x of each feature: how far D' is from its one-way table beyond noise, squared."""
        return self._excesses

    def facts(self) -> Mapping[str, Any]:
        """All that its variances follow from, apart from D': plain values, features as places."""
        measured_together = {
            pair
            for features in (*self.table_weights, *self._joint)
            for pair in combinations(features, 2)
        }
        return {
            "tables": self._told(self._cells),
            "joint": [
                {"features": [*map(self._schema.index, features)], "weight": weight}
                for features, weight in self._joint.items()
            ],
            "clamped": self._told(self._clamped),
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
            "predicted": self._told(dict.fromkeys(self._predicted, self._prediction)),
            "prediction": self._prediction,
            "pairs": [
                [*map(self._schema.index, pair), *self._pairs.of(*pair)]
                for pair in sorted(measured_together)
            ],
            "excesses": [[self._schema.index(name), off] for name, off in self._excesses.items()],
            "floor": self._floor,
            "constants": {
                "single": SINGLE,
                "unmeasured": UNMEASURED,
                **PARTS,
            },
        }

    def _told(self, variances: Mapping[Threshold, float]) -> list[Mapping[str, Any]]:
        return [
            {
                "features": [self._schema.index(name) for name in table.features],
                "r": table.r,
                "variance": variance,
            }
            for table, variance in variances.items()
        ]

    def of(self, query: Query, answer: float | None = None) -> Variance:
        """The smallest bound."""
        met = [self._alone(condition) for condition in query.conditions]
        # A condition that everybody meets, or nobody, leaves a query about the others.
        conditions = [one for one in met if 0.0 < one.part < 1.0]
        r = query.r - sum(one.part == 1.0 for one in met)
        if r <= 0 or r > len(conditions):
            return Variance(0.0, is_estimated=False)
        variance, is_estimated = self._bound(conditions, r, answer)
        measured = self._of_measured(query) if self._of_queries else math.inf
        if measured < variance:
            return Variance(measured, is_estimated=False)
        return Variance(variance, is_estimated and measured == math.inf)

    def _bound(self, conditions: list[Alone], r: int, answer: float | None) -> tuple[float, bool]:
        if any(one.noise == math.inf for one in conditions):
            return UNMEASURED**2, True
        weight_of = self._covering.weight
        in_parts = self._floor + variance_in_parts(conditions, r, answer, weight_of, self._pairs.of)
        whole = weight_of(tuple([one.name for one in conditions]))
        if r < len(conditions) or whole == math.inf:
            return in_parts, whole == math.inf
        cells = math.prod([one.part for one in conditions])
        noise = whole * cells * (1.0 - cells) * misfit_of(conditions, self._pairs.of)
        as_cells = self._floor + noise + excess_of(conditions, r)
        # What four and more conditions have in common is in no part.
        return (min(in_parts, as_cells) if len(conditions) <= LARGEST_PART else as_cells), False

    def _alone_of(self, condition: Condition) -> Alone:
        name = condition.feature
        part = len(condition.codes) / self._schema[name].size
        noise = self._covering.weight((name,)) * part * (1.0 - part) if 0.0 < part < 1.0 else 0.0
        share = float(self._one_way(name)[list(condition.codes)].sum())
        least = min(math.sqrt(noise), 0.5)
        share = min(max(share, least), 1.0 - least)
        return Alone(name, part, share, noise, self._excesses.get(name, 0.0))

    def _of_measured(self, query: Query) -> float:
        """The bound by a measurement or prediction of the very query; infinite if there is none."""
        conditions, asked = query.conditions, query.threshold
        variance = self._queries.get(asked, {}).get(frozenset(conditions), math.inf)
        if any(len(c.codes) != 1 for c in conditions):
            return SINGLE * variance
        if asked.r < asked.k:  # the table of an r-of-k threshold
            variance = min(variance, self._cells.get(asked, math.inf))
        variance = min(SINGLE * variance, self._clamped.get(asked, math.inf))
        return min(variance, self._prediction) if asked in self._predicted else variance


class _Covering:
    """What the measured marginal tables together tell about sets of features.

    Args:
        tables: W of each table: the variance of a cell's noise, times the number of cells.
        joint: The same of tables that were put together from residuals: that of each residual.
    """

    def __init__(
        self,
        tables: Mapping[tuple[str, ...], float],
        joint: Mapping[tuple[str, ...], float],
    ) -> None:
        self._joint = {frozenset(features): 1.0 / weight for features, weight in joint.items()}
        self._having: dict[str, dict[int, float]] = {}
        for place, (features, weight) in enumerate(tables.items()):
            for name in features:
                self._having.setdefault(name, {})[place] = 1.0 / weight
        self.weight = lru_cache(REMEMBERED)(self._weight)

    def _weight(self, names: tuple[str, ...]) -> float:
        """W of some features: precisions of the tables that have them all add up.

        Of the tables from residuals, the one over just these features says all that they say.
        """
        first, *others = sorted((self._having.get(name, {}) for name in names), key=len)
        precision = math.fsum(
            precision
            for place, precision in first.items()
            if all(place in having for having in others)
        )
        precision += self._joint.get(frozenset(names), 0.0)
        return 1.0 / precision if precision else math.inf


def _cell_variances(measurements: Iterable[Measurement]) -> dict[Threshold, float]:
    """For each measured table, the variance of the noise of a cell."""
    cells: dict[Threshold, float] = {}
    for m in measured_tables(measurements):
        cells[m.threshold] = _pooled(cells.get(m.threshold), m)
    return cells


def _excesses(fitted: Iterable[Measurement], rows: RelaxedRows, schema: Schema) -> dict[str, float]:
    """By how much the mean square difference of D' and a feature's noisy shares exceeds noise.

    The noisy shares are those of the measured table with the least noise in them, summed over other
    features. A value's weight in the mean is its share of people, as in `prediction_error`. Up to
    twice the variance of the noise, a difference may be chance.
    """
    best: dict[str, TableMeasurement] = {}
    for m in _marginals(fitted):
        for name in m.threshold.features:
            best[name] = min(best.get(name, m), m, key=noise_of_total)
    found: dict[str, float] = {}
    for name, m in best.items():
        axis = m.threshold.features.index(name)
        noisy = m.answers.sum(axis=tuple(i for i in range(m.counts.ndim) if i != axis))
        says = one_way(rows, schema, name)
        excess = float((says * (says - noisy) ** 2).sum()) - 2.0 * noise_of_total(m) / noisy.size
        if excess > 0.0:
            found[name] = excess
    return found


def _marginals(measurements: Iterable[Measurement]) -> list[TableMeasurement]:
    return [m for m in measured_tables(measurements) if m.threshold.r == m.threshold.k]


def _query_variances(
    measurements: Iterable[Measurement],
) -> dict[Threshold, dict[frozenset[Condition], float]]:
    """For each single query that was measured, the variance of its noise."""
    queries: dict[Threshold, dict[frozenset[Condition], float]] = {}
    for m in measured_queries(measurements):
        alike, conditions = queries.setdefault(m.query.threshold, {}), frozenset(m.query.conditions)
        alike[conditions] = _pooled(alike.get(conditions), m)
    return queries


def _pooled(before: float | None, m: Measurement) -> float:
    """The variance after one more measurement of the same: precisions add up."""
    variance = m.noise**2
    return variance if before is None else before * variance / (before + variance)
