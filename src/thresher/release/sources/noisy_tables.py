"""Noisy tables as they were measured: the answers of the Gaussian mechanisms."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from thresher.errors import QueryError
from thresher.privacy.measurements import Measurement, TableMeasurement, measured_tables
from thresher.queries.query import Query
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.release.sources.table_answers import NoisyCounts, TableAnswers
from thresher.release.uncertainty import Variance, cells_meeting
from thresher.schema import Schema


@dataclass(frozen=True, eq=False)
class NoisyTables(TableAnswers):
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

    def counts(self, threshold: Threshold) -> NoisyCounts:
        """The counts of the measurement that answers, with axes in the threshold's order."""
        measured = self.measured(threshold)
        axes = [measured.threshold.features.index(name) for name in threshold.features]
        is_itself = measured.threshold == threshold
        return NoisyCounts(np.transpose(measured.counts, axes), measured.n, is_itself)


@dataclass(frozen=True, eq=False)
class NoisyTableVariances:
    """The variances of sums of noisy cells, whose noise is independent."""

    source: NoisyTables

    def of(self, query: Query, answer: float | None = None) -> Variance:
        """The variance of a cell, times the number of cells."""
        asked = query.threshold
        table = self.source.measured(asked)
        if table.threshold == asked and asked.r < asked.k:
            cells = 1  # such a query is one cell of the measured table
        else:
            allowed = tuple(len(condition.codes) for condition in query.conditions)
            cells = cells_meeting(asked.shape(self.source.schema), allowed, asked.r)
        return Variance(table.noise**2 * cells, is_estimated=False)
