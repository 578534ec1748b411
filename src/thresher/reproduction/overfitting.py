"""Figure "Overfitting": does future error rise while present error and the loss go on falling?

The paper looks at one fit of each distribution. Here are several, as fits are (they stop at the
noise), and driven past the noise by a fixed number of iterations in every round, with our optimiser
and with the paper's Adam. Changes are counted within fits, from a quarter and from half of the
rounds to the end.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from thresher.reproduction import plots
from thresher.reproduction.future_error import NAMES
from thresher.reproduction.paper_figure import (
    Context,
    PaperFigure,
    counted,
    mean_and_margin,
)
from thresher.reproduction.running import Result, Task
from thresher.reproduction.scales import Scale
from thresher.reproduction.training import RoundsRun
from thresher.reproduction.training_progress import SHAPES

SINCE = (0.25, 0.5)
NOTABLE = 0.01
"""A rise of future error that anybody would mind, as a share of records."""


@dataclass(frozen=True)
class Way:
    """How D' is fitted in every round.

    Attributes:
        about: What figures call it.
        optimizer: By which optimiser.
        times: How often the scale's number of iterations; 0 stops where fits do, at the noise.
    """

    about: str
    optimizer: str
    times: int


WAYS = (
    Way("ours, to the noise", "accelerated", 0),
    Way("ours, past the noise", "accelerated", 1),
    # Its steps are of one small size, so it needs more of them to come as far.
    Way("Adam, many steps", "adam", 10),
)


def fits(scale: Scale, way: Way) -> Sequence[RoundsRun]:
    """Fits of each distribution in one of the ways."""
    grid = scale.future
    iterations = way.times * grid.overfitting_iterations
    fixed = {
        "optimizer": way.optimizer, "iterations": iterations, "every": max(iterations // 2, 1)
    }  # fmt: skip
    return [
        RoundsRun.of_scale(scale, shape, seed, **fixed)
        for shape in SHAPES
        for seed in range(grid.overfitting_repetitions)
    ]


def tasks(scale: Scale) -> Sequence[Task]:
    """All ways."""
    return [task for way in WAYS for task in fits(scale, way)]


def changes(result: Result, since: float) -> pd.DataFrame:
    """Both errors of a fit since some share of its rounds.

    Example:
        >>> changes({"rounds_done": [0, 1, 2], "present": [0.9, 0.5, 0.25],
        ...          "future": [0.9, 0.5, 0.625]}, since=1 / 2)
           rounds_done  present  future
        1            1     0.00   0.000
        2            2    -0.25   0.125
    """
    frame = pd.DataFrame({name: result[name] for name in ("rounds_done", "present", "future")})
    first = math.floor(since * frame["rounds_done"].iloc[-1])
    late: pd.DataFrame = frame[frame["rounds_done"] >= first].copy()
    late[["present", "future"]] -= late[["present", "future"]].iloc[0]
    return late


def collected(context: Context) -> pd.DataFrame:
    """For each fit, and each share of its rounds, how both errors change from there to the end."""
    rows = []
    for way in WAYS:
        for task, result in context.found(fits(context.scale, way)):
            assert isinstance(task, RoundsRun)
            losses = zip(result["first_misfit"], result["last_misfit"], strict=True)
            left = float(np.median([last / first for first, last in losses]))
            for since in SINCE:
                late = changes(result, since)
                rows.append(
                    {
                        "data": task.data, "way": way.about, "distribution": task.distribution,
                        "seed": task.seed, "iterations": result["iterations"], "since": since,
                        "present at the end": result["present"][-1],
                        "future at the end": result["future"][-1],
                        "present change": late["present"].iloc[-1],
                        "future change": late["future"].iloc[-1],
                        "above its least": result["future"][-1] - min(result["future"]),
                        "loss left by a round": left,
                        "loss at the end": result["last_misfit"][-1],
                    }
                )  # fmt: skip
    return pd.DataFrame(rows)


def summarised(found: pd.DataFrame) -> pd.DataFrame:
    """For each way and distribution the mean changes with 95 % intervals.

    Future error above its least is what stopping at the best moment, which nobody knows, would
    have saved.
    """
    rows = []
    settings = ["data", "way", "distribution", "since"]
    for setting, here in found.groupby(settings, sort=False):
        row: dict[str, Any] = {**dict(zip(settings, setting, strict=True)), "fits": len(here)}
        for column in ("present", "future"):
            mean, margin = mean_and_margin(here[f"{column} change"])
            row |= {f"{column} change": mean, f"{column} low": mean - margin}
            row |= {f"{column} high": mean + margin}
        rose = here["future change"] > NOTABLE
        row |= {
            f"future rose by over {NOTABLE:g}": int(rose.sum()),
            "of these with present falling": int((rose & (here["present change"] < 0)).sum()),
            "largest future rise": here["future change"].max(),
            "above its least, mean": here["above its least"].mean(),
            "above its least, most": here["above its least"].max(),
            "loss left by a round, median": here["loss left by a round"].median(),
            "loss at the end, median": here["loss at the end"].median(),
            "overfits": bool(row["future low"] > 0 and row["present high"] < 0),
        }
        rows.append(row)
    return pd.DataFrame(rows)


def draw(context: Context) -> None:
    """A column for each way, a row for each distribution."""
    scale, grid = context.scale, context.scale.future
    found = collected(context)
    context.table("overfitting", found)
    context.table("overfitting-tests", summarised(found))
    data = scale.data[-1]
    (rounds, per_round), steps = grid.training_pair, grid.overfitting_iterations
    title = context.title(
        data,
        f"change since a quarter of the rounds; {grid.r}-of-{grid.k} thresholds, {plots.HISTORY} = "
        f"{grid.training_size}, ε = {grid.epsilon:g}, T = {rounds}, K = {per_round}; mean of "
        f"{counted(grid.overfitting_repetitions, 'fit')}, bands: 95 % intervals; iterations a "
        f"round: to the noise, {' or '.join(str(w.times * steps) for w in WAYS[1:])}",
    )
    with plots.page(len(SHAPES), len(WAYS), title=title, height=2.1) as (figure, panels):
        for row, shape in zip(panels, SHAPES, strict=True):
            for axes, way in zip(row, WAYS, strict=True):
                here = [task for task in fits(scale, way) if task.distribution == shape]
                courses = [changes(result, SINCE[0]) for _, result in context.found(here)]
                plots.draw_curves(axes, _curves(courses))
                axes.axhline(0.0, color=plots.BLACK, linewidth=0.8)
                axes.set_title(f"{NAMES[shape]}: {way.about}")
            row[0].set_ylabel("change of error\n(share of records)")
        for axes in panels[-1]:
            axes.set_xlabel("rounds done")
        for column in zip(*panels, strict=True):
            lows, highs = zip(*(axes.get_ylim() for axes in column), strict=True)
            for axes in column:
                axes.set_ylim(min(lows), max(highs))
        plots.legend_below(figure, panels[0][0], 2)
        context.save(figure, context.name("overfitting", data))


def _curves(courses: Sequence[pd.DataFrame]) -> list[plots.Curve]:
    together = pd.concat(courses)
    x = sorted({float(at) for at in together["rounds_done"]})
    curves = []
    for style, column in enumerate(("present", "future")):
        found = [mean_and_margin(together[together["rounds_done"] == at][column]) for at in x]
        low, high = (
            [mean - margin for mean, margin in found],
            [mean + margin for mean, margin in found],
        )
        curves.append(
            plots.Curve(f"{column} error", x, [mean for mean, _ in found], style, low, high)
        )
    return curves


FIGURE = PaperFigure(
    "overfitting",
    "does future error rise while present error falls? our optimiser and Adam, past the noise",
    tasks,
    draw,
)
