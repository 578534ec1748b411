"""Noisy tables as they were measured: the answers of the Gaussian mechanisms."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from thresher.errors import QueryError
from thresher.privacy.measurements import Measurement, TableMeasurement, measured_tables
from thresher.queries.query import Query
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.release.uncertainty import Variance, cells_meeting
from thresher.schema import Schema
from thresher.tables import Answers, Slab, Table, ThresholdTable
from thresher.tables.threshold_table import Axes


@dataclass(frozen=True, eq=False)
class NoisyTables:
    """Noisy tables, limited to [0, 1]. Only thresholds whose table was measured have answers.

    Of a table that was measured twice, the last measurement answers.
    """

    kind: ClassVar[str] = "tables"
    rows: ClassVar[None] = None
    prediction_error: ClassVar[None] = None

    tables: Mapping[Threshold, TableMeasurement]
    schema: Schema

    @classmethod
    def of(cls, measurements: Iterable[Measurement], schema: Schema) -> "NoisyTables":
        """The tables among some measurements."""
        return cls({m.threshold: m for m in measured_tables(measurements)}, schema)

    def table(self, threshold: Threshold) -> Answers:
        """The noisy table itself, or the r-of-k table that follows from a noisy marginal."""
        measured, noisy = self._counts(threshold)
        counts_of = (
            ThresholdTable(_NoisyMarginals(noisy), threshold.k, threshold.r)
            if measured.threshold != threshold
            else lambda slab: noisy[slab.index]
        )
        return lambda slab: np.clip(counts_of(slab) / measured.n, 0.0, 1.0)

    def queries(self, queries: Iterable[Query]) -> Iterator[float]:
        """Sums of cells."""
        return map(self._query, queries)

    def measured(self, threshold: Threshold) -> TableMeasurement:
        """The measurement that answers a threshold: of the threshold, or of its marginal."""
        found = self.tables.get(threshold) or self.tables.get(Threshold(threshold.features))
        if found is None:
            raise QueryError(
                f"this release has no answers for {threshold}: it has noisy tables of its "
                "workload only; a release with synthetic rows answers any query"
            )
        return found

    def check(self, query: Query) -> None:
        """Raise a QueryError unless a table that was measured has the answer."""
        measured = self.measured(query.threshold)
        single = all(len(condition.codes) == 1 for condition in query.conditions)
        if query.r < query.k and measured.threshold == query.threshold and not single:
            raise QueryError("this release answers r-of-k queries only for single values")

    def variances(
        self, measurements: Sequence[Measurement], workload: Workload
    ) -> "NoisyTableVariances":
        """By the noise of the table that answers."""
        return NoisyTableVariances(self)

    def answerable(self, features: tuple[str, ...]) -> tuple[str, ...] | None:
        """The features of the marginal table that has these with the least noise in their cells."""
        covering = [
            (m.noise**2 * m.counts.size, m.threshold.features)
            for m in self.tables.values()
            if m.threshold.r == m.threshold.k and {*features} <= {*m.threshold.features}
        ]
        if not covering:
            return None
        _, named = min(covering)
        return (*features, *(name for name in named if name not in features))

    def parameters(self) -> Mapping[str, float | None]:
        """None needed."""
        return {}

    def _counts(self, threshold: Threshold) -> tuple[TableMeasurement, npt.NDArray[np.int64]]:
        """The measurement that answers, and its counts with axes in the threshold's order."""
        measured = self.measured(threshold)
        axes = [measured.threshold.features.index(name) for name in threshold.features]
        return measured, np.transpose(measured.counts, axes)

    def _query(self, query: Query) -> float:
        query.check(self.schema)
        self.check(query)
        threshold = query.threshold
        measured, noisy = self._counts(threshold)
        allowed = [list(condition.codes) for condition in query.conditions]
        if query.r == query.k or measured.threshold == threshold:
            total = noisy[np.ix_(*allowed)].sum() if all(allowed) else 0
        else:
            matches = np.zeros(noisy.shape, dtype=np.int16)
            for axis, codes in enumerate(allowed):
                meets = np.zeros(noisy.shape[axis], dtype=np.int16)
                meets[codes] = 1
                matches += np.expand_dims(meets, [a for a in range(query.k) if a != axis])
            total = noisy[matches >= query.r].sum()
        return min(1.0, max(0.0, float(total) / measured.n))


@dataclass(frozen=True, eq=False)
class NoisyTableVariances:
    """The variances of sums of noisy cells, whose noise is independent."""

    source: NoisyTables

    def of(self, query: Query) -> Variance:
        """The variance of a cell, times the number of cells."""
        asked = query.threshold
        table = self.source.measured(asked)
        if table.threshold == asked and asked.r < asked.k:
            cells = 1  # such a query is one cell of the measured table
        else:
            allowed = tuple(len(condition.codes) for condition in query.conditions)
            cells = cells_meeting(asked.shape(self.source.schema), allowed, asked.r)
        return Variance(table.noise**2 * cells, is_estimated=False)


@dataclass(frozen=True)
class _NoisyMarginals:
    """Marginals of one noisy table, by summing axes out."""

    counts: npt.NDArray[np.int64]

    def marginal(self, axes: Axes, slab: Slab) -> Table:
        others = tuple(axis for axis in range(self.counts.ndim) if axis not in axes)
        summed = self.counts.sum(axis=others) if others else self.counts
        return summed[slab.index].copy()
