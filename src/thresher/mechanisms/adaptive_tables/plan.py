"""The public rules of adaptive tables: what is measured, and with what share of the budget.

The rules use n, ρ, the schema and the workload, which are public. What the rounds find then decides
how many of them there are (`rounds`). The constants are round numbers chosen by trials on ADULT and
on the tables that `benchmarks.tables` sets aside for tuning; docs/accuracy-notebook.md has the
figures that are quoted here (maximum error over the workload), and what else was tried.

The unit of noise is 1/(n√ρ), that of one table that is measured with the whole budget.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, sqrt

from thresher.mechanisms.adaptive_tables.candidates import (
    candidates_of,
    one_way_tables,
    smallest_pairs,
)
from thresher.mechanisms.adaptive_tables.workload_tables import (
    Optimise,
    best_tables,
    most_cells_fitted,
    most_cells_of_candidates,
)
from thresher.mechanisms.residual import ResidualPlan
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload

ONE_WAY, ONE_WAY_OF_ANY = Fraction(1, 4), Fraction(3, 4)
"""For each one-way table, in parts of a round, where the workload's tables are not all measured;
and the same where some threshold asks for any of its features (r = 1). Such answers add one-way
shares up: 64 1-of-3 of ADULT at ε = 0.1 had 0.074 with a tenth of the budget for all of them, and
0.063 with three tenths. With half a round each, 64 marginals had 0.037 in place of 0.032.
"""

OTHER_FEATURES_PART = 8
"""Of that, the features outside the workload get an eighth: a future query may name them.

Without it, the future error after a history of 4 thresholds was 0.051 in place of 0.015.
"""

LEAST_ROUNDS = 4
"""Rounds begin with what each would get if there were √(n√ρ) of them, as T·K of RAP grows, and four
at least.

From there they anneal: see `rounds`. 256 marginals of ADULT at ε = 1 had 0.0093 with 28 rounds,
0.0066 with 60, and 0.0070 with 43 that had begun as 83. Where n√ρ is small, too many rounds see
noise only: happiness at ε = 0.1 had 0.095 with 66, and 0.081 with 5.
"""

ROUNDS_PER_CANDIDATE = 2
"""Never are there more rounds than would measure every candidate twice."""

SELECTION_SHARE = Fraction(1, 3)
"""The part of a round that pays for selecting a table; the rest measures it.

1/4, 1/3, 1/2 and 2/3 differ by less than their standard errors (0.036, 0.035, 0.034 and 0.037). But
with 1/4 a needed table was now and then not selected (0.05 in one of three fits).
"""

TABLES_PER_ROUND = 6
"""Where rounds follow tables of few features, one is made for six tables, and gets as much as one.
"""

OTHERS_PART = Fraction(1, 100)
"""Where residuals are measured, the features outside the workload get a hundredth."""

EXTRA, ONE_WAY_PART = 0.25, Fraction(1, 3)
"""Where tables have too many features for residuals, everything else gets a quarter of what they
get. Of that, one-way tables get a third."""

MOST_CELLS_OF_A_PAIR = 1 << 22
"""A threshold that has no candidate gets its smallest pair as one, up to so many cells.

Selection takes off its noise to come, σ·√(2 ln cells). On few records (ADULT: 3,000; `loans_like`:
10,000; Lending Club extract, 24 columns: 5,000; three seeds each) this and no candidate for such
thresholds differ by less than seeds do. RAP for the whole workload, which was the rule before, had
1.7 to 25 times their maximum error. (On all 1,128 pairs of `loans_like` it had 0.9 times their
maximum error, but twice their mean of maxima.) Without a candidate, an error that one-way tables
cannot show would never be found.
"""


@dataclass(frozen=True)
class Plan:
    """What is measured, and with what, as n, ρ and the workload decide.

    Attributes:
        one_way: The one-way tables of the features in the workload that no residual covers.
        other_one_way: Those of the other features.
        workload_tables: The tables that the workload's answers need most, measured before any
            round; empty if they are too many.
        residuals: How these are measured: by their residuals, which tables with common features
            share. None if each is measured by itself.
        candidates: The tables that the rounds select from, with their numbers of cells.
        one_way_rho: What all tables of `one_way` get.
        other_one_way_rho: What all tables of `other_one_way` get.
        workload_rho: What all tables of `workload_tables` get.
        rounds_rho: What all rounds get.
        rounds: How many rounds there are, if they do not anneal.
        anneals: Whether a round that finds nothing makes the next one larger.
        largest_table: The most cells of a candidate, if its threshold has smaller ones.
        largest_fitted: The most cells of a table that D' is fitted to. One-way tables and
            candidates never have too many.
    """

    one_way: tuple[Threshold, ...]
    other_one_way: tuple[Threshold, ...]
    workload_tables: tuple[Threshold, ...]
    residuals: ResidualPlan | None
    candidates: Mapping[Threshold, int]
    one_way_rho: Fraction
    other_one_way_rho: Fraction
    workload_rho: Fraction
    rounds_rho: Fraction
    rounds: int
    anneals: bool
    largest_table: int
    largest_fitted: int


def make_plan(
    n: int,
    rho: Fraction,
    workload: Workload,
    *,
    rounds: int | None = None,
    workload_tables: bool | None = None,
    largest_table: int | None = None,
    optimise: Optimise = "max",
) -> Plan:
    """Decide what to measure, by rules that use public facts only.

    The more tables are measured, the more is learned, and the larger is the noise of each: it grows
    with the square root of their number, in units of 1/(n√ρ), the noise of one. So the number of
    tables that can be afforded grows with n√ρ, but more slowly.

    Args:
        n: The number of records.
        rho: The zCDP budget.
        workload: The thresholds.
        rounds: The number of rounds, if it was given. Then they do not anneal.
        workload_tables: Whether to measure the workload's tables, if it was given.
        largest_table: The most cells of a table that D' is fitted to, if it was given.
        optimise: Which error over the workload is to be small.

    Example:
        >>> from thresher.data.datasets import adult_schema
        >>> work = Workload.random(adult_schema(), 3, size=64, seed=0)
        >>> for rho in (Fraction(1, 5000), Fraction(1, 50)):
        ...     plan = make_plan(48842, rho, work)
        ...     print(len(plan.workload_tables), plan.rounds)
        87 14
        64 0
    """
    has_rounds = rounds is None or rounds > 0
    measured = best_tables(n, rho, workload, largest_table, workload_tables, has_rounds, optimise)
    tables = measured.cells if measured is not None else {}
    needs_rounds = measured is None or measured.leave_the_rest
    largest = largest_table or (most_cells_of_candidates if needs_rounds else most_cells_fitted)(n)
    candidates = candidates_of(workload, largest)
    if largest_table is None:
        candidates |= smallest_pairs(workload, [*candidates, *tables], MOST_CELLS_OF_A_PAIR)
    one_way, other = one_way_tables(workload)
    residuals = measured.residuals if measured is not None else None
    if measured is not None and residuals is not None:
        covered = {name for table in tables for name in table.features}
        one_way = tuple(table for table in one_way if not covered.issuperset(table.features))
        shares = _jointly(len(tables), measured.too_large, len(one_way))
        if measured.leave_the_rest and measured.jointly:
            shares = _half_for_rounds(shares, n * sqrt(float(rho)), rounds)
        elif measured.need_rounds(n, rho):
            shares = replace(shares, rounds=shares.rounds + ceil(len(tables) / TABLES_PER_ROUND))
    elif measured is not None and tables:
        shares = _one_by_one(len(tables), measured.too_large)
    else:
        shares = _rounds_only(workload, len(one_way), n * sqrt(float(rho)))
    by_rule = min(shares.rounds, ROUNDS_PER_CANDIDATE * len(candidates))
    begun = (by_rule if rounds is None else rounds) if candidates else 0
    for_rounds = begun * shares.round
    others = shares.others if other else Fraction(0)
    whole = rho / (shares.tables + shares.one_way + others + for_rounds)
    return Plan(
        one_way=one_way,
        other_one_way=other,
        workload_tables=tuple(tables),
        residuals=residuals,
        candidates=candidates,
        one_way_rho=whole * shares.one_way,
        other_one_way_rho=whole * others,
        workload_rho=whole * shares.tables,
        rounds_rho=whole * for_rounds,
        rounds=begun,
        anneals=rounds is None,
        largest_table=largest,
        largest_fitted=max(largest, *workload.schema.sizes, *candidates.values()),
    )


@dataclass(frozen=True)
class _Shares:
    """What is spent on what, in relation to each other.

    Attributes:
        tables: All of the workload's tables.
        one_way: All one-way tables of the workload's features.
        others: Those of the other features.
        round: One round.
        rounds: How many rounds there are.
    """

    tables: Fraction
    one_way: Fraction
    others: Fraction
    round: Fraction
    rounds: int


def _jointly(tables: int, too_large: int, uncovered: int) -> _Shares:
    """The workload's tables get nearly all. Each that is too large gets a round like a table.

    A feature that only too large tables have gets a quarter of that for its one-way table.
    """
    one = Fraction(1, tables)
    return _Shares(Fraction(1), ONE_WAY * uncovered * one, OTHERS_PART, one, too_large)


def _half_for_rounds(shares: _Shares, precision: float, given: int | None) -> _Shares:
    """Rounds get as much as the tables: half as many rounds as where no table is measured first."""
    rounds = given or max(LEAST_ROUNDS, ceil(sqrt(precision) / 2))
    return replace(shares, round=shares.tables / rounds, rounds=rounds)


def _one_by_one(tables: int, too_large: int) -> _Shares:
    """The workload's tables come first. Those that are too large get a round each."""
    one_way, one = Fraction(EXTRA) * ONE_WAY_PART, Fraction(1, tables)
    rounds = round((EXTRA - float(one_way)) * tables) + too_large
    return _with_others(_Shares(Fraction(1), one_way, Fraction(0), one, rounds))


def _rounds_only(workload: Workload, features: int, precision: float) -> _Shares:
    rounds = max(LEAST_ROUNDS, ceil(sqrt(precision)))
    one_way = features * (ONE_WAY_OF_ANY if _asks_for_any(workload) else ONE_WAY)
    return _with_others(_Shares(Fraction(0), one_way, Fraction(0), Fraction(1), rounds))


def _with_others(shares: _Shares) -> _Shares:
    """The features outside the workload get an eighth of what its features get."""
    return replace(shares, others=shares.one_way / OTHER_FEATURES_PART)


def _asks_for_any(workload: Workload) -> bool:
    return any(threshold.r == 1 < threshold.k for threshold in workload)
