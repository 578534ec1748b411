"""Figure "Present error": adaptive and non-adaptive RAP, GM and All-0 over ε and |W|."""

from collections.abc import Hashable, Sequence
from typing import Any

import pandas as pd

from thresher.reproduction import norms_table, plots
from thresher.reproduction.paper_figure import (
    Context,
    PaperFigure,
    best_pairs,
    for_each_data_set,
    least_per_repetition,
    means_of_whole,
    pair_name,
)
from thresher.reproduction.running import Task
from thresher.reproduction.scales import Scale
from thresher.reproduction.tasks import ALL, Choosing, Kind, PresentFit, sizes_within

ADAPTIVE, NON_ADAPTIVE, GM, ALL_0 = "RAP, adaptive", "RAP, non-adaptive", "GM", "All-0"
AUTO = "auto (ours)"
STYLES = {ADAPTIVE: 0, AUTO: 3, NON_ADAPTIVE: 1, GM: 2, ALL_0: 6}
PAIR = ["rounds", "queries_per_round"]
BASELINES: dict[str, Kind] = {AUTO: "auto", GM: "gaussian_per_query", ALL_0: "all0"}


def adaptive(
    scale: Scale, *, filtered: bool = False, selection: Choosing = "oneshot"
) -> list[PresentFit]:
    """RAP at every (T, K)."""
    grid = scale.marginals
    return [
        _fit(scale, data, epsilon, size, seed, filtered=filtered, pair=pair, selection=selection)
        for data in scale.data
        for epsilon in grid.epsilons
        for size in sizes_within(data, grid.k, grid.sizes)
        for seed in range(grid.repetitions)
        for pair in grid.pairs
    ]


def others(scale: Scale, mechanism: Kind, *, filtered: bool = False) -> list[PresentFit]:
    """Non-adaptive RAP, `auto`, or a baseline."""
    grid = scale.marginals
    return [
        _fit(scale, data, epsilon, size, seed, mechanism=mechanism, filtered=filtered)
        for data in scale.data
        for epsilon in grid.epsilons
        for size in sizes_within(data, grid.k, grid.sizes)
        for seed in range(grid.repetitions)
    ]


def _fit(
    scale: Scale,
    data: str,
    epsilon: float,
    size: int,
    seed: int,
    *,
    mechanism: Kind = "rap",
    filtered: bool = False,
    pair: tuple[int, int] = (1, ALL),
    selection: Choosing = "oneshot",
) -> PresentFit:
    practice = scale.practice.of_fits if mechanism == "rap" else {}
    return PresentFit(
        data=data,
        mechanism=mechanism,
        epsilon=epsilon,
        k=scale.marginals.k,
        r=scale.marginals.k,
        size=size,
        rounds=pair[0],
        queries_per_round=pair[1],
        synthetic_rows=scale.marginals.synthetic_rows,
        optimizer=scale.optimizer,
        seed=seed,
        filtered=filtered,
        selection=selection,
        **practice,
    )


def tasks(scale: Scale) -> Sequence[Task]:
    """Everything that is compared."""
    baselines = [task for kind in BASELINES.values() for task in others(scale, kind)]
    return [*adaptive(scale), *others(scale, "rap"), *baselines]


def draw(context: Context) -> None:
    """A panel for each ε; the (T, K) with the least error stands beside each point."""
    scale = context.scale
    setting = ["data", "epsilon", "size"]
    every = context.frame(adaptive(scale))
    best = best_pairs(every, setting)
    parts = [best.assign(mechanism=ADAPTIVE)]
    frames = {ADAPTIVE: every.merge(best[[*setting, *PAIR]])}
    compared: dict[str, Kind] = {AUTO: "auto", NON_ADAPTIVE: "rap", **BASELINES}
    for label, kind in compared.items():
        frames[label] = _runs_of(context, kind)
        means = means_of_whole(frames[label], setting, scale.marginals.repetitions, "error")
        if len(means):
            parts.append(means.assign(mechanism=label))
    found = pd.concat(parts, ignore_index=True)
    context.table("present-error", found)
    context.table(
        "present-error-per-repetition",
        least_per_repetition(context.frame(adaptive(scale)), setting),
    )
    table = for_each_data_set(scale.data, lambda data: as_markdown(found[found["data"] == data]))
    context.text("present-error-table.txt", table)
    norms_table.draw(context, frames)
    for data in scale.data:
        _draw_data(context, data, found[found["data"] == data])


def _runs_of(context: Context, kind: Kind) -> pd.DataFrame:
    """The runs of a line without (T, K); `auto` is left out where a data set lacks some of it."""
    every = others(context.scale, kind)
    if kind != "auto":
        return context.frame(every)
    parts = [
        context.whole([task for task in every if task.data == data]) for data in context.scale.data
    ]
    return pd.concat(parts, ignore_index=True)


def as_markdown(found: pd.DataFrame) -> str:
    """The means, one row a setting, as the page shows them."""
    lines = [label for label in STYLES if label in set(found["mechanism"])]
    rows = [f"| ε | \\|W\\| | {' | '.join(lines)} |", "|---" * (2 + len(lines)) + "|"]
    for (epsilon, size), here in found.groupby(["epsilon", "size"]):
        told = []
        for label in lines:
            line = here[here["mechanism"] == label]
            told += [_cell(row) for row in line.to_dict("records")] or ["—"]
        rows.append(f"| {epsilon:g} | {size} | {' | '.join(told)} |")
    return "\n".join(rows) + "\n"


def _cell(row: dict[Hashable, Any]) -> str:
    pair = ""
    if row["mechanism"] == ADAPTIVE:
        pair = f" {pair_name(row['rounds'], row['queries_per_round'])}"
    return f"{row['error']:.4f}{pair}"


def _draw_data(context: Context, data: str, found: pd.DataFrame) -> None:
    grid = context.scale.marginals
    title = context.title(
        data,
        f"{grid.k}-way marginals, n' = {grid.synthetic_rows}, mean of {grid.repetitions} "
        "repetitions; RAP with its best (T,K)",
    )
    with plots.page(1, len(grid.epsilons), title=title, height=2.8) as (figure, [panels]):
        for axes, epsilon in zip(panels, grid.epsilons, strict=True):
            curves = []
            for label, style in STYLES.items():
                here = found[(found["epsilon"] == epsilon) & (found["mechanism"] == label)]
                here = here.sort_values("size")
                notes = (
                    [
                        pair_name(t, k)
                        for t, k in zip(here["rounds"], here["queries_per_round"], strict=True)
                    ]
                    if label == ADAPTIVE
                    else ()
                )
                if not len(here):
                    continue
                x, y, lies_on_all0 = list(here["size"]), list(here["error"]), label == NON_ADAPTIVE
                curves.append(plots.Curve(label, x, y, style, notes=notes, hollow=lies_on_all0))
            plots.draw_curves(axes, curves)
            plots.sizes_axis(axes, sizes_within(data, grid.k, grid.sizes), "|W|, thresholds")
            axes.set_title(f"ε = {epsilon:g}")
            plots.noted_errors_axis(axes)
        panels[0].set_ylabel("present error (share of records)")
        plots.legend_below(figure, panels[0], 5)
        context.save(figure, context.name("present-error", data))


FIGURE = PaperFigure(
    "present-error",
    "present error of adaptive and non-adaptive RAP, auto, GM and All-0 over ε and |W|",
    tasks,
    draw,
)
