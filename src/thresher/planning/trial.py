"""A trial: the mechanism itself, run on made-up people, and what that says about a real fit."""

import dataclasses
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, islice
from math import exp, log
from typing import Any

import numpy as np

from thresher.data.private import PrivateData
from thresher.data.viewed import counts_of
from thresher.errors import BudgetError, QueryError, ResourceError
from thresher.evaluation.errors import errors_of
from thresher.evaluation.typical import typical_cell, typical_error
from thresher.mechanisms.estimate import Estimate
from thresher.mechanisms.fitting import check_only_measures
from thresher.mechanisms.mechanism import Mechanism
from thresher.planning.like import Shares
from thresher.privacy.budget import Budget, epsilon_of
from thresher.privacy.measurements import Measurement, ResidualMeasurement, TableMeasurement
from thresher.privacy.randomness import InsecureSeededRandomness
from thresher.privacy.unit import Unit
from thresher.queries.condition import Condition
from thresher.queries.query import Query
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.release import Release
from thresher.schema import Schema

TRIAL_ROWS = 300
"""Rows of D' in a trial, at the most. With 1,000, errors were the same and trials twice as long."""

MOST_ASKED = 100
"""Margins of error are asked for at so many thresholds and features, at the most."""

MARGINS = ("cell_margin", "one_way_margin", "threshold_margin")

LONGEST_TRIAL = 120.0
"""Seconds of a fit beyond which there is no trial: its time and memory are told, and no errors."""


MOST_TRIED = 20_000
"""Thresholds beyond which there is no trial: looking up all errors takes too long."""


@dataclass(frozen=True)
class Measured:
    """Measurements of one kind that a fit would make.

    Attributes:
        kind: What is measured: `one-way tables`, `tables`, `residuals` or `queries`.
        number: How many.
        sigma: The smallest and the largest standard deviation of their noise, in people.
    """

    kind: str
    number: int
    sigma: tuple[float, float]

    def __str__(self) -> str:
        low, high = (f"{sigma:.3g}" for sigma in self.sigma)
        noise = low if low == high else f"{low} to {high}"
        return f"{self.number:,} {self.kind} (standard deviation {noise} people)"


@dataclass(frozen=True)
class ExpectedErrors:
    """The errors that were found in trials, as fractions.

    Attributes:
        largest: The largest error over the workload.
        typical: The median error over the workload's cells with 1 % of the people or more.
        cell_margin: The margin of error of such a cell of the workload's marginal tables.
        one_way_margin: That of the share of one value.
        threshold_margin: That of an answer to a threshold with r < k; None if there is none.
        by_threshold: The largest error of each threshold.
        of_zeros: About the largest error if every answer were 0.
    """

    largest: float
    typical: float
    cell_margin: float | None
    one_way_margin: float | None
    threshold_margin: float | None
    by_threshold: tuple[float, ...]
    of_zeros: float


@dataclass(frozen=True)
class ExpectedFit:
    """What a fit at one budget would take and achieve.

    Attributes:
        budget: The budget.
        epsilon: Its ε.
        delta: Its δ.
        mechanism: The mechanism that would run.
        estimate: The time and memory that the fit would take.
        measured: What would be measured; empty without a trial.
        errors: What errors to expect; None without a trial.
        impossible: Why such a fit would be refused, or there was no trial; empty if neither.
    """

    budget: Budget
    epsilon: float
    delta: float
    mechanism: str
    estimate: Estimate
    measured: tuple[Measured, ...]
    errors: ExpectedErrors | None
    impossible: str = ""

    @property
    def rho(self) -> Fraction:
        """The ρ that it would spend."""
        return self.budget.rho

    def expected(self, name: str) -> float | None:
        """One of the errors or margins by its name; None if it is not known."""
        return None if self.errors is None else getattr(self.errors, name)

    def as_json(self) -> dict[str, Any]:
        """As plain JSON values. Errors are fractions, time is in seconds, memory in bytes."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "rho": float(self.rho),
            "largest_error": self.expected("largest"),
            "typical_error": self.expected("typical"),
            **{name: self.expected(name) for name in MARGINS},
            "seconds": round(self.estimate.seconds, 3),
            "memory": self.estimate.memory,
            "mechanism": self.mechanism,
            "measured": [dataclasses.asdict(measured) for measured in self.measured],
            "impossible": self.impossible or None,
        }


@dataclass(frozen=True)
class Trials:
    """How fits are forecast: by the mechanism itself, run on made-up people.

    Attributes:
        mechanism: The mechanism; its budget is not used.
        workload: The thresholds to be answered well.
        n: The number of records or persons.
        unit: What the promise protects.
        people: The made-up people; a trial on each of them.
        shares: How frequent values are, where that is publicly known.
        counts_only: Whether the fit will be paid from a ledger for noisy counts only.
    """

    mechanism: Mechanism
    workload: Workload
    n: int
    unit: Unit
    people: Sequence[PrivateData]
    shares: Shares | None = None
    counts_only: bool = False

    def untried(self, budget: Budget) -> ExpectedFit:
        """What is known about a fit without any trial: its time and memory.

        Args:
            budget: What it may spend. Its δ is 1/n² if it has none.
        """
        worth = self.unit.worth(self.n)
        procedure = self.mechanism.resolve(worth, budget.rho, self.workload)
        delta = budget.delta or Fraction(1, max(2, worth) ** 2)
        epsilon = (
            epsilon_of(budget.rho, delta, budget.curve)
            if budget.epsilon is None
            else budget.epsilon
        )
        estimate = procedure.estimate(self.n)
        impossible = ""
        try:
            if self.counts_only:
                known = self.unit.total_is_public
                check_only_measures(procedure, self.mechanism.never_selects, n_is_known=known)
            estimate.check()
        except (BudgetError, ResourceError) as fault:
            impossible = str(fault)
        too_long = estimate.seconds > LONGEST_TRIAL or len(self.workload) > MOST_TRIED
        if not impossible and too_long:
            impossible = f"a trial takes too long ({estimate}): plan a part of the workload"
        return ExpectedFit(
            budget, float(epsilon), float(delta), procedure.name, estimate, (), None, impossible
        )

    def tried(self, fit: ExpectedFit) -> ExpectedFit:
        """The same fit with the errors that trials have, unless they are impossible."""
        if fit.impossible:
            return fit
        releases = [self._release(fit.budget, p, i) for i, p in enumerate(self.people)]
        errors = [
            errors_found(release, people, self.workload)
            for release, people in zip(releases, self.people, strict=True)
        ]
        measured = tuple(_kinds(releases[0].measurements))
        return dataclasses.replace(fit, measured=measured, errors=_together(errors))

    def _release(self, budget: Budget, people: PrivateData, seed: int) -> Release:
        changes: dict[str, Any] = {
            "epsilon": None, "delta": None, "rho": budget.rho, "accounting": budget.curve
        }  # fmt: skip
        rows = getattr(self.mechanism, "synthetic_rows", None)
        if rows is not None:
            changes["synthetic_rows"] = min(rows, TRIAL_ROWS)
        return dataclasses.replace(self.mechanism, **changes).fit(
            people,
            self.workload,
            unit=Unit(self.unit.neighbours),
            randomness=InsecureSeededRandomness(seed),
            progress=False,
        )


def _kinds(measurements: Iterable[Measurement]) -> Iterable[Measured]:
    """What was measured, by kind."""
    kinds: dict[str, list[float]] = {}
    for m in measurements:
        if isinstance(m, TableMeasurement):
            kind = "one-way tables" if m.threshold.k == 1 else "tables"
        else:
            kind = "residuals" if isinstance(m, ResidualMeasurement) else "queries"
        kinds.setdefault(kind, []).append(m.sigma)
    for kind, sigmas in kinds.items():
        yield Measured(kind, len(sigmas), (min(sigmas), max(sigmas)))


def errors_found(release: Release, people: PrivateData, workload: Workload) -> ExpectedErrors:
    """The errors and margins of a release of people that are known. Not for publication.

    Args:
        release: The release.
        people: The people that it is of.
        workload: The thresholds to compare on.
    """
    table = release.source.table
    by_threshold = errors_of(table, people, workload).by_threshold
    some = workload.thresholds[:: max(1, len(workload) // MOST_ASKED)]
    names = list(dict.fromkeys(name for t in workload for name in t.features))[:MOST_ASKED]
    return ExpectedErrors(
        largest=max(by_threshold),
        typical=typical_error(table, people, workload),
        cell_margin=_margin(release, people, [(t.features, t.k) for t in some]),
        one_way_margin=_margin(release, people, [((name,), 1) for name in names]),
        threshold_margin=_margin(release, people, [(t.features, t.r) for t in some if t.r < t.k]),
        by_threshold=by_threshold,
        of_zeros=max(_commonest(people, workload.schema, t) for t in workload) / people.n,
    )


def _commonest(people: PrivateData, schema: Schema, threshold: Threshold) -> int:
    """About the largest count of a threshold: at least that of any r of its values together."""
    [table] = counts_of(people, schema, [threshold.features])
    some = islice(combinations(range(threshold.k), threshold.r), MOST_ASKED)
    return max(int(table.onto(axes).counts.max()) for axes in some)


def _margin(
    release: Release, people: PrivateData, asked: Sequence[tuple[tuple[str, ...], int]]
) -> float | None:
    """The median margin of error, each asked at a typical cell."""
    margins = []
    for features, r in asked:
        [table] = counts_of(people, release.schema, [features])
        place = typical_cell(table.counts, people.n)
        codes = np.unravel_index(int(table.cells[place]), table.shape)
        pairs = zip(features, codes, strict=True)
        query = Query([Condition(name, [int(code)]) for name, code in pairs], r)
        # A source of noisy tables alone has no answers to other thresholds.
        with suppress(QueryError):
            margins.append(release.answer(query).error_bar)
    known = [margin for margin in margins if margin is not None]
    return float(np.median(known)) if known else None


def _together(errors: Sequence[ExpectedErrors]) -> ExpectedErrors:
    """The geometric means over trials."""

    def mean(values: Iterable[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        if not known:
            return None
        return exp(sum(log(max(value, 1e-12)) for value in known) / len(known))

    def of(name: str) -> float | None:
        return mean(getattr(found, name) for found in errors)

    by_threshold = zip(*(found.by_threshold for found in errors), strict=True)
    return ExpectedErrors(
        largest=of("largest") or 0.0,
        typical=of("typical") or 0.0,
        cell_margin=of("cell_margin"),
        one_way_margin=of("one_way_margin"),
        threshold_margin=of("threshold_margin"),
        by_threshold=tuple(mean(values) or 0.0 for values in by_threshold),
        of_zeros=of("of_zeros") or 0.0,
    )
