"""All figures by name, and the one call that runs what they need and draws them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from thresher.errors import ParameterError
from thresher.reproduction import (
    adaptivity,
    advice,
    claims,
    drift_effect,
    drift_shapes,
    filtering,
    future_error,
    memory,
    overfitting,
    practice_effects,
    present_error,
    printed_osas,
    runtime,
    synthetic_rows,
    thresholds,
    training_progress,
)
from thresher.reproduction.paper_figure import Context, PaperFigure
from thresher.reproduction.running import Sources, Store, Task
from thresher.reproduction.scales import SCALES, Scale, scale_named
from thresher.reproduction.workforce import Skipped, Watch, Workforce, run_missing

FIGURES: dict[str, PaperFigure] = {
    figure.name: figure
    for figure in (
        runtime.FIGURE,
        memory.FIGURE,
        present_error.FIGURE,
        printed_osas.FIGURE,
        adaptivity.OVER_SIZES,
        adaptivity.OVER_EPSILONS,
        filtering.FIGURE,
        runtime.FORMS_FIGURE,
        thresholds.FIGURE,
        thresholds.ADAPTIVITY,
        synthetic_rows.FIGURE,
        drift_shapes.HISTOGRAMS,
        drift_shapes.VARIATION,
        future_error.FIGURE,
        training_progress.FIGURE,
        overfitting.FIGURE,
        drift_effect.FIGURE,
        advice.AUGMENTING,
        advice.HOLDING_OUT,
        practice_effects.FIGURE,
        claims.FIGURE,
    )
}
EVERYTHING = "all"
STORE = "results.csv"

__all__ = [
    "EVERYTHING",
    "FIGURES",
    "SCALES",
    "STORE",
    "Planned",
    "Reproduced",
    "Scale",
    "Workforce",
    "planned",
    "reproduce",
    "scale_named",
]


@dataclass(frozen=True)
class Unfinished:
    """A figure that is not drawn, because some of its runs are missing."""

    figure: str
    missing: int


@dataclass(frozen=True)
class Planned:
    """The work that a figure still needs.

    Attributes:
        figure: Its name.
        runs: How many runs it has in all.
        missing: How many of them are not stored yet.
        hours: About how many hours of one core they take.
    """

    figure: str
    runs: int
    missing: int
    hours: float


@dataclass(frozen=True)
class Reproduced:
    """What `reproduce` did.

    Attributes:
        written: The files written.
        skipped: What could not be run here.
        unfinished: Figures that were not drawn.
    """

    written: list[Path]
    skipped: list[Skipped]
    unfinished: list[Unfinished]


def reproduce(
    names: Sequence[str],
    scale: Scale,
    folder: Path,
    *,
    sources: Sources,
    workforce: Workforce,
    watch: Watch | None = None,
    merged: Sequence[Path] = (),
    drawing: bool = True,
) -> Reproduced:
    """Run what figures need and is not there yet, and draw those that have all their runs.

    Args:
        names: Names of figures, or `all`.
        scale: The parameters.
        folder: Where results, tables and plots go; a rerun goes on from what is there.
        sources: Files of data sets.
        workforce: Who does the work.
        watch: Told after each run.
        merged: Other stores, such as those of other machines, whose results are taken over first.
        drawing: Whether figures are drawn.

    Returns:
        The files written, what could not be run here, and what is still missing.
    """
    figures = figures_named(names)
    with Store(folder / STORE) as store:
        for other in merged:
            store.merge(other)
        tasks = [task for figure in figures for task in figure.tasks(scale)]
        skipped = run_missing(tasks, store, sources, workforce, watch)
        context = Context(store, scale, folder)
        left = {skip.task for skip in skipped}
        unfinished = []
        for figure in figures:
            missing = [task for task in figure.missing(scale, store) if task not in left]
            if missing:
                unfinished.append(Unfinished(figure.name, len(missing)))
            elif drawing:
                figure.draw(context)
    return Reproduced(context.written, skipped, unfinished)


def planned(
    names: Sequence[str], scale: Scale, folder: Path, workforce: Workforce
) -> list["Planned"]:
    """What a run would do, figure by figure; a run that two figures share counts for the first.

    Args:
        names: Names of figures, or `all`.
        scale: The parameters.
        folder: Where results are.
        workforce: Who would do the work.
    """
    plans, seen = [], set[Task]()
    with Store(folder / STORE) as store:
        for figure in figures_named(names):
            wanted = dict.fromkeys(figure.tasks(scale))
            missing = [t for t in workforce.in_order(wanted, store) if t not in seen]
            seen.update(missing)
            hours = sum(task.cost for task in missing) / 3600
            plans.append(Planned(figure.name, len(wanted), len(missing), hours))
    return plans


def figures_named(names: Sequence[str]) -> list[PaperFigure]:
    """Figures by name, each once."""
    for name in names:
        if name not in FIGURES and name != EVERYTHING:
            known = ", ".join([EVERYTHING, *FIGURES])
            raise ParameterError(f"there is no figure {name!r}; choose among {known}")
    wanted = list(FIGURES) if EVERYTHING in names else list(dict.fromkeys(names))
    return [FIGURES[name] for name in wanted]
