"""Where a release's answers come from: relaxed rows, noisy tables, or nothing at all."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import tee
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from thresher.errors import QueryError
from thresher.privacy.measurements import Measurement, TableMeasurement, measured_tables
from thresher.queries.query import Query
from thresher.queries.threshold import Threshold
from thresher.relaxed.row_answers import answer_queries, row_table
from thresher.relaxed.rows import RelaxedRows
from thresher.schema import Schema
from thresher.tables import Answers, Slab, Table, ThresholdTable
from thresher.tables.threshold_table import Axes

TOLERANCE = 3.0
"""How many standard deviations of a cell's noise D' may be off before the noisy cell is believed.

Of the cells that D' answers well, one in 400 has more noise; it is moved by the excess only. Where
the noise is small beside what D' may get wrong, mechanisms set a shorter tolerance.
"""


class AnswerSource(Protocol):
    """Public answers to queries."""

    kind: ClassVar[str]

    def table(self, threshold: Threshold) -> Answers:
        """The answers to all consistent queries of a threshold, for any slab."""
        ...

    def queries(self, queries: Iterable[Query]) -> Iterator[float]:
        """The answers to single queries, in order, one after the other."""
        ...


@dataclass(frozen=True)
class Zeros:
    """All-0: the answer to everything is 0."""

    kind: ClassVar[str] = "zeros"

    def table(self, threshold: Threshold) -> Answers:
        """Zeros."""
        return lambda slab: np.zeros(slab.shape, dtype=np.float32)

    def queries(self, queries: Iterable[Query]) -> Iterator[float]:
        """Zeros."""
        return (0.0 for _ in queries)


@dataclass(frozen=True, eq=False)
class SyntheticRows:
    """Answers of relaxed rows D' to any query.

    Attributes:
        rows: D'.
        schema: The features.
        prediction_error: How far D' was, at 95 %, from what was measured last, before it was fitted
            to it.
    """

    kind: ClassVar[str] = "rows"

    rows: RelaxedRows
    schema: Schema
    prediction_error: float | None = None

    def table(self, threshold: Threshold) -> Answers:
        """By matrix products."""
        return row_table(self.rows, self.schema, threshold)

    def queries(self, queries: Iterable[Query]) -> Iterator[float]:
        """By the fused kernel, in batches."""
        return answer_queries(self.rows, self.schema, queries)


@dataclass(frozen=True, eq=False)
class RowsAndTables(SyntheticRows):
    """Answers of D', clamped to what noisy tables over the same features allow.

    Where D' differs from a noisy cell by more than `tolerance` standard deviations of noise, the
    answer is the nearest value within that tolerance. A cell that D' answers well hardly moves; one
    that it answers badly becomes nearly as good as measured.

    Attributes:
        tables: For each set of features that was measured, its shares and their noise.
        tolerance: How many standard deviations of its noise D' may be off.
        largest_fitted: The most cells of a table that D' was fitted to; of larger ones, it was
            fitted to their margins.
    """

    kind: ClassVar[str] = "rows and tables"

    tables: Mapping[frozenset[str], "PooledTable"] = field(default_factory=dict)
    tolerance: float = TOLERANCE
    largest_fitted: int | None = None

    @classmethod
    def of(
        cls,
        rows: RelaxedRows,
        schema: Schema,
        prediction_error: float | None,
        measurements: Iterable[Measurement],
        tolerance: float = TOLERANCE,
        largest_fitted: int | None = None,
    ) -> "RowsAndTables":
        """With the marginal tables among some measurements."""
        pooled: dict[frozenset[str], PooledTable] = {}
        for m in measured_tables(measurements):
            if m.threshold.r == m.threshold.k:
                key = frozenset(m.threshold.features)
                table = PooledTable(m.threshold.features, m.answers, m.noise)
                pooled[key] = pooled[key].with_(table) if key in pooled else table
        return cls(rows, schema, prediction_error, pooled, tolerance, largest_fitted)

    def table(self, threshold: Threshold) -> Answers:
        """By matrix products, held to the noisy table if there is one."""
        answers = super().table(threshold)
        measured = self.tables.get(frozenset(threshold.features))
        if measured is None or threshold.r < threshold.k:
            return answers
        noisy, tolerance = measured.ordered(threshold.features), self.tolerance * measured.sigma

        def clamped(slab: Slab) -> Table:
            cells = noisy[slab.index]
            return np.asarray(_clamped(answers(slab), cells, tolerance))

        return clamped

    def queries(self, queries: Iterable[Query]) -> Iterator[float]:
        """By the fused kernel, in batches; queries for one cell of a noisy table held to it."""
        asked, kept = tee(queries)
        for query, answer in zip(kept, super().queries(asked), strict=True):
            yield self._clamped(query, answer)

    def _clamped(self, query: Query, answer: float) -> float:
        if query.r < query.k or any(len(c.codes) > 1 for c in query.conditions):
            return answer
        features = tuple(c.feature for c in query.conditions)
        measured = self.tables.get(frozenset(features))
        if measured is None:
            return answer
        noisy = measured.ordered(features)
        cell = noisy[tuple(condition.codes[0] for condition in query.conditions)]
        return float(_clamped(np.float64(answer), cell, self.tolerance * measured.sigma))


def _clamped(answers: Any, noisy: Any, tolerance: float) -> Any:
    return np.clip(np.clip(answers, noisy - tolerance, noisy + tolerance), 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class PooledTable:
    """What all measurements of one marginal table say together, weighted by their precision.

    Attributes:
        features: The features, in the order of the axes.
        shares: The noisy shares of people, not held to [0, 1].
        sigma: The standard deviation of their noise.
    """

    features: tuple[str, ...]
    shares: npt.NDArray[np.float64]
    sigma: float

    def with_(self, other: "PooledTable") -> "PooledTable":
        """Pooled with another measurement of the same table."""
        mine, others = self.sigma**-2, other.sigma**-2
        shares = mine * self.shares + others * other.ordered(self.features)
        return PooledTable(self.features, shares / (mine + others), (mine + others) ** -0.5)

    def ordered(self, features: tuple[str, ...]) -> npt.NDArray[np.float64]:
        """The shares, with the axes in the order of these features."""
        return np.transpose(self.shares, [self.features.index(name) for name in features])


def margins_of(measurement: Measurement, largest: int | None) -> list[Measurement]:
    """A measurement, or if it is of a larger table, what it says of the margins that are not.

    Args:
        measurement: What was measured.
        largest: The most cells of a table; all are small enough if None.

    Example:
        >>> counts = np.arange(24).reshape(2, 3, 4)
        >>> table = TableMeasurement(Threshold(("a", "b", "c")), counts, sigma=1.0, n=1000)
        >>> [(m.threshold.features, m.sigma) for m in margins_of(table, largest=8)]
        [(('a', 'c'), 1.7320508075688772), (('a', 'b'), 2.0)]
    """
    if (
        largest is None
        or not isinstance(measurement, TableMeasurement)
        or measurement.counts.size <= largest
    ):
        return [measurement]
    table, found = measurement.threshold, dict[Threshold, Measurement]()
    for axis in range(table.k) if table.k > 1 else ():
        features = table.features[:axis] + table.features[axis + 1 :]
        margin = TableMeasurement(
            Threshold(features),
            measurement.counts.sum(axis=axis),
            measurement.sigma * measurement.counts.shape[axis] ** 0.5,
            measurement.n,
        )
        for small in margins_of(margin, largest):
            assert isinstance(small, TableMeasurement)
            found.setdefault(small.threshold, small)
    sets = [{*small.features} for small in found]
    return [
        m
        for m, mine in zip(found.values(), sets, strict=True)
        if not any(mine < others for others in sets)
    ]


@dataclass(frozen=True, eq=False)
class NoisyTables:
    """Noisy tables, held to [0, 1]; only the thresholds they were measured for have answers."""

    kind: ClassVar[str] = "tables"

    tables: Mapping[Threshold, TableMeasurement]
    schema: Schema

    @classmethod
    def of(cls, measurements: Iterable[Measurement], schema: Schema) -> "NoisyTables":
        """The tables among some measurements."""
        return cls({m.threshold: m for m in measured_tables(measurements)}, schema)

    def table(self, threshold: Threshold) -> Answers:
        """The noisy table itself, or the r-of-k table that follows from a noisy marginal."""
        measured, axes = self.measured(threshold)
        noisy = np.transpose(measured.counts, axes)
        same = measured.threshold == threshold
        counts_of = (
            ThresholdTable(_NoisyMarginals(noisy), threshold.k, threshold.r)
            if not same
            else lambda slab: noisy[slab.index]
        )
        return lambda slab: np.clip(counts_of(slab) / measured.n, 0.0, 1.0)

    def queries(self, queries: Iterable[Query]) -> Iterator[float]:
        """Sums of cells."""
        return (self._query(query) for query in queries)

    def measured(self, threshold: Threshold) -> tuple[TableMeasurement, Axes]:
        """The measurement that answers a threshold, and its axes in the threshold's order."""
        marginal = Threshold(threshold.features)
        found = self.tables.get(threshold) or self.tables.get(marginal)
        if found is None:
            raise QueryError(
                f"this release has no answers for {threshold}: it holds noisy tables of its own "
                "workload only; a release with synthetic rows answers any query"
            )
        return found, tuple(found.threshold.features.index(name) for name in threshold.features)

    def _query(self, query: Query) -> float:
        query.check(self.schema)
        measured, axes = self.measured(query.threshold)
        noisy = np.transpose(measured.counts, axes)
        if measured.threshold == query.threshold and query.r < query.k:
            if any(len(condition.codes) != 1 for condition in query.conditions):
                raise QueryError("this release answers r-of-k queries only for single values")
            cell = noisy[tuple(condition.codes[0] for condition in query.conditions)]
            return float(np.clip(cell / measured.n, 0.0, 1.0))
        matches = np.zeros(noisy.shape, dtype=np.int16)
        for axis, condition in enumerate(query.conditions):
            meets = np.zeros(noisy.shape[axis], dtype=np.int16)
            meets[list(condition.codes)] = 1
            matches += np.expand_dims(meets, [a for a in range(query.k) if a != axis])
        return float(np.clip(noisy[matches >= query.r].sum() / measured.n, 0.0, 1.0))


@dataclass(frozen=True)
class _NoisyMarginals:
    """Marginals of one noisy table, by summing axes out."""

    counts: npt.NDArray[np.int64]

    def marginal(self, axes: Axes, slab: Slab) -> Table:
        others = tuple(axis for axis in range(self.counts.ndim) if axis not in axes)
        summed = self.counts.sum(axis=others) if others else self.counts
        return summed[slab.index].copy()
