"""Figures on the paper's advice for small histories: augment them, and hold nothing out.

Augmenting adds uniformly random thresholds to the history. Holding out fits a part of the history
only and stops at the round in which the rest is answered best. That round is found here with the
true answers, at no cost to the budget: nobody could do better with what was held out, so if even
this is no gain, holding out is none.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pandas as pd

from thresher.evaluation.errors import errors_of
from thresher.queries import Workload
from thresher.relaxed.rows import RelaxedRows
from thresher.release.sources import SyntheticRows
from thresher.reproduction import plots
from thresher.reproduction.data import records_of
from thresher.reproduction.drift_effect import AUTO, KINDS, RAP_LABEL
from thresher.reproduction.future_error import NAMES, estimates, history_fit
from thresher.reproduction.paper_figure import Context, PaperFigure, mean_and_margin
from thresher.reproduction.running import Result, Sources, Task
from thresher.reproduction.scales import Scale
from thresher.reproduction.tasks import ALL, DIGITS, FutureFit, Kind, Shape
from thresher.reproduction.training import TrainingRun

KEPT_FOR_TEST = 0.25
"""The share of the history that is held out, at least one threshold."""


def augmenting(
    scale: Scale, shape: Shape, size: int, added: int, kind: Kind = "rap"
) -> list[FutureFit]:
    """Fits of one history, with thresholds added or without."""
    grid, data = scale.future, scale.data[0]
    return [
        history_fit(
            scale,
            kind,
            data=data,
            size=size,
            rounds=rounds,
            queries_per_round=per_round,
            seed=seed,
            distribution=shape,
            augmented=added,
        )
        for seed in range(grid.advice_repetitions)
        for rounds, per_round in (grid.advice_pairs if kind == "rap" else ((1, ALL),))
    ]


def augmenting_tasks(scale: Scale) -> Sequence[Task]:
    """Every history with and without."""
    return [task for kind in KINDS.values() for task in _augmenting_of(scale, kind)]


def _augmenting_of(scale: Scale, kind: Kind) -> list[FutureFit]:
    grid = scale.future
    return [
        task
        for shape in grid.shapes
        for size in grid.advice_sizes
        for added in (0, grid.augmented)
        for task in augmenting(scale, shape, size, added, kind)
    ]


def augmenting_changes(context: Context, line: str = RAP_LABEL) -> pd.DataFrame:
    """The paired change of future error by augmenting, for each history."""
    grid, rows = context.scale.future, []
    for shape in grid.shapes:
        for size in grid.advice_sizes:
            both = [
                estimates(context, augmenting(context.scale, shape, size, added, KINDS[line]))
                for added in (0, grid.augmented)
            ]
            if not all(both):
                continue
            plain, more = (min(found, key=lambda e: e.present) for found in both)
            pairs = zip(more.future.by_repetition, plain.future.by_repetition, strict=False)
            change, margin = mean_and_margin(
                sum(after) / len(after) - sum(before) / len(before) for after, before in pairs
            )
            rows.append(
                {
                    "data": context.scale.data[0], "line": line, "distribution": shape,
                    "size": size, "added": grid.augmented, "as it was": plain.future.mean,
                    "augmented": more.future.mean,
                    "change": change, "low": change - margin, "high": change + margin,
                }
            )  # fmt: skip
    return pd.DataFrame(rows)


def draw_augmenting(context: Context) -> None:
    """The change of future error, by the size of the history."""
    whole = [line for line in KINDS if context.has_all(_augmenting_of(context.scale, KINDS[line]))]
    found = pd.concat([augmenting_changes(context, line) for line in whole])
    context.table("augmenting", found)
    about = f"{context.scale.future.augmented} uniformly random thresholds added"
    _draw_changes(context, "augmenting", found, about)


@dataclass(frozen=True, kw_only=True)
class HoldingOut(TrainingRun):
    """A fit of a part of the history, looked at between rounds.

    Attributes:
        held_out: Whether a part of the history is held out; if not, all is fitted.
    """

    kind: ClassVar[str] = "holding-out"

    held_out: bool

    @property
    def cost(self) -> float:
        """A look for every round at what is held out, and two at future thresholds."""
        return 0.1 * self.rounds + 1.0

    def run(self, sources: Sources) -> Result:
        """Future error at the end, and where what was held out is answered best."""
        records = records_of(self.data, sources)
        historical, history = self.history(records.schema)
        _, thresholds = self.futures(historical, self.drifts[0])
        future = Workload(records.schema, dict.fromkeys(thresholds))
        weights = [thresholds.count(threshold) for threshold in future]
        aside = max(1, round(KEPT_FOR_TEST * len(history)))
        fitted, rest = history, history
        if self.held_out and aside < len(history):
            fitted, rest = history[:-aside], history[-aside:]
        looks: list[tuple[float, RelaxedRows]] = []

        def look(done: int, iteration: int, misfit: float, rows: RelaxedRows) -> None:
            if iteration == 0:
                columns = rows.feature_columns.copy()  # they are valid during the call only
                note(RelaxedRows.extended(columns, rows.feature_sizes, rows.views))

        def note(rows: RelaxedRows) -> None:
            answers = SyntheticRows(rows, records.schema).table
            looks.append((errors_of(answers, records, rest).max if self.held_out else 0.0, rows))

        def future_error(rows: RelaxedRows) -> float:
            answers = SyntheticRows(rows, records.schema).table
            errors = errors_of(answers, records, future).by_threshold
            mean = sum(e * w for e, w in zip(errors, weights, strict=True)) / len(thresholds)
            return round(mean, DIGITS)

        note(self.watched(records, fitted, look).rows)
        last = len(looks) - 1
        stopped = min(range(len(looks)), key=lambda i: looks[i][0]) if self.held_out else last
        return {
            "thresholds": len(fitted),
            "future": future_error(looks[stopped][1]),
            "future_at_the_end": future_error(looks[last][1]),
            "stopped_after": stopped,
        }


def holding_out(scale: Scale, shape: Shape, size: int, held_out: bool) -> list[HoldingOut]:
    """Fits of one history, with a part held out or without."""
    grid = scale.future
    return [
        replace(
            HoldingOut.of_scale(scale, shape, seed, optimizer=scale.optimizer, held_out=held_out),
            data=scale.data[0],
            size=size,
        )
        for seed in range(grid.advice_repetitions)
    ]


def holding_out_tasks(scale: Scale) -> Sequence[Task]:
    """Every history both ways. A history of one threshold has nothing to hold out."""
    grid = scale.future
    return [
        task
        for shape in grid.shapes
        for size in grid.advice_sizes
        if size > 1
        for held_out in (False, True)
        for task in holding_out(scale, shape, size, held_out)
    ]


def holding_out_changes(context: Context) -> pd.DataFrame:
    """The paired change of future error by holding out, for each history."""
    grid, rows = context.scale.future, []
    for shape in grid.shapes:
        for size in (size for size in grid.advice_sizes if size > 1):
            by_seed: list[dict[int, float]] = []
            for held_out in (False, True):
                found: Any = context.found(holding_out(context.scale, shape, size, held_out))
                by_seed.append({task.seed: result["future"] for task, result in found})
            whole, part = by_seed
            both = sorted(whole.keys() & part.keys())
            if not both:
                continue
            change, margin = mean_and_margin(part[seed] - whole[seed] for seed in both)
            rows.append(
                {
                    "data": context.scale.data[0], "line": RAP_LABEL, "distribution": shape,
                    "size": size, "whole history": sum(whole[s] for s in both) / len(both),
                    "part held out": sum(part[s] for s in both) / len(both),
                    "change": change, "low": change - margin, "high": change + margin,
                }
            )  # fmt: skip
    return pd.DataFrame(rows)


def draw_holding_out(context: Context) -> None:
    """The change of future error, by the size of the history."""
    found = holding_out_changes(context)
    context.table("holding-out", found)
    about = f"{KEPT_FOR_TEST:.0%} of the history held out, stopped at its best round"
    _draw_changes(context, "holding-out", found, about)


def _draw_changes(context: Context, stem: str, found: pd.DataFrame, about: str) -> None:
    grid, data = context.scale.future, context.scale.data[0]
    title = context.title(
        data,
        f"change of future error, paired, with 95 % intervals: {about}; {grid.r}-of-{grid.k} "
        f"thresholds, ε = {grid.epsilon:g}",
    )
    with plots.page(1, len(grid.shapes), title=title, height=2.5) as (figure, [panels]):
        for axes, shape in zip(panels, grid.shapes, strict=True):
            here, curves = found[found["distribution"] == shape].sort_values("size"), []
            for label, some in here.groupby("line", sort=False):
                x, y = list(some["size"]), list(some["change"])
                low, high = list(some["low"]), list(some["high"])
                style = 3 if label == AUTO else 0
                curves.append(plots.Curve(str(label), x, y, style, low, high))
            plots.draw_curves(axes, curves)
            axes.axhline(0.0, color=plots.BLACK, linewidth=0.8)
            sizes = sorted(here["size"].unique())
            plots.sizes_axis(axes, sizes, f"{plots.HISTORY}, historical thresholds")
            axes.set_title(NAMES[shape])
        panels[0].set_ylabel("change of future error")
        if found["line"].nunique() > 1:
            plots.legend_below(figure, panels[0], 2)
        context.save(figure, stem)


AUGMENTING = PaperFigure(
    "augmenting",
    "the paper's advice: uniformly random thresholds added to a small history",
    augmenting_tasks,
    draw_augmenting,
)
HOLDING_OUT = PaperFigure(
    "holding-out",
    "a part of the history held out to stop early: the paper expects it to be worse",
    holding_out_tasks,
    draw_holding_out,
)
