"""The synthetic data set D', corrected where a noisy table shows that it is far off."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from thresher.privacy.measurements import Measurement, TableMeasurement, measured_tables
from thresher.queries.query import Query
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.relaxed.marginal import MarginalOnRows
from thresher.relaxed.rows import RelaxedRows
from thresher.release.sources.correction import CorrectedMarginal, Correction, surplus_of
from thresher.release.sources.fitted_variances import FittedVariances
from thresher.release.sources.joint_tables import residuals_as_tables
from thresher.release.sources.pooling import PooledTable, margins_of, pooled_marginals
from thresher.release.sources.synthetic_rows import SyntheticRows
from thresher.schema import Schema
from thresher.tables import Answers, slabs_of

TOLERANCE = 3.0
"""How many standard deviations D' may differ from a noisy cell before it is corrected.

Noise alone exceeds this in one cell of 400, and then the answer moves by the excess only.
"""

LEFT_OF_NOISE = 1 / 4
"""D' is fitted to corrected tables as if they had so much of their noise."""

FINE = 10**8
"""Corrected shares are whole numbers of so many parts, when D' is fitted to them."""


@dataclass(frozen=True, eq=False)
class RowsAndTables(SyntheticRows):
    """Answers of D', corrected by noisy tables, for a mechanism that selects or measures tables.

    Where D' differs from a noisy cell by more than `tolerance` standard deviations of its noise,
    the answer is the nearest value within that tolerance. So a cell that D' answers well hardly
    moves, and one that it answers badly becomes nearly as good as measured. The cells of a table
    then add up to 1 again (`correction`).

    Attributes:
        tables: For each set of features that was measured, its noisy table.
        tolerance: How many standard deviations D' may differ from a noisy cell.
        largest_fitted: The most cells of a table that D' was fitted to. To larger tables it was
            fitted by their margins.
        averages: Whether D' and a noisy cell are averaged where D' has many people.
        surpluses: What is taken off each cell of a table; nothing where it is not named.
    """

    kind: ClassVar[str] = "rows and tables"

    tables: Mapping[frozenset[str], PooledTable] = field(default_factory=dict)
    tolerance: float = TOLERANCE
    largest_fitted: int | None = None
    averages: bool = False
    surpluses: Mapping[frozenset[str], float] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        rows: RelaxedRows,
        schema: Schema,
        prediction_error: float | None,
        measurements: Iterable[Measurement],
        **settings: Any,
    ) -> "RowsAndTables":
        """With the marginal tables among some measurements, or that their residuals determine.

        Args:
            rows: D'.
            schema: The features.
            prediction_error: How far its answers may be off where nothing was measured.
            measurements: All measurements.
            settings: The other attributes.
        """
        tables = pooled_marginals(residuals_as_tables(measurements, schema))
        return cls(rows, schema, prediction_error, tables, **settings)

    def adding_up(self) -> "RowsAndTables":
        """The same with such surpluses that every corrected table adds up to 1."""
        found: dict[frozenset[str], float] = {}
        for key, noisy in self.tables.items():
            answers = MarginalOnRows(self.sparse, self.schema, Threshold(noisy.features))
            whole = self.correction(key).whole
            parts = (
                whole(answers(slab), noisy.shares[slab.index])
                for slab in slabs_of(noisy.shares.shape)
            )
            found[key] = surplus_of(parts, noisy.shares.size)
        return replace(self, surpluses=found)

    def corrected(self, largest: int) -> Iterator[TableMeasurement]:
        """The corrected tables, as if they had been measured with a part of their noise.

        Args:
            largest: The most cells of a table.
        """
        for noisy in self.tables.values():
            if noisy.shares.size <= largest:
                threshold = Threshold(noisy.features)
                [whole] = slabs_of(noisy.shares.shape, largest)
                counts = np.rint(self.table(threshold)(whole) * FINE).astype(np.int64)
                yield TableMeasurement(threshold, counts, noisy.sigma * FINE * LEFT_OF_NOISE, FINE)

    def correction(self, features: frozenset[str]) -> Correction:
        """How the table over some features is corrected, which was measured."""
        return Correction(
            self.tables[features].sigma,
            self.tolerance,
            self.averages,
            self.surpluses.get(features, 0.0),
        )

    def table(self, threshold: Threshold) -> Answers:
        """By matrix products, corrected by the noisy table if there is one."""
        features = frozenset(threshold.features)
        measured = self.tables.get(features)
        if measured is None or threshold.r < threshold.k:
            return super().table(threshold)
        answers = MarginalOnRows(self.sparse, self.schema, threshold)
        noisy = measured.ordered(threshold.features)
        return CorrectedMarginal(answers, noisy, self.correction(features))

    def queries(self, queries: Iterable[Query]) -> Iterator[float]:
        """In batches; a query about one cell of a noisy table is corrected by that cell."""
        asked, kept = itertools.tee(queries)
        return map(self._corrected, kept, super().queries(asked))

    def _corrected(self, query: Query, answer: float) -> float:
        conditions = query.conditions
        if query.r < len(conditions) or any(len(c.codes) != 1 for c in conditions):
            return answer
        features = frozenset(c.feature for c in conditions)
        measured = self.tables.get(features)
        if measured is None:
            return answer
        codes = {c.feature: c.codes[0] for c in conditions}
        noisy = float(measured.shares[tuple(codes[name] for name in measured.features)])
        return float(self.correction(features)(answer, noisy))

    def variances(self, measurements: Sequence[Measurement], workload: Workload) -> FittedVariances:
        """By what D' was fitted to, and by the tables that it is clamped to."""
        largest = self.largest_fitted
        tables = residuals_as_tables(measurements, self.schema)
        return FittedVariances(
            self.schema,
            self.rows,
            [margin for m in tables for margin in margins_of(m, largest)],
            clamping=[m for m in measured_tables(tables) if largest and m.counts.size > largest],
        )

    def parameters(self) -> Mapping[str, Any]:
        """What the correction needs, under the names that it has in the folder format."""
        return {
            **super().parameters(),
            "reach": self.tolerance,
            "largest_fitted": self.largest_fitted,
            "averages": self.averages,
            "surpluses": [
                {"features": list(self.tables[key].features), "surplus": surplus}
                for key, surplus in self.surpluses.items()
            ],
        }
