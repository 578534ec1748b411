"""Figure "Printed scale": RAP with correct and with printed selection noise, beside the paper.

Errors are least over (T, K) in each repetition, then averaged, as the paper's regressions see them.
The printed scale is not private at the stated ε (see `variants`).
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from thresher.reproduction import plots
from thresher.reproduction.data import ADULT, LOANS, is_stand_in
from thresher.reproduction.paper_figure import (
    Context,
    PaperFigure,
    for_each_data_set,
    least_per_repetition,
)
from thresher.reproduction.paper_numbers import EPSILONS, DataName, paper_error
from thresher.reproduction.present_error import AUTO, adaptive, others
from thresher.reproduction.running import Task
from thresher.reproduction.scales import Scale
from thresher.reproduction.tasks import Choosing, sizes_within
from thresher.reproduction.variants import PRINTED

CORRECT_LABEL = "RAP, correct scale"
PRINTED_LABEL = f"RAP, {PRINTED} (not private at this ε)"
PAPER_LABEL = "the paper, unfiltered"
STYLES = {CORRECT_LABEL: 0, PRINTED_LABEL: 1, AUTO: 3, PAPER_LABEL: 6}
SELECTIONS: dict[str, Choosing] = {CORRECT_LABEL: "oneshot", PRINTED_LABEL: "printed-osas"}
SETTING = ["data", "epsilon", "size"]


def tasks(scale: Scale) -> Sequence[Task]:
    """The grid of present error, both ways, and `auto`."""
    both = [
        task for selection in SELECTIONS.values() for task in adaptive(scale, selection=selection)
    ]
    return [*both, *others(scale, "auto")]


def in_the_paper(data: str) -> DataName | None:
    """Which of the paper's data sets this is, if it is one of them, whole."""
    if data == ADULT:
        return "adult"
    return "loans" if data.startswith(LOANS) and not is_stand_in(data) else None


def paper_line(data: str, epsilon: float, size: int) -> float:
    """The paper's present error on unfiltered workloads; NaN where it has none."""
    name = in_the_paper(data)
    if name is None or epsilon not in EPSILONS:
        return float("nan")
    return paper_error(name, epsilon, size)


def collected(context: Context) -> pd.DataFrame:
    """Errors of both ways and of `auto` beside the paper's, one row a setting and a line."""
    parts = []
    for label, selection in SELECTIONS.items():
        frame = context.frame(adaptive(context.scale, selection=selection))
        if len(frame):
            parts.append(least_per_repetition(frame, SETTING).assign(line=label))
    ours = context.whole(others(context.scale, "auto"))
    if len(ours):
        parts.append(least_per_repetition(ours, SETTING).assign(line=AUTO))
    found = pd.concat(parts, ignore_index=True)
    found["paper"] = [
        paper_line(data, epsilon, size)
        for data, epsilon, size in found[SETTING].itertuples(index=False)
    ]
    inside = (found["low"] <= found["paper"]) & (found["paper"] <= found["high"])
    found["paper inside the interval"] = inside.where(~np.isnan(found["paper"]))
    return found


def as_markdown(found: pd.DataFrame) -> str:
    """Both ways beside the paper, one row a setting, as the page shows it."""
    shown = [label for label in STYLES if label in set(found["line"])]
    heads = " | ".join(
        label.removeprefix("RAP, ").replace(PRINTED, "printed scale") for label in shown
    )
    lines = [f"| ε | \\|W\\| | {heads} | the paper |", "|---" * (3 + len(shown)) + "|"]
    for (epsilon, size), here in found.groupby(["epsilon", "size"]):
        told = [
            f"{row['least per repetition']:.3f} ({row['low']:.3f} to {row['high']:.3f})"
            for label in shown
            for row in here[here["line"] == label].to_dict("records")
        ]
        paper = float(here["paper"].iloc[0])
        cells = [f"{epsilon:g}", f"{size}", *told, "" if np.isnan(paper) else f"{paper:.3f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def draw(context: Context) -> None:
    """A panel for each ε."""
    found = collected(context)
    context.table("printed-osas", found)
    table = for_each_data_set(
        context.scale.data, lambda data: as_markdown(found[found["data"] == data])
    )
    context.text("printed-osas-table.txt", table)
    grid = context.scale.marginals
    for data in context.scale.data:
        title = context.title(
            data,
            f"least present error over (T,K) in each repetition, {grid.k}-way marginals; "
            f"mean of {grid.repetitions} repetitions, bands: 95 % intervals",
        )
        with plots.page(1, len(grid.epsilons), title=title, height=2.8) as (figure, [panels]):
            for axes, epsilon in zip(panels, grid.epsilons, strict=True):
                here = found[(found["data"] == data) & (found["epsilon"] == epsilon)]
                plots.draw_curves(axes, _curves(here))
                plots.sizes_axis(axes, sizes_within(data, grid.k, grid.sizes), "|W|, thresholds")
                axes.set_title(f"ε = {epsilon:g}")
                axes.set_ylim(bottom=0)
            panels[0].set_ylabel("present error (share of records)")
            plots.legend_below(figure, panels[0], 4)
            context.save(figure, context.name("printed-osas", data))


def _curves(found: pd.DataFrame) -> list[plots.Curve]:
    curves = []
    for label, style in STYLES.items():
        line = found[found["line"] == label].sort_values("size")
        if not len(line):
            continue
        x, y = list(line["size"]), list(line["least per repetition"])
        curves.append(plots.Curve(label, x, y, style, list(line["low"]), list(line["high"])))
    paper = found.drop_duplicates("size").sort_values("size").dropna(subset="paper")
    if len(paper):
        curves.append(
            plots.Curve(PAPER_LABEL, list(paper["size"]), list(paper["paper"]), STYLES[PAPER_LABEL])
        )
    return curves


FIGURE = PaperFigure(
    "printed-osas",
    "RAP with the correct and with the printed (not private) selection noise, beside the paper",
    tasks,
    draw,
)
