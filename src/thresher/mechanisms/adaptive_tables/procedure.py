"""What adaptive tables do, step by step.

1. Measure all one-way tables, and start D' near their product.
2. If they are few enough, measure all tables that the workload's answers need most.
3. In each round, choose the table in which the weighted errors of D' exceed the noise that a
   measurement would have, measure it whole, and fit D' to all tables measured so far, each weighted
   by its noise.
4. Answer from D', clamped to within a few standard deviations of the noisy tables.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from math import sqrt
from typing import Any

import numpy.typing as npt

from thresher.mechanisms.adaptive_tables.candidate_answers import CandidateAnswers
from thresher.mechanisms.adaptive_tables.error_weights import ErrorWeights
from thresher.mechanisms.adaptive_tables.phases import (
    ONE_WAY,
    WORKLOAD_TABLES,
    phases_of,
)
from thresher.mechanisms.adaptive_tables.plan import Plan
from thresher.mechanisms.adaptive_tables.start import near_product
from thresher.mechanisms.checkpoint import Fits
from thresher.mechanisms.estimate import Estimate, Work, counting_memory
from thresher.mechanisms.procedure import Outcome, Progress, is_late
from thresher.mechanisms.projector import Projector
from thresher.mechanisms.public import PublicStart
from thresher.privacy.access import Access
from thresher.privacy.measurements import Measurement
from thresher.progress import COMPILING, ROUNDS, Phase, Step
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.relaxed.compilation import telling_of_compilation
from thresher.relaxed.projection import Stopping
from thresher.relaxed.rows import RelaxedRows
from thresher.release.prediction_error import detectable_error, prediction_error_of
from thresher.release.sources import RowsAndTables, SyntheticRows, margins_of
from thresher.schema import Schema
from thresher.tables import AnswersOf, slabs_of
from thresher.tables.sparse import MOST_CELLS

ITERATIONS = 5
"""The most iterations of a fit after a round, because the next round goes on from there.

With 20, 64 marginals of ADULT at ε = 1 had 0.0052 in place of 0.0042: D' fits noise. On
ADULT, 5 and 10 differ by less than seeds do; on the Lending Club extract, by as much.
"""

ONE_WAY_TAKEN, BEFORE_ROUNDS_TAKEN, AFTER_ROUND_TAKEN, USUAL_PRECISION = 5, 40, 8, 7000
"""About how many iterations the fits take, for the estimate: to one-way tables, to the workload's
tables before the rounds, and after a round, where n√ρ is 7000 (ADULT at ε = 1). With less noise
they take more, up to their limits."""

SPARSE = 0.38
"""What a fit of D' by its nonzero entries takes of one by matrix products, for the estimate."""

BEFORE_ROUNDS = Projector("sparse", stopping=Stopping(iterations=20 * ITERATIONS))
AFTER_ROUND = Projector("sparse", stopping=Stopping(iterations=ITERATIONS, window=20))

Prediction = tuple[Measurement, npt.ArrayLike]
"""A measurement, with what D' had said before it was fitted to it."""


@dataclass(frozen=True)
class AdaptiveTablesProcedure:
    """Adaptive tables with everything that is measured decided.

    Attributes:
        name: The mechanism's name.
        cost: The ρ that it spends.
        workload: The thresholds to be answered well.
        plan: What is measured, and with what.
        synthetic_rows: n'.
        seed: Of the random start of D'.
        public: What D' starts from in place of the one-way tables.
    """

    name: str
    cost: Fraction
    workload: Workload
    plan: Plan
    synthetic_rows: int
    seed: int
    public: PublicStart | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """The parameters as they were settled."""
        return {
            "rounds": self.plan.rounds,
            "workload_tables": bool(self.plan.workload_tables),
            "synthetic_rows": self.synthetic_rows,
            "largest_table": self.plan.largest_table,
            "seed": self.seed,
            **(self.public.settings if self.public else {}),
        }

    def run(self, access: Access, progress: Progress, fits: Fits | None = None) -> Outcome:
        """One-way tables, the workload's tables, then rounds of selection, measurement and fit."""
        with telling_of_compilation(lambda: progress(Step(COMPILING))):
            return self._run(access, progress, fits or Fits())

    def _run(self, access: Access, progress: Progress, fits: Fits) -> Outcome:
        plan = self.plan
        measured = self._measure_one_way(access)
        progress(Step(ONE_WAY))
        if self.public is not None:
            rows = self.public.rows(self.synthetic_rows, self.seed).with_views(access.schema)
        else:
            rows = near_product(measured, access.schema, self.synthetic_rows, self.seed)
        keep = is_late(1, plan.rounds)
        rows = fits(rows, partial(self._fit, rows, measured, BEFORE_ROUNDS), keep=keep)
        if plan.workload_tables:
            progress(Step(WORKLOAD_TABLES))
            rho = len(plan.workload_tables) * plan.per_round
            measured += access.measure(plan.workload_tables, rho=rho)
            rows = fits(rows, partial(self._fit, rows, measured, BEFORE_ROUNDS), keep=keep)
        weights = ErrorWeights(self.workload, plan.candidates if plan.rounds else ())
        predictions: list[Prediction] = []
        if plan.rounds:
            progress(Step(ROUNDS, 0, plan.rounds))
        for number in range(1, plan.rounds + 1):
            table = self._select(access, rows, weights)
            latest = access.measure([table], rho=plan.per_measurement)
            if is_late(number, plan.rounds):
                predictions += [(m, self._predicted(rows, table)) for m in latest]
            measured += latest
            keep = is_late(number + 1, plan.rounds)
            rows = fits(rows, partial(self._fit, rows, measured, AFTER_ROUND), keep=keep)
            progress(Step(ROUNDS, number, plan.rounds, " × ".join(table.features)))
        if not plan.rounds:
            progress(Step(ROUNDS, 1, 1, "all tables fitted"))
        return self._outcome(rows, measured, predictions, access.n)

    def _measure_one_way(self, access: Access) -> list[Measurement]:
        plan, measured = self.plan, list[Measurement]()
        for tables, share in (
            (plan.other_one_way, plan.other_one_way_share),
            (plan.one_way, plan.one_way_share),
        ):
            if tables:
                measured += access.measure(tables, rho=share * len(tables) * plan.per_round)
        return measured

    def _select(self, access: Access, rows: RelaxedRows, weights: ErrorWeights) -> Threshold:
        """The table whose worst weighted error exceeds its noise to come by most, privately."""
        return access.select_table(
            list(self.plan.candidates),
            CandidateAnswers(rows, access.schema).table,
            self.plan.noise_to_come,
            weights_of=_when_asked(weights, rows),
            rho=self.plan.per_selection,
        )

    def _fit(
        self, rows: RelaxedRows, measured: Sequence[Measurement], projector: Projector
    ) -> RelaxedRows:
        """D' fitted to the tables, or to their margins where they are too large."""
        fitted_to = [part for m in measured for part in margins_of(m, self.plan.largest_fitted)]
        return projector(rows, fitted_to, self.workload.schema).rows

    def _predicted(self, rows: RelaxedRows, table: Threshold) -> npt.ArrayLike:
        """What D' says of a table, whole."""
        schema = self.workload.schema
        [whole] = slabs_of(table.shape(schema), self.plan.candidates[table])
        return SyntheticRows(rows, schema).table(table)(whole)

    def _outcome(
        self,
        rows: RelaxedRows,
        measured: Sequence[Measurement],
        predictions: Sequence[Prediction],
        n: int,
    ) -> Outcome:
        """D' clamped to the noisy tables, with how well it predicted the last of them."""
        plan, error = self.plan, None
        if plan.rounds:
            detectable = detectable_error(len(plan.candidates), plan.per_selection, n)
            error = prediction_error_of(predictions, detectable)
        source = RowsAndTables.of(
            rows, self.workload.schema, error, measured, plan.tolerance, plan.largest_fitted
        )
        return Outcome(source, tuple(measured))

    @property
    def measures_tables(self) -> bool:
        """Whether more than one-way tables may be measured, if the workload asks for more."""
        asks_for_more = any(threshold.k > 1 for threshold in self.workload)
        return bool(self.plan.workload_tables or self.plan.candidates) or not asks_for_more

    def asks(self, n: int) -> Workload:
        """The workload; or the tables that may be measured, if counting those takes less memory.

        Most thresholds of a workload of thousands have too many cells to be candidates. A feature
        that is in none of those tables is counted alone, or its one-way table would need a second
        pass, which could see other records.
        """
        schema = self.workload.schema
        needed = [*self.plan.workload_tables, *self.plan.candidates]
        if not needed or _pairs(needed, n, schema) >= _pairs(self.workload, n, schema):
            needed = list(self.workload)
        counted = (table for table in needed if table.query_count(schema) <= MOST_CELLS)
        covered = {name for table in counted for name in table.features}
        alone = [table for table in self.plan.one_way if not covered.issuperset(table.features)]
        return Workload(schema, dict.fromkeys([*needed, *alone]))

    def phases(self, n: int) -> tuple[Phase, ...]:
        """Counting, the fits before the rounds, and the rounds."""
        return phases_of(self.plan, self.workload, self.estimate(n).seconds, n)

    def estimate(self, n: int) -> Estimate:
        """Counting, noise, a look at every candidate in every round, and the fits of D'."""
        plan, width, rows = self.plan, self.workload.schema.width, self.synthetic_rows
        schema = self.workload.schema
        cells = sum(plan.candidates.values())
        tables = [table.query_count(schema) for table in plan.workload_tables]
        fitted = [size for size in tables if size <= plan.largest_fitted]
        # The tables that rounds measure are fitted in half of the rounds, on average.
        chosen = plan.rounds * cells / max(1, len(plan.candidates))
        precision = n * sqrt(float(self.cost)) / USUAL_PRECISION
        usual = BEFORE_ROUNDS_TAKEN if tables else ONE_WAY_TAKEN
        before = min(20.0 * ITERATIONS, usual * precision**0.4)
        after = plan.rounds * min(float(ITERATIONS), AFTER_ROUND_TAKEN * precision**0.1)
        one_way = len(plan.one_way) + len(plan.other_one_way)
        asked = self.asks(n)
        work = Work.counting(n, asked) + Work.drawing(sum(tables) + int(chosen))
        work += Work.scoring(cells, len(plan.candidates), rows).times(plan.rounds)
        work += Work.stepping(width, rows).times(before + after)
        work += Work.fitting_tables(width, one_way, rows).times(SPARSE * (before + after))
        work += Work.fitting_tables(sum(fitted), len(fitted), rows).times(SPARSE * (before + after))
        work += Work.fitting_tables(chosen / 2, plan.rounds / 2, rows).times(SPARSE * after)
        memory = 12 * 4 * width * rows + 4 * cells + (1 << 29)
        return Estimate(
            seconds=work.here(),
            memory=int(memory + 20 * (sum(tables) + chosen)) + counting_memory(n, asked),
            advice="take fewer rounds or thresholds, or a smaller largest_table",
        )


def _when_asked(weights: ErrorWeights, rows: RelaxedRows) -> AnswersOf:
    """The weights of errors by D'. They are found once, when a call needs them.

    A call whose result is in the journal does not.
    """
    found = cache(lambda: weights.on(rows))
    return lambda table: found()(table)


def _pairs(tables: Iterable[Threshold], n: int, schema: Schema) -> int:
    """The most cells with records that the tables of n records have, all together."""
    return sum(min(n, table.query_count(schema)) for table in tables)
