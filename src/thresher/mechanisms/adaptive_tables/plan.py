"""The public rules of adaptive tables: what is measured, and with what share of the budget.

The rules use n, ρ, the schema and the workload, which are public. The constants are round numbers
chosen by trials on ADULT and four other tables; docs/accuracy.md has the figures that are quoted
here (maximum error over the workload), and what else was tried.

Shares of the budget are in units of a round: a share of 1/2 is half of what one round gets.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, log, sqrt

from thresher.mechanisms.adaptive_tables.candidates import (
    candidates_of,
    one_way_tables,
    smallest_pairs,
    workload_tables_of,
)
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.release.sources import TOLERANCE

ONE_WAY_SHARE = Fraction(1, 2)
"""For the one-way table of each feature that the workload names.

The mean of maxima at ε = 0.1 is bound by the noise of these: 0.0144, and 0.011 without that noise.
"""

ONE_WAY_SHARE_OF_ANY = Fraction(2)
"""The same where some threshold asks for any of its features (r = 1): such answers add them up."""

OTHER_ONE_WAY_SHARE = Fraction(1, 16)
"""For the one-way table of each other feature, because a future query may name it.

Without it, the future error after a history of 4 thresholds was 0.051 in place of 0.015.
"""

SELECTION_SHARE = Fraction(1, 3)
"""The part of a round that pays for selecting a table; the rest measures it.

1/4, 1/3, 1/2 and 2/3 differ by less than their standard errors (0.036, 0.035, 0.034 and 0.037). But
with 1/4 a needed table was now and then not selected (0.05 in one of three fits).
"""

AFFORDABLE, AFFORDABLE_POWER = 0.4, 2 / 3
"""All tables of a workload are measured if there are at most 0.4·(n√ρ)^(2/3) of them.

With √(n√ρ) in place of this, 64 marginals at ε = 1 had 0.0116 in place of 0.0095 (rwm) and 0.0112
in place of 0.0086 (hi). With rounds only, ADULT had 0.0056 and more in place of 0.0043.
"""

TABLES_PER_ROUND, LEAST_ROUNDS = 4, 4
"""After the workload's tables, there is a round for every four of them, and at least four rounds.

Without any round after them, 64 marginals of ADULT at ε = 1 had 0.007 in place of 0.0043.
"""

ROUNDS_DIVISOR = 3
"""Without the workload's tables, the rounds are √(n√ρ)/3: T·K of RAP grows alike."""

ROUNDS_PER_CANDIDATE = 2
"""Never are there more rounds than would measure every candidate twice."""

CELLS_PER_RECORD, MOST_CELLS_FITTED = 4, 1 << 18
"""Where the workload's tables are measured, D' is fitted to tables of at most 4n or 2^18 cells.

Larger tables take too long to fit. Without the workload's tables, the limit is n: candidates of up
to 4n cells had 0.037 in place of 0.033 (64 marginals of ADULT, ε = 0.1).
"""

MOST_CELLS_OF_A_PAIR = 1 << 22
"""A threshold that has no candidate gets its smallest pair as one, up to so many cells.

Selection takes off its noise to come, σ·√(2 ln cells). On few records (ADULT: 3,000; `loans_like`:
10,000; Lending Club extract, 24 columns: 5,000; three seeds each) this and no candidate for such
thresholds differ by less than seeds do. RAP for the whole workload, which was the rule before, had
1.7 to 25 times their maximum error. (On all 1,128 pairs of `loans_like` it had 0.9 times their
maximum error, but twice their mean of maxima.) Without a candidate, an error that one-way tables
cannot show would never be found.
"""

MOST_CELLS_CLAMPED_TO = 1 << 24
"""The most cells of all workload tables together, if larger ones than D' is fitted to are measured.

Answers are clamped to such tables, which have to be kept whole.
"""

MOST_EXTRA, EXTRA_PER_LOAD, LEAST_LOAD = 0.5, 2.0, 0.001
"""If only marginals are asked for and all are measured, everything else gets little.

With x, the number of tables as a part of the affordable number (at least 0.001), one-way tables and
rounds get at most min(1/2, 2x) of what the workload's tables get. Before this rule, 4 marginals of
ADULT at ε = 1 had 0.0018 in place of 0.0012 (joint Gaussian: 0.0015).
"""

OTHER_FEATURES_PART = 4
"""Of that, features outside the workload get a quarter at most."""

TOLERANCE_POWER = 0.25
"""And the tolerance is 3·x^(1/4) in place of 3.

The best fixed tolerance goes from 0 or 1 for one table to 3 for as many as can be afforded. On
diamonds a tolerance of 3 had 0.0044 in place of 0.0012.
"""

FEW_CELLS = 2.5
"""The largest noise of N cells is about √(2 ln N)·σ. Where that is less than this many σ, there is
little to gain from believing D' more than the noisy cells, and the tolerance is smaller."""


@dataclass(frozen=True)
class Plan:
    """What is measured, and with what, as n, ρ and the workload decide.

    Attributes:
        one_way: The one-way tables of the features in the workload.
        other_one_way: Those of the other features.
        workload_tables: The tables that the workload's answers need most, measured before any
            round; empty if they are too many.
        candidates: The tables that the rounds select from, with their numbers of cells.
        rounds: How many tables are selected and measured one by one.
        one_way_share: What each table of `one_way` gets, in units of a round.
        other_one_way_share: What each table of `other_one_way` gets.
        per_round: The ρ of a round, and of each workload table.
        tolerance: How many standard deviations of its noise D' may differ from a measured cell.
        largest_table: The most cells of a candidate, if its threshold has smaller ones.
        largest_fitted: The most cells of a table that D' is fitted to. One-way tables and
            candidates never have too many.
    """

    one_way: tuple[Threshold, ...]
    other_one_way: tuple[Threshold, ...]
    workload_tables: tuple[Threshold, ...]
    candidates: Mapping[Threshold, int]
    rounds: int
    one_way_share: Fraction
    other_one_way_share: Fraction
    per_round: Fraction
    tolerance: float
    largest_table: int
    largest_fitted: int

    @property
    def per_selection(self) -> Fraction:
        """The ρ of selecting one table."""
        return SELECTION_SHARE * self.per_round

    @property
    def per_measurement(self) -> Fraction:
        """The ρ of measuring the table that a round selected."""
        return self.per_round - self.per_selection

    @property
    def noise_to_come(self) -> list[int]:
        """About the largest noise of a measurement of each candidate, in counts: σ·√(2 ln cells).

        An error smaller than this is not worth measuring, so selection subtracts it.
        """
        sigma = 1.0 / sqrt(float(self.per_measurement))
        return [ceil(sigma * sqrt(2 * log(cells))) for cells in self.candidates.values()]


def make_plan(
    n: int,
    rho: Fraction,
    workload: Workload,
    *,
    rounds: int | None = None,
    workload_tables: bool | None = None,
    largest_table: int | None = None,
) -> Plan:
    """Decide what to measure, by rules that use public facts only.

    The more tables are measured, the more is learned, and the larger is the noise of each: it grows
    with the square root of their number, in units of 1/(n√ρ), the noise of one. So the number of
    tables that can be afforded grows with n√ρ, but more slowly.

    Args:
        n: The number of records.
        rho: The zCDP budget.
        workload: The thresholds.
        rounds: The number of rounds, if it was given.
        workload_tables: Whether to measure the workload's tables, if it was given.
        largest_table: The most cells of a table that D' is fitted to, if it was given.

    Example:
        >>> from thresher.data.datasets import adult_schema
        >>> work = Workload.random(adult_schema(), 3, size=64, seed=0)
        >>> for rho in (Fraction(1, 5000), Fraction(1, 50)):
        ...     plan = make_plan(48842, rho, work)
        ...     print(len(plan.workload_tables), plan.rounds)
        0 9
        64 16
    """
    affordable = affordable_tables(n, rho)
    tables, too_large = measurable_tables(n, workload, largest_table)
    if workload_tables is None:
        workload_tables = len(tables) + too_large <= affordable
    tables = tables if workload_tables else {}
    limit = n if not tables else _most_cells_fitted(n)
    largest = largest_table or limit
    candidates = candidates_of(workload, largest)
    if largest_table is None:
        candidates |= smallest_pairs(workload, [*candidates, *tables], MOST_CELLS_OF_A_PAIR)
    wanted = _wanted_rounds(n, rho, len(tables), too_large)
    shares = _usual_shares(workload, min(wanted, ROUNDS_PER_CANDIDATE * len(candidates)))
    if tables and not too_large and all(threshold.r == threshold.k for threshold in workload):
        load = min(1.0, max(len(tables) / affordable, LEAST_LOAD))
        shares = shares.reduced(load, tables, workload)
    if rounds is None:
        rounds = shares.rounds
    rounds = rounds if candidates else 0
    one_way, other = one_way_tables(workload)
    in_rounds = shares.one_way * len(one_way) + shares.other_one_way * len(other)
    return Plan(
        one_way=one_way,
        other_one_way=other,
        workload_tables=tuple(tables),
        candidates=candidates,
        rounds=rounds,
        one_way_share=shares.one_way,
        other_one_way_share=shares.other_one_way,
        per_round=rho / (in_rounds + len(tables) + rounds),
        tolerance=shares.tolerance,
        largest_table=largest,
        largest_fitted=max(largest, *workload.schema.sizes, *candidates.values()),
    )


def affordable_tables(n: int, rho: Fraction) -> float:
    """How many tables can be measured without too much noise.

    Example:
        >>> round(affordable_tables(48842, Fraction(1, 50)))
        145
    """
    precision = n * sqrt(float(rho))
    return max(AFFORDABLE * float(precision**AFFORDABLE_POWER), 1e-6)


def measurable_tables(
    n: int, workload: Workload, largest_table: int | None = None
) -> tuple[dict[Threshold, int], int]:
    """The workload's tables that may be measured, with their cells, and how many are too large.

    A table that a threshold asks for itself may be larger than D' can be fitted to: answers are
    clamped to it. Any other table is of use only if D' is fitted to it.

    Args:
        n: The number of records.
        workload: The thresholds.
        largest_table: The most cells of a table that D' is fitted to, if it was given.
    """
    schema, largest = workload.schema, largest_table or _most_cells_fitted(n)
    tables = {
        table: table.query_count(schema)
        for threshold in workload
        for table in workload_tables_of(threshold, schema)
    }
    tables = {table: cells for table, cells in tables.items() if cells > 1}
    clamped_to: set[frozenset[str]] = set()
    if sum(tables.values()) <= MOST_CELLS_CLAMPED_TO:
        clamped_to = {frozenset(t.features) for t in workload if t.r == t.k}
    measurable = {
        table: cells
        for table, cells in tables.items()
        if cells <= largest or frozenset(table.features) in clamped_to
    }
    return measurable, len(tables) - len(measurable)


def _most_cells_fitted(n: int) -> int:
    return min(CELLS_PER_RECORD * n, MOST_CELLS_FITTED)


def _wanted_rounds(n: int, rho: Fraction, tables: int, too_large: int) -> int:
    """The rounds, before a small workload or a small load reduces them."""
    if tables:
        return max(LEAST_ROUNDS, ceil(tables / TABLES_PER_ROUND)) + too_large
    return ceil(sqrt(n * sqrt(float(rho))) / ROUNDS_DIVISOR)


@dataclass(frozen=True)
class _Shares:
    """What each one-way table gets, how many rounds there are, and the tolerance."""

    one_way: Fraction
    other_one_way: Fraction
    rounds: int
    tolerance: float

    def reduced(
        self, load: float, tables: Mapping[Threshold, int], workload: Workload
    ) -> "_Shares":
        """The same where the workload's tables, which are all that is asked for, come first."""
        one_way, other = one_way_tables(workload)
        extra = Fraction(len(tables) * min(MOST_EXTRA, EXTRA_PER_LOAD * load))
        extra = extra.limit_denominator(1 << 20)
        factor = min(Fraction(1), extra / (self.one_way * len(one_way) + self.rounds))
        above_few = max(0.0, sqrt(2 * log(sum(tables.values()))) - FEW_CELLS)
        return _Shares(
            one_way=factor * self.one_way,
            other_one_way=min(
                self.other_one_way, extra / (OTHER_FEATURES_PART * max(1, len(other)))
            ),
            rounds=floor(factor * self.rounds),
            tolerance=min(TOLERANCE * load**TOLERANCE_POWER, TOLERANCE * load + above_few),
        )


def _usual_shares(workload: Workload, rounds: int) -> _Shares:
    asks_for_any = any(threshold.r == 1 < threshold.k for threshold in workload)
    one_way = ONE_WAY_SHARE_OF_ANY if asks_for_any else ONE_WAY_SHARE
    return _Shares(one_way, OTHER_ONE_WAY_SHARE, rounds, TOLERANCE)
