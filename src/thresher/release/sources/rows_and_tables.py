"""The synthetic data set D', corrected where a noisy table shows that it is far off."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from thresher.privacy.measurements import Measurement, measured_tables
from thresher.queries.query import Query
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.relaxed.marginal import MarginalOnRows
from thresher.relaxed.rows import RelaxedRows
from thresher.release.sources.clamping import ClampedMarginal
from thresher.release.sources.fitted_variances import FittedVariances
from thresher.release.sources.joint_tables import residuals_as_tables
from thresher.release.sources.pooling import PooledTable, margins_of, pooled_marginals
from thresher.release.sources.synthetic_rows import SyntheticRows
from thresher.schema import Schema
from thresher.tables import Answers

TOLERANCE = 3.0
"""How many standard deviations D' may differ from a noisy cell before it is corrected.

Noise alone exceeds this in one cell of 400, and then the answer moves by the excess only. Where the
noise is small compared with the likely error of D', mechanisms set a smaller tolerance.
"""


@dataclass(frozen=True, eq=False)
class RowsAndTables(SyntheticRows):
    """Answers of D', limited by noisy tables, for a mechanism that selects tables.

    Where D' differs from a noisy cell by more than `tolerance` standard deviations of its noise,
    the answer is the nearest value within that tolerance. So a cell that D' answers well hardly
    moves, and one that it answers badly becomes nearly as good as measured.

    Attributes:
        tables: For each set of features that was measured, its noisy table.
        tolerance: How many standard deviations D' may differ from a noisy cell.
        largest_fitted: The most cells of a table that D' was fitted to. To larger tables it was
            fitted by their margins.
    """

    kind: ClassVar[str] = "rows and tables"

    tables: Mapping[frozenset[str], PooledTable] = field(default_factory=dict)
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
        """With the marginal tables among some measurements, or that their residuals determine."""
        tables = pooled_marginals(residuals_as_tables(measurements, schema))
        return cls(rows, schema, prediction_error, tables, tolerance, largest_fitted)

    def table(self, threshold: Threshold) -> Answers:
        """By matrix products, limited by the noisy table if there is one."""
        measured = self.tables.get(frozenset(threshold.features))
        if measured is None or threshold.r < threshold.k:
            return super().table(threshold)
        answers = MarginalOnRows(self.sparse, self.schema, threshold)
        noisy, most = measured.ordered(threshold.features), self.tolerance * measured.sigma
        return ClampedMarginal(answers, noisy, most)

    def queries(self, queries: Iterable[Query]) -> Iterator[float]:
        """In batches; a query about one cell of a noisy table is limited by that cell."""
        asked, kept = itertools.tee(queries)
        return map(self._limited, kept, super().queries(asked))

    def _limited(self, query: Query, answer: float) -> float:
        conditions = query.conditions
        if query.r < len(conditions) or any(len(c.codes) != 1 for c in conditions):
            return answer
        measured = self.tables.get(frozenset(c.feature for c in conditions))
        if measured is None:
            return answer
        codes = {c.feature: c.codes[0] for c in conditions}
        noisy = float(measured.shares[tuple(codes[name] for name in measured.features)])
        most = self.tolerance * measured.sigma
        return min(1.0, max(0.0, min(max(answer, noisy - most), noisy + most)))

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

    def parameters(self) -> Mapping[str, float | None]:
        """The numbers of the clamping, under the names that they have in the folder format."""
        return {
            **super().parameters(),
            "reach": self.tolerance,
            "largest_fitted": self.largest_fitted,
        }
