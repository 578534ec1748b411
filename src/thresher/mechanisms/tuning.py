"""Choosing T and K: the paper's improved search, the grid search, and the rule that costs nothing.

The paper finds that error depends on T·K above all, that it grows on both sides of a best c*, and
proposes (Section 3.4) a binary search for c = T·K along the diagonal of the grid, then a linear
search among the settings with T·K = c. Its own experiments take the best of a grid, as if looking
were free. Here every trial and every comparison is paid for, through the Curator and its ledger.

A part of the budget goes into the search: equal parts of it to the trials, however many it may
take at most, and some to the choices between them. Which of several trials has the smallest present
error is chosen privately (`Curator.choose`). All the rest, with what the search did not need, goes
into one fit with the T and K that won. Trials have less to spend than that fit, and with less to
spend a smaller T·K is best; but c* grows only like √ρ, and settings on a grid are further apart.
"""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

from thresher.data.records import Records
from thresher.errors import ParameterError
from thresher.mechanisms.estimate import Estimate
from thresher.mechanisms.mechanism import Mechanism, Outcome, Progress
from thresher.mechanisms.rap import RAP
from thresher.privacy.access import Access
from thresher.privacy.budget import Amount, exact
from thresher.privacy.curator import Curator
from thresher.privacy.ledger import Ledger
from thresher.privacy.randomness import Randomness
from thresher.queries.workload import Workload
from thresher.release import Release
from thresher.release.sources import AnswerSource

Search = Literal["rule", "diagonal", "grid"]

SEARCHING = Fraction(1, 2)
"""The part of the budget that goes into the search, choices included."""
CHOOSING = Fraction(1, 20)
"""The part of the budget that the choices between trials share."""


@dataclass(frozen=True)
class Setting:
    """T rounds of K queries.

    Attributes:
        rounds: T.
        queries_per_round: K.
    """

    rounds: int
    queries_per_round: int

    @property
    def total(self) -> int:
        """T·K: c in the paper."""
        return self.rounds * self.queries_per_round

    def __str__(self) -> str:
        return f"T={self.rounds}, K={self.queries_per_round}"


@dataclass(frozen=True)
class Grid:
    """The settings to choose from: every T with every K. By default, the paper's.

    Attributes:
        rounds: The values of T, ascending.
        queries_per_round: The values of K, ascending.

    Example:
        >>> grid = Grid()
        >>> len(grid.settings()), [setting.total for setting in grid.diagonal()]
        (16, [4, 64, 1024, 16384])
        >>> [str(setting) for setting in grid.line(64)]
        ['T=1, K=64', 'T=4, K=16', 'T=16, K=4']
    """

    rounds: tuple[int, ...] = (1, 4, 16, 64)
    queries_per_round: tuple[int, ...] = (4, 16, 64, 256)

    def __post_init__(self) -> None:
        for name in ("rounds", "queries_per_round"):
            values = tuple(getattr(self, name))
            if not values or not all(type(value) is int and value >= 1 for value in values):
                raise ParameterError(f"{name} must be whole numbers of at least 1, not {values!r}")
            if sorted(set(values)) != list(values):
                raise ParameterError(f"{name} must ascend, not be {values!r}")
            object.__setattr__(self, name, values)

    def settings(self) -> tuple[Setting, ...]:
        """All of them."""
        return tuple(Setting(t, k) for t in self.rounds for k in self.queries_per_round)

    def diagonal(self) -> tuple[Setting, ...]:
        """From few rounds of few queries to many rounds of many."""
        if len(self.rounds) != len(self.queries_per_round):
            raise ParameterError(
                f"the diagonal needs as many values of T as of K, not {len(self.rounds)} and "
                f"{len(self.queries_per_round)}"
            )
        pairs = zip(self.rounds, self.queries_per_round, strict=True)
        return tuple(Setting(t, k) for t, k in pairs)

    def line(self, total: int) -> tuple[Setting, ...]:
        """The settings with T·K = `total`."""
        return tuple(setting for setting in self.settings() if setting.total == total)


Best = Callable[[Sequence[Setting]], Setting]
"""Tries some settings, and says which did best."""


def diagonal_search(grid: Grid, best: Best) -> Setting:
    """A binary search for c = T·K along the diagonal, then the best setting with T·K = c."""
    diagonal = grid.diagonal()
    low, high = 0, len(diagonal) - 1
    while low < high:
        middle = (low + high) // 2
        if best(diagonal[middle : middle + 2]) == diagonal[middle]:
            high = middle
        else:
            low = middle + 1
    return best(grid.line(diagonal[low].total))


def grid_search(grid: Grid, best: Best) -> Setting:
    """The best of all settings."""
    return best(grid.settings())


SEARCHES: dict[str, Callable[[Grid, Best], Setting]] = {
    "diagonal": diagonal_search,
    "grid": grid_search,
}


def courses(search: Search, grid: Grid) -> list[tuple[set[Setting], int]]:
    """Every course that a search can take: the settings it tries, and how many choices it makes.

    Example:
        >>> courses("grid", Grid())[0] == (set(Grid().settings()), 1)
        True
        >>> [(len(tried), choices) for tried, choices in courses("diagonal", Grid())]
        [(3, 2), (5, 3), (5, 3), (3, 2)]
    """
    goals = grid.diagonal() if search == "diagonal" else grid.settings()[:1]
    taken = []
    for goal in goals:
        tried: list[Setting] = []
        choices = 0

        def best(
            settings: Sequence[Setting], tried: list[Setting] = tried, goal: Setting = goal
        ) -> Setting:
            nonlocal choices
            if len(settings) > 1:
                tried.extend(settings)
                choices += 1
            return min(settings, key=lambda setting: abs(setting.total - goal.total))

        SEARCHES[search](grid, best)
        taken.append((set(tried), choices))
    return taken


@dataclass(frozen=True, eq=False)
class Tuned:
    """A release with the T and K that a search has found.

    Attributes:
        release: The release; its `spent` is all that the search and the fit have cost, and its
            measurements are those of the fit.
        chosen: The T and K that won.
        trials: All settings that were tried, in order. How well each did stays private.
    """

    release: Release
    chosen: Setting
    trials: tuple[Setting, ...]


def tune(
    data: Records | Curator,
    workload: Workload,
    rap: RAP,
    *,
    search: Search = "diagonal",
    grid: Grid | None = None,
    searching: Amount = SEARCHING,
    choosing: Amount = CHOOSING,
    ledger: Ledger | None = None,
    journal: str | Path | None = None,
    release: str = "unnamed release",
    randomness: Randomness | None = None,
    progress: Progress | None = None,
) -> Tuned:
    """Choose T and K within one budget, and make the release.

    The budget of `rap` covers everything: the trials, the choices between them, and the fit.

    Args:
        data: The private records, or a Curator that holds them.
        workload: The thresholds to be answered well.
        rap: The mechanism and its budget, without T and K.
        search: `"diagonal"` (the paper's improved search), `"grid"`, or `"rule"`: by public facts,
            so that the whole budget goes into one fit.
        grid: The settings to choose from; the paper's if not given.
        searching: The part of the budget that goes into the search, at most.
        choosing: How much of the budget the choices between trials cost of that.
        ledger: As in `Mechanism.fit`, like everything below.
        journal: The folder of a journal.
        release: The name under which a ledger records this.
        randomness: For experiments only.
        progress: Called after each round of each trial.

    Example:
        >>> import thresher as th
        >>> data = th.datasets.adult()
        >>> work = th.Workload.random(data.schema, k=2, size=3, seed=0)
        >>> grid = Grid(rounds=(1, 2), queries_per_round=(2, 4))
        >>> tuned = tune(data, work, RAP(epsilon=1.0, synthetic_rows=50), grid=grid)
        >>> tuned.chosen in grid.settings(), len(tuned.trials) <= 3
        (True, True)
    """
    if search not in get_args(Search):
        raise ParameterError(f"search must be one of {', '.join(get_args(Search))}, not {search!r}")
    if rap.rounds is not None or rap.queries_per_round is not None:
        raise ParameterError(
            "rounds and queries_per_round are what is searched for: leave them out"
        )
    found: list[Setting] = []
    budgeting = {f.name: getattr(rap, f.name) for f in dataclasses.fields(Mechanism)}
    mechanism: Mechanism = rap
    if search != "rule":
        mechanism = _SearchedRAP(
            **budgeting,
            rap=rap,
            search=search,
            grid=grid if grid is not None else Grid(),
            searching=exact(searching, "searching", ParameterError),
            choosing=exact(choosing, "choosing", ParameterError),
            found=found,
        )
    fitted = mechanism.fit(
        data,
        workload,
        ledger=ledger,
        journal=journal,
        release=release,
        randomness=randomness,
        progress=progress,
    )
    if search == "rule":
        settled = Setting(fitted.settings["rounds"], fitted.settings["queries_per_round"])
        return Tuned(fitted, settled, (settled,))
    *trials, chosen = found
    settings = {
        **fitted.settings,
        "rounds": chosen.rounds,
        "queries_per_round": chosen.queries_per_round,
        "trials": [[trial.rounds, trial.queries_per_round] for trial in trials],
    }
    return Tuned(
        dataclasses.replace(fitted, mechanism=RAP.name, settings=settings), chosen, tuple(trials)
    )


@dataclass(frozen=True, kw_only=True)
class _SearchedRAP(Mechanism):
    """RAP with a search for T and K; what was tried, and last what was chosen, goes to `found`."""

    name: ClassVar[str] = "searched_rap"

    rap: RAP
    search: Search
    grid: Grid
    searching: Fraction
    choosing: Fraction
    found: list[Setting] = field(compare=False)

    def run(
        self, curator: Access, rho: Fraction, workload: Workload, progress: Progress
    ) -> Outcome:
        """Search, then fit with what is left of the budget."""
        self.found.clear()
        limit = curator.spent + rho
        trials = _Trials(self, curator, workload, *self._shares(rho), progress)
        chosen = SEARCHES[self.search](self.grid, trials.best)
        self.found.extend((*trials.outcomes, chosen))
        left = limit - curator.spent
        return self.with_setting(chosen, curator.n, left, workload).run(
            curator, left, workload, progress
        )

    def resolved(self, n: int, rho: Fraction, workload: Workload) -> "_SearchedRAP":
        """Checked; nothing is left to settle."""
        if not self.choosing < self.searching < 1:
            raise ParameterError(
                "searching and choosing are parts of the budget: 0 < choosing < searching < 1"
            )
        for setting in self.grid.settings():
            self.with_setting(setting, n, rho, workload)
        return self

    def estimate(self, n: int, rho: Fraction, workload: Workload) -> Estimate:
        """The costliest course that the search can take."""
        of = {
            setting: self.with_setting(setting, n, rho, workload).estimate(n, rho, workload)
            for setting in self.grid.settings()
        }
        seconds = max(
            sum(of[setting].seconds for setting in tried)
            + max(of[setting].seconds for setting in tried or self.grid.settings())
            for tried, _ in courses(self.search, self.grid)
        )
        return Estimate(
            seconds=seconds,
            memory=max(estimate.memory for estimate in of.values()),
            advice="search a smaller grid, or use the rule, which needs one fit",
        )

    def settings(self) -> dict[str, Any]:
        """RAP's own, and the search."""
        return {
            **self.rap.settings(),
            "search": self.search,
            "grid": [list(self.grid.rounds), list(self.grid.queries_per_round)],
            "searching": str(self.searching),
            "choosing": str(self.choosing),
        }

    def with_setting(self, setting: Setting, n: int, rho: Fraction, workload: Workload) -> RAP:
        """RAP with one setting, which a small workload can cut short."""
        return dataclasses.replace(
            self.rap, rounds=setting.rounds, queries_per_round=setting.queries_per_round
        ).resolved(n, rho, workload)

    def _shares(self, rho: Fraction) -> tuple[Fraction, Fraction]:
        """What each trial and each choice may spend, so that no course spends more than ρ."""
        taken = courses(self.search, self.grid)
        trials = max(len(tried) for tried, _ in taken)
        choices = max(choices for _, choices in taken)
        return (
            rho * (self.searching - self.choosing) / max(1, trials),
            rho * self.choosing / max(1, choices),
        )


class _Trials:
    """The trials of one search, each made when it is first asked for."""

    def __init__(
        self,
        plan: _SearchedRAP,
        curator: Access,
        workload: Workload,
        per_trial: Fraction,
        per_choice: Fraction,
        progress: Progress,
    ) -> None:
        self._plan, self._curator, self._workload = plan, curator, workload
        self._per_trial, self._per_choice, self._progress = per_trial, per_choice, progress
        self.outcomes: dict[Setting, AnswerSource] = {}

    def best(self, settings: Sequence[Setting]) -> Setting:
        """The setting whose trial has the smallest present error, chosen privately."""
        if len(settings) == 1:
            return settings[0]
        for setting in settings:
            if setting not in self.outcomes:
                self.outcomes[setting] = self._try(setting)
        tables = [self.outcomes[setting].table for setting in settings]
        return settings[self._curator.choose(self._workload, tables, rho=self._per_choice)]

    def _try(self, setting: Setting) -> AnswerSource:
        rap = self._plan.with_setting(setting, self._curator.n, self._per_trial, self._workload)
        number = len(self.outcomes) + 1

        def told(done: int, rounds: int, fit: str) -> None:
            self._progress(done, rounds, f"trial {number} ({setting}), {fit}")

        source, _ = rap.run(self._curator, self._per_trial, self._workload, told)
        return source
