"""What adaptive tables do, step by step.

1. Measure one-way tables (after those of step 2, which may be refused).
2. If they are few enough, measure all tables that the workload's answers need most. Marginals, and
   those that r-of-k answers follow from, are measured by their residuals, which tables with common
   features share (and one-way tables are among these). Start D' near the product of what is known
   of each feature. If only their pairs are few enough, measure these, and leave the rest to rounds.
3. In each round, choose the table in which the weighted errors of D' exceed the noise that a
   measurement would have, measure it whole, and fit D' to all tables measured so far, each weighted
   by its noise. What a round finds decides how much the next one gets (see `rounds`).
4. Answer from D', corrected by the noisy tables (`release.sources.correction`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, replace
from fractions import Fraction
from functools import cache, partial
from math import inf, sqrt
from typing import Any

from thresher.mechanisms.adaptive_tables.candidate_answers import CandidateAnswers
from thresher.mechanisms.adaptive_tables.drowning import is_drowned
from thresher.mechanisms.adaptive_tables.error_weights import ErrorWeights
from thresher.mechanisms.adaptive_tables.phases import (
    ONE_WAY,
    WORKLOAD_TABLES,
    phases_of,
)
from thresher.mechanisms.adaptive_tables.plan import Plan
from thresher.mechanisms.adaptive_tables.rounds import Annealing, Round, finds_an_error
from thresher.mechanisms.adaptive_tables.start import near_product, one_way_known
from thresher.mechanisms.adaptive_tables.workload_tables import Optimise
from thresher.mechanisms.checkpoint import Fits
from thresher.mechanisms.estimate import Estimate, Work, counting_memory
from thresher.mechanisms.procedure import Outcome, Progress, is_late
from thresher.mechanisms.projector import Projector
from thresher.mechanisms.public import PublicStart
from thresher.privacy.access import Access
from thresher.privacy.measurements import (
    Measurement,
    TableMeasurement,
    measured_residuals,
    measured_tables,
)
from thresher.progress import COMPILING, ROUNDS, Phase, Step
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.relaxed.compilation import telling_of_compilation
from thresher.relaxed.projection import Stopping
from thresher.relaxed.rows import RelaxedRows
from thresher.release.prediction_error import Prediction, detectable_error, prediction_error_of
from thresher.release.sources import RowsAndTables, SyntheticRows, margins_of
from thresher.schema import Schema
from thresher.tables import AnswersOf, slabs_of
from thresher.tables.sparse import MOST_CELLS

ITERATIONS = 5
"""The most iterations of a fit after a round, because the next round goes on from there.

With 20, 64 marginals of ADULT at ε = 1 had 0.0052 in place of 0.0042: D' fits noise. On
ADULT, 5 and 10 differ by less than seeds do; on the Lending Club extract, by as much.
"""

ONE_WAY_TAKEN, BEFORE_ROUNDS_TAKEN, AFTER_ROUND_TAKEN, USUAL_PRECISION = 5, 40, 3, 7000
"""About how many iterations the fits take, for the estimate: to one-way tables, to the workload's
tables before the rounds, and after a round, where n√ρ is 7000 (ADULT at ε = 1). With less noise
they take more, up to their limits."""

RESIDUAL_TAKEN = Work(7e-4)
"""What a residual of two or more features takes in each iteration before the rounds, however few
cells it has, for the estimate."""

CORRECTED_TAKEN = 60
"""About how many iterations the correction of tables and the fit to them take, for the estimate.
With little noise they are up to 160."""

CELL_TAKEN = 50
"""About as many bytes as a cell takes that was measured, for the estimate."""

SPARSE = 0.38
"""What a fit of D' by its nonzero entries takes of one by matrix products, for the estimate."""

BEFORE_ROUNDS = Projector("sparse", stopping=Stopping(last_gain=0.3, iterations=20 * ITERATIONS))
"""A good fit may end where a step still brings a third of the fall, because D' starts near one-way
tables. With a tenth, D' was fitted to noise where there is much of it: mean over thresholds 1.13 in
place of 0.96 (64 3-way of happiness, pairs, ε = 0.1). On 19 other cells of four tables (64 pairs,
64 3-way and 64 1-of-3, ε = 0.1 and 1) largest errors were 0.95 to 1.04 times as large.
"""

FOR_THE_MEAN = replace(BEFORE_ROUNDS, stopping=replace(BEFORE_ROUNDS.stopping, largest=inf))
"""Where the mean error is to be small, D' is as good as noise allows if it is so on average.

To bring its largest residual down as well takes more iterations, which fit it to noise elsewhere.
Without that, total variation over 64 3-way marginals at ε = 1 was 0.77 to 0.96 times as large on
nine tables, and 0.75 to 0.98 times for 64 pairs and 64 1-of-3 on seven; the largest error of
D' was up to twice as large. Where the largest error is to be small, it was 1.04 times as large (ten
tables, ε = 1) and 1.01 times (eleven, ε = 0.1), so there the largest residual counts.
"""

AFTER_ROUND = Projector("sparse", stopping=Stopping(iterations=ITERATIONS, window=20))
AT_LAST = Projector("sparse", stopping=Stopping(iterations=4 * ITERATIONS, window=20))
"""Where the workload's tables were measured, the last fit takes longer, for the sake of records
that are drawn from D'. It cut the largest error of D' itself by 5 to 13 % (64 marginals of ADULT
and movies, ε = 1). With rounds only it did harm: 0.041 in place of 0.039 (ADULT, ε = 0.1).
"""

TO_CORRECTED = Projector(
    "sparse",
    stopping=Stopping(largest=7.0, least=8 * ITERATIONS, iterations=32 * ITERATIONS, window=20),
)
"""Where residuals were measured, D' is fitted to the corrected tables at last. On 19 fits of 9
tables (30 iterations) this cut the largest error of D' itself, and so of records that are drawn
from it, by 19 %, and that of answers by 2 %.

A good fit ends after 40 iterations. Up to 160 are made as long as they bring progress, if some cell
is off by more than √(2 ln N) + 7 quarters of a standard deviation, about three, or the mean square
is above that of a quarter, as on few rows or at ε = 10. In place of 40, the largest error of D'
itself was 0.83 times as large (12 fits of six tables at ε = 1; 0.19 times where it had been worst)
and 0.71 times (eight at ε = 10), in 1.2 and 1.6 times the processor time; at ε = 0.1 nothing
changed. With 2 in place of 3 standard deviations it took 1.7 times as long at ε = 1 for the same
errors. To begin anew, or with few features first, does harm: momentum is what brings the last cells
near.
"""

BEYOND_NOISE = 1.1
"""Where the mean error is to be small, answers to marginals come from D' alone, unless its mean
square difference from the noisy cells is above so many variances: then n' rows cannot hold what
little noise tells, and the corrected tables are better.

Total variation of corrected tables in place of D' (32 fits of eight tables, 16 3-way and 64 pairs):
above 1.1, all at ε = 10, 0.20 to 0.87 (fertility 0.47 at 4.0, birthdays 0.68 at 1.8, insteval 0.83
at 1.14). Below, 0.87 to 1.09 at ε = 1, and 0.80 to 1.57 at ε = 10.

r-of-k answers that follow from residuals are corrected in any case. Unless D' is off by more than
noise, their weight is 0, and only answers beyond the tolerance move. Mean over thresholds of the
largest error of 64 1-of-3: 0.99 times that of D' alone (0.96 to 1.005; 13 fits of ten tables, ε = 1
and 10), largest error 0.94 times. The tolerance of tables, which are not corrected, is no limit for
theirs: with it, the mean on ADULT at ε = 10 was 1.09 times in place of 0.96 times that of D' alone.
"""

FEW_FEATURES = 2
"""D' is fitted to the residuals of so many features before it is fitted to all. On 64 marginals of
ADULT at ε = 1, this took 5 to 6 s of processor time in place of 6 to 9."""


@dataclass(frozen=True)
class AdaptiveTablesProcedure:
    """Adaptive tables with everything that is measured decided.

    Attributes:
        name: The mechanism's name.
        cost: The ρ that it spends.
        workload: The thresholds to be answered well.
        plan: What is measured, and with what.
        synthetic_rows: n'.
        optimise: `"max"` to correct answers by the noisy tables, `"mean"` to answer from D' alone
            where it is as good as noise allows.
        seed: Of the random start of D'.
        public: What D' starts from in place of the one-way tables.
    """

    name: str
    cost: Fraction
    workload: Workload
    plan: Plan
    synthetic_rows: int
    optimise: Optimise
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
            "optimise": self.optimise,
            "seed": self.seed,
            **(self.public.settings if self.public else {}),
        }

    @property
    def only_measures(self) -> bool:
        """Whether there are no rounds, which select tables."""
        return not self.plan.rounds_rho

    def run(self, access: Access, progress: Progress, fits: Fits | None = None) -> Outcome:
        """One-way tables, the workload's tables, then rounds of selection, measurement and fit."""
        with telling_of_compilation(lambda: progress(Step(COMPILING))):
            return self._run(access, progress, fits or Fits())

    def _run(self, access: Access, progress: Progress, fits: Fits) -> Outcome:
        plan = self.plan
        # The largest request comes first: if it is refused, nothing has been paid.
        workload = self._measure_workload(access) if plan.workload_tables else []
        if one_way := self._measure_one_way(access):
            progress(Step(ONE_WAY))
        if workload:
            progress(Step(WORKLOAD_TABLES))
        measured = [*one_way, *workload]
        first = self._first(measured, beyond_noise=True)
        stays = is_drowned(first, measured, self.workload)
        rows = first if stays else self._fitted(self._first(measured), measured, fits)
        weights = ErrorWeights(self.workload, plan.candidates if plan.rounds else ())
        taken: list[tuple[Fraction, Prediction]] = []
        if plan.rounds:
            progress(Step(ROUNDS, 0, plan.rounds))
        rounds, number = self._rounds, 0
        while rounds.left:
            number, now = number + 1, rounds.next()
            drawn_for = access.drawn_for(now.per_selection)
            table = self._select(access, rows, weights, now)
            for m in measured_tables(access.measure([table], rho=now.per_measurement)):
                found, *prediction = fits.noted(partial(self._compared, rows, m))
                rounds.learn(bool(found))
                taken.append((drawn_for, Prediction(*prediction)))
                measured.append(m)
            if not stays:
                rows = fits(rows, partial(self._fit, rows, measured, self._sparing(AFTER_ROUND)))
            elif not is_drowned(first, measured, self.workload, after_rounds=True):
                stays, rows = False, self._fitted(self._first(measured), measured, fits)
            progress(Step(ROUNDS, number, number + rounds.to_come, " × ".join(table.features)))
        if not number:
            progress(Step(ROUNDS, 1, 1, "all tables fitted"))
        if stays:
            return self._outcome(rows, measured, taken, access.n, alone=True)
        if number and plan.workload_tables:
            rows = fits(rows, partial(self._fit, rows, measured, self._sparing(AT_LAST)))
        if plan.residuals is not None:
            rows = fits(rows, partial(self._fit_to_corrected, rows, measured))
        return self._outcome(rows, measured, taken, access.n)

    def _first(self, measured: Sequence[Measurement], *, beyond_noise: bool = False) -> RelaxedRows:
        """D' before any fit: public rows, or near the product of what is known of each feature."""
        schema = self.workload.schema
        if self.public is not None:
            return self.public.rows(self.synthetic_rows, self.seed).with_views(schema)
        known = one_way_known(measured, schema)
        return near_product(
            known, schema, self.synthetic_rows, self.seed, beyond_noise=beyond_noise
        )

    def _fitted(
        self, rows: RelaxedRows, measured: Sequence[Measurement], fits: Fits
    ) -> RelaxedRows:
        """D' fitted to what was measured before the rounds."""
        # What few features say takes little work to fit, and leaves little for the rest.
        few = [m for m in measured_residuals(measured) if m.threshold.k <= FEW_FEATURES]
        if len(few) < len(measured_residuals(measured)):
            first: list[Measurement] = [*measured_tables(measured), *few]
            rows = fits(rows, partial(self._fit, rows, first, self._before_rounds))
        return fits(rows, partial(self._fit, rows, measured, self._before_rounds))

    @property
    def _rounds(self) -> Annealing:
        plan = self.plan
        return Annealing(plan.rounds_rho, plan.rounds_rho / max(1, plan.rounds), plan.anneals)

    def _measure_one_way(self, access: Access) -> list[Measurement]:
        plan, measured = self.plan, list[Measurement]()
        for tables, rho in (
            (plan.other_one_way, plan.other_one_way_rho),
            (plan.one_way, plan.one_way_rho),
        ):
            if tables:
                measured += access.measure(tables, rho=rho)
        return measured

    def _measure_workload(self, access: Access) -> list[Measurement]:
        plan = self.plan
        if plan.residuals is None:
            return list(access.measure(plan.workload_tables, rho=plan.workload_rho))
        marginals, precisions = plan.residuals.marginals, plan.residuals.precisions
        return list(access.measure_residuals(marginals, precisions, rho=plan.workload_rho))

    def _select(
        self, access: Access, rows: RelaxedRows, weights: ErrorWeights, now: Round
    ) -> Threshold:
        """The table whose worst weighted error exceeds its noise to come by most, privately."""
        return access.select_table(
            list(self.plan.candidates),
            CandidateAnswers(rows, access.schema).table,
            now.noise_to_come(self.plan.candidates.values()),
            weights_of=_when_asked(weights, rows),
            rho=now.per_selection,
        )

    def _fit(
        self, rows: RelaxedRows, measured: Sequence[Measurement], projector: Projector
    ) -> RelaxedRows:
        """D' fitted to the tables, or to their margins where they are too large."""
        fitted_to = [part for m in measured for part in margins_of(m, self.plan.largest_fitted)]
        return projector(rows, fitted_to, self.workload.schema).rows

    @property
    def _before_rounds(self) -> Projector:
        return FOR_THE_MEAN if self.optimise == "mean" else BEFORE_ROUNDS

    def _sparing(self, projector: Projector) -> Projector:
        """The same, but where rounds follow residuals of marginals, a good D' stays as it is.

        Two steps after every round fit it to noise. Without them, the largest error over 64 3-way
        marginals at ε = 0.1, and the mean over thresholds, were 0.97 and 0.94 times as large
        (ADULT, 18 fits), 0.87 and 0.65 times (insteval, five fits); over 256 and all of ADULT 1.01
        and 0.93, 1.04 and 0.94. With rounds only, or r-of-k thresholds, they do more good than
        harm.
        """
        if self.plan.residuals is None or any(t.r < t.k for t in self.workload):
            return projector
        return replace(projector, stopping=replace(projector.stopping, at_once=True))

    def _fit_to_corrected(self, rows: RelaxedRows, measured: Sequence[Measurement]) -> RelaxedRows:
        """D' fitted to the corrected tables, which have less noise than the measured ones."""
        tables = self._corrected(rows, measured).corrected(self.plan.largest_fitted)
        return TO_CORRECTED(rows, [*tables], self.workload.schema).rows

    def _compared(self, rows: RelaxedRows, measured: TableMeasurement) -> tuple[float, ...]:
        """Whether D' is further from a noisy table than noise explains, and how far it is."""
        schema, table = self.workload.schema, measured.threshold
        [whole] = slabs_of(table.shape(schema), self.plan.candidates[table])
        says = SyntheticRows(rows, schema).table(table)(whole)
        return finds_an_error(measured, says), *astuple(Prediction.of(measured, says))

    def _outcome(
        self,
        rows: RelaxedRows,
        measured: Sequence[Measurement],
        taken: Sequence[tuple[Fraction, Prediction]],
        n: int,
        *,
        alone: bool = False,
    ) -> Outcome:
        """D' corrected by the noisy tables, with how well it predicted the last of them.

        Where it stayed as it was at first, noise explains all that these say: it answers `alone`.
        """
        plan, error = self.plan, None
        late = [one for i, one in enumerate(taken, 1) if is_late(i, len(taken))]
        if late:
            least = min(drawn_for for drawn_for, _ in late)
            detectable = detectable_error(len(plan.candidates), least, n)
            error = prediction_error_of([prediction for _, prediction in late], detectable)
        source = replace(self._corrected(rows, measured), prediction_error=error)
        if alone or (self.optimise == "mean" and source.differences().misfit <= BEYOND_NOISE):
            source = source.alone()
        if not alone:
            source = source.answering(self.workload)
        return Outcome(source, tuple(measured), {"rounds_taken": len(taken)})

    def _corrected(self, rows: RelaxedRows, measured: Sequence[Measurement]) -> RowsAndTables:
        """D' corrected by the noisy tables."""
        source = RowsAndTables.of(
            rows, self.workload.schema, None, measured, largest_fitted=self.plan.largest_fitted
        )
        if self.plan.residuals is not None:
            source = source.averaging()
        return source.adding_up()

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
        # Views are counted through the columns that they are about.
        bases = ((table, Threshold(schema.bases(table.features))) for table in needed)
        counted = (table for table, base in bases if base.query_count(schema) <= MOST_CELLS)
        covered = {name for table in counted for name in table.features}
        one_way = (*self.plan.one_way, *self.plan.other_one_way)
        alone = [table for table in one_way if not covered.issuperset(table.features)]
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
        if plan.residuals is not None:
            several = sum(marginal.k > 1 for marginal in plan.residuals.marginals)
            work += RESIDUAL_TAKEN.times(several * before)
            at_last = Work.fitting_tables(sum(fitted), len(fitted), rows)
            work += at_last.times(SPARSE * CORRECTED_TAKEN)
            any_of = [t.query_count(schema) for t in self.workload if t.r < t.k]
            work += Work.scoring(sum(any_of), len(any_of), rows)
        work += Work.fitting_tables(chosen / 2, plan.rounds / 2, rows).times(SPARSE * after)
        memory = 12 * 4 * width * rows + 4 * cells + (1 << 29)
        return Estimate(
            seconds=work.here(),
            memory=int(memory + CELL_TAKEN * (sum(tables) + chosen)) + counting_memory(n, asked),
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
