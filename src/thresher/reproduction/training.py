"""Fits watched from within: loss, present and future error on the way."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import ClassVar

from thresher.data import Records
from thresher.evaluation.errors import errors_of
from thresher.mechanisms import RAP, Mechanism, Progress
from thresher.mechanisms.rap import targets_of
from thresher.privacy.measurements import Measurement
from thresher.queries import Workload
from thresher.relaxed.projection import Stopping, project
from thresher.relaxed.rows import RelaxedRows
from thresher.release.sources import SyntheticRows
from thresher.reproduction.data import records_of
from thresher.reproduction.grid import Result, Sources
from thresher.reproduction.tasks import DIGITS, FutureFit
from thresher.schema import Schema

Look = Callable[[int, int, float, RelaxedRows], None]
"""Called with the round, the iteration within it, the misfit and D'."""


@dataclass(frozen=True, kw_only=True)
class WatchedRAP(RAP):
    """RAP that shows D' after every iteration of every round. Not private: for research."""

    look: Look = field(repr=False)
    stopping: Stopping | None = None

    def _project(
        self,
        rows: RelaxedRows,
        measured: list[Measurement],
        schema: Schema,
        progress: Progress,
        done: int,
    ) -> RelaxedRows:
        def record(iteration: int, misfit: float, latest: RelaxedRows) -> None:
            self.look(done, iteration, misfit, latest)

        targets = targets_of(measured, schema)
        return project(rows, targets, self.optimizer, self.stopping, record).rows


@dataclass(frozen=True, kw_only=True)
class TrainingRun(FutureFit):
    """A fit of a history with a look at D' every few iterations."""

    kind: ClassVar[str] = "training"

    every: int = 1

    @property
    def cost(self) -> float:
        """Looking takes longer than fitting."""
        return 30 * super().cost

    def mechanism_watched(
        self, workload: Workload, look: Look, stopping: Stopping | None = None
    ) -> Mechanism:
        """RAP with the parameters of the task, watched."""
        plain = self.mechanism_for(workload)
        assert isinstance(plain, RAP)
        settings = {each.name: getattr(plain, each.name) for each in fields(plain)}
        return WatchedRAP(**settings, look=look, stopping=stopping)

    def both_errors(self, records: Records) -> Callable[[RelaxedRows], tuple[float, float]]:
        """What tells the present and the future error of a D'."""
        historical, history = self.history(records.schema)
        _, thresholds = self.futures(historical, self.drifts[0])
        future = Workload(records.schema, dict.fromkeys(thresholds))

        def both(rows: RelaxedRows) -> tuple[float, float]:
            answers = SyntheticRows(rows, records.schema).table
            found = errors_of(answers, records, future).by_threshold
            errors = dict(zip(future, found, strict=True))
            mean = sum(errors[threshold] for threshold in thresholds) / len(thresholds)
            present = errors_of(answers, records, history).max
            return round(present, DIGITS), round(mean, DIGITS)

        return both

    def run(self, sources: Sources) -> Result:
        """The course of the misfit and of both errors."""
        records = records_of(self.data, sources)
        _, history = self.history(records.schema)
        both = self.both_errors(records)
        seen: dict[str, list[float]] = {
            name: [] for name in ("iteration", "round", "misfit", "present", "future")
        }
        count = 0

        def look(done: int, iteration: int, misfit: float, rows: RelaxedRows) -> None:
            nonlocal count
            if count % self.every == 0:
                present, mean = both(rows)
                seen["iteration"].append(count)
                seen["round"].append(done)
                seen["misfit"].append(round(misfit, 4))
                seen["present"].append(present)
                seen["future"].append(mean)
            count += 1

        self.fitted(records, history, self.mechanism_watched(history, look))
        return {"thresholds": len(history), "iterations": count, **seen}


@dataclass(frozen=True, kw_only=True)
class RoundsRun(TrainingRun):
    """A fit looked at where rounds begin, in between where asked, and at its end.

    Attributes:
        iterations: In every round, however good the fit; 0 stops where fits do, at the noise.
        every: Iterations of a round between two looks, where their number is fixed.
    """

    kind: ClassVar[str] = "rounds"

    iterations: int

    @property
    def cost(self) -> float:
        """A look for every round, and the iterations, where they are many."""
        return 0.25 * self.rounds + 0.002 * self.rounds * self.iterations

    @property
    def stopping(self) -> Stopping | None:
        """The rule of all fits, or none but the number of iterations."""
        if not self.iterations:
            return None
        never = self.iterations + 1
        return Stopping(misfit=0.0, window=never, iterations=self.iterations)

    def run(self, sources: Sources) -> Result:
        """Both errors by the number of rounds done, and each round's first and last misfit."""
        records = records_of(self.data, sources)
        _, history = self.history(records.schema)
        both = self.both_errors(records)
        seen: dict[str, list[float]] = {name: [] for name in ("rounds_done", "present", "future")}
        misfits: dict[int, list[float]] = {}
        total = 0

        def note(rounds_done: float, rows: RelaxedRows) -> None:
            present, future = both(rows)
            seen["rounds_done"].append(round(rounds_done, 4))
            seen["present"].append(present)
            seen["future"].append(future)

        def look(done: int, iteration: int, misfit: float, rows: RelaxedRows) -> None:
            nonlocal total
            first = misfits.setdefault(done, [misfit])[0]
            misfits[done] = [first, misfit]
            total += 1
            between = 0 < iteration < self.iterations and iteration % self.every == 0
            if iteration == 0 or between:
                note(done - 1 + iteration / max(self.iterations, 1), rows)

        mechanism = self.mechanism_watched(history, look, self.stopping)
        release = self.fitted(records, history, mechanism)
        assert isinstance(release.source, SyntheticRows)
        note(len(misfits), release.source.rows)
        return {
            "thresholds": len(history),
            "iterations": total,
            **seen,
            "first_misfit": [round(first, 4) for first, _ in misfits.values()],
            "last_misfit": [round(last, 4) for _, last in misfits.values()],
        }
