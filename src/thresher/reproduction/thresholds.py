"""Figures on r-of-4 thresholds: present error over |W|, and at every (T, K)."""

from collections.abc import Sequence

import pandas as pd

from thresher.reproduction import plots
from thresher.reproduction.adaptivity import MAP_COLUMNS, draw_maps
from thresher.reproduction.paper_figure import (
    Context,
    PaperFigure,
    best_pairs,
    counted,
    means_of,
    means_of_whole,
    pair_name,
)
from thresher.reproduction.running import Task
from thresher.reproduction.scales import Pairs, Scale
from thresher.reproduction.tasks import ALL, Kind, PresentFit, sizes_within

RAP_LABEL, AUTO, GM, ALL_0 = "RAP, best (T,K)", "auto (ours)", "GM", "All-0"
STYLES = {RAP_LABEL: 0, AUTO: 3, GM: 2, ALL_0: 6}
BASELINES: dict[str, Kind] = {AUTO: "auto", GM: "gaussian_per_query", ALL_0: "all0"}


def fits(scale: Scale, kind: Kind = "rap", pairs: Pairs | None = None) -> list[PresentFit]:
    """RAP at every (T, K), `auto`, or a baseline."""
    grid = scale.thresholds
    tried = (pairs or grid.pairs) if kind == "rap" else ((1, ALL),)
    practice = scale.practice.of_fits if kind == "rap" else {}
    return [
        PresentFit(
            data=data,
            mechanism=kind,
            epsilon=epsilon,
            k=grid.k,
            r=r,
            size=size,
            rounds=rounds,
            queries_per_round=per_round,
            synthetic_rows=grid.synthetic_rows,
            optimizer=scale.optimizer,
            seed=seed,
            filtered=grid.filtered,
            **practice,
        )
        for data in scale.data
        for epsilon in grid.epsilons
        for r in grid.r
        for size in sizes_within(data, grid.k, grid.sizes)
        for seed in range(grid.repetitions)
        for rounds, per_round in tried
    ]


def tasks(scale: Scale) -> Sequence[Task]:
    """RAP and the baselines."""
    return [*fits(scale), *(task for kind in BASELINES.values() for task in fits(scale, kind))]


def mapped(scale: Scale) -> Sequence[PresentFit]:
    """The runs at the one ε and |W| of the heat maps."""
    grid = scale.thresholds
    return [
        task
        for task in fits(scale, pairs=grid.map_pairs)
        if task.epsilon == grid.map_epsilon
        and (task.size,) == sizes_within(task.data, grid.k, (grid.map_size,))
    ]


def draw(context: Context) -> None:
    """A row for each ε and a panel for each r."""
    setting = ["data", "epsilon", "r", "size"]
    parts = [best_pairs(context.frame(fits(context.scale)), setting).assign(mechanism=RAP_LABEL)]
    for label, kind in BASELINES.items():
        runs = fits(context.scale, kind)
        frame = context.whole(runs) if label == AUTO else context.frame(runs)
        if len(frame):  # GM holds every noisy answer, which the largest workloads do not allow
            repetitions = context.scale.thresholds.repetitions
            means = means_of_whole(frame, setting, repetitions, "error")
            parts.append(means.assign(mechanism=label))
    found = pd.concat(parts, ignore_index=True)
    context.table("thresholds-error", found)
    for data in context.scale.data:
        _draw_data(context, data, found[found["data"] == data])


def filter_words(scale: Scale) -> str:
    """Says so in the title where a scale leaves large thresholds out."""
    return ", of ≤ n queries each" if scale.thresholds.filtered else ""


def _draw_data(context: Context, data: str, found: pd.DataFrame) -> None:
    grid = context.scale.thresholds
    title = context.title(
        data,
        f"r-of-{grid.k} thresholds{filter_words(context.scale)}, n' = {grid.synthetic_rows}, "
        f"mean of {counted(grid.repetitions, 'repetition')}",
    )
    with plots.page(len(grid.epsilons), len(grid.r), title=title, width=2.1, height=2.2) as (
        figure,
        panels,
    ):
        for row, epsilon in zip(panels, grid.epsilons, strict=True):
            for axes, r in zip(row, grid.r, strict=True):
                here = found[(found["epsilon"] == epsilon) & (found["r"] == r)]
                lines = [label for label in STYLES if label in set(here["mechanism"])]
                plots.draw_curves(axes, [_curve(here, label) for label in lines])
                plots.sizes_axis(axes, sizes_within(data, grid.k, grid.sizes), "|W|, thresholds")
                axes.set_title(f"r = {r}, ε = {epsilon:g}")
                plots.noted_errors_axis(axes)
            row[0].set_ylabel("present error\n(share of records)")
        plots.legend_below(figure, panels[0][0], 4)
        name = context.name("thresholds-error", data)
        context.save(figure, name)


def _curve(found: pd.DataFrame, label: str) -> plots.Curve:
    here = found[found["mechanism"] == label].sort_values("size")
    notes: Sequence[str] = ()
    if label == RAP_LABEL:
        pairs = zip(here["rounds"], here["queries_per_round"], strict=True)
        notes = [pair_name(t, k) for t, k in pairs]
    return plots.Curve(label, list(here["size"]), list(here["error"]), STYLES[label], notes=notes)


def draw_adaptivity(context: Context) -> None:
    """A map for each r."""
    grid = context.scale.thresholds
    frame = context.frame(mapped(context.scale))
    context.table("thresholds-adaptivity", means_of(frame, MAP_COLUMNS, "error"))
    about = (
        f"present error of RAP, {grid.map_size} r-of-{grid.k} thresholds"
        f"{filter_words(context.scale)}, ε = {grid.map_epsilon:g}, n' = {grid.synthetic_rows}, "
        f"mean of {counted(grid.repetitions, 'repetition')}; least framed"
    )
    for data in context.scale.data:
        draw_maps(
            context, data, "thresholds-adaptivity", about, frame[frame["data"] == data], "r",
            lambda r: f"r = {r:g}", grid.map_pairs,
        )  # fmt: skip


FIGURE = PaperFigure(
    "thresholds-error",
    "present error of RAP, auto, GM and All-0 on r-of-4 thresholds, r = 1 to 4",
    tasks,
    draw,
)
ADAPTIVITY = PaperFigure(
    "thresholds-adaptivity",
    "present error of RAP on r-of-4 thresholds at every (T, K)",
    mapped,
    draw_adaptivity,
)
