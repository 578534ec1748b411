"""The page from what is stored: every figure at the largest scale whose runs are all there.

Nothing is run. A folder within the folder of results that has results, too, such as those of an
extract that is not shipped, is drawn in the same way.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from thresher.files import write_text
from thresher.reproduction.data import ADULT, title_of
from thresher.reproduction.figures import EVERYTHING, STORE, figures_named
from thresher.reproduction.paper_figure import Context, PaperFigure, is_of_the_paper
from thresher.reproduction.reference import ReferenceFit
from thresher.reproduction.running import Store, Task
from thresher.reproduction.scales import SMOKE, Scale, largest_first
from thresher.reproduction.tasks import ALL, Fit

SCALES_TABLE = "scales-table.txt"
COLUMNS = ("Figure", "Data", "Scale", "Sizes", "(T, K)", "Seeds", "Runs", "`auto`", "Core-hours")
LEAST_TOLD = 0.005
"""Hours that are not rounded to nothing."""


def redrawn(names: Sequence[str], folder: Path, merged: Sequence[Path] = ()) -> list[Path]:
    """Draw figures from stored results; where all are drawn, a table tells the scale of each.

    Args:
        names: Names of figures, or `all`.
        folder: Where the results are.
        merged: Results of other machines, which are taken over first.

    Returns:
        The files written.
    """
    rows, written = [_line(COLUMNS), "|---" * len(COLUMNS) + "|"], []
    with Store(folder / STORE) as store:
        for path in merged:
            store.merge(path)
    for place in (folder, *sorted(path.parent for path in folder.glob(f"*/{STORE}"))):
        with Store(place / STORE) as store:
            for figure in figures_named(names):
                scale = largest_stored(figure, store)
                if scale is None:
                    continue
                context = Context(store, scale, place)
                figure.draw(context)
                written += context.written
                if figure.tasks(scale):
                    rows.append(_line(_told(context, figure, folder)))
    if EVERYTHING in names:
        write_text(folder / SCALES_TABLE, "\n".join(rows) + "\n")
        written.append(folder / SCALES_TABLE)
    return written


def largest_stored(figure: PaperFigure, store: Store) -> Scale | None:
    """The largest scale at which a figure has all its runs, on as many data sets as have them.

    Runs of the paper's way in JAX may be missing. What needs no run is drawn beside runs on ADULT.
    """
    stored = sorted(store.data_sets())
    for data in (tuple(stored), *((name,) for name in stored)):
        for scale in (*largest_first(data), replace(SMOKE, data=data)):
            lacking = figure.missing(scale, store)
            if all(isinstance(task, ReferenceFit) for task in lacking):
                is_of_runs = bool(figure.tasks(scale)) or data[0].startswith(ADULT)
                return scale if is_of_runs else None
    return None


def _told(context: Context, figure: PaperFigure, root: Path) -> list[str]:
    """What was run for a figure, and how long it took in all."""
    found = dict(context.found(figure.tasks(context.scale)))
    image = next(path for path in context.written if path.suffix == ".png")
    ours = [task for task in figure.tasks(context.scale) if not is_of_the_paper(task)]
    is_whole = bool(ours) and context.has_all(ours)
    # Results of earlier versions do not tell their time, nor does one that ran in another process.
    hours = sum(float(result.get("cpu_seconds", math.nan)) for result in found.values()) / 3600
    return [
        f"[{figure.name}]({image.relative_to(root.parent).as_posix()})",
        ", ".join(dict.fromkeys(title_of(data) for data in _all("data", found))),
        context.scale.name,
        ", ".join(map(str, _all("size", found))),
        f"{len(set(_pairs(found))) or ''}",
        f"{len(_all('seed', found)) or ''}",
        f"{len(found)}",
        "yes" if is_whole else "missing" if ours else "",
        f"{hours:.2f}" if hours >= LEAST_TOLD else "",
    ]


def _all(name: str, tasks: Iterable[Task]) -> list[Any]:
    """The values that tasks have of one parameter, ascending."""
    return sorted({getattr(task, name) for task in tasks if hasattr(task, name)})


def _pairs(tasks: Iterable[Task]) -> list[tuple[int, int]]:
    return [
        (task.rounds, task.queries_per_round)
        for task in tasks
        if isinstance(task, Fit) and task.queries_per_round != ALL
    ]


def _line(cells: Iterable[str]) -> str:
    escaped = (cell.replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(escaped)} |"
