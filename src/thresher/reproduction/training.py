"""Fits watched from within: loss, present and future error on the way."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from thresher.data import Records
from thresher.evaluation.errors import errors_of
from thresher.mechanisms.projector import OnIteration
from thresher.mechanisms.rap import RAPProcedure
from thresher.privacy.curator import Curator
from thresher.privacy.randomness import InsecureSeededRandomness
from thresher.queries import Workload
from thresher.relaxed.projection import Stopping
from thresher.relaxed.rows import RelaxedRows
from thresher.release.sources import SyntheticRows
from thresher.reproduction.data import records_of
from thresher.reproduction.running import Result, Sources
from thresher.reproduction.scales import Scale
from thresher.reproduction.tasks import DIGITS, FutureFit, Shape


@dataclass(frozen=True, kw_only=True)
class TrainingRun(FutureFit):
    """A fit of a history with a look at D' every few iterations."""

    kind: ClassVar[str] = "training"

    every: int = 1

    @classmethod
    def of_scale(cls, scale: Scale, shape: Shape, seed: int, **more: Any) -> Self:
        """A run with the parameters that a scale has for training, and more.

        Args:
            scale: The parameters of all experiments.
            shape: The distribution of features in the history.
            seed: The number of the repetition.
            **more: The fields that are not the same in all runs.
        """
        grid = scale.future
        rounds, per_round = grid.training_pair
        return cls(
            data=scale.data[-1],
            epsilon=grid.epsilon,
            k=grid.k,
            r=grid.r,
            size=grid.training_size,
            rounds=rounds,
            queries_per_round=per_round,
            synthetic_rows=grid.synthetic_rows,
            distribution=shape,
            future=grid.training_future,
            seed=seed,
            **scale.practice.of_histories,
            **more,
        )

    @property
    def cost(self) -> float:
        """Looking takes longer than fitting."""
        return 30 * super().cost

    def watched(
        self,
        records: Records,
        history: Workload,
        on_iteration: OnIteration,
        stopping: Stopping | None = None,
    ) -> SyntheticRows:
        """Run RAP with the parameters of the task, watched, and give its last D'."""
        rap = self.mechanism_for(history)
        budget = rap.budget_for(records)
        procedure = rap.resolve(records.n, budget.rho, history)
        assert isinstance(procedure, RAPProcedure)
        procedure.estimate(records.n).check()
        projector = replace(
            procedure.projector, stopping=stopping or Stopping(), on_iteration=on_iteration
        )
        noise = InsecureSeededRandomness(self.noise_seed)
        curator = Curator(records, budget, randomness=noise)
        outcome = replace(procedure, projector=projector).run(curator, _untold)
        assert isinstance(outcome.source, SyntheticRows)
        return outcome.source

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

        self.watched(records, history, look)
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

        last = self.watched(records, history, look, self.stopping)
        note(len(misfits), last.rows)
        return {
            "thresholds": len(history),
            "iterations": total,
            **seen,
            "first_misfit": [round(first, 4) for first, _ in misfits.values()],
            "last_misfit": [round(last, 4) for _, last in misfits.values()],
        }


def _untold(step: object) -> None:
    """Nobody follows the rounds: the iterations are watched."""
