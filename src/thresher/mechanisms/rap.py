"""Relaxed Adaptive Projection (RAP): Algorithms 1, 2 and 4 of the paper.

Algorithm 3, Relaxed Projection, is in `thresher.relaxed`; `Projector` calls it.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import log, sqrt
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from thresher.data.records import Records
from thresher.errors import ParameterError
from thresher.mechanisms.checkpoint import Fits
from thresher.mechanisms.estimate import Estimate, Work, counting_memory
from thresher.mechanisms.mechanism import Mechanism
from thresher.mechanisms.parameters import check_whole
from thresher.mechanisms.procedure import Outcome, Progress, counting_and_rounds, is_late
from thresher.mechanisms.projector import Projector
from thresher.mechanisms.public import PublicStart
from thresher.privacy.access import Access
from thresher.privacy.measurements import Measurement, measured_queries
from thresher.progress import COMPILING, ROUNDS, Phase, Step
from thresher.queries.query import Query
from thresher.queries.workload import Workload
from thresher.relaxed.compilation import telling_of_compilation
from thresher.relaxed.projection import OPTIMISERS, first_rows
from thresher.relaxed.rows import RelaxedRows
from thresher.relaxed.slab_marginals import walking_work
from thresher.release.prediction_error import Prediction, detectable_error, prediction_error_of
from thresher.release.sources import SyntheticRows
from thresher.schema import Schema
from thresher.wording import meant

Selection = Literal["oneshot", "iterative", "spread"]

BALANCE = 2.5
"""T·K is this many times √(n√ρ), where it is free. docs/how-it-works.md has the evidence."""

MANY_QUERIES = 10**7
"""With more queries than this, T·K is smaller, so that selection still finds the worst ones.

An error that selection finds has at least ln(m)·√(T·K/ρ) counts. The factor on T·K keeps this as
it is at so many queries. 64 5-way marginals of `loans_like` version 1 (2.5·10¹¹ queries, ε = 1,
T = 45, 24, 12): 0.049, 0.037 and 0.025; of ADULT (2.1·10⁹, T = 48, 24, 12): 0.039, 0.028 and 0.028.
"""

QUERIES_PER_ROUND = 4
"""K, if it is free. Few queries a round are best for r < k, and no worse for r = k."""

CELLS_PER_RECORD = 5
"""A search of a marginal takes as long as a look at so many of its cells for each record, for the
estimate: measured were 3 (`loans_like`) to 7 (ADULT), for 64 5-way marginals."""

ITERATIONS = 15
"""About how many iterations a fit takes, for the estimate: measured were 7 to 14, and once 105."""

SPARSE = 0.3
"""What an iteration takes of the time that it would take if D' had no zero entries. Without this
factor, estimates were 2.1 to 7.8 times the processor time (4 to 16 thresholds of ADULT)."""


@dataclass(frozen=True, kw_only=True)
class RAP(Mechanism):
    """Relaxed Adaptive Projection: choose the worst queries, measure them, fit D', repeat.

    Attributes:
        rounds: T, the rounds of adaptivity; by a public rule if not given.
        queries_per_round: K, the queries measured per round; by a public rule if not given. T = 1
            and K = m is the non-adaptive case: all queries are measured and none is selected.
        synthetic_rows: n', the number of relaxed rows.
        selection: `"oneshot"` (OSAS) or `"iterative"` (AS). Both draw from the same distribution;
            AS takes K passes over the queries where OSAS takes one. `"spread"` is AS with at most
            one query of each threshold in a round: where some values are common, the K worst
            queries can be near-copies of one.
        optimizer: How D' is fitted; `"adam"` is the paper's way. `"softmax"` fits Softmax rows in
            place of Sparsemax rows (Liu et al. 2021); docs/accuracy-notebook.md compares them.
        seed: Seeds the random start of D', which is public and protects nothing.
        public: Records that are public, which D' starts from, at no cost. You vouch for them: the
            promise does not cover them.

    Example:
        >>> import thresher as th
        >>> data = th.datasets.adult()
        >>> work = th.Workload.random(data.schema, k=2, size=3, seed=0)
        >>> rap = RAP(epsilon=1.0, rounds=2, queries_per_round=3, synthetic_rows=50)
        >>> len(rap.fit(data, work).measurements)
        6
    """

    name: ClassVar[str] = "rap"

    rounds: int | None = None
    queries_per_round: int | None = None
    synthetic_rows: int = 1000
    selection: Selection = "oneshot"
    optimizer: str = "accelerated"
    seed: int = 0
    public: Records | None = None

    def resolve(self, n: int, rho: Fraction, workload: Workload) -> "RAPProcedure":
        """Settle T and K by `rounds_and_queries`, where they are not given."""
        self._check()
        rounds, per_round = rounds_and_queries(
            n, rho, workload.query_count, self.rounds, self.queries_per_round
        )
        return RAPProcedure(
            cost=rho,
            n=n,
            workload=workload,
            rounds=rounds,
            queries_per_round=per_round,
            synthetic_rows=self.synthetic_rows,
            selection=self.selection,
            projector=Projector(self.optimizer),
            seed=self.seed,
            public=PublicStart.of(self.public, workload.schema),
        )

    def _check(self) -> None:
        for name in ("rounds", "queries_per_round"):
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name), least=1)
        check_whole("synthetic_rows", self.synthetic_rows, least=1)
        check_whole("seed", self.seed, least=0)
        if self.selection not in get_args(Selection):
            raise ParameterError(
                f"selection must be 'oneshot', 'iterative' or 'spread', not {self.selection!r}"
                f"{meant(self.selection, get_args(Selection))}"
            )
        if self.optimizer not in OPTIMISERS:
            raise ParameterError(
                f"optimizer must be one of {', '.join(OPTIMISERS)}, not {self.optimizer!r}"
                f"{meant(self.optimizer, OPTIMISERS)}"
            )
        if self.public is not None and self.optimizer == "softmax":
            raise ParameterError(
                "softmax rows cannot start from public records, whose many zeros would hardly ever "
                "grow: leave out public, or choose another optimizer"
            )


def rounds_and_queries(
    n: int, rho: Fraction, queries: int, rounds: int | None, per_round: int | None
) -> tuple[int, int]:
    """T and K: as given, or by a rule that uses public facts only.

    The error has two parts. What has not been measured falls with T·K; the noise of what has,
    √(T·K/ρ)/n, grows with it. So the best T·K grows with n·√ρ. How fast depends on the first part:
    the paper's experiments and ours put the best T·K near the square root. Among very many
    queries, selection finds large errors only, so there T·K is smaller (`MANY_QUERIES`).

    Args:
        n: The number of records.
        rho: The zCDP budget.
        queries: m, the number of queries of the workload.
        rounds: T, if it was given.
        per_round: K, if it was given.

    Example:
        >>> rounds_and_queries(48842, Fraction(1, 50), 10**6, None, None)
        (52, 4)
    """
    among_many = min(1.0, log(MANY_QUERIES) / log(max(2, queries))) ** 2
    wanted = max(4, round(BALANCE * among_many * sqrt(n * sqrt(float(rho)))))
    total = min(wanted, queries)
    if per_round is None:
        by_rule = min(QUERIES_PER_ROUND, total) if rounds is None else round(total / rounds)
        per_round = max(1, by_rule)
    per_round = min(per_round, queries)
    rounds = rounds or max(1, round(total / per_round))
    # No query is measured twice: a round with none left would leave its share unspent.
    return min(rounds, -(-queries // per_round)), per_round


@dataclass(frozen=True, kw_only=True)
class RAPProcedure:
    """RAP with T and K settled.

    Attributes:
        cost: The ρ that it spends.
        n: The number of records.
        workload: The thresholds whose consistent queries are Q.
        rounds: T.
        queries_per_round: K.
        synthetic_rows: n'.
        selection: `"oneshot"` (Algorithm 4), `"iterative"` (Algorithm 2), or `"spread"`.
        projector: Algorithm 3. Give another one to follow D' from iteration to iteration.
        seed: Of the random start of D'.
        public: What D' starts from in place of random rows.
    """

    name: ClassVar[str] = RAP.name

    cost: Fraction
    n: int
    workload: Workload
    rounds: int
    queries_per_round: int
    synthetic_rows: int
    selection: Selection
    projector: Projector
    seed: int
    public: PublicStart | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """The parameters as they were settled."""
        return {
            "rounds": self.rounds,
            "queries_per_round": self.queries_per_round,
            "synthetic_rows": self.synthetic_rows,
            "selection": self.selection,
            "optimizer": self.projector.optimizer,
            "seed": self.seed,
            **(self.public.settings if self.public else {}),
        }

    @property
    def is_adaptive(self) -> bool:
        """Whether queries are selected; with T = 1 and K = m, all are measured."""
        return self.rounds > 1 or self.queries_per_round < self.workload.query_count

    def run(self, access: Access, progress: Progress, fits: Fits | None = None) -> Outcome:
        """Algorithm 1: T rounds of selection, measurement and projection."""
        with telling_of_compilation(lambda: progress(Step(COMPILING))):
            return self._run(access, progress, fits or Fits())

    def _run(self, access: Access, progress: Progress, fits: Fits) -> Outcome:
        rows = self._first_rows().with_views(access.schema)
        if not self.is_adaptive:
            measured = access.measure(self.workload.thresholds, rho=self.cost, jointly=False)
            project = partial(self._project, rows, measured, access.schema, progress, 1)
            rows = fits(rows, project, keep=True)
            return Outcome(SyntheticRows(rows, access.schema), tuple(measured))
        measured, predictions, known = [], list[Prediction](), list[int]()
        per_round = self.cost / self.rounds
        drawn_for = per_round / 2
        for t in range(1, self.rounds + 1):
            before = SyntheticRows(rows, access.schema)
            drawn_for = access.drawn_for(per_round / 2, self.queries_per_round)
            selected = self._select(access, before, known, per_round / 2)
            if not selected:
                break
            latest = access.measure(selected, rho=per_round / 2)
            if is_late(t, self.rounds):
                # A journal that lost all that was left has nothing measured.
                predictions += map(Prediction.of, latest, before.queries(selected))
            measured += latest
            known += (self.workload.id_of(m.query) for m in measured_queries(latest))
            fit = partial(self._project, rows, measured, access.schema, progress, t)
            rows = fits(rows, fit, keep=is_late(t + 1, self.rounds))
        detectable = detectable_error(
            self.workload.query_count, drawn_for / self.queries_per_round, access.n
        )
        error = prediction_error_of(predictions, detectable)
        return Outcome(SyntheticRows(rows, access.schema, error), tuple(measured))

    def _first_rows(self) -> RelaxedRows:
        if self.public is not None:
            return self.public.rows(self.synthetic_rows, self.seed)
        sizes, rng = self.workload.schema.sizes, np.random.default_rng(self.seed)
        return first_rows(self.projector.optimizer, sizes, self.synthetic_rows, rng)

    def _select(
        self, access: Access, before: SyntheticRows, excluded: Sequence[int], rho: Fraction
    ) -> list[Query]:
        """The K worst queries but for those with these ids: Algorithm 4 (OSAS) or 2 (AS)."""
        count = min(self.queries_per_round, self.workload.query_count - len(excluded))
        if count == 0:
            return []
        if self.selection == "oneshot":
            return access.select(self.workload, before.table, count, excluded, rho=rho)
        if self.selection == "spread":
            return self._spread(access, before, [*map(self.workload.query, excluded)], rho)
        selected: list[Query] = []
        for _ in range(count):
            selected += access.select(
                self.workload, before.table, 1, [*excluded, *selected], rho=rho / count
            )
        return selected

    def _spread(
        self, access: Access, before: SyntheticRows, excluded: Sequence[Query], rho: Fraction
    ) -> list[Query]:
        """One query after the other, each among the thresholds that have none in this round."""
        known = Counter(query.threshold for query in excluded)
        schema = self.workload.schema
        open_ = [t for t in self.workload if known[t] < t.query_count(schema)]
        count, selected = min(self.queries_per_round, len(open_)), list[Query]()
        for _ in range(count):
            some = Workload(schema, open_)
            named = [query for query in excluded if query.threshold in open_]
            selected += access.select(some, before.table, 1, named, rho=rho / count)
            open_ = [t for t in open_ if t not in {query.threshold for query in selected}]
        return selected

    def _project(
        self,
        rows: RelaxedRows,
        measured: Sequence[Measurement],
        schema: Schema,
        progress: Progress,
        number: int,
    ) -> RelaxedRows:
        """Algorithm 3 (RP), from where D' stands."""
        projected = self.projector(rows, measured, schema, number)
        progress(Step(ROUNDS, number, self.rounds, f"misfit {projected.misfits[-1]:.2f}σ²"))
        return projected.rows

    def _looking(self) -> Work:
        """A choice among all queries: marginals are searched, other tables are walked."""
        schema, rows, work = self.workload.schema, self.synthetic_rows, Work(0.0)
        for threshold in self.workload:
            cells = threshold.query_count(schema)
            if threshold.r == threshold.k:
                work += Work.choosing(min(cells, CELLS_PER_RECORD * self.n), rows)
            else:
                work += Work.walking(cells, walking_work(threshold.shape(schema), rows))
                work += Work.scoring(0, 1, rows)  # what a table takes however small it is
        return work

    def phases(self, n: int) -> tuple[Phase, ...]:
        """Counting, and the rounds."""
        return counting_and_rounds(self.estimate(n), self.workload, n)

    def estimate(self, n: int) -> Estimate:
        """Counting, a choice among all queries in every round, and the fits of D'."""
        queries, width, rows = (
            self.workload.query_count,
            self.workload.schema.width,
            self.synthetic_rows,
        )
        memory = 8 * 4 * width * rows + (1 << 29) + counting_memory(n, self.workload)
        work, iterations = Work.counting(n, self.workload), ITERATIONS * self.rounds
        work += Work.stepping(width, rows).times(SPARSE * iterations)
        if self.is_adaptive:
            looks = self.rounds * (1 if self.selection == "oneshot" else self.queries_per_round)
            measured = self.queries_per_round * self.rounds
            work += self._looking().times(looks)
            work += Work.fitting_queries(measured / 2, rows).times(SPARSE * iterations)
        else:
            work += Work.drawing(queries)
            work += Work.fitting_tables(queries, len(self.workload), rows).times(iterations)
            memory += 20 * queries
        return Estimate(
            seconds=work.here(),
            memory=memory,
            advice="take fewer rounds or thresholds, fewer synthetic rows, or a max_queries filter",
        )
