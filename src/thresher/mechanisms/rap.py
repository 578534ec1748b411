"""Relaxed Adaptive Projection (RAP): Algorithms 1 to 4 of the paper."""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import ClassVar, Literal, get_args

import numpy as np

from thresher.errors import ParameterError
from thresher.mechanisms.estimate import Estimate, multiply_adds_per_second
from thresher.mechanisms.mechanism import Mechanism, Outcome, Progress
from thresher.privacy.access import Access
from thresher.privacy.measurements import Measurement, measured_queries, measured_tables
from thresher.queries.query import Query
from thresher.queries.workload import Workload
from thresher.relaxed.projection import OPTIMISERS, project
from thresher.relaxed.row_answers import selected_queries
from thresher.relaxed.rows import RelaxedRows
from thresher.relaxed.targets import QueryTargets, TableTarget, Target
from thresher.release.error_bars import detectable_error, prediction_error_of
from thresher.release.sources import SyntheticRows
from thresher.schema import Schema

Selection = Literal["oneshot", "iterative"]

BALANCE = 2.5
QUERIES_PER_ROUND = 4
LATE = 4
"""What D' misses is told by this part of the rounds, the last ones: before, it was still rough."""

ITERATIONS = 100
"""Iterations of a fit, roughly, for the estimate."""


@dataclass(frozen=True, kw_only=True)
class RAP(Mechanism):
    """Relaxed Adaptive Projection: choose the worst queries, measure them, fit D', repeat.

    Attributes:
        rounds: T, the rounds of adaptivity; chosen by `adaptivity` if not given.
        queries_per_round: K, the queries measured per round; T = 1 and K = m is the non-adaptive
            case, in which all queries are measured and none is selected.
        synthetic_rows: n', the number of relaxed rows.
        selection: `"oneshot"` (OSAS) or `"iterative"` (AS). Both draw from one distribution; AS
            takes K passes over the queries where OSAS takes one.
        optimizer: How D' is fitted; `"adam"` is the paper's way.
        seed: Seeds the random start of D', which is public and protects nothing.

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

    def run(
        self, curator: Access, rho: Fraction, workload: Workload, progress: Progress
    ) -> Outcome:
        """Algorithm 1: T rounds of Adaptive Selection and Relaxed Projection."""
        schema = curator.schema
        rows = RelaxedRows.uniform(
            schema.sizes, self.synthetic_rows, np.random.default_rng(self.seed)
        )
        assert self.rounds is not None
        assert self.queries_per_round is not None
        measured: list[Measurement] = []
        if self._is_non_adaptive(workload):
            measured = curator.measure(workload.thresholds, rho=rho, jointly=False)
            rows = self._project(rows, measured, schema, progress, 1)
            return SyntheticRows(rows, schema), measured
        # Equal parts; after a loss, a journal makes all that are still to come smaller alike.
        part = rho / self.rounds
        predicted: list[tuple[Measurement, float]] = []
        for t in range(self.rounds):
            answers = SyntheticRows(rows, schema)
            chosen = self._select(curator, answers, workload, measured, part / 2)
            if not chosen:
                break
            latest = curator.measure(chosen, rho=part / 2)
            if self.rounds - t <= max(1, self.rounds // LATE):
                predicted += zip(latest, answers.queries(chosen), strict=False)
            measured += latest
            rows = self._project(rows, measured, schema, progress, t + 1)
        per_choice = part / 2 / self.queries_per_round
        unseen = detectable_error(workload.query_count, per_choice, curator.n)
        return SyntheticRows(rows, schema, prediction_error_of(predicted, unseen)), measured

    def _select(
        self,
        curator: Access,
        answers: SyntheticRows,
        workload: Workload,
        measured: list[Measurement],
        rho: Fraction,
    ) -> list[Query]:
        """The selections of Algorithm 2 (AS) or Algorithm 4 (OSAS)."""
        assert self.queries_per_round is not None
        before = [m.query for m in measured_queries(measured)]
        count = min(self.queries_per_round, workload.query_count - len(before))
        if count == 0:
            return []
        calls, each = (1, count) if self.selection == "oneshot" else (count, 1)
        chosen: list[Query] = []
        for _ in range(calls):
            chosen += curator.select(
                workload, answers.table, each, before + chosen, rho=rho / calls
            )
        return chosen

    def _project(
        self,
        rows: RelaxedRows,
        measured: list[Measurement],
        schema: Schema,
        progress: Progress,
        done: int,
    ) -> RelaxedRows:
        """Algorithm 3 (RP), from where D' stands."""
        projected = project(rows, targets_of(measured, schema), self.optimizer)
        assert self.rounds is not None
        progress(done, self.rounds, f"misfit {projected.misfits[-1]:.2f}σ²")
        return projected.rows

    def _is_non_adaptive(self, workload: Workload) -> bool:
        return self.rounds == 1 and self.queries_per_round == workload.query_count

    def resolved(self, n: int, rho: Fraction, workload: Workload) -> "RAP":
        """With T and K: as given, or by a rule that uses public facts only.

        The error has two parts: what has not been measured, which falls with T·K, and the noise of
        what has, √(T·K/ρ)/n, which grows with it. So the best T·K grows with n·√ρ; how fast
        depends on the first part, which the paper's experiments and ours put near its square root.
        Where T is free, few queries per round: that is best for r < k and no worse for r = k.
        """
        for name in ("rounds", "queries_per_round", "synthetic_rows"):
            value = getattr(self, name)
            if value is not None and not (_is_whole(value) and value >= 1):
                raise ParameterError(f"{name} must be a whole number of at least 1, not {value!r}")
        if not (_is_whole(self.seed) and self.seed >= 0):
            raise ParameterError(f"seed must be a whole number of at least 0, not {self.seed!r}")
        if self.selection not in get_args(Selection):
            raise ParameterError(
                f"selection must be 'oneshot' or 'iterative', not {self.selection!r}"
            )
        if self.optimizer not in OPTIMISERS:
            raise ParameterError(
                f"optimizer must be one of {', '.join(OPTIMISERS)}, not {self.optimizer!r}"
            )
        wanted = max(4, round(BALANCE * sqrt(n * sqrt(float(rho)))))
        total = min(wanted, workload.query_count)
        per_round = self.queries_per_round or max(1, min(QUERIES_PER_ROUND, total))
        if self.queries_per_round is None and self.rounds is not None:
            per_round = max(1, round(total / self.rounds))
        per_round = min(per_round, workload.query_count)
        rounds = self.rounds or max(1, round(total / per_round))
        # No query is measured twice: rounds without one left would leave their part unspent.
        rounds = min(rounds, -(-workload.query_count // per_round))
        return dataclasses.replace(self, rounds=rounds, queries_per_round=per_round)

    def estimate(self, n: int, rho: Fraction, workload: Workload) -> Estimate:
        """Matrix products over all queries and rows in every round, and the fit of D'."""
        assert self.rounds is not None
        assert self.queries_per_round is not None
        width = workload.schema.width
        products = workload.query_count * self.synthetic_rows
        speed = multiply_adds_per_second()
        memory = 8 * 4 * width * self.synthetic_rows + (1 << 30)
        if self._is_non_adaptive(workload):
            seconds = 3 * products * ITERATIONS / speed
            memory += 20 * workload.query_count
        else:
            measured = self.queries_per_round * self.rounds
            fitting = measured * self.synthetic_rows * 20 + 10 * width * self.synthetic_rows
            seconds = self.rounds * (products / speed + ITERATIONS * fitting / speed * 10)
        return Estimate(
            seconds=seconds,
            memory=memory,
            advice="take fewer rounds or thresholds, fewer synthetic rows, or a max_queries filter",
        )


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def targets_of(measured: Iterable[Measurement], schema: Schema) -> list[Target]:
    """What D' should agree with: the single queries that were measured, and the tables."""
    listed = list(measured)
    queries = measured_queries(listed)
    targets: list[Target] = []
    if queries:
        answers = np.array([m.answer for m in queries])
        sigma = np.array([m.noise for m in queries])
        selected = selected_queries((m.query for m in queries), schema)
        targets.append(QueryTargets(selected, answers, sigma))
    for m in measured_tables(listed):
        table = m.answers.astype(np.float32)
        targets.append(TableTarget(schema, m.threshold, table, m.noise))
    return targets
