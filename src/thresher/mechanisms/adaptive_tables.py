"""Adaptive tables: RAP's loop on whole marginal tables in place of single queries.

A whole table costs only √2 more than one of its cells. So: measure all one-way tables; start D'
near their product; then, round by round, choose the table that D' answers worst beyond what its
measurement would blur anyway, measure it whole, and fit D' to all tables measured so far, each
weighted by its noise and met no better than its noise warrants.
"""

import dataclasses
import itertools
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log, sqrt
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from thresher.answers import FromRows
from thresher.errors import ParameterError
from thresher.mechanisms.estimate import Estimate, multiply_adds_per_second
from thresher.mechanisms.journal import Wall
from thresher.mechanisms.mechanism import Mechanism, Outcome, Progress
from thresher.mechanisms.rap import targets_of
from thresher.privacy.curator import Measurement
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.relaxed.projection import Stopping, project
from thresher.relaxed.rows import RelaxedRows
from thresher.relaxed.sparsemax import sparsemax
from thresher.schema import Schema

ONE_WAY_SHARE = Fraction(1, 2)
"""What each one-way table gets, as a share of a round."""

SELECTION_SHARE = Fraction(1, 4)
"""What choosing a table gets of its round; the rest measures it."""

OWN_SHARE = 0.3
"""How much of a row of the first D' is one record drawn from the product of the one-way tables."""

ITERATIONS = 20
"""The most iterations of a fit after a round; the next round goes on from there."""


@dataclass(frozen=True, kw_only=True)
class AdaptiveTables(Mechanism):
    """Choose the table that D' answers worst, measure it whole, fit D', repeat.

    Candidates are all subsets of the workload's feature sets: a table of an r-of-k threshold is a
    sum of marginal tables over r or more of its features, so one set of candidates serves every r.

    Attributes:
        rounds: Tables chosen and measured beyond the one-way tables; by a public rule if not given.
        synthetic_rows: n', the number of relaxed rows.
        largest_table: The most cells of a candidate; n if not given. In larger tables most cells
            are empty, and what is in the others shows in the smaller tables they add up to.
        seed: Seeds the random start of D', which is public and protects nothing.

    Example:
        >>> import thresher as th
        >>> data = th.datasets.adult()
        >>> work = th.Workload.random(data.schema, k=2, size=3, seed=0)
        >>> release = AdaptiveTables(epsilon=1.0, rounds=2, synthetic_rows=50).fit(data, work)
        >>> len(release.measurements) - 2 == len({f for t in work for f in t.features})
        True
    """

    name: ClassVar[str] = "tables"

    rounds: int | None = None
    synthetic_rows: int = 1000
    largest_table: int | None = None
    seed: int = 0

    def run(self, curator: Wall, rho: Fraction, workload: Workload, progress: Progress) -> Outcome:
        """One-way tables first, then `rounds` of: select a table, measure it, fit D'."""
        assert self.rounds is not None
        schema, limit = curator.schema, curator.spent + rho
        singles = [Threshold((name,)) for name in _features(workload)]
        candidates = self.candidates(workload)
        rounds = self.rounds if candidates else 0
        whole_round = rho / (ONE_WAY_SHARE * len(singles) + rounds)
        measured = curator.measure(singles, rho=rho - rounds * whole_round)
        rows = near_product(measured, schema, self.synthetic_rows, self.seed)
        rows = _fitted(rows, measured, schema, Stopping(iterations=5 * ITERATIONS))
        if not candidates:
            progress(1, 1, "one-way tables fitted")
        for t in range(rounds):
            part = (limit - curator.spent) / (self.rounds - t)
            for_selection = SELECTION_SHARE * part
            sigma = 1.0 / sqrt(float(part - for_selection))
            handicaps = [ceil(sigma * sqrt(2 * log(cells))) for cells in candidates.values()]
            chosen = curator.select_table(
                list(candidates), FromRows(rows, schema).table, handicaps, rho=for_selection
            )
            measured += curator.measure([chosen], rho=part - for_selection)
            rows = _fitted(rows, measured, schema, Stopping(iterations=ITERATIONS, window=20))
            progress(t + 1, self.rounds, " × ".join(chosen.features))
        return FromRows(rows, schema), measured

    def candidates(self, workload: Workload) -> dict[Threshold, int]:
        """The tables that may be chosen, with their numbers of cells."""
        schema = workload.schema
        assert self.largest_table is not None
        found: dict[Threshold, int] = {}
        for threshold in workload:
            ordered = sorted(threshold.features, key=schema.index)
            for size in range(2, threshold.k + 1):
                for subset in itertools.combinations(ordered, size):
                    table = Threshold(subset)
                    cells = table.query_count(schema)
                    if 1 < cells <= self.largest_table:
                        found[table] = cells
        return found

    def resolved(self, n: int, rho: Fraction, workload: Workload) -> "AdaptiveTables":
        """With the number of rounds: as given, or by a rule that uses public facts only.

        More rounds teach more, each with more noise, √(T/ρ)/n. T grows with √(n√ρ), and not beyond
        what it takes to measure every candidate twice.
        """
        for name in ("rounds", "synthetic_rows", "largest_table"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < 1):
                raise ParameterError(f"{name} must be a whole number of at least 1, not {value!r}")
        settled = dataclasses.replace(self, largest_table=self.largest_table or n)
        candidates = len(settled.candidates(workload))
        rounds = self.rounds or min(ceil(0.75 * sqrt(n * sqrt(float(rho)))), 2 * candidates)
        return dataclasses.replace(settled, rounds=max(1, rounds) if candidates else 1)

    def estimate(self, n: int, rho: Fraction, workload: Workload) -> Estimate:
        """Every candidate looked at, and half of the measured tables fitted, in every round."""
        assert self.rounds is not None
        candidates = self.candidates(workload)
        cells = sum(candidates.values())
        mean = cells / max(1, len(candidates))
        fitting = ITERATIONS * 3 * mean * self.rounds / 2
        seconds = self.rounds * self.synthetic_rows * (cells + fitting) / multiply_adds_per_second()
        memory = 12 * 4 * workload.schema.width * self.synthetic_rows + (1 << 29)
        return Estimate(
            seconds=seconds,
            memory=int(memory + 16 * mean * self.rounds),
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


def _features(workload: Workload) -> list[str]:
    named = {name for threshold in workload for name in threshold.features}
    return [name for name in workload.schema.names if name in named]
