"""Adaptive tables: RAP's loop on whole marginal tables in place of single queries.

A whole table costs only √2 more than one of its cells. So: measure all one-way tables; start D'
near their product; where the budget allows, measure every table of the workload itself; then,
round by round, choose the table whose errors the workload's answers feel most, beyond what its
measurement would blur anyway, measure it whole, and fit D' to all tables measured so far, each
weighted by its noise and met no better than its noise warrants.
"""

import dataclasses
import itertools
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, log, sqrt
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from thresher.errors import ParameterError
from thresher.mechanisms.candidates import Felt, candidates_of, own_of
from thresher.mechanisms.estimate import Estimate, multiply_adds_per_second
from thresher.mechanisms.mechanism import Mechanism, Outcome, Progress
from thresher.mechanisms.rap import LATE, targets_of
from thresher.privacy.access import Access
from thresher.privacy.measurements import Measurement, measured_tables
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.relaxed.projection import Stopping, project
from thresher.relaxed.rows import RelaxedRows
from thresher.relaxed.sparsemax import sparsemax
from thresher.release.error_bars import detectable_error, prediction_error_of
from thresher.release.sources import TOLERANCE, RowsAndTables, SyntheticRows, margins_of
from thresher.schema import Schema
from thresher.tables import slabs_of

ONE_WAY_SHARE = Fraction(1, 2)
"""What each one-way table gets, as a share of a round."""

ONE_WAY_SHARE_OF_ANY = Fraction(2)
"""The same where a threshold asks for any of its features (r = 1): its answers add them up."""

UNASKED_SHARE = Fraction(1, 16)
"""What the one-way table of a feature gets that is not in the workload: a future query may ask."""

SELECTION_SHARE = Fraction(1, 3)
"""What choosing a table gets of its round; the rest measures it."""

OWN_SHARE = 0.3
"""How much of a row of the first D' is one record drawn from the product of the one-way tables."""

ITERATIONS = 10
"""The most iterations of a fit after a round; the next round goes on from there."""

LARGEST_FITTED = 1 << 18
"""The most cells of a workload's own table that D' is fitted to, for the sake of time."""
CELLS_PER_RECORD = 4
"""And the most per record."""

FEW_CELLS = 2.5
"""The largest noise of N cells is about √(2 ln N)·σ. Where that is less than this many σ, there is
little to gain by believing D' rather than the noisy cells."""

MOST_HELD = 1 << 24
"""The most cells of all own tables together, if those are measured that D' is not fitted to."""


@dataclass(frozen=True)
class Plan:
    """What is measured, with what, by n, ρ and the workload alone.

    Attributes:
        own: The workload's own tables, measured before any round, each with what a round gets.
        one_way: What the table of each feature of the workload gets, as a share of a round.
        unasked: What that of each other feature gets.
        rounds: How many tables are chosen and measured one by one.
        tolerance: How many standard deviations of its noise D' may be off in a measured table.
    """

    own: tuple[Threshold, ...]
    one_way: Fraction
    unasked: Fraction
    rounds: int
    tolerance: float


@dataclass(frozen=True, kw_only=True)
class AdaptiveTables(Mechanism):
    """Choose the table that D' answers worst, measure it whole, fit D', repeat.

    Candidates are all subsets of the workload's feature sets: a table of an r-of-k threshold is a
    sum of marginal tables over r or more of its features, so one set of candidates serves every r.

    Attributes:
        rounds: Tables that are chosen and measured one by one; by a public rule if not given.
        own_tables: Whether the workload's own tables are measured before: its marginals, and those
            that r-of-k answers need first; by a public rule if not given.
        synthetic_rows: n', the number of relaxed rows.
        largest_table: The most cells of a table that D' is fitted to; n if not given, or 4n where
            all own tables are measured, and at most 262,144. In larger tables most cells are
            empty, and what is in the others shows in the smaller tables they add up to.
        seed: Seeds the random start of D', which is public and protects nothing.

    Example:
        >>> import thresher as th
        >>> data = th.datasets.adult()
        >>> work = th.Workload.random(data.schema, k=2, size=3, seed=0)
        >>> release = AdaptiveTables(epsilon=1.0, rounds=2, synthetic_rows=50).fit(data, work)
        >>> len(release.measurements) - 2 - 3 == len(data.schema)  # and all one-way tables
        True
    """

    name: ClassVar[str] = "tables"

    rounds: int | None = None
    own_tables: bool | None = None
    synthetic_rows: int = 1000
    largest_table: int | None = None
    seed: int = 0

    def run(
        self, curator: Access, rho: Fraction, workload: Workload, progress: Progress
    ) -> Outcome:
        """One-way tables, the workload's own if they are few, then `rounds` of select and fit."""
        assert self.rounds is not None
        assert self.largest_table is not None
        schema, limit = curator.schema, curator.spent + rho
        plan = self.plan(curator.n, rho, workload)
        asked, unasked = _one_way(workload)
        candidates = candidates_of(workload, self.largest_table)
        rounds = self.rounds
        besides = plan.one_way * len(asked) + plan.unasked * len(unasked)
        whole_round = rho / (besides + len(plan.own) + rounds)
        measured = []
        if unasked:
            measured += curator.measure(unasked, rho=plan.unasked * len(unasked) * whole_round)
        later = (len(plan.own) + rounds) * whole_round
        measured += curator.measure(asked, rho=limit - curator.spent - later)
        rows = near_product(measured, schema, self.synthetic_rows, self.seed)
        rows = self._fitted(rows, measured, schema, Stopping(iterations=10 * ITERATIONS))
        if plan.own:
            measured += curator.measure(plan.own, rho=limit - curator.spent - rounds * whole_round)
            rows = self._fitted(rows, measured, schema, Stopping(iterations=10 * ITERATIONS))
        if not rounds:
            progress(1, 1, "all tables fitted")
        felt = Felt(workload, candidates if rounds else ())
        predicted: list[tuple[Measurement, npt.ArrayLike]] = []
        for t in range(rounds):
            part = (limit - curator.spent) / (rounds - t)
            for_selection = SELECTION_SHARE * part
            sigma = 1.0 / sqrt(float(part - for_selection))
            handicaps = [ceil(sigma * sqrt(2 * log(cells))) for cells in candidates.values()]
            answers = SyntheticRows(rows, schema)
            chosen = curator.select_table(
                list(candidates),
                answers.table,
                handicaps,
                weights_of=felt.weights(rows),
                rho=for_selection,
            )
            measured += curator.measure([chosen], rho=part - for_selection)
            if t >= rounds - max(1, rounds // LATE):
                [whole] = slabs_of(chosen.shape(schema), candidates[chosen])
                predicted.append((measured[-1], answers.table(chosen)(whole)))
            rows = self._fitted(rows, measured, schema, Stopping(iterations=ITERATIONS, window=20))
            progress(t + 1, rounds, " × ".join(chosen.features))
        error = None
        if rounds:
            detectable = detectable_error(len(candidates), for_selection, curator.n)
            error = prediction_error_of(predicted, detectable)
        largest = self.largest_fitted(schema)
        source = RowsAndTables.of(rows, schema, error, measured, plan.tolerance, largest)
        return source, measured

    def _fitted(
        self, rows: RelaxedRows, measured: list[Measurement], schema: Schema, stopping: Stopping
    ) -> RelaxedRows:
        """D' fitted to the tables, or to their margins where they are too large."""
        small = [margin for m in measured for margin in margins_of(m, self.largest_fitted(schema))]
        return project(rows, targets_of(small, schema), stopping=stopping).rows

    def largest_fitted(self, schema: Schema) -> int:
        """The most cells of a table that D' is fitted to: one-way tables are never too large."""
        assert self.largest_table is not None
        return max(self.largest_table, *schema.sizes)

    def can_measure(self, n: int, rho: Fraction, workload: Workload) -> bool:
        """Whether tables tell something of every threshold: its own, or of two of its features."""
        told = {
            frozenset(table.features) for table in candidates_of(workload, self.largest_table or n)
        }
        own = {frozenset(table.features) for table in self.plan(n, rho, workload).own}
        return all(
            threshold.k == 1
            or frozenset(threshold.features) in own
            or any(
                frozenset(pair) in told for pair in itertools.combinations(threshold.features, 2)
            )
            for threshold in workload
        )

    def plan(self, n: int, rho: Fraction, workload: Workload) -> Plan:
        """What to measure, by a rule that uses public facts only.

        More tables teach more, each with more noise: it grows with the root of their number, in
        units of 1/(n√ρ), the noise of one. So the number of tables that can be afforded grows with
        n√ρ, though more slowly. If the workload has no more tables of its own than 2/5·(n√ρ)^(2/3),
        all of them are measured, and a quarter as many rounds look for what they leave open; one
        more for each that is too large. Otherwise the rounds are √(n√ρ)/3, as T·K grows for RAP.
        Never are they more than would measure every candidate twice.

        The fewer a workload's own tables are, in parts of what can be afforded, the smaller is
        their noise beside what D' gets wrong. So, if they are all that is asked for, the less is
        spent on anything else, at most half of what they get, and the closer D' is held to them;
        the closer, too, if they have few cells, among which large noise is rare.
        """
        precision = n * sqrt(float(rho))
        affordable = max(0.4 * precision ** (2 / 3), 1e-6)
        own, too_large = self._own(n, workload)
        all_own = len(own) + too_large <= affordable if self.own_tables is None else self.own_tables
        own = own if all_own else {}
        wanted = max(4, ceil(len(own) / 4)) + too_large if own else ceil(sqrt(precision) / 3)
        candidates = candidates_of(workload, self._largest(n, bool(own)))
        rounds = min(wanted, 2 * len(candidates))
        any_of = any(threshold.r == 1 < threshold.k for threshold in workload)
        one_way, unasked, tolerance = ONE_WAY_SHARE, UNASKED_SHARE, TOLERANCE
        if any_of:
            one_way = ONE_WAY_SHARE_OF_ANY
        if own and not too_large and all(threshold.r == threshold.k for threshold in workload):
            asked, others = _one_way(workload)
            part = min(1.0, max(len(own) / affordable, 0.001))
            besides = Fraction(len(own) * min(0.5, 2 * part)).limit_denominator(1 << 20)
            less = min(Fraction(1), besides / (one_way * len(asked) + rounds))
            one_way, rounds = less * one_way, floor(less * rounds)
            unasked = min(unasked, besides / (4 * max(1, len(others))))
            of_few_cells = max(0.0, sqrt(2 * log(sum(own.values()))) - FEW_CELLS)
            tolerance = min(TOLERANCE * part**0.25, TOLERANCE * part + of_few_cells)
        return Plan(tuple(own), one_way, unasked, rounds, tolerance)

    def _own(self, n: int, workload: Workload) -> tuple[dict[Threshold, int], int]:
        """The workload's own tables that may be measured, with their cells; how many may not."""
        schema, largest = workload.schema, self._largest(n, with_own=True)
        own = {
            t: t.query_count(schema) for threshold in workload for t in own_of(threshold, schema)
        }
        own = {table: cells for table, cells in own.items() if cells > 1}
        asked = {frozenset(t.features) for t in workload if t.r == t.k}
        # D' can be held to a table that is asked for; of others it learns only by being fitted.
        held = asked if sum(own.values()) <= MOST_HELD else set()
        small = {
            table: cells
            for table, cells in own.items()
            if cells <= largest or frozenset(table.features) in held
        }
        return small, len(own) - len(small)

    def _largest(self, n: int, with_own: bool) -> int:
        return self.largest_table or (min(CELLS_PER_RECORD * n, LARGEST_FITTED) if with_own else n)

    def resolved(self, n: int, rho: Fraction, workload: Workload) -> "AdaptiveTables":
        """With what to measure settled, by the plan."""
        least = {"rounds": 0, "synthetic_rows": 1, "largest_table": 1, "seed": 0}
        for name, minimum in least.items():
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < minimum):
                raise ParameterError(
                    f"{name} must be a whole number of at least {minimum}, not {value!r}"
                )
        plan = self.plan(n, rho, workload)
        largest = self._largest(n, bool(plan.own))
        rounds = plan.rounds if self.rounds is None else self.rounds
        return dataclasses.replace(
            self,
            own_tables=bool(plan.own),
            rounds=rounds if candidates_of(workload, largest) else 0,
            largest_table=largest,
        )

    def estimate(self, n: int, rho: Fraction, workload: Workload) -> Estimate:
        """Every candidate looked at, and half of the measured tables fitted, in every round."""
        assert self.rounds is not None
        assert self.largest_table is not None
        candidates = candidates_of(workload, self.largest_table)
        cells = sum(candidates.values())
        own = [table.query_count(workload.schema) for table in self.plan(n, rho, workload).own]
        measured = [size for size in own if size <= self.largest_table]
        chosen = self.rounds * cells / max(1, len(candidates))
        fitting = 4 * ITERATIONS * (sum(measured) + chosen / 2)
        # Products of such thin matrices reach about a quarter of the speed of large ones.
        looking = 4 * (self.rounds * (cells + fitting) + 10 * fitting)
        memory = 12 * 4 * workload.schema.width * self.synthetic_rows + 4 * cells + (1 << 29)
        return Estimate(
            seconds=looking * self.synthetic_rows / multiply_adds_per_second(),
            memory=int(memory + 20 * (sum(own) + chosen)),
            advice="take fewer rounds or thresholds, or a smaller largest_table",
        )


def near_product(one_way: list[Measurement], schema: Schema, rows: int, seed: int) -> RelaxedRows:
    """Relaxed rows near the product of noisy one-way tables, each with a little of its own.

    The product is what one-way tables say and no more. Rows that were all alike could never
    become different, as they would all have the same gradient; so each leans to a record of its
    own, drawn from the product.
    """
    rng = np.random.default_rng(seed)
    known = {m.threshold.features[0]: m.answers for m in measured_tables(one_way)}
    blocks = []
    for feature in schema:
        noisy = known.get(feature.name, np.full(feature.size, 1.0 / feature.size))
        share = _on_simplex(noisy)
        block = np.repeat(((1 - OWN_SHARE) * share)[:, None], rows, axis=1)
        block[rng.choice(feature.size, size=rows, p=share), np.arange(rows)] += OWN_SHARE
        blocks.append(block)
    columns = np.ascontiguousarray(np.concatenate(blocks), dtype=np.float32)
    return RelaxedRows(columns, schema.sizes)


def _on_simplex(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The nearest probabilities: Sparsemax of one feature in one row."""
    column = np.ascontiguousarray(values[:, None], dtype=np.float32)
    sparsemax(column, np.array([0, len(values)], dtype=np.int64))
    projected = column[:, 0].astype(np.float64)
    return np.asarray(projected / projected.sum())


def _one_way(workload: Workload) -> tuple[list[Threshold], list[Threshold]]:
    """The tables of the features that the workload names, and of the others."""
    named = {name for threshold in workload for name in threshold.features}
    tables = [Threshold((name,)) for name in workload.schema.names]
    asked = [table for table in tables if table.features[0] in named]
    return asked, [table for table in tables if table not in asked]
