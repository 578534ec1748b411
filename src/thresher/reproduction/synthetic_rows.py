"""Figure "Effect of synthetic data set size": n' against present error and time, r = 1 to 4."""

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from thresher.reproduction import plots
from thresher.reproduction.paper_figure import (
    Context,
    PaperFigure,
    best_pairs,
    counted,
    means_of,
)
from thresher.reproduction.running import Task
from thresher.reproduction.scales import Scale
from thresher.reproduction.tasks import ALL, PresentFit
from thresher.reproduction.thresholds import filter_words, mapped

AUTO = "auto"
PANELS = {"error": "present error (share of records)", "seconds": "processor time of the fit (s)"}


def tasks(scale: Scale) -> Sequence[PresentFit]:
    """The heat maps' workloads, with more rows and fewer."""
    grid = scale.thresholds
    return [
        replace(task, synthetic_rows=rows)
        for task in mapped(scale)
        if (task.rounds, task.queries_per_round) in grid.rows_pairs
        for rows in grid.rows
    ]


def auto(scale: Scale) -> Sequence[PresentFit]:
    """The same workloads answered by `auto`, which chooses its rounds itself."""
    once = [task for task in tasks(scale) if task.optimizer == scale.optimizer]
    wanted = (
        replace(task, mechanism="auto", rounds=1, queries_per_round=ALL, clipped=False)
        for task in once
    )
    return list(dict.fromkeys(wanted))


def all_tasks(scale: Scale) -> Sequence[Task]:
    """RAP and `auto`."""
    return [*tasks(scale), *auto(scale)]


def draw(context: Context) -> None:
    """Error and time of the (T, K) with the least error."""
    frame = context.frame(tasks(context.scale))
    setting = ["data", "r", "synthetic_rows"]
    pair = ["rounds", "queries_per_round"]
    best = best_pairs(frame, setting)
    seconds = means_of(frame, [*setting, *pair], "seconds")
    found = best.merge(seconds, on=[*setting, *pair]).assign(mechanism="rap")
    ours = context.whole(auto(context.scale))
    if len(ours):
        other = means_of(ours, setting, "error", "seconds").assign(mechanism=AUTO)
        found = pd.concat([found, other], ignore_index=True)
    context.table("synthetic-rows", found)
    for data in context.scale.data:
        _draw_data(context, data, found[found["data"] == data])


def _draw_data(context: Context, data: str, found: pd.DataFrame) -> None:
    grid = context.scale.thresholds
    title = context.title(
        data,
        f"{grid.map_size} r-of-{grid.k} thresholds{filter_words(context.scale)}, "
        f"ε = {grid.map_epsilon:g}, best of {len(grid.rows_pairs)} (T,K) at each point, "
        f"mean of {counted(grid.repetitions, 'repetition')}",
    )
    with plots.page(1, 2, title=title, width=3.0, height=2.5) as (figure, [panels]):
        for axes, (column, words) in zip(panels, PANELS.items(), strict=True):
            curves = []
            for style, r in enumerate(grid.r):
                for mechanism, label in (("rap", f"r = {r}"), (AUTO, f"r = {r}, auto")):
                    here = found[(found["r"] == r) & (found["mechanism"] == mechanism)]
                    here = here.sort_values("synthetic_rows")
                    x, y = list(here["synthetic_rows"]), list(here[column])
                    if x:
                        curves.append(plots.Curve(label, x, y, style, hollow=mechanism == AUTO))
            plots.draw_curves(axes, curves)
            plots.sizes_axis(axes, grid.rows, "n', synthetic rows")
            axes.set_ylabel(words)
            axes.set_ylim(bottom=0)
        plots.legend_below(figure, panels[0], len(grid.r))
        context.save(figure, context.name("synthetic-rows", data))


FIGURE = PaperFigure(
    "synthetic-rows",
    "n' against present error and time on r-of-4 thresholds",
    all_tasks,
    draw,
)
