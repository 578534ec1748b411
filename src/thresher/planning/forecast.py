"""A forecast: what fits at several ε would take and achieve, from public facts only."""

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from math import exp, inf, log
from typing import Any

from thresher.errors import ParameterError, QueryError
from thresher.mechanisms.auto import Auto
from thresher.mechanisms.mechanism import Mechanism
from thresher.mechanisms.parameters import check_whole
from thresher.planning.advice import advice_on
from thresher.planning.doubts import doubts_about
from thresher.planning.like import Like, shares_of
from thresher.planning.page import page_of
from thresher.planning.picture import lines_of
from thresher.planning.stand_in import stand_in
from thresher.planning.trial import ExpectedFit, Trials
from thresher.privacy.budget import Accounting, Amount, Budget
from thresher.privacy.curator import pays_for_counts_only
from thresher.privacy.ledger import Ledger
from thresher.privacy.statement import Statement
from thresher.privacy.unit import Unit
from thresher.progress import Phase, Step
from thresher.progress.display import Followed, following
from thresher.queries.workload import Workload
from thresher.schema import Schema

SEEDS = (20261, 20262, 20263)
"""The made-up populations: one trial at each ε for each of them."""

TRIALS = "trials on made-up people"

TRIAL_SECONDS = 2.0
"""All trials at one ε take about so many times as long as the fit."""

FURTHEST = 10.0
"""An ε that is asked for is looked for up to so many times the largest ε of the plan."""

ASSUMPTION = (
    "Errors are those of the same mechanism on made-up people of this schema and number; no record "
    "was read. A typical cell has 1 % of the people or more. Real people differ: on public tables "
    "that were set aside, the largest and the typical error were within a factor of 1.5 of the "
    "forecast in about 9 of 10 fits each"
)

UNTOLD = ". Margins are surer if it is told how frequent values are (like)."
TOLD = ", with shares of values known as here. These were taken for public."


@dataclass(frozen=True)
class Forecast:
    """What fits at several ε would take and achieve. All of it is public.

    Attributes:
        fits: The fit at each ε, in the order given.
        workload: The thresholds.
        n: The number of records or persons.
        margin: The largest error that is wanted, if one was given.
        account: What the ledger says, if one was given.
        doubts: What speaks against such a fit.
        advice: What would make it better.
        knows_people: Whether it was told what people are like.

    Example:
        >>> import thresher as th
        >>> schema = th.datasets.adult_schema()
        >>> work = th.Workload(schema, [th.Threshold(("sex", "race"))])
        >>> forecast = th.plan(schema, n=10_000, workload=work, epsilon=[0.1, 1])
        >>> low, high = (fit.errors.largest for fit in forecast.fits)
        >>> low > high
        True
    """

    fits: tuple[ExpectedFit, ...]
    workload: Workload
    n: int
    margin: float | None
    account: Statement | None
    doubts: tuple[str, ...]
    advice: tuple[str, ...]
    knows_people: bool = False

    def epsilon_for(self, error: float) -> float | None:
        """The ε at which the largest error over the workload would be so small.

        Between the ε of the plan, and up to ten times the largest of them, it is read off a line
        through the logarithms. None if that ε is larger still, or nothing is known.

        Args:
            error: The wanted error, as a fraction.
        """
        known = sorted((f.epsilon, f.errors.largest) for f in self.fits if f.errors is not None)
        if not known:
            return None
        if len(known) == 1:
            epsilon, largest = known[0]
            found = epsilon * largest / error  # noise falls as 1/ε, about
        else:
            found = _crossing(known, error)
        return found if found <= FURTHEST * known[-1][0] else None

    @property
    def assumption(self) -> str:
        """What was assumed about data that nobody has looked at."""
        return ASSUMPTION + (TOLD if self.knows_people else UNTOLD)

    def left_after(self, fit: ExpectedFit) -> tuple[float, float | None] | None:
        """What would be left in the ledger after a fit, as ρ and as ε; None without a ledger."""
        if self.account is None:
            return None
        rho = self.account.remaining - fit.rho
        return float(rho), self.account.as_epsilon(rho) if rho > 0 else None

    def as_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        plans = []
        for fit in self.fits:
            left = self.left_after(fit)
            ledger = {} if left is None else {"left_rho": left[0], "left_epsilon": left[1]}
            plans.append({**fit.as_json(), **ledger})
        wanted = {}
        if self.margin is not None:
            wanted = {"margin": self.margin, "epsilon_for_margin": self.epsilon_for(self.margin)}
        return {
            "plans": plans,
            "n": self.n,
            "thresholds": len(self.workload),
            "queries": self.workload.query_count,
            **wanted,
            "doubts": list(self.doubts),
            "advice": list(self.advice),
            "assumption": self.assumption,
        }

    def __str__(self) -> str:
        return "\n".join(lines_of(self))

    def page(self) -> str:
        """One HTML page with the picture, the table and the advice; it loads nothing."""
        return page_of(self)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def plan(
    schema: Schema,
    *,
    n: int,
    workload: Workload,
    epsilon: Amount | Iterable[Amount],
    delta: Amount | None = None,
    mechanism: Mechanism | None = None,
    unit: Unit | None = None,
    ledger: Ledger | None = None,
    margin: float | None = None,
    accounting: Accounting | None = None,
    like: Like | None = None,
    progress: Followed = None,
) -> Forecast:
    """Forecast what fits would take and achieve, without any record and at no cost.

    The mechanism itself is run on made-up people of the same schema and number, at every ε.

    Args:
        schema: The public description of the columns.
        n: The number of records, or of persons.
        workload: The thresholds to be answered well.
        epsilon: ε of the promise, or several.
        delta: δ of the promise; 1/n² if not given.
        mechanism: The mechanism with its settings; `Auto()` if not given. Its budget is not used.
        unit: What the promise protects; if not given, one record that is replaced by another.
        ledger: A ledger, to say what would be left of it.
        margin: The largest error that is wanted, as a fraction: at which ε is it met?
        accounting: How (ε, δ) is converted to ρ; if not given, as the fit will do it.
        like: What people are like, if that is public: an earlier release of these or similar ones,
            or shares of values such as {"sex": {"F": 0.51, "M": 0.49}}. It makes forecasts surer.
        progress: Whether to show how far it has come, as for `fit`.

    Returns:
        The forecast. Print it, or ask for `as_json()` or `page()`.

    Example:
        >>> import thresher as th
        >>> schema = th.datasets.adult_schema()
        >>> work = th.Workload(schema, [th.Threshold(("sex", "race", "income"), r=2)])
        >>> [fit] = plan(schema, n=5000, workload=work, epsilon=1).fits
        >>> 0 < fit.errors.typical < fit.errors.largest < 0.1
        True
    """
    check_whole("n", n, least=2)
    if workload.schema.fingerprint != schema.fingerprint:
        raise QueryError("the workload is over another schema")
    if margin is not None and not 0 < margin < 1:
        raise ParameterError(f"margin must lie between 0 and 1, not {margin!r}; try margin=0.01")
    given = [epsilon] if isinstance(epsilon, int | float | str | Fraction) else list(epsilon)
    if not given:
        raise ParameterError("epsilon must be a number or several, such as [0.1, 1]")
    chosen, unit, delta = mechanism or Auto(), unit or Unit(), delta or Fraction(1, n**2)
    chosen = replace(chosen, accounting=accounting or chosen.accounting)
    curve = chosen.accounting_for(None if ledger is None else ledger.accounting)
    budgets = [Budget.from_epsilon(e, delta, curve) for e in given]
    return forecast(budgets, chosen, workload, n, unit, ledger, margin, progress, like)


def forecast(
    budgets: Sequence[Budget],
    mechanism: Mechanism,
    workload: Workload,
    n: int,
    unit: Unit,
    ledger: Ledger | None = None,
    margin: float | None = None,
    progress: Followed = None,
    like: Like | None = None,
) -> Forecast:
    """Forecast a fit at each of several budgets, which come from (ε, δ); see `plan`."""
    units = unit.worth(n)
    shares = None if like is None else shares_of(like, workload.schema)
    trials = Trials(mechanism, workload, n, unit, (), shares, pays_for_counts_only(ledger))
    with following(progress, "planning") as follower:
        fits = [trials.untried(budget) for budget in budgets]
        if not all(fit.impossible for fit in fits):  # or nobody would be tried on
            people = [stand_in(workload.schema, units, seed, shares) for seed in SEEDS]
            trials = replace(trials, people=people)
        expected = sum(fit.estimate.seconds for fit in fits if not fit.impossible)
        follower.expect([Phase(TRIALS, TRIAL_SECONDS * expected)])
        for number, fit in enumerate(fits):
            follower(Step(TRIALS, number, len(budgets) + 1))
            fits[number] = trials.tried(fit)
        follower(Step(TRIALS, len(budgets), len(budgets) + 1, "what other features would buy"))
        advice = tuple(advice_on(fits, trials, SEEDS[0]))
    account = None if ledger is None else ledger.read()
    doubts = tuple(doubts_about(fits, workload, units, account))
    return Forecast(tuple(fits), workload, n, margin, account, doubts, advice, like is not None)


def _crossing(known: Sequence[tuple[float, float]], error: float) -> float:
    """Where a line through points of logarithms, in the order of ε, falls to an error."""
    points = [(log(epsilon), log(max(largest, 1e-12))) for epsilon, largest in known]
    for left, right in pairwise(points):
        if right[1] <= log(error) or right is points[-1]:
            slope = (right[1] - left[1]) / (right[0] - left[0])
            if slope >= 0:
                return inf if right[1] > log(error) else exp(left[0])
            return exp(left[0] + (log(error) - left[1]) / slope)
    return inf
