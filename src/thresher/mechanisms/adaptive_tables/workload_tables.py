"""The tables that a workload's answers need most: which may be measured, and which are affordable.

An r-of-k answer adds up marginals over r and more of its features. There are three ways to measure
them.

- *Jointly*: the marginal over all k features, by the residuals of all its subsets. Then the answer
  follows from what was measured, whatever D' says.
- *Pairs*, for marginals (r = k): all pairs of features, by their residuals. What more features have
  in common is left to rounds or, where there is much noise, to D'.
- *Few features*, for r < k: the marginals over r features (two if r = 1), by their residuals, to
  which D' is fitted. What more features have in common is left to D' (and for r > 1, if there is
  little noise, to rounds), so errors do not vanish with the noise. But there are fewer and smaller
  tables, so that much more noise can be borne.

The rules use n, ρ, the schema and the workload, which are public; `plan` says where their constants
are from. The unit of noise is 1/(n√ρ), that of one table that is measured with the whole budget.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import inf, log, prod, sqrt
from typing import Literal

from thresher.mechanisms.adaptive_tables.candidates import marginals_of, workload_tables_of
from thresher.mechanisms.residual import ResidualPlan
from thresher.privacy.unit import Unit
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload

Optimise = Literal["max", "mean"]
"""Which error over a workload is to be small: the largest, or the mean."""

AFFORDABLE, AFFORDABLE_POWER = 4.0, 2 / 3
"""All tables of a workload are measured if their largest noise is below 4·(n√ρ)^(-2/3).

The largest noise of N cells is about σ·√(2 ln N). What rounds leave falls about as (n√ρ)^(-2/3), so
one constant tells which is better. Marginals, largest error with all tables, with rounds only, and
the largest noise in units of (n√ρ)^(-2/3): all 3-way of accidents at ε = 1 0.0078, 0.0095 and 2.6,
at 0.1 0.073, 0.057 and 5.4; 64 3-way of movies at 0.1 0.026, 0.039 and 3.7; vote at 0.1 0.031,
0.029 and 3.6; ADULT, 5,000 records at 1 0.038, 0.030 and 4.3; ADULT at 0.1 0.044, 0.042 and 4.4;
Lending Club extract at 0.1 0.056, 0.033 and 5.2.
"""

AFFORDABLE_OF_TWO = 5.25
"""The same where no threshold has more than two features: what rounds choose from are then these
tables themselves.

64 pairs, largest error with all of them in place of rounds only (mean over thresholds), and the
largest noise (two or three seeds): churn at ε = 0.1 0.78 (1.02) and 4.2, vote at 0.03 0.78 (1.19)
and 4.3, movies at 0.03 0.79 (0.88) and 4.3, ADULT, 5,000 records at 0.3 0.72 (0.90) and 5.2, ADULT
at 0.03 0.81 (0.94) and 5.4, happiness at 0.03 0.83 (0.98) and 5.7, churn at 0.03 1.00 (1.10) and
6.2, ADULT at 0.01 1.31 (1.09) and 7.6. With other workloads and seeds: vote 0.66 (1.09) and 4.4,
loans of 2018 at 0.3 0.78 (1.09) and 4.4, churn 0.86 (1.08) and 4.4, movies at 0.02 0.91 (1.13) and
5.0, ADULT at 0.03 1.06 (1.04) and 5.4; all pairs of ADULT at 0.1 0.93 (0.90) and 4.4, of vote at
0.1 0.92 (1.11) and 5.0. The Lending Club extract, few of whose features depend on each other, has
0.86 (1.52) at 4.3.
"""

SMALL_LOAD, MUCH_LESS, NOISE_OF_PAIRS = 1 / 4, 0.8, 4.5
"""All pairs are measured in place of marginals over more features, and rounds find out where these
matter, if the load of the marginals is above 1/4 and the largest noise of the pairs at most 0.8
times as large; or if the marginals cannot be afforded, and the largest noise of the pairs is below
4.5·(n√ρ)^(-2/3).

Largest error with pairs and rounds, against all tables or rounds only (seeds 0, 1): where pairs are
much less, 64 3-way of insteval at ε = 0.05 0.74 and 0.89, birthdays at 0.01 0.53, fertility at 0.01
0.97 and 0.89, all 3-way of accidents at 0.3 0.79, at 1 1.04 and 0.98, of churn at 10 1.22. Where
marginals cannot be afforded, 64 3-way of ADULT at 0.1 0.86, 0.83 and 0.96, all 3-way of ADULT at
0.1 0.85, at 1 1.07, of vote at 1 0.91. Elsewhere they lose: 64 3-way of ADULT at 0.2 1.54,
accidents at 0.2 1.30 and at 0.025 1.48.
"""

CLEAR, HIDDEN, AFFORDABLE_PAIRS, AT_MOST_HALF = 400.0, 0.04, 10.0, 0.5
"""Where n√ρ is below 400, rounds find little. Pairs are then measured without any, if the largest
noise of all tables is above 0.04, a share of people, or too large to be afforded: it hides most of
what three and more features have in common beyond their pairs. But the largest noise of the pairs
must be below 10·(n√ρ)^(-2/3), or half of the people.

Largest error, and mean over thresholds, with pairs in place of all tables (two seeds), and the
largest noise of all tables: 16 3-way of churn at ε = 0.1 1.15 (0.88) and 0.17, of ADULT at 0.03
0.84 (0.66) and 0.13, of vote at 0.03 0.90 (0.65) and 0.09, of happiness at 0.1 1.28 (0.77) and
0.08, of accidents at 0.1 0.76 (0.76) and 0.05, of fertility at 0.01 0.71 (0.64) and 0.045; 64 3-way
of churn at 0.3 0.78 (0.75) and 0.10, of accidents at 0.1 0.69 (0.72) and 0.08. Above 400 they are
left as they were: 16 3-way of ADULT at 0.1 had 1.40 (0.94) at 0.04, 64 3-way of movies at 0.1 1.11
(0.86) at 0.055.

In place of rounds only, and the largest noise of the pairs: 64 3-way of churn at ε = 0.1 0.62
(0.95), of happiness at 0.1 0.72 (0.96) and 9.3, of vote at 0.03 0.88 (0.96) and 8.3, of ADULT at
0.03 0.97 (0.83) and 8.0. Above 10, but
below half: of star at 0.1 0.86 (0.79) and 0.47 (0.65), of injury 0.75 (0.81) and 0.98 (1.05), of
alcohol 0.89 (0.97) and 0.85 (0.95), of the Lending Club extract at 0.03 1.35 (1.09) and 1.30
(1.10). Above both: of happiness at 0.03 1.24 (1.08) and 0.53 (0.82), of churn 1.20 (0.93) and 0.90
(0.86), of wvs 0.77 (0.94) and 0.96 (1.07), of ADULT at 0.01 0.86 (0.65), of movies 0.92 (0.92) and
1.43 (1.02), of vote 1.06 (1.30), of nlswork 1.39 (0.68), of ADULT, 5,000 records at 0.1 1.01
(0.98). The Lending Club extract is an exception: few of its features depend on each other, and
rounds find those (16 3-way at ε = 0.01 1.45 (1.46); 5,000 records, 64 3-way at 0.1 1.64 (0.56)).
"""

HIDDEN_IN_THE_MEAN = 0.0125
"""For the mean error, pairs are measured without rounds wherever the largest noise of all tables is
above 0.0125, a share of people, or too large to be afforded.

Total variation (and mean over thresholds of the largest error) with pairs in place of all tables,
one seed of 37 cells of 11 tables. Below: 0.85 to 1.43, in 15 of 18 cells above 1 (64 3-way of
movies at ε = 1 1.20 (1.66) and 0.005, accidents at 1 1.07 (1.10) and 0.007; Lending Club extract at
1 0.85 (0.91) and 0.0085). Above: 0.77 to 1.00, and once 1.03 (16 3-way of vote at 0.1 0.77 (0.90)
and 0.019, 64 3-way of churn at 1 0.94 (0.99) and 0.025, accidents at 0.3 0.86 (0.81) and 0.022).
In place of rounds, or of pairs and rounds, 64 3-way at ε = 0.1: ADULT 0.74 (0.98), movies 0.54
(0.82), vote 0.73 (0.91), Lending Club extract 0.83 (0.91), ADULT, 5,000 records 0.89 (0.99).
"""

FAR_TOO_MANY = 8.0
"""If the load of tables that share no residuals is larger, residuals do not change that."""

AFFORDABLE_JOINTLY = 5.25
"""The same for the r-of-k answers that follow from marginals over all k features.

Largest error jointly and with tables of few features, each measured by itself, and the largest
noise: 64 1-of-3 at ε = 1, fertility 0.0008, 0.0032 and 1.1; movies 0.0088, 0.0125 and 5.1;
happiness (two seeds) 0.020, 0.024 and 0.033, 0.023 at 5.5; ADULT 0.0125, 0.0093 and 6.5; at
ε = 0.1, fertility 0.0069, 0.0084 and 2.4, accidents 0.068, 0.054 and 6.8. 64 2-of-4 at ε = 1,
accidents (two seeds) 0.016, 0.018 and 0.024, 0.017 at 6.0.
"""

AFFORDABLE_OF_ANY = 14.0
"""The same where r-of-k answers come from residuals of few features, and D' fills in the rest.

Largest error in place of that with rounds only (two seeds), and the largest noise: 64 1-of-3 at
ε = 0.1, Lending Club extract 0.88 times and 7.6, happiness 0.83 and 8.8, churn 0.56 and 9.3; at
ε = 0.01, accidents 0.86 and 10.1, ADULT 0.72 and 11.0, happiness 1.08 and 18.3.
"""

LITTLE_NOISE = 4.0
"""If the largest noise of tables of few features is below 4·(n√ρ)^(-2/3), and some threshold asks
for two or more of its features, rounds find out where more features matter.

64 2-of-4 at ε = 1, where it is 2.5 to 3: largest error with rounds and without, against tables that
were measured one by one: accidents 0.92 and 1.45, vote 1.03 and 1.14, ADULT 0.79 and 0.83. At
ε = 0.1, where it is 5 to 12, rounds had 0.97 and no rounds 0.86 (five tables). 64 1-of-3 need none:
with a tenth of the budget for rounds, ADULT had 0.86 in place of 0.81 at ε = 1.
"""

ERRORS_OF_MARGINS = {1: 3.0, 2: 6.0}
"""How many times the largest error of the tables that of their margins over one and two features
may be. What is best for the tables alone can leave them out: on 16 marginals of ADULT and of loans
of 2018, the largest standard deviation of a one-way cell was 17 and 34 times that of a cell of the
tables. This makes it 3.4 and 3.9 times, and costs the tables 1 and 3 %, but on 64 marginals less
than 1 %. With 2 and 4 it would be 2.3 and 2.6 times, for 4 and 8 %.
"""

MOST_WAYS, MOST_FEATURES, MOST_CELLS_OF_RESIDUALS = 1 << 22, 10, 1 << 27
"""The most ways in which the features of residuals can differ, 3^k for a table of k features, the
most features of one, and the most cells of the tables over all subsets of these features.

Beyond, it takes too long to find out what residuals cost or to fit D' to them (34 s for a gradient
of one table of 13 features, 0.8 s of 10), or too much memory to measure them, and tables are
measured one by one.
"""

CELLS_PER_RECORD, MOST_CELLS_FITTED = 4, 1 << 18
"""Where the workload's tables are measured, D' is fitted to tables of at most 4n or 2^18 cells.

Larger tables take too long to fit. Without the workload's tables, the limit is n: candidates of up
to 4n cells had 0.037 in place of 0.033 (64 marginals of ADULT, ε = 0.1).
"""

LEAST_CELLS_FITTED = 50_000
"""But never less than this. The noise of a candidate is charged for in any case (`noise_to_come`).

On 5,000 records, 64 marginals at ε = 1, a limit of n had 0.083 to 0.105 in place of 0.035 (ADULT).
"""

MOST_CELLS_CLAMPED_TO, LARGEST_CLAMPED_TO = 1 << 26, 1 << 24
"""The most cells of all workload tables together, and of one, if larger ones than D' is fitted to
are measured.

Answers are clamped to such tables, which have to be kept whole: about 3 GiB. On two made-up tables
(64 3-way marginals, 0.8 and 1.4 times 2^24 cells), the largest error with them was 1.01 and 0.99
times that without at ε = 0.3, 1.20 and 0.88 at 1, 0.88 and 0.90 at 3, 0.86 and 0.74 at 10.
"""


@dataclass(frozen=True)
class WorkloadTables:
    """Tables that the answers to a workload need most.

    Attributes:
        workload: The thresholds.
        cells: The tables that may be measured, with their numbers of cells.
        too_large: How many more there would be, if they were not too large.
        jointly: Whether they are the marginals over all features of each threshold.
        asked: The thresholds whose errors count, with features in the schema's order.

    Example:
        >>> from thresher.data.datasets import adult_schema
        >>> work = Workload.random(adult_schema(), 3, size=64, seed=0)
        >>> tables = WorkloadTables.of(48842, work, jointly=True)
        >>> len(tables.cells), round(tables.load(48842, Fraction(1, 50)), 2)
        (64, 0.25)
    """

    workload: Workload
    cells: Mapping[Threshold, int]
    too_large: int
    jointly: bool
    asked: tuple[Threshold, ...]

    @classmethod
    def of(
        cls, n: int, workload: Workload, largest_table: int | None = None, *, jointly: bool
    ) -> "WorkloadTables":
        """The tables of a workload that may be measured.

        A table that has the answers to a threshold may be larger than D' can be fitted to: answers
        are clamped to it. Any other table is of use only if D' is fitted to it.

        Args:
            n: The number of records.
            workload: The thresholds.
            largest_table: The most cells of a table that D' is fitted to, if it was given.
            jointly: Whether those over all features of each threshold are wanted.
        """
        schema, largest = workload.schema, largest_table or most_cells_fitted(n)
        needed = (
            table
            for threshold in workload
            for table in (
                marginals_of(threshold, threshold.k, schema)
                if jointly
                else workload_tables_of(threshold, schema)
            )
        )
        cells = {table: table.query_count(schema) for table in needed}
        cells = {table: size for table, size in cells.items() if size > 1}
        clamped_to: set[Threshold] = set()
        if sum(cells.values()) <= MOST_CELLS_CLAMPED_TO:
            answering = (Threshold(t.features) for t in workload if jointly or t.r == t.k)
            clamped_to = {table for table in answering if cells.get(table, 0) <= LARGEST_CLAMPED_TO}
        measurable = {
            table: size for table, size in cells.items() if size <= largest or table in clamped_to
        }
        answered = (t for t in workload if Threshold(t.features) in measurable)
        return cls(
            workload,
            measurable,
            len(cells) - len(measurable),
            jointly,
            tuple(Threshold(sorted(t.features, key=schema.index), t.r) for t in answered),
        )

    def for_larger(self, asked: tuple[Threshold, ...]) -> "WorkloadTables":
        """The same tables, measured for the sake of thresholds of more features.

        Args:
            asked: These thresholds, with features in the schema's order.
        """
        return replace(self, asked=asked)

    @property
    def leave_the_rest(self) -> bool:
        """Whether thresholds ask for more features together than the tables have."""
        return any(threshold.k > self._most_features for threshold in self.asked)

    @property
    def _most_features(self) -> int:
        return max((table.k for table in self.cells), default=0)

    @cached_property
    def residuals(self) -> ResidualPlan | None:
        """How to measure the tables by their residuals; None if they are measured one by one."""
        schema = self.workload.schema
        if not self.cells or sum(3**t.k for t in {*self.cells, *self.asked}) > MOST_WAYS:
            return None
        if self._most_features > MOST_FEATURES:
            return None
        # Every subset is counted, because each feature is in it or not.
        if sum(prod(1 + s for s in t.shape(schema)) for t in self.cells) > MOST_CELLS_OF_RESIDUALS:
            return None
        if not self.jointly:
            return ResidualPlan.by_size(self.cells, schema)
        margins = {
            margin: ERRORS_OF_MARGINS[size]
            for table in self.cells
            for size in ERRORS_OF_MARGINS
            for margin in marginals_of(table, size, schema)
        }
        return ResidualPlan.of(self.asked, schema, margins, self._most_features)

    def are_affordable(self, n: int, rho: Fraction) -> bool:
        """Whether to measure them all: if few are too large, and the noise of the others is small.

        Args:
            n: The number of records.
            rho: What they are measured with.
        """
        return self.too_large <= len(self.cells) and self.load(n, rho) <= 1.0

    def need_rounds(self, n: int, rho: Fraction) -> bool:
        """Whether rounds should find out where more features matter than the tables have.

        Args:
            n: The number of records.
            rho: What they are measured with.
        """
        some = any(1 < threshold.r < threshold.k for threshold in self.workload)
        least = (LITTLE_NOISE / self._affordable) ** 2
        return some and not self.jointly and self.load(n, rho) <= least

    def load(self, n: int, rho: Fraction) -> float:
        """The square of the largest noise of answers, in units of what can be afforded.

        Args:
            n: The number of records.
            rho: What they are measured with.
        """
        return (self.largest_noise(n, rho) / (self._affordable * _left_by_rounds(n, rho))) ** 2

    def largest_noise(self, n: int, rho: Fraction) -> float:
        """About the largest noise of answers, as a share of people.

        Args:
            n: The number of records.
            rho: What they are measured with.
        """
        if not self.cells:
            return 0.0
        tables = len(self.cells)
        sigma = sqrt(tables + self.too_large) / _precision(n, rho)
        one_by_one = sigma * sqrt(2 * log(max(2, sum(self.cells.values()))))
        most = sqrt(FAR_TOO_MANY) * self._affordable * _left_by_rounds(n, rho)
        if one_by_one > most or not self.jointly or self.residuals is None:
            return one_by_one
        sigmas = self.residuals.sigmas(self.asked, rho, Unit())
        cells = [tables * asked.query_count(self.workload.schema) for asked in self.asked]
        largest = max(sd * sqrt(2 * log(size)) for sd, size in zip(sigmas, cells, strict=True)) / n
        return float(largest * sqrt(1 + self.too_large / tables))

    @property
    def _affordable(self) -> float:
        if all(threshold.r == threshold.k for threshold in self.workload):
            few = all(threshold.k <= 2 for threshold in self.workload)
            return AFFORDABLE_OF_TWO if few else AFFORDABLE
        return AFFORDABLE_JOINTLY if self.jointly else AFFORDABLE_OF_ANY


def best_tables(
    n: int,
    rho: Fraction,
    workload: Workload,
    largest_table: int | None,
    wanted: bool | None,
    has_rounds: bool,
    optimise: Optimise,
) -> WorkloadTables | None:
    """The tables to measure before any round; None if they are too many.

    Args:
        n: The number of records.
        rho: The zCDP budget.
        workload: The thresholds.
        largest_table: The most cells of a table that D' is fitted to, if it was given.
        wanted: Whether to measure them; None for: if they are affordable.
        has_rounds: Whether rounds may follow.
        optimise: Which error over the workload is to be small.
    """
    if wanted is False:
        return None
    joint = WorkloadTables.of(n, workload, largest_table, jointly=True)
    if all(threshold.r == threshold.k for threshold in workload):
        pairs = None
        if wanted is None:
            pairs = _better_pairs(n, rho, joint, largest_table, has_rounds, optimise)
        return pairs or (joint if wanted or joint.are_affordable(n, rho) else None)
    if joint.are_affordable(n, rho) and joint.residuals is not None:
        return joint
    few_features = WorkloadTables.of(n, workload, largest_table, jointly=False)
    return few_features if wanted or few_features.are_affordable(n, rho) else None


def _better_pairs(
    n: int,
    rho: Fraction,
    joint: WorkloadTables,
    largest_table: int | None,
    has_rounds: bool,
    optimise: Optimise,
) -> WorkloadTables | None:
    """The pairs of all thresholds, if they are better than their tables, and D' fits them all."""
    rounds_follow = optimise == "max" and _precision(n, rho) >= CLEAR
    if rounds_follow and not (has_rounds and joint.load(n, rho) > SMALL_LOAD):
        return None
    pairs = WorkloadTables.of(n, _pairs_of(joint.workload), largest_table, jointly=rounds_follow)
    largest = max(pairs.cells.values(), default=0)
    if pairs.too_large or largest > (largest_table or most_cells_of_candidates(n)):
        return None
    affordable, noise = joint.are_affordable(n, rho), joint.largest_noise(n, rho)
    if rounds_follow:
        most = MUCH_LESS * noise if affordable else NOISE_OF_PAIRS * _left_by_rounds(n, rho)
    elif optimise == "mean":
        most = inf if not affordable or noise > HIDDEN_IN_THE_MEAN else 0.0
    else:
        hidden = not affordable or noise > HIDDEN
        most = max(AFFORDABLE_PAIRS * _left_by_rounds(n, rho), AT_MOST_HALF) if hidden else 0.0
    better = pairs.largest_noise(n, rho) <= most
    for_all = pairs.for_larger(joint.asked)
    return for_all if better and for_all.leave_the_rest and for_all.residuals is not None else None


def _pairs_of(workload: Workload) -> Workload:
    """The pairs of features of each threshold, and the features of those that have one."""
    tables = (
        table
        for threshold in workload
        for table in marginals_of(threshold, min(2, threshold.k), workload.schema)
    )
    return Workload(workload.schema, dict.fromkeys(tables))


def most_cells_of_candidates(n: int) -> int:
    """The most cells of a table that rounds choose from, where they do the most."""
    return max(min(n, MOST_CELLS_FITTED), LEAST_CELLS_FITTED)


def most_cells_fitted(n: int) -> int:
    """The most cells of a table that D' is fitted to, where the workload's tables are measured."""
    return max(min(CELLS_PER_RECORD * n, MOST_CELLS_FITTED), LEAST_CELLS_FITTED)


def _precision(n: int, rho: Fraction) -> float:
    """n√ρ: one over the noise of one table that is measured with the whole budget."""
    return max(n * sqrt(float(rho)), 1e-6)


def _left_by_rounds(n: int, rho: Fraction) -> float:
    """About the error that rounds leave, as a share of people."""
    return float(_precision(n, rho) ** -AFFORDABLE_POWER)
