"""Figures "Future error": over |W_H| for each distribution, and all of them overlaid.

RAP's line shows the future error of the (T, K) with the least *present* error, which is what a
practitioner can choose; "RAP (opt)" that of the (T, K) with the least *future* error, which nobody
can know. Each repetition has its own features' order, history, noise and future thresholds, so the
95 % interval over repetitions accounts for all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from thresher.evaluation.future import FutureError
from thresher.reproduction import plots
from thresher.reproduction.paper_figure import Context, PaperFigure, for_each_data_set, pair_name
from thresher.reproduction.running import Task
from thresher.reproduction.scales import Scale
from thresher.reproduction.tasks import ALL, FutureFit, Kind, Shape

NAMES: dict[Shape, str] = {"uniform": "Uniform", "zipf": "Zipf", "geometric": "Geometric"}
RAP_LABEL, OPT, AUTO, ALL_0 = "RAP", "RAP (opt)", "auto (ours)", "All-0"
STYLES = {RAP_LABEL: 0, OPT: 1, AUTO: 3, ALL_0: 6}
SINGLE: dict[Kind, str] = {"auto": AUTO, "all0": ALL_0}
"""Mechanisms without T and K."""


def history_fit(scale: Scale, kind: Kind = "rap", **chosen: Any) -> FutureFit:
    """A fit of a history, with the parameters that all experiments on histories share.

    Args:
        scale: Where these are.
        kind: The mechanism.
        **chosen: The other fields of `FutureFit`.
    """
    grid, practice = scale.future, {**scale.practice.of_histories}
    if kind != "rap":
        del practice["clipped"]
    return FutureFit(
        mechanism=kind,
        epsilon=grid.epsilon,
        k=grid.k,
        r=grid.r,
        synthetic_rows=grid.synthetic_rows,
        optimizer=scale.optimizer,
        future=grid.future,
        **practice,
        **chosen,
    )


def fits(scale: Scale, kind: Kind = "rap") -> list[FutureFit]:
    """RAP at every (T, K), `auto`, or All-0."""
    grid = scale.future
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
        )
        for data in scale.data
        for shape in grid.shapes
        for size in grid.sizes
        for seed in range(grid.repetitions)
        for rounds, per_round in (grid.pairs if kind == "rap" else ((1, ALL),))
    ]


def tasks(scale: Scale) -> Sequence[Task]:
    """RAP, `auto` and All-0."""
    return [*fits(scale), *(task for kind in SINGLE for task in fits(scale, kind))]


@dataclass(frozen=True)
class Estimate:
    """Errors of one (T, K) over all repetitions at one amount of drift."""

    rounds: int
    per_round: int
    present: float
    future: FutureError
    variation: float


def estimates(context: Context, wanted: Sequence[FutureFit], drift: float = 0.0) -> list[Estimate]:
    """One estimate for each (T, K), from the repetitions of one setting."""
    found = []
    key = f"{drift:g}"
    for pair in dict.fromkeys((task.rounds, task.queries_per_round) for task in wanted):
        results = [
            context.store[task]
            for task in wanted
            if (task.rounds, task.queries_per_round) == pair and task in context.store
        ]
        if results:
            future = FutureError.pooled(
                FutureError((tuple(result["future"][key]),), shared=True) for result in results
            )
            present = sum(result["error"] for result in results) / len(results)
            variation = sum(result["variation"][key] for result in results) / len(results)
            found.append(Estimate(*pair, present, future, variation))
    return found


def collected(context: Context) -> pd.DataFrame:
    """For each setting what is plotted, one row a line and point."""
    scale = context.scale
    chosen: dict[tuple[str, Shape, int, str], Estimate] = {}
    settings = dict.fromkeys((task.data, task.distribution, task.size) for task in fits(scale))
    kinds: tuple[Kind, ...] = ("rap", *SINGLE)
    for kind in kinds:
        every = fits(scale, kind)
        if not context.has_all(every):
            continue
        for data, shape, size in settings:
            here = [t for t in every if (t.data, t.distribution, t.size) == (data, shape, size)]
            found = estimates(context, here)
            if kind in SINGLE:
                chosen[data, shape, size, SINGLE[kind]] = found[0]
            else:
                chosen[data, shape, size, RAP_LABEL] = min(found, key=lambda e: e.present)
                chosen[data, shape, size, OPT] = min(found, key=lambda e: e.future.mean)
    rows = []
    for (data, shape, size, line), best in chosen.items():
        low, high = best.future.interval
        rows.append(
            {
                "data": data, "distribution": shape, "size": size, "line": line,
                "future": best.future.mean, "low": low, "high": high, "present": best.present,
                "pair": pair_name(best.rounds, best.per_round) if line in (RAP_LABEL, OPT) else "",
            }
        )  # fmt: skip
    return pd.DataFrame(rows)


def draw(context: Context) -> None:
    """A panel for each distribution; then one with all distributions."""
    found = collected(context)
    context.table("future-error", found)
    table = for_each_data_set(context.scale.data, lambda data: as_markdown(found, data))
    context.text("future-error-table.txt", table)
    for data in context.scale.data:
        here = found[found["data"] == data]
        _draw_lines(context, data, here)
        _draw_overlay(context, data, here)


def as_markdown(found: pd.DataFrame, data: str) -> str:
    """Future errors with their intervals, one row a history, as the page shows them."""
    here = found[found["data"] == data]
    lines = [line for line in STYLES if line in set(here["line"])]
    rows = [
        f"| distribution | \\|W_H\\| | {' | '.join(lines)} |",
        "|---" * (2 + len(lines)) + "|",
    ]
    for (shape, size), some in here.groupby(["distribution", "size"], sort=False):
        told = []
        for line in lines:
            [row] = some[some["line"] == line].to_dict("records")
            pair = f" {row['pair']}" if row["pair"] else ""
            told.append(f"{row['future']:.3f} ({row['low']:.3f} to {row['high']:.3f}){pair}")
        rows.append(f"| {shape} | {size} | {' | '.join(told)} |")
    return "\n".join(rows) + "\n"


def _about(scale: Scale) -> str:
    grid = scale.future
    return (
        f"{grid.r}-of-{grid.k} thresholds, ε = {grid.epsilon:g}, n' = {grid.synthetic_rows}, "
        f"{grid.repetitions} repetitions × {grid.future} future thresholds"
    )


def _draw_lines(context: Context, data: str, found: pd.DataFrame) -> None:
    grid = context.scale.future
    title = context.title(data, _about(context.scale) + "; bands: 95 % intervals")
    with plots.page(1, len(grid.shapes), title=title, height=2.7) as (figure, [panels]):
        for axes, shape in zip(panels, grid.shapes, strict=True):
            here = found[found["distribution"] == shape]
            curves = []
            for label, style in STYLES.items():
                line = here[here["line"] == label].sort_values("size")
                if not len(line):
                    continue
                curves.append(
                    plots.Curve(
                        label,
                        list(line["size"]),
                        list(line["future"]),
                        style,
                        None if label == OPT else list(line["low"]),
                        None if label == OPT else list(line["high"]),
                        hollow=label == OPT,
                        notes=list(line["pair"]) if label == RAP_LABEL else (),
                    )
                )
            plots.draw_curves(axes, curves)
            plots.sizes_axis(axes, grid.sizes, f"{plots.HISTORY}, historical thresholds")
            axes.set_title(NAMES[shape])
            plots.noted_errors_axis(axes)
        panels[0].set_ylabel("future error (share of records)")
        plots.legend_below(figure, panels[0], 4)
        context.save(figure, context.name("future-error", data))


def _draw_overlay(context: Context, data: str, found: pd.DataFrame) -> None:
    grid = context.scale.future
    title = context.title(data, _about(context.scale))
    words = {"future": "future error, at the least present error", "present": "present error"}
    with plots.page(1, 2, title=title, width=3.0, height=2.5) as (figure, [panels]):
        for axes, (column, about) in zip(panels, words.items(), strict=True):
            curves = []
            for style, shape in enumerate(grid.shapes):
                line = found[(found["distribution"] == shape) & (found["line"] == RAP_LABEL)]
                line = line.sort_values("size")
                x, y = list(line["size"]), list(line[column])
                curves.append(plots.Curve(NAMES[shape], x, y, style))
            plots.draw_curves(axes, curves)
            plots.sizes_axis(axes, grid.sizes, f"{plots.HISTORY}, historical thresholds")
            axes.set_ylabel("error (share of records)")
            axes.set_title(about)
            axes.set_ylim(bottom=0)
        top = max(axes.get_ylim()[1] for axes in panels)
        for axes in panels:
            axes.set_ylim(0, top)
        plots.legend_below(figure, panels[0], 3)
        context.save(figure, context.name("future-overlay", data))


FIGURE = PaperFigure(
    "future-error",
    "future error over |W_H| for each distribution, RAP (opt), and the overlays",
    tasks,
    draw,
)
