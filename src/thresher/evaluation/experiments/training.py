"""A fit watched from within: loss, present and future error after every iteration."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import ClassVar

from thresher.answers import FromRows
from thresher.evaluation.errors import errors_of
from thresher.evaluation.experiments.data import records_of
from thresher.evaluation.experiments.grid import Result, Sources
from thresher.evaluation.experiments.tasks import DIGITS, FutureFit
from thresher.mechanisms import RAP, Mechanism, Progress
from thresher.mechanisms.rap import targets_of
from thresher.privacy.curator import Measurement
from thresher.queries import Workload
from thresher.relaxed.projection import project
from thresher.relaxed.rows import RelaxedRows
from thresher.schema import Schema

Look = Callable[[int, float, RelaxedRows], None]


@dataclass(frozen=True, kw_only=True)
class WatchedRAP(RAP):
    """RAP that shows D' after every iteration of every round. Not private: for research."""

    look: Look = field(repr=False)

    def _project(
        self,
        rows: RelaxedRows,
        measured: list[Measurement],
        schema: Schema,
        progress: Progress,
        done: int,
    ) -> RelaxedRows:
        def record(iteration: int, misfit: float, latest: RelaxedRows) -> None:
            self.look(done, misfit, latest)

        return project(rows, targets_of(measured, schema), self.optimizer, record=record).rows


@dataclass(frozen=True, kw_only=True)
class TrainingRun(FutureFit):
    """A fit of a history with a look at D' every few iterations."""

    kind: ClassVar[str] = "training"

    every: int = 1

    @property
    def cost(self) -> float:
        """Looking takes longer than fitting."""
        return 30 * super().cost

    def mechanism_watched(self, workload: Workload, look: Look) -> Mechanism:
        """RAP with the parameters of the task, watched."""
        plain = self.mechanism_for(workload)
        assert isinstance(plain, RAP)
        settings = {each.name: getattr(plain, each.name) for each in fields(plain)}
        return WatchedRAP(**settings, look=look)

    def run(self, sources: Sources) -> Result:
        """The course of the misfit and of both errors."""
        records = records_of(self.data, sources)
        historical, history = self.history(records.schema)
        _, thresholds = self.futures(historical, self.drifts[0])
        future = Workload(records.schema, dict.fromkeys(thresholds))
        seen: dict[str, list[float]] = {
            name: [] for name in ("iteration", "round", "misfit", "present", "future")
        }
        count = 0

        def look(done: int, misfit: float, rows: RelaxedRows) -> None:
            nonlocal count
            if count % self.every == 0:
                answers = FromRows(rows, records.schema).table
                errors = dict(
                    zip(future, errors_of(answers, records, future).by_threshold, strict=True)
                )
                seen["iteration"].append(count)
                seen["round"].append(done)
                seen["misfit"].append(round(misfit, 4))
                seen["present"].append(round(errors_of(answers, records, history).max, DIGITS))
                mean = sum(errors[threshold] for threshold in thresholds) / len(thresholds)
                seen["future"].append(round(mean, DIGITS))
            count += 1

        self.fitted(records, history, self.mechanism_watched(history, look))
        return {"thresholds": len(history), "iterations": count, **seen}
