"""Adaptive tables: RAP's loop on whole marginal tables in place of single queries.

A whole table costs only √2 more than one of its cells. So: measure all one-way tables; start D'
near their product; where the budget allows, measure every table of the workload itself; then,
round by round, choose the table that D' answers worst beyond what its measurement would blur
anyway, measure it whole, and fit D' to all tables measured so far, each weighted by its noise and
met no better than its noise warrants.
"""

import dataclasses
import itertools
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, comb, log, sqrt
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from thresher.answers import FromRows, FromRowsAndTables
from thresher.error_bars import miss_of, overlooked
from thresher.errors import ParameterError
from thresher.mechanisms.estimate import Estimate, multiply_adds_per_second
from thresher.mechanisms.journal import Wall
from thresher.mechanisms.mechanism import Mechanism, Outcome, Progress
from thresher.mechanisms.rap import LATE, targets_of
from thresher.privacy.curator import Measurement
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.relaxed.projection import Stopping, project
from thresher.relaxed.rows import RelaxedRows
from thresher.relaxed.sparsemax import sparsemax
from thresher.schema import Schema
from thresher.tables import slabs_of

ONE_WAY_SHARE = Fraction(1, 2)
"""What each one-way table gets, as a share of a round."""

ONE_WAY_SHARE_OF_ANY = Fraction(2)
"""The same where a threshold asks for any of its features (r = 1): its answers add them up."""

SELECTION_SHARE = Fraction(1, 3)
"""What choosing a table gets of its round; the rest measures it."""

UNASKED_SHARE = Fraction(1, 16)
"""What the one-way table of a feature gets that is not in the workload: a future query may ask."""

OWN_SHARE = 0.3
"""How much of a row of the first D' is one record drawn from the product of the one-way tables."""

ITERATIONS = 10
"""The most iterations of a fit after a round; the next round goes on from there."""

LARGEST_OWN_TABLE = 1 << 18
"""The most cells of a workload's own table that D' is fitted to, for the sake of time."""
CELLS_PER_RECORD = 4
"""And the most per record."""

MOST_SUBSETS = 5000
"""Subsets of one size that a threshold is taken apart into; of wide ones, only small subsets."""


@dataclass(frozen=True, kw_only=True)
class AdaptiveTables(Mechanism):
    """Choose the table that D' answers worst, measure it whole, fit D', repeat.

    Candidates are all subsets of the workload's feature sets: a table of an r-of-k threshold is a
    sum of marginal tables over r or more of its features, so one set of candidates serves every r.

    Attributes:
        rounds: Tables that are chosen and measured one by one; by a public rule if not given.
        own_tables: Whether every table of the workload is measured before; by a public rule if not
            given.
        synthetic_rows: n', the number of relaxed rows.
        largest_table: The most cells of a table that is measured; n if not given, or 4n where all
            own tables are, and at most 262,144. In larger tables most cells are empty, and what
            is in the others shows in the smaller tables they add up to.
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

    def run(self, curator: Wall, rho: Fraction, workload: Workload, progress: Progress) -> Outcome:
        """One-way tables, the workload's own if they are few, then `rounds` of select and fit."""
        assert self.rounds is not None
        schema, limit = curator.schema, curator.spent + rho
        asked = {name for threshold in workload for name in threshold.features}
        singles = [Threshold((name,)) for name in schema.names if name in asked]
        unasked = [Threshold((name,)) for name in schema.names if name not in asked]
        candidates = self.candidates(workload)
        own = self._own(workload, candidates) if self.own_tables else []
        rounds = self.rounds if candidates else 0
        asks_for_any = any(threshold.r == 1 < threshold.k for threshold in workload)
        shares = len(singles) * (ONE_WAY_SHARE_OF_ANY if asks_for_any else ONE_WAY_SHARE)
        whole_round = rho / (shares + UNASKED_SHARE * len(unasked) + len(own) + rounds)
        measured = []
        if unasked:
            measured += curator.measure(unasked, rho=UNASKED_SHARE * len(unasked) * whole_round)
        later = (len(own) + rounds) * whole_round
        measured += curator.measure(singles, rho=limit - curator.spent - later)
        rows = near_product(measured, schema, self.synthetic_rows, self.seed)
        rows = _fitted(rows, measured, schema, Stopping(iterations=10 * ITERATIONS))
        if own:
            measured += curator.measure(own, rho=limit - curator.spent - rounds * whole_round)
            rows = _fitted(rows, measured, schema, Stopping(iterations=10 * ITERATIONS))
        if not rounds:
            progress(1, 1, "one-way tables fitted")
        foreseen: list[tuple[Measurement, npt.ArrayLike]] = []
        for t in range(rounds):
            part = (limit - curator.spent) / (rounds - t)
            for_selection = SELECTION_SHARE * part
            sigma = 1.0 / sqrt(float(part - for_selection))
            handicaps = [ceil(sigma * sqrt(2 * log(cells))) for cells in candidates.values()]
            answers = FromRows(rows, schema)
            chosen = curator.select_table(
                list(candidates), answers.table, handicaps, rho=for_selection
            )
            measured += curator.measure([chosen], rho=part - for_selection)
            if t >= rounds - max(1, rounds // LATE):
                [whole] = slabs_of(chosen.shape(schema), candidates[chosen])
                foreseen.append((measured[-1], answers.table(chosen)(whole)))
            rows = _fitted(rows, measured, schema, Stopping(iterations=ITERATIONS, window=20))
            progress(t + 1, rounds, " × ".join(chosen.features))
        miss = None
        if rounds:
            miss = miss_of(foreseen, overlooked(len(candidates), for_selection, curator.n))
        return FromRowsAndTables.of(rows, schema, miss, measured), measured

    def _own(self, workload: Workload, candidates: dict[Threshold, int]) -> list[Threshold]:
        """The workload's own marginal tables, those that may be measured."""
        index = workload.schema.index
        sets = (Threshold(tuple(sorted(t.features, key=index))) for t in workload if t.r == t.k)
        return [table for table in dict.fromkeys(sets) if table in candidates]

    def candidates(self, workload: Workload) -> dict[Threshold, int]:
        """The tables that may be chosen, with their numbers of cells."""
        schema = workload.schema
        assert self.largest_table is not None
        found: dict[Threshold, int] = {}
        for threshold in workload:
            ordered = sorted(threshold.features, key=schema.index)
            for size in range(2, threshold.k + 1):
                if comb(threshold.k, size) > MOST_SUBSETS:
                    break
                for subset in itertools.combinations(ordered, size):
                    table = Threshold(subset)
                    cells = table.query_count(schema)
                    if 1 < cells <= self.largest_table:
                        found[table] = cells
        return found

    def can_measure(self, n: int, workload: Workload) -> bool:
        """Whether tables tell something of every threshold, by two features of it if it has two."""
        told = {frozenset(table.features) for table in self._up_to(n).candidates(workload)}
        return all(
            threshold.k == 1
            or any(
                frozenset(pair) in told for pair in itertools.combinations(threshold.features, 2)
            )
            for threshold in workload
        )

    def _up_to(self, cells: int) -> "AdaptiveTables":
        return dataclasses.replace(self, largest_table=self.largest_table or cells)

    def resolved(self, n: int, rho: Fraction, workload: Workload) -> "AdaptiveTables":
        """With what to measure: as given, or by a rule that uses public facts only.

        More tables teach more, each with more noise, √(tables/ρ)/n. So their number grows with
        √(n√ρ), as T·K does for RAP. If the workload has no more marginal tables than that, all of
        them are measured, and a quarter as many rounds look for what they leave open. Otherwise
        the rounds are a third of it, or enough to measure every candidate twice if that is less.
        """
        for name in ("rounds", "synthetic_rows", "largest_table"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < 1):
                raise ParameterError(f"{name} must be a whole number of at least 1, not {value!r}")
        if not isinstance(self.seed, int) or self.seed < 0:
            raise ParameterError(f"seed must be a whole number of at least 0, not {self.seed!r}")
        affordable = sqrt(n * sqrt(float(rho)))
        with_own = self._up_to(min(CELLS_PER_RECORD * n, LARGEST_OWN_TABLE))
        own = len(self._own(workload, with_own.candidates(workload)))
        all_own = own <= affordable if self.own_tables is None else self.own_tables
        all_own = bool(all_own and own)
        settled = with_own if all_own else self._up_to(n)
        candidates = len(settled.candidates(workload))
        wanted = max(4, ceil(own / 4)) if all_own else ceil(affordable / 3)
        rounds = self.rounds or max(1, min(wanted, 2 * candidates))
        return dataclasses.replace(settled, own_tables=all_own, rounds=rounds if candidates else 1)

    def estimate(self, n: int, rho: Fraction, workload: Workload) -> Estimate:
        """Every candidate looked at, and half of the measured tables fitted, in every round."""
        assert self.rounds is not None
        candidates = self.candidates(workload)
        cells = sum(candidates.values())
        measured = [candidates[table] for table in self._own(workload, candidates)]
        measured = measured if self.own_tables else []
        chosen = self.rounds * cells / max(1, len(candidates))
        fitting = 4 * ITERATIONS * (sum(measured) + chosen / 2)
        # Products of such thin matrices reach about a quarter of the speed of large ones.
        looking = 4 * (self.rounds * (cells + fitting) + 10 * fitting)
        memory = 12 * 4 * workload.schema.width * self.synthetic_rows + (1 << 29)
        return Estimate(
            seconds=looking * self.synthetic_rows / multiply_adds_per_second(),
            memory=int(memory + 20 * (sum(measured) + chosen)),
            advice="take fewer rounds or thresholds, or a smaller largest_table",
        )


def near_product(one_way: list[Measurement], schema: Schema, rows: int, seed: int) -> RelaxedRows:
    """Relaxed rows near the product of noisy one-way tables, each with a little of its own.

    The product is what one-way tables say and no more. Rows that were all alike could never
    become different, as they would all have the same gradient; so each leans to a record of its
    own, drawn from the product.
    """
    rng = np.random.default_rng(seed)
    known = {m.target.features[0]: m.answers for m in one_way if isinstance(m.target, Threshold)}
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


def _fitted(
    rows: RelaxedRows, measured: list[Measurement], schema: Schema, stopping: Stopping
) -> RelaxedRows:
    return project(rows, targets_of(measured, schema), stopping=stopping).rows
