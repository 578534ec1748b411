"""The page from what is stored: every figure at the largest scale whose runs are all there.

Nothing is run. A folder within the folder of results that has results, too, such as those of an
extract that is not shipped, is drawn in the same way.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from thresher.files import write_text
from thresher.reproduction.data import ADULT, LOANS, is_stand_in, title_of
from thresher.reproduction.figures import FIGURES, STORE, figures_named
from thresher.reproduction.paper_figure import (
    Context,
    PaperFigure,
    image_of,
    is_of_the_paper,
    optional_line,
)
from thresher.reproduction.provenance import table_of
from thresher.reproduction.running import Store, Task
from thresher.reproduction.scales import PAPER, SMOKE, Scale, largest_first
from thresher.reproduction.tasks import ALL, Fit

SCALES_TABLE, RESULTS_TABLE = "scales-table.txt", "results-table.txt"
COLUMNS = ("Figure", "Data", "Scale", "Sizes", "(T, K)", "Seeds", "Runs", "`auto`", "Core-hours")
LEAST_TOLD = 0.005
"""Hours that are not rounded to nothing."""


def redrawn(
    names: Sequence[str],
    folder: Path,
    merged: Sequence[Path] = (),
    scale: Scale | None = None,
) -> list[Path]:
    """Draw figures from stored results, and a table that tells the scale of every figure.

    Args:
        names: Names of figures, or `all`.
        folder: Where the results are.
        merged: Results of other machines, which are taken over first.
        scale: A scale of the user's, for figures that have all their runs at no larger one.

    Returns:
        The files written.
    """
    rows, written = [_line(COLUMNS), "|---" * len(COLUMNS) + "|"], []
    with Store(folder / STORE) as store:
        for path in merged:
            store.merge(path)
    wanted = figures_named(names)
    places = (folder, *sorted(path.parent for path in folder.glob(f"*/{STORE}")))
    for place in places:
        with Store(place / STORE) as store:
            for figure in FIGURES.values():
                largest = largest_stored(figure, store, scale)
                if largest is None:
                    continue
                context = Context(store, largest, place)
                if figure in wanted:
                    figure.draw(context)
                    written += context.written
                rows += [_line(cells) for cells in _told(context, figure, folder)]
    write_text(folder / SCALES_TABLE, "\n".join(dict.fromkeys(rows)) + "\n")
    write_text(folder / RESULTS_TABLE, table_of(places, STORE))
    return [*written, folder / SCALES_TABLE, folder / RESULTS_TABLE]


def largest_stored(figure: PaperFigure, store: Store, chosen: Scale | None = None) -> Scale | None:
    """The largest scale at which some data set has all runs of a figure, with all such data sets.

    Runs of an `optional_line` may be missing. What needs no run is drawn beside runs on ADULT.

    Args:
        figure: The figure.
        store: The results.
        chosen: A scale to try after all larger ones.
    """
    stored = tuple(sorted(store.data_sets())) or (ADULT,)
    if not figure.tasks(SMOKE):
        return _without_runs(stored, chosen)
    last = [SMOKE] if chosen is None else [chosen, SMOKE]
    for scale in [*largest_first(stored), *last]:
        whole = tuple(name for name in stored if _is_whole(figure, scale.on(name), store))
        if whole:
            return replace(scale, data=without_stand_ins(whole))
    return None


def _without_runs(stored: tuple[str, ...], chosen: Scale | None) -> Scale | None:
    """The scale of what needs no run; None where nothing is stored of ADULT."""
    if chosen is not None and set(chosen.data) <= set(stored):
        return chosen
    is_of_adult = stored[0].startswith(ADULT)
    return replace(PAPER, data=without_stand_ins(stored)) if is_of_adult else None


def without_stand_ins(data: tuple[str, ...]) -> tuple[str, ...]:
    """The same data sets, without what stands in for LOANS where LOANS itself is there.

    Example:
        >>> without_stand_ins(("adult", "loans-0123456789ab", "loans-like-2"))
        ('adult', 'loans-0123456789ab')
    """
    if not any(name.startswith(LOANS) and not is_stand_in(name) for name in data):
        return data
    return tuple(name for name in data if not is_stand_in(name))


def _is_whole(figure: PaperFigure, scale: Scale, store: Store) -> bool:
    return all(task in store or optional_line(task) for task in figure.tasks(scale))


def _told(context: Context, figure: PaperFigure, root: Path) -> Iterator[list[str]]:
    """For each data set of a figure what was run, and how long it took in all."""
    for data in context.scale.data:
        tasks = dict.fromkeys(figure.tasks(context.scale.on(data)))
        found = dict(context.found(tasks))
        image = image_of(context.folder, figure.name, data)
        if not found or image is None:
            continue
        lacking = Counter(optional_line(task) for task in tasks if task not in found)
        ours = lacking.pop("auto", 0)
        has_ours = any(not is_of_the_paper(task) for task in tasks)
        missing = ", ".join(f"{count} of {line}" for line, count in lacking.items())
        # Results of earlier versions do not tell their time, nor does one of another process.
        hours = sum(float(one.get("cpu_seconds", math.nan)) for one in found.values()) / 3600
        yield [
            f"[{figure.name}]({image.relative_to(root.parent).as_posix()})",
            ", ".join(dict.fromkeys(title_of(name) for name in _all("data", found))),
            context.scale.name,
            ", ".join(map(str, _all("size", found))),
            f"{len(set(_pairs(found))) or ''}",
            f"{len(_all('seed', found)) or ''}",
            f"{len(found)}" + (f" (missing: {missing})" if missing else ""),
            ("missing" if ours else "yes") if has_ours else "",
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
