"""Figure "Present error": adaptive and non-adaptive RAP, GM and All-0 over ε and |W|."""

from collections.abc import Sequence

import pandas as pd

from thresher.reproduction import plots
from thresher.reproduction.paper_figure import (
    Context,
    PaperFigure,
    best_pairs,
    least_per_repetition,
    means_of,
    pair_name,
)
from thresher.reproduction.running import Task
from thresher.reproduction.scales import Scale
from thresher.reproduction.tasks import ALL, Choosing, Kind, PresentFit, sizes_within

ADAPTIVE, NON_ADAPTIVE, GM, ALL_0 = "RAP, adaptive", "RAP, non-adaptive", "GM", "All-0"
AUTO = "auto (ours)"
STYLES = {ADAPTIVE: 0, AUTO: 3, NON_ADAPTIVE: 1, GM: 2, ALL_0: 6}
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
    parts = [best_pairs(context.frame(adaptive(scale)), setting).assign(mechanism=ADAPTIVE)]
    compared: dict[str, Kind] = {NON_ADAPTIVE: "rap", **BASELINES}
    for label, kind in compared.items():
        frame = context.whole(others(scale, kind))
        if len(frame):
            parts.append(means_of(frame, setting, "error").assign(mechanism=label))
    found = pd.concat(parts, ignore_index=True)
    context.table("present-error", found)
    context.table(
        "present-error-per-repetition",
        least_per_repetition(context.frame(adaptive(scale)), setting),
    )
    context.text("present-error-table.txt", as_markdown(found[found["data"] == scale.data[0]]))
    for data in scale.data:
        _draw_data(context, data, found[found["data"] == data])


def as_markdown(found: pd.DataFrame) -> str:
    """The means, one row a setting, as the page shows them."""
    lines = [label for label in STYLES if label in set(found["mechanism"])]
    rows = [f"| ε | \\|W\\| | {' | '.join(lines)} |", "|---" * (2 + len(lines)) + "|"]
    for (epsilon, size), here in found.groupby(["epsilon", "size"]):
        told = []
        for label in lines:
            [row] = here[here["mechanism"] == label].to_dict("records")
            pair = (
                f" {pair_name(row['rounds'], row['queries_per_round'])}"
                if label == ADAPTIVE
                else ""
            )
            told.append(f"{row['error']:.4f}{pair}")
        rows.append(f"| {epsilon:g} | {size} | {' | '.join(told)} |")
    return "\n".join(rows) + "\n"


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
