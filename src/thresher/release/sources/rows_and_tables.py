"""The synthetic data set D', corrected where a noisy table shows that it is far off."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from thresher.privacy.measurements import Measurement, TableMeasurement, measured_tables
from thresher.queries.query import Query
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.relaxed.marginal import MarginalOnRows
from thresher.relaxed.rows import RelaxedRows
from thresher.relaxed.standardised import Residuals
from thresher.release.sources.correction import (
    FAR_OFF,
    FEW,
    LEAST_TOLERANCE,
    NEVER_CLAMPED,
    CorrectedMarginal,
    Correction,
    count_far_off,
    least_tolerance,
    surplus_of,
    tolerance_for,
    tolerance_for_r_of_k,
    weight_of,
    wrong_cells,
)
from thresher.release.sources.fitted_variances import FittedVariances
from thresher.release.sources.joint_tables import residuals_as_tables
from thresher.release.sources.pooling import PooledTable, margins_of, pooled_marginals
from thresher.release.sources.residual_tables import ResidualTables
from thresher.release.sources.synthetic_rows import SyntheticRows
from thresher.schema import Schema
from thresher.tables import Answers, Table, slabs_of

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
        leasts: The tolerance for each table where D' has many people; 1 where it is not named.
        residuals: The measured residuals.
        weights: For each r-of-k threshold that the residuals have noisy answers to, their weight.
            The answers to no other are corrected.
        tolerance_of_r_of_k: How many standard deviations D' may differ from these noisy answers.
    """

    kind: ClassVar[str] = "rows and tables"

    tables: Mapping[frozenset[str], PooledTable] = field(default_factory=dict)
    tolerance: float = TOLERANCE
    largest_fitted: int | None = None
    averages: bool = False
    surpluses: Mapping[frozenset[str], float] = field(default_factory=dict)
    leasts: Mapping[frozenset[str], float] = field(default_factory=dict)
    residuals: ResidualTables = field(kw_only=True)
    weights: Mapping[Threshold, float] = field(default_factory=dict)
    tolerance_of_r_of_k: float = TOLERANCE

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
        measured = list(measurements)
        return cls(
            rows,
            schema,
            prediction_error,
            tables=pooled_marginals(residuals_as_tables(measured, schema)),
            residuals=ResidualTables.of(measured, schema),
            **settings,
        )

    def adding_up(self) -> "RowsAndTables":
        """The same with such surpluses that every corrected table adds up to 1."""
        found: dict[frozenset[str], float] = {}
        for key in self.tables:
            whole = self.correction(key).whole
            parts = (whole(answers, noisy) for answers, noisy in self._both(key))
            found[key] = surplus_of(parts, self.tables[key].shares.size)
        return replace(self, surpluses=found)

    def averaging(self) -> "RowsAndTables":
        """The same where D' and noisy cells are averaged, with tolerances by how often D' errs."""
        leasts: dict[frozenset[str], float] = {}
        far_off, with_nobody = np.zeros(len(FAR_OFF), np.int64), 0
        for key, table in self.tables.items():
            total, cells = 0.0, 0
            for answers, noisy in self._both(key):
                many = answers > FEW * table.sigma
                off = np.abs(answers - noisy, dtype=np.float64) / table.sigma
                total += float(np.square(off[many]).sum())
                cells += int(many.sum())
                with_nobody += int((~many).sum())
                far_off += count_far_off(off[~many])
            leasts[key] = least_tolerance(total / max(1, cells))
        cells = sum(table.shares.size for table in self.tables.values())
        tolerance = tolerance_for(cells, wrong_cells(far_off, with_nobody))
        return replace(self, tolerance=tolerance, averages=True, leasts=leasts)

    def differences(self) -> Residuals:
        """How far D' is from all noisy cells, in standard deviations of their noise."""
        total, largest, cells = 0.0, 0.0, 0
        for key, table in self.tables.items():
            for answers, noisy in self._both(key):
                off = (answers - noisy).astype(np.float64) / table.sigma
                total += float(np.square(off).sum())
                largest = max(largest, float(np.abs(off).max(initial=0.0)))
                cells += off.size
        return Residuals(cells, total / max(1, cells), largest)

    def alone(self) -> "RowsAndTables":
        """The same where answers about marginals come from D', whatever the noisy tables say."""
        return replace(self, tolerance=NEVER_CLAMPED, averages=False, surpluses={})

    def _both(self, key: frozenset[str]) -> Iterator[tuple[Table, Table]]:
        """What D' and a noisy table say, slab by slab."""
        noisy = self.tables[key]
        answers = MarginalOnRows(self.sparse, self.schema, Threshold(noisy.features))
        for slab in slabs_of(noisy.shares.shape):
            yield answers(slab), noisy.shares[slab.index]

    def answering(self, workload: Workload) -> "RowsAndTables":
        """The same with weights of the noisy answers to the r-of-k thresholds of a workload.

        Args:
            workload: The thresholds. Those whose residuals were not all measured have no weight.
        """
        found: dict[Threshold, float] = {}
        far_off, answers = np.zeros(len(FAR_OFF), np.int64), 0
        for threshold in workload:
            if threshold.r < threshold.k and self.residuals.answerable(threshold.features):
                of_rows, noisy = super().table(threshold), self.residuals.table(threshold)
                sigma, squares = self.residuals.noise(threshold), 0.0
                for slab in slabs_of(threshold.shape(self.schema)):
                    off = np.abs(of_rows(slab) - noisy(slab), dtype=np.float64)
                    squares += float(np.square(off).sum())
                    if sigma:  # otherwise the answers are known
                        far_off += count_far_off(off / sigma)
                        answers += off.size
                found[threshold] = weight_of(squares / threshold.query_count(self.schema), sigma)
        tolerance = tolerance_for_r_of_k(answers, wrong_cells(far_off, answers))
        return replace(self, weights=found, tolerance_of_r_of_k=min(self.tolerance, tolerance))

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
            self.leasts.get(features, LEAST_TOLERANCE),
        )

    @cached_property
    def _of_thresholds(self) -> Mapping[Threshold, Correction]:
        """How the answers to each r-of-k threshold are corrected that has a weight."""
        return {
            threshold: Correction(
                self.residuals.noise(threshold),
                self.tolerance_of_r_of_k,
                averages=False,
                weight=weight,
            )
            for threshold, weight in self.weights.items()
        }

    def table(self, threshold: Threshold) -> Answers:
        """By matrix products, corrected by the noisy table if there is one."""
        if threshold in self.weights:
            of_rows, noisy = super().table(threshold), self.residuals.table(threshold)
            correct = self._of_thresholds[threshold]
            return lambda slab: np.asarray(correct(of_rows(slab), noisy(slab)))
        features = frozenset(threshold.features)
        measured = self.tables.get(features)
        if measured is None or threshold.r < threshold.k:
            return super().table(threshold)
        answers = MarginalOnRows(self.sparse, self.schema, threshold)
        return CorrectedMarginal(
            answers, measured.ordered(threshold.features), self.correction(features)
        )

    def queries(self, queries: Iterable[Query]) -> Iterator[float]:
        """In batches; a query about one cell of a noisy table is corrected by that cell."""
        asked, kept = itertools.tee(queries)
        return map(self._corrected, kept, super().queries(asked))

    def _corrected(self, query: Query, answer: float) -> float:
        conditions = query.conditions
        if any(len(c.codes) != 1 for c in conditions):
            return answer
        if query.r < len(conditions):
            if query.threshold not in self.weights:
                return answer
            noisy = min(1.0, max(0.0, self.residuals.cell(query)))
            return float(self._of_thresholds[query.threshold](answer, noisy))
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
        clamping = measured_tables(tables) if self.tolerance < NEVER_CLAMPED else []
        return FittedVariances(
            self.schema,
            self.rows,
            [margin for m in tables for margin in margins_of(m, largest)],
            clamping=[m for m in clamping if largest and m.counts.size > largest],
            corrected={t: correct.sigma**2 for t, correct in self._of_thresholds.items()},
        )

    def parameters(self) -> Mapping[str, Any]:
        """What the correction needs, under the names that it has in the folder format."""
        return {
            **super().parameters(),
            "reach": self.tolerance,
            "tolerance_of_r_of_k": self.tolerance_of_r_of_k,
            "largest_fitted": self.largest_fitted,
            "averages": self.averages,
            "surpluses": [
                {
                    "features": list(self.tables[key].features),
                    "surplus": surplus,
                    "least": self.leasts.get(key, LEAST_TOLERANCE),
                }
                for key, surplus in self.surpluses.items()
            ],
            "weights": [
                {"features": list(threshold.features), "r": threshold.r, "weight": weight}
                for threshold, weight in self.weights.items()
            ],
        }
