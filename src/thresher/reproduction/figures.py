"""All figures by name, and the one call that runs what they need and draws them."""

from collections.abc import Sequence
from pathlib import Path

from thresher.errors import ParameterError
from thresher.reproduction import (
    adaptivity,
    drift_effect,
    drift_shapes,
    filtering,
    future_error,
    overfitting,
    present_error,
    runtime,
    synthetic_rows,
    thresholds,
    training_progress,
)
from thresher.reproduction.paper_figure import Context, PaperFigure
from thresher.reproduction.running import (
    Skipped,
    Sources,
    Store,
    Watch,
    Workforce,
    run_missing,
)
from thresher.reproduction.scales import SCALES, Scale, scale_named

FIGURES: dict[str, PaperFigure] = {
    figure.name: figure
    for figure in (
        runtime.FIGURE,
        present_error.FIGURE,
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
    )
}
EVERYTHING = "all"
STORE = "results.csv"

__all__ = [
    "EVERYTHING",
    "FIGURES",
    "SCALES",
    "STORE",
    "Scale",
    "Workforce",
    "reproduce",
    "scale_named",
]


def reproduce(
    names: Sequence[str],
    scale: Scale,
    folder: Path,
    *,
    sources: Sources,
    workforce: Workforce,
    watch: Watch | None = None,
) -> tuple[list[Path], list[Skipped]]:
    """Run what figures need and is not there yet, and draw them.

    Args:
        names: Names of figures, or `all`.
        scale: The parameters.
        folder: Where results, tables and plots go; a rerun goes on from what is there.
        sources: Files of data sets.
        workforce: Who does the work.
        watch: Told after each run.

    Returns:
        The files written, and what could not be run here.
    """
    figures = figures_named(names)
    with Store(folder / STORE) as store:
        tasks = [task for figure in figures for task in figure.tasks(scale)]
        skipped = run_missing(tasks, store, sources, workforce, watch)
        context = Context(store, scale, folder)
        for figure in figures:
            figure.draw(context)
    return context.written, skipped


def figures_named(names: Sequence[str]) -> list[PaperFigure]:
    """Figures by name, each once."""
    for name in names:
        if name not in FIGURES and name != EVERYTHING:
            known = ", ".join([EVERYTHING, *FIGURES])
            raise ParameterError(f"there is no figure {name!r}; choose among {known}")
    wanted = list(FIGURES) if EVERYTHING in names else list(dict.fromkeys(names))
    return [FIGURES[name] for name in wanted]
