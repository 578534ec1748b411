"""RAP with a private search for T and K, as a mechanism and its procedure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from thresher.data.records import Records
from thresher.errors import ParameterError
from thresher.mechanisms.checkpoint import Fits
from thresher.mechanisms.estimate import Estimate
from thresher.mechanisms.mechanism import Mechanism
from thresher.mechanisms.procedure import Outcome, Progress, counting_and_rounds
from thresher.mechanisms.public import PublicStart
from thresher.mechanisms.rap import RAP, RAPProcedure
from thresher.mechanisms.tuning.grid import Grid, Setting
from thresher.mechanisms.tuning.searches import SEARCHES, Search, courses
from thresher.privacy.access import Access
from thresher.progress import ROUNDS, Phase, Step
from thresher.queries.workload import Workload
from thresher.release.sources import AnswerSource

SEARCHING = Fraction(1, 2)
"""The part of the budget that goes into the search, choices included."""
CHOOSING = Fraction(1, 20)
"""The part of the budget that the choices between trials share."""


@dataclass(frozen=True, kw_only=True)
class SearchedRAP(Mechanism):
    """RAP whose T and K are searched for, within the same budget.

    Attributes:
        rap: RAP without T and K. Its budget is not used; that of this mechanism covers everything.
        search: The order in which settings are tried.
        grid: The settings to choose from.
        searching: The part of the budget that goes into the search, at most.
        choosing: How much of the budget the choices between trials cost of that.
    """

    name: ClassVar[str] = "searched_rap"

    rap: RAP
    search: Search
    grid: Grid
    searching: Fraction
    choosing: Fraction

    @property
    def public(self) -> Records | None:
        """The public records that every D' starts from."""
        return self.rap.public

    def resolve(self, n: int, rho: Fraction, workload: Workload) -> "SearchProcedure":
        """Check every setting of the grid, and divide the budget."""
        if not self.choosing < self.searching < 1:
            raise ParameterError(
                "searching and choosing are parts of the budget: 0 < choosing < searching < 1"
            )
        taken = courses(self.search, self.grid)
        trials = max(len(tried) for tried, _ in taken)
        choices = max(choices for _, choices in taken)
        procedure = SearchProcedure(
            cost=rho,
            n=n,
            workload=workload,
            searched=self,
            per_trial=rho * (self.searching - self.choosing) / max(1, trials),
            per_choice=rho * self.choosing / max(1, choices),
        )
        for setting in self.grid.settings():
            procedure.with_setting(setting, rho)
        return procedure


@dataclass(frozen=True, kw_only=True)
class SearchProcedure:
    """A search whose budget is divided, so that no course of it spends more than the whole.

    Attributes:
        cost: The ρ of the search and the final fit together.
        n: The number of records.
        workload: The thresholds to be answered well.
        searched: The parameters.
        per_trial: The ρ of each trial.
        per_choice: The ρ of each choice between trials.
    """

    name: ClassVar[str] = SearchedRAP.name

    cost: Fraction
    n: int
    workload: Workload
    searched: SearchedRAP
    per_trial: Fraction
    per_choice: Fraction

    @property
    def settings(self) -> dict[str, Any]:
        """RAP's parameters, T and K still open, and those of the search."""
        rap, grid = self.searched.rap, self.searched.grid
        start = PublicStart.of(rap.public, self.workload.schema)
        return {
            "rounds": rap.rounds,
            "queries_per_round": rap.queries_per_round,
            "synthetic_rows": rap.synthetic_rows,
            "selection": rap.selection,
            "optimizer": rap.optimizer,
            "seed": rap.seed,
            **(start.settings if start else {}),
            "search": self.searched.search,
            "grid": [list(grid.rounds), list(grid.queries_per_round)],
            "searching": str(self.searched.searching),
            "choosing": str(self.searched.choosing),
        }

    def run(self, access: Access, progress: Progress, fits: Fits | None = None) -> Outcome:
        """Search, then fit with what is left. The diagnostics say what was tried and chosen."""
        limit = access.spent + self.cost
        fits = fits or Fits()
        trials = _Trials(self, access, progress, fits)
        chosen = SEARCHES[self.searched.search](self.searched.grid, trials.best)
        outcome = self.with_setting(chosen, limit - access.spent).run(access, progress, fits)
        diagnostics = {
            "rounds": chosen.rounds,
            "queries_per_round": chosen.queries_per_round,
            "trials": [[tried.rounds, tried.queries_per_round] for tried in trials.sources],
        }
        return replace(outcome, diagnostics=diagnostics)

    def phases(self, n: int) -> tuple[Phase, ...]:
        """Counting, as many trials as there can be, and the fit."""
        counting, rounds = counting_and_rounds(self.estimate(n), self.workload, n)
        taken = courses(self.searched.search, self.searched.grid)
        trials = max(len(tried) for tried, _ in taken)
        each = rounds.seconds / (trials + 1)
        tried = (Phase(_trial(number), each) for number in range(1, trials + 1))
        return counting, *tried, Phase(ROUNDS, each)

    def estimate(self, n: int) -> Estimate:
        """The costliest course that the search can take."""
        grid = self.searched.grid
        of = {
            setting: self.with_setting(setting, self.cost).estimate(n)
            for setting in grid.settings()
        }
        seconds = max(
            sum(of[setting].seconds for setting in tried)
            + max(of[setting].seconds for setting in tried or grid.settings())
            for tried, _ in courses(self.searched.search, grid)
        )
        return Estimate(
            seconds=seconds,
            memory=max(estimate.memory for estimate in of.values()),
            advice="search a smaller grid, or use the rule, which needs one fit",
        )

    def with_setting(self, setting: Setting, rho: Fraction) -> RAPProcedure:
        """RAP with one setting, which a small workload can cut short."""
        rap = replace(
            self.searched.rap,
            rounds=setting.rounds,
            queries_per_round=setting.queries_per_round,
        )
        return rap.resolve(self.n, rho, self.workload)


class _Trials:
    """The trials of one search, each made when it is first asked for."""

    def __init__(
        self, procedure: SearchProcedure, access: Access, progress: Progress, fits: Fits
    ) -> None:
        self._procedure, self._access = procedure, access
        self._progress, self._fits = progress, fits
        self.sources: dict[Setting, AnswerSource] = {}

    def best(self, settings: Sequence[Setting]) -> Setting:
        """The setting whose trial has the smallest present error, chosen privately."""
        if len(settings) == 1:
            return settings[0]
        for setting in settings:
            if setting not in self.sources:
                self.sources[setting] = self._try(setting)
        tables = [self.sources[setting].table for setting in settings]
        workload, rho = self._procedure.workload, self._procedure.per_choice
        return settings[self._access.choose(workload, tables, rho=rho)]

    def _try(self, setting: Setting) -> AnswerSource:
        phase = _trial(len(self.sources) + 1)

        def tell(step: Step) -> None:
            remark = ", ".join(words for words in (str(setting), step.remark) if words)
            self._progress(replace(step, phase=phase, remark=remark))

        rap = self._procedure.with_setting(setting, self._procedure.per_trial)
        return rap.run(self._access, tell, self._fits).source


def _trial(number: int) -> str:
    return f"trial {number}"
