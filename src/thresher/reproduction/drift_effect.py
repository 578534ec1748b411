"""Figure "Effect of drift": future error of RAP by γ, with a small history and a Geometric F_H."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from thresher.reproduction import plots
from thresher.reproduction.data import ADULT, title_of
from thresher.reproduction.future_error import Estimate, estimates, history_fit
from thresher.reproduction.paper_figure import Context, PaperFigure, mean_and_margin, pair_name
from thresher.reproduction.running import Task
from thresher.reproduction.scales import Scale
from thresher.reproduction.tasks import ALL, FutureFit, Kind

SHOWN = (("future", "low", "high"), ("rise", "rise low", "rise high"))
"""What each panel shows: a mean, and the ends of its interval."""


RAP_LABEL, AUTO = "RAP", "auto (ours)"
KINDS: dict[str, Kind] = {RAP_LABEL: "rap", AUTO: "auto"}


def fits(scale: Scale, data: str, kind: Kind = "rap") -> Sequence[FutureFit]:
    """RAP at every (T, K), or `auto`, each fit asked about every drift."""
    grid = scale.future
    return [
        history_fit(
            scale,
            kind,
            data=data,
            size=grid.drift_sizes[0 if data.startswith(ADULT) else 1],
            rounds=rounds,
            queries_per_round=per_round,
            seed=seed,
            distribution="geometric",
            drifts=grid.drifts,
        )
        for seed in range(grid.drift_repetitions)
        for rounds, per_round in (grid.drift_pairs if kind == "rap" else ((1, ALL),))
    ]


def tasks(scale: Scale) -> Sequence[Task]:
    """The fits of all data sets."""
    return [
        task for data in scale.data for kind in KINDS.values() for task in fits(scale, data, kind)
    ]


def collected(context: Context) -> pd.DataFrame:
    """Future error by γ, of the (T, K) with the least present error, and its rise since no drift.

    A fit is asked about every drift, so rises are compared within repetitions.
    """
    rows = []
    lines = [(data, line) for data in context.scale.data for line in KINDS]
    for data, line in lines:
        wanted = fits(context.scale, data, KINDS[line])
        if not context.has_all(wanted):
            continue
        still: Estimate | None = None
        for drift in context.scale.future.drifts:
            best = min(estimates(context, wanted, drift), key=lambda e: e.present)
            low, high = best.future.interval
            still = still or best
            rise, margin = paired_rise(still, best)
            rows.append(
                {
                    "data": data, "line": line, "size": wanted[0].size, "gamma": drift,
                    "future": best.future.mean, "low": low, "high": high,
                    "rise": rise, "rise low": rise - margin, "rise high": rise + margin,
                    "variation": best.variation, "pair": pair_name(best.rounds, best.per_round),
                }
            )  # fmt: skip
    return pd.DataFrame(rows)


def paired_rise(still: Estimate, drifted: Estimate) -> tuple[float, float]:
    """The mean rise of future error within repetitions, and how far its 95 % interval extends."""
    pairs = zip(still.future.by_repetition, drifted.future.by_repetition, strict=True)
    rises = [float(np.mean(after) - np.mean(before)) for before, after in pairs]
    return mean_and_margin(rises)


def draw(context: Context) -> None:
    """Future error by γ, as in the paper; and its rise since no drift, by total variation."""
    found = collected(context)
    context.table("drift-effect", found)
    grid = context.scale.future
    title = (
        f"Effect of drift · scale “{context.scale.name}”\n{grid.r}-of-{grid.k} thresholds, "
        f"{plots.PAST} geometric, ε = {grid.epsilon:g}, {grid.drift_repetitions} repetitions × "
        f"{grid.future} future thresholds; bands: 95 % intervals"
    )
    with plots.page(1, 2, title=title, width=3.2, height=2.6) as (figure, [panels]):
        for axes, column, shown in zip(panels, ("gamma", "variation"), SHOWN, strict=True):
            curves = []
            lines = [(data, line) for data in context.scale.data for line in KINDS]
            for style, (data, line) in enumerate(lines):
                here = found[(found["data"] == data) & (found["line"] == line)]
                if not len(here):
                    continue
                here = here.sort_values(column)
                label = f"{title_of(data)}, {plots.HISTORY} = {here['size'].iloc[0]}, {line}"
                x, (y, low, high) = list(here[column]), (list(here[name]) for name in shown)
                curves.append(plots.Curve(label, x, y, style, low, high))
            plots.draw_curves(axes, curves)
        plots.errors_axis(panels[0])
        panels[0].set_xlabel("drift γ")
        panels[0].set_ylabel("future error (share of records)")
        panels[1].axhline(0.0, color=plots.BLACK, linewidth=0.8)
        panels[1].set_xlabel(f"mean total variation of {plots.PAST} and {plots.FUTURE}")
        panels[1].set_ylabel("rise since γ = 0, paired")
        plots.legend_below(figure, panels[0], 1)
        context.save(figure, "drift-effect")


FIGURE = PaperFigure(
    "drift-effect",
    "future error of RAP by drift γ, with a small history",
    tasks,
    draw,
)
