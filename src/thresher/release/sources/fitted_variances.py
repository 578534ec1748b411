"""The variances of the errors of D', the synthetic rows that were fitted to measurements.

A condition, whatever it allows, is one merged value of its feature. Two things bound the error of
an answer, and the smaller bound counts; docs/topics/margins-of-error.md has the formulas.

- *As a sum of cells*: a measured marginal table that has all features of the query.
- *In parts*: the error in the share of each condition, and the error in how often each two
  conditions hold together. Where no measured table has both features, and wherever it is less, the
  second is a part of what it could be: an estimate that was calibrated on other data sets.

If the query itself was measured, or prediction error is about it, that bound counts as well.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

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
from thresher.release.uncertainty import NORMAL_95, REMEMBERED, Variance, exactly
from thresher.schema import Schema

FITTED = 2.0
"""The variance of an answer of D' about what was measured, in units of the variance of the noise.

D' follows the noise in part, and is off by more than noise now and then.
"""

EXCESS = 4.0
"""What the excess of D' in a one-way table counts, if an answer is bounded in parts."""

CORRELATION = 0.09
"""The typical error of D' in the correlation of two conditions that were not measured together."""

UNMEASURED = 0.52
"""The typical error of D' in the share of a condition of which nothing was measured.

It could be any share, so the margin is as wide as can be. Only RAP leaves one-way tables out.
"""

MOST_EXACT = 8
"""The most conditions whose shares count one by one. Beyond, each counts as their mean."""


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
    """

    def __init__(
        self,
        schema: Schema,
        rows: RelaxedRows,
        fitted: Sequence[Measurement],
        predicted: Iterable[Threshold] = (),
        prediction_error: float | None = None,
        clamping: Iterable[Measurement] = (),
    ) -> None:
        self._schema = schema
        # D' does not tell who is a single person, so one person is the least standard deviation.
        self._floor = float(fitted[0].n) ** -2 if fitted else 0.0
        self._cells = _cell_variances(fitted)
        self._excesses = _excesses(fitted, rows, schema)
        self._clamped = _cell_variances(clamping)
        self._queries = _query_variances(fitted)
        self._predicted = frozenset(predicted) if prediction_error is not None else frozenset()
        self._prediction = ((prediction_error or 0.0) / NORMAL_95) ** 2
        self._covering = _Covering(self.table_weights)
        self._one_way = cache(lambda name: _one_way(rows, schema, name))
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
        return {
            "tables": self._told(self._cells),
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
            "excesses": [[self._schema.index(name), off] for name, off in self._excesses.items()],
            "floor": self._floor,
            "constants": {
                "fitted": FITTED,
                "excess": EXCESS,
                "correlation": CORRELATION,
                "unmeasured": UNMEASURED,
                "most_exact": MOST_EXACT,
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

    def of(self, query: Query) -> Variance:
        """The smallest bound."""
        met = [self._alone(condition) for condition in query.conditions]
        # A condition that everybody meets, or nobody, leaves a query about the others.
        conditions = [one for one in met if 0.0 < one.part < 1.0]
        r = query.r - sum(one.part == 1.0 for one in met)
        if r <= 0 or r > len(conditions):
            return Variance(0.0, is_estimated=False)
        variance, is_estimated = self._bound(conditions, r)
        measured = self._of_measured(query) if self._of_queries else math.inf
        if measured < variance:
            return Variance(measured, is_estimated=False)
        return Variance(variance, is_estimated and measured == math.inf)

    def _bound(self, conditions: list["_Alone"], r: int) -> tuple[float, bool]:
        k = len(conditions)
        shares = [one.share for one in conditions]
        if k > MOST_EXACT:
            shares = [sum(shares) / k] * k
        in_parts = excess = self._floor
        for i, one in enumerate(conditions):
            weight = _hold(shares, (i,), r - 1) ** 2
            in_parts += weight * one.variance
            excess += weight * one.excess
        weight_of = self._covering.weight
        for i, j in combinations(range(k), 2):
            weight = _hold(shares, (i, j), r - 2) - _hold(shares, (i, j), r - 1)
            both = conditions[i].part * conditions[j].part
            noise = weight_of((conditions[i].name, conditions[j].name)) * both * (1.0 - both)
            spread = shares[i] * (1.0 - shares[i]) * shares[j] * (1.0 - shares[j])
            in_parts += weight**2 * min(noise, CORRELATION**2 * spread)
        if any(one.is_unknown for one in conditions):
            return max(in_parts, UNMEASURED**2), True
        whole = weight_of(tuple([one.name for one in conditions]))
        if r < k or whole == math.inf:
            return in_parts, whole == math.inf
        cells = math.prod([one.part for one in conditions])
        return min(in_parts, FITTED * whole * cells * (1.0 - cells) + excess), False

    def _alone_of(self, condition: Condition) -> "_Alone":
        name = condition.feature
        part = len(condition.codes) / self._schema[name].size
        excess = self._excesses.get(name, 0.0)
        noise = self._covering.weight((name,)) * part * (1.0 - part) if 0.0 < part < 1.0 else 0.0
        variance = UNMEASURED**2 if noise == math.inf else FITTED * noise + EXCESS * excess
        share = float(self._one_way(name)[list(condition.codes)].sum())
        least = min(math.sqrt(variance), 0.5)
        share = min(max(share, least), 1.0 - least)
        return _Alone(name, part, variance, share, excess, noise == math.inf)

    def _of_measured(self, query: Query) -> float:
        """The bound by a measurement or prediction of the very query; infinite if there is none."""
        conditions, asked = query.conditions, query.threshold
        variance = self._queries.get(asked, {}).get(frozenset(conditions), math.inf)
        if any(len(c.codes) != 1 for c in conditions):
            return FITTED * variance
        if asked.r < asked.k:  # the table of an r-of-k threshold
            variance = min(variance, self._cells.get(asked, math.inf))
        variance = FITTED * min(variance, self._clamped.get(asked, math.inf))
        return min(variance, self._prediction) if asked in self._predicted else variance


class _Alone(NamedTuple):
    """What is known about a condition by itself.

    Attributes:
        name: Its feature.
        part: The part of the feature's values that it allows.
        variance: The variance of its share of people.
        share: The share by D', but as far from 0 and from 1 as its standard deviation says.
        excess: How far D' is from the feature's noisy shares beyond noise, squared.
        is_unknown: Whether nothing was measured of the feature.
    """

    name: str
    part: float
    variance: float
    share: float
    excess: float
    is_unknown: bool


def _hold(shares: list[float], without: tuple[int, ...], count: int) -> float:
    """The probability that exactly so many of the other conditions hold, if independent."""
    if len(shares) <= MOST_EXACT:
        return exactly([share for i, share in enumerate(shares) if i not in without], count)
    others, share = len(shares) - len(without), shares[0]
    if not 0 <= count <= others:
        return 0.0
    return math.comb(others, count) * share**count * (1.0 - share) ** (others - count)


class _Covering:
    """What the measured marginal tables together tell about sets of features.

    Args:
        tables: W of each table: the variance of a cell's noise, times the number of cells.
    """

    def __init__(self, tables: Mapping[tuple[str, ...], float]) -> None:
        self._having: dict[str, dict[int, float]] = {}
        for place, (features, weight) in enumerate(tables.items()):
            for name in features:
                self._having.setdefault(name, {})[place] = 1.0 / weight
        self.weight = lru_cache(REMEMBERED)(self._weight)

    def _weight(self, names: tuple[str, ...]) -> float:
        """W of some features: precisions of the tables that have them all add up."""
        first, *others = sorted((self._having.get(name, {}) for name in names), key=len)
        precision = math.fsum(
            precision
            for place, precision in first.items()
            if all(place in having for having in others)
        )
        return 1.0 / precision if precision else math.inf


def _cell_variances(measurements: Iterable[Measurement]) -> dict[Threshold, float]:
    """For each measured table, the variance of the noise of a cell."""
    cells: dict[Threshold, float] = {}
    for m in measured_tables(measurements):
        cells[m.threshold] = _pooled(cells.get(m.threshold), m)
    return cells


def _one_way(rows: RelaxedRows, schema: Schema, name: str) -> npt.NDArray[np.float64]:
    """The share of people that D' has in each value of a feature."""
    return np.asarray(rows.block(schema.index(name)).mean(axis=1, dtype=np.float64))


def _excesses(fitted: Iterable[Measurement], rows: RelaxedRows, schema: Schema) -> dict[str, float]:
    """By how much the mean square difference of D' and a feature's noisy shares exceeds noise.

    The noisy shares are those of the measured table with the least noise in them, summed over other
    features. A value's weight in the mean is its share of people, as in `prediction_error`. Up to
    twice the variance of the noise, a difference may be chance.
    """
    best: dict[str, TableMeasurement] = {}
    for m in measured_tables(fitted):
        if m.threshold.r == m.threshold.k:
            for name in m.threshold.features:
                best[name] = min(best.get(name, m), m, key=_weight)
    found: dict[str, float] = {}
    for name, m in best.items():
        axis = m.threshold.features.index(name)
        noisy = m.answers.sum(axis=tuple(i for i in range(m.counts.ndim) if i != axis))
        says = _one_way(rows, schema, name)
        excess = float((says * (says - noisy) ** 2).sum()) - 2.0 * _weight(m) / noisy.size
        if excess > 0.0:
            found[name] = excess
    return found


def _weight(m: TableMeasurement) -> float:
    """The variance of the noise of a cell, times the cells."""
    return m.noise**2 * m.counts.size


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
