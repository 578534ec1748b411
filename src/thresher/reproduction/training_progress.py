"""Figure "Training progress": loss, present and future error after every iteration.

In the paper on LOANS with a history of 4 thresholds, Uniform against Geometric; a scale without
LOANS shows the same on what it has.
"""

from collections.abc import Sequence

import pandas as pd

from thresher.reproduction import plots
from thresher.reproduction.future_error import NAMES
from thresher.reproduction.paper_figure import Context, PaperFigure
from thresher.reproduction.running import Task
from thresher.reproduction.scales import Scale
from thresher.reproduction.tasks import Shape
from thresher.reproduction.training import TrainingRun

SHAPES: tuple[Shape, ...] = ("uniform", "geometric")


def runs(scale: Scale) -> Sequence[TrainingRun]:
    """Fits for each distribution; the first of each is drawn in full."""
    grid = scale.future
    return [
        TrainingRun.of_scale(
            scale, shape, seed, optimizer=scale.optimizer, every=grid.training_every
        )
        for shape in SHAPES
        for seed in range(grid.training_repetitions)
    ]


def tasks(scale: Scale) -> Sequence[Task]:
    """The fits that are watched."""
    return runs(scale)


def draw(context: Context) -> None:
    """Errors on the left axis of each panel, the loss on the right one."""
    scale, grid = context.scale, context.scale.future
    watched = [(task, context.store[task]) for task in runs(scale) if task in context.store]
    columns = ("iteration", "round", "misfit", "present", "future")
    parts = [
        pd.DataFrame({name: result[name] for name in columns}).assign(
            distribution=task.distribution, seed=task.seed, data=task.data
        )
        for task, result in watched
    ]
    context.table("training-progress", pd.concat(parts, ignore_index=True))
    data = scale.data[-1]
    rounds, per_round = grid.training_pair
    title = context.title(
        data,
        f"{grid.r}-of-{grid.k} thresholds, {plots.HISTORY} = {grid.training_size}, "
        f"ε = {grid.epsilon:g}, T = {rounds}, K = {per_round}; thin: other fits",
    )
    with plots.page(1, len(SHAPES), title=title, width=3.4, height=2.7) as (figure, [panels]):
        for axes, shape in zip(panels, SHAPES, strict=True):
            here = [found for task, found in watched if task.distribution == shape]
            for other in here[1:]:
                for column, style in (("present", 0), ("future", 1)):
                    axes.plot(
                        other["iteration"], other[column], color=plots.COLOURS[style],
                        linestyle=plots.DASHES[style], linewidth=0.7, alpha=0.5,
                    )  # fmt: skip
            result = here[0]
            x = result["iteration"]
            for label, column, style in (
                ("present error", "present", 0),
                ("future error", "future", 1),
            ):
                axes.plot(
                    x, result[column], color=plots.COLOURS[style], linestyle=plots.DASHES[style],
                    label=label,
                )  # fmt: skip
            loss = axes.twinx()
            loss.grid(False)
            loss.plot(
                x, result["misfit"], color=plots.GREEN, linestyle=plots.DASHES[2], linewidth=1,
                label="loss (right axis)",
            )  # fmt: skip
            loss.set_yscale("log")
            loss.spines["right"].set_visible(True)
            loss.set_ylabel("loss (mean squared residual, σ²)")
            axes.plot(
                [], [], color=plots.GREEN, linestyle=plots.DASHES[2], label="loss (right axis)"
            )
            axes.set_title(NAMES[shape])
            axes.set_xlabel("iteration, over all rounds")
            axes.set_ylabel("error (share of records)")
            axes.set_ylim(0, 1.05)
        plots.legend_below(figure, panels[0], 3)
        context.save(figure, context.name("training-progress", data))


FIGURE = PaperFigure(
    "training-progress",
    "loss, present and future error after every iteration: is there overfitting?",
    tasks,
    draw,
)
