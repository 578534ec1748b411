"""Figures "Role of adaptivity": present error at every (T, K), over |W| and over ε."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from thresher.reproduction import plots
from thresher.reproduction.paper_figure import Context, PaperFigure, means_of
from thresher.reproduction.present_error import adaptive
from thresher.reproduction.running import Task
from thresher.reproduction.scales import Pairs, Scale
from thresher.reproduction.tasks import PresentFit, sizes_within

MAP_COLUMNS = ["data", "epsilon", "size", "r", "rounds", "queries_per_round"]


def over_sizes(scale: Scale) -> Sequence[PresentFit]:
    """The runs at the one ε of the first figure."""
    return [task for task in adaptive(scale) if task.epsilon == scale.marginals.map_epsilon]


def over_epsilons(scale: Scale) -> Sequence[PresentFit]:
    """The runs at the one |W| of the second figure."""
    grid = scale.marginals
    return [
        task
        for task in adaptive(scale)
        if (task.size,) == sizes_within(task.data, grid.k, (grid.map_size,))
    ]


def draw_sizes(context: Context) -> None:
    """A map for each |W|."""
    epsilon = context.scale.marginals.map_epsilon
    _draw(
        context, over_sizes(context.scale), "adaptivity-workload", "size", f"ε = {epsilon:g}",
        lambda size: f"|W| = {size:g}",
    )  # fmt: skip


def draw_epsilons(context: Context) -> None:
    """A map for each ε."""
    size = context.scale.marginals.map_size
    _draw(
        context, over_epsilons(context.scale), "adaptivity-epsilon", "epsilon", f"|W| = {size}",
        lambda epsilon: f"ε = {epsilon:g}",
    )  # fmt: skip


def _draw(
    context: Context,
    tasks: Sequence[Task],
    stem: str,
    panel: str,
    fixed: str,
    words: Callable[[Any], str],
) -> None:
    grid = context.scale.marginals
    frame = context.frame(tasks)
    context.table(stem, means_of(frame, MAP_COLUMNS, "error"))
    about = (
        f"present error of RAP, {grid.k}-way marginals, {fixed}, n' = {grid.synthetic_rows}, "
        f"mean of {grid.repetitions} repetitions; least framed"
    )
    for data in context.scale.data:
        draw_maps(
            context, data, stem, about, frame[frame["data"] == data], panel, words, grid.pairs
        )


def draw_maps(
    context: Context,
    data: str,
    stem: str,
    about: str,
    frame: pd.DataFrame,
    panel: str,
    words: Callable[[Any], str],
    pairs: Pairs,
) -> None:
    """Heat maps side by side, one for each value of a column, with one scale of colours."""
    values = sorted(frame[panel].unique())
    rounds, per_round = sorted({t for t, _ in pairs}), sorted({k for _, k in pairs})
    maps = [map_of(frame[frame[panel] == value], rounds, per_round) for value in values]
    limits = (0.0, float(np.nanmax([np.nanmax(found) for found in maps])))
    title = context.title(data, about)
    with plots.page(1, len(values), title=title, width=2.1, height=1.9) as (figure, [panels]):
        for axes, value, found in zip(panels, values, maps, strict=True):
            bounds = plots.heat_map(axes, found, rounds, per_round, limits)
            axes.set_title(words(value))
        for axes in panels[1:]:
            axes.set_ylabel("")
        bar = figure.colorbar(bounds, ax=panels, shrink=0.9, aspect=25)
        bar.set_label("present error (share of records)", fontsize=7)
        context.save(figure, context.name(stem, data))


def map_of(
    frame: pd.DataFrame, rounds: Sequence[int], per_round: Sequence[int]
) -> npt.NDArray[np.float64]:
    """Mean present error by T and K; NaN where nothing was run."""
    means = frame.groupby(["rounds", "queries_per_round"])["error"].mean()
    return np.array([[means.get((t, k), np.nan) for k in per_round] for t in rounds], dtype=float)


OVER_SIZES = PaperFigure(
    "adaptivity-workload",
    "present error of RAP at every (T, K), over |W|",
    over_sizes,
    draw_sizes,
)
OVER_EPSILONS = PaperFigure(
    "adaptivity-epsilon",
    "present error of RAP at every (T, K), over ε",
    over_epsilons,
    draw_epsilons,
)
