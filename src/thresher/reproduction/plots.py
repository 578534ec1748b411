"""One look for all figures: colours for the colour-blind, shapes for print, sizes for a page.

Colours are those of Okabe and Ito (2008); every line also has a marker and a dash of its own, so
that a copy in black and white says the same. Heat maps use cividis, print their numbers, and frame
the best cell.
"""

import re
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (5, 2, 1, 2)), "-", "--", ":")
LETTERS_PER_INCH = 14
"""Of a title, so that it stays on the page."""

CLOSE = 0.13
"""The height of a note, on an axis from 0 to 1."""

PAST, FUTURE, HISTORY = "$F_H$", "$F_F$", "$|W_H|$"
"""Names of the paper as figures print them."""

SETTINGS: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 8.0,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8.0,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.5,
    "legend.fontsize": 7.0,
    "legend.frameon": False,
    "lines.linewidth": 1.3,
    "lines.markersize": 4.5,
    "figure.constrained_layout.use": True,
    "pdf.fonttype": 42,
    "savefig.dpi": 150,
}


@dataclass(frozen=True)
class Curve:
    """A line of a figure.

    Attributes:
        label: Its name in the legend.
        x: Where.
        y: What.
        style: Which colour, marker and dash; the same number looks the same in every figure.
        low: Lower ends of intervals.
        high: Upper ends of intervals.
        notes: Words beside the points.
        hollow: Open markers, for a line that may lie on another.
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]
    style: int
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    notes: Sequence[str] = ()
    hollow: bool = False


@contextmanager
def page(
    rows: int, columns: int, *, title: str, width: float = 2.5, height: float = 2.3
) -> Iterator[tuple[Figure, list[list[Axes]]]]:
    """A figure with a title and panels, in the common style."""
    with mpl.rc_context(SETTINGS):
        across = max(width * columns, 4.2)
        figure = Figure(figsize=(across, height * rows + 0.5))
        FigureCanvasAgg(figure)
        lines = (balanced(line, int(LETTERS_PER_INCH * across)) for line in title.split("\n"))
        figure.suptitle("\n".join(lines), fontsize=9)
        yield figure, figure.subplots(rows, columns, squeeze=False).tolist()


def balanced(line: str, width: int) -> str:
    """Break a line into as few as its width asks for, and these into about equal lengths.

    Example:
        >>> print(balanced("present error of RAP; least framed", 28))
        present error of
        RAP; least framed
    """
    whole = re.sub(r" (?==)|(?<==) |(?<=\d) (?=[%\w])", "\N{NO-BREAK SPACE}", line)

    def broken(at: int) -> list[str]:
        return textwrap.wrap(whole, at, break_long_words=False, break_on_hyphens=False)

    fewest = len(broken(width))
    return "\n".join(broken(next(w for w in range(1, width + 1) if len(broken(w)) == fewest)))


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write a figure as PDF and PNG; equal figures are equal files."""
    paths = [folder / f"{name}.pdf", folder / f"{name}.png"]
    with mpl.rc_context(SETTINGS):
        figure.savefig(paths[0], metadata={"CreationDate": None})
        figure.savefig(paths[1], metadata={"Software": None})
    return paths


def draw_curves(axes: Axes, curves: Sequence[Curve]) -> None:
    """Draw lines with their intervals and notes."""
    for curve in curves:
        look = curve.style % len(COLOURS)
        axes.plot(
            curve.x,
            curve.y,
            color=COLOURS[look],
            marker=MARKERS[look],
            linestyle=DASHES[look],
            label=curve.label,
            markerfacecolor="none" if curve.hollow else COLOURS[look],
            markersize=7.5 if curve.hollow else None,
            zorder=3,
        )
        if curve.low is not None and curve.high is not None:
            axes.fill_between(
                curve.x, curve.low, curve.high, color=COLOURS[look], alpha=0.15, linewidth=0
            )
        lower = crowded(curve.x)
        for x, y, note in zip(curve.x, curve.y, curve.notes, strict=False):
            axes.annotate(
                note,
                (x, under(x, y, curves)),
                xytext=(0, -6 - 7 * lower.get(x, 0)),
                textcoords="offset points",
                ha="center",
                va="top",
                fontsize=6,
                color=COLOURS[look],
            )


def under(x: float, y: float, curves: Sequence[Curve]) -> float:
    """Where a note about a point has room: below the point and the lines close beneath it.

    Example:
        >>> lines = [Curve("low", [1], [0.1], 0), Curve("lower", [1], [0.05], 1)]
        >>> under(1, 0.15, lines), under(1, 0.8, lines)
        (0.05, 0.8)
    """
    there = {
        value for curve in curves for at, value in zip(curve.x, curve.y, strict=True) if at == x
    }
    for value in sorted((value for value in there if value < y), reverse=True):
        if y - value > CLOSE:
            break
        y = value
    return y


def crowded(sizes: Sequence[float]) -> dict[float, int]:
    """For sizes near to the one before, how many lines lower their words have to stand.

    Example:
        >>> crowded([1, 4, 16, 64, 256, 278, 364])
        {278: 1, 364: 2}
    """
    lower: dict[float, int] = {}
    for earlier, later in pairwise(sorted(sizes)):
        if later < 2 * earlier:
            lower[later] = lower.get(earlier, 0) + 1
    return lower


def sizes_axis(axes: Axes, sizes: Sequence[float], label: str) -> None:
    """A logarithmic axis whose ticks are the sizes that were tried."""
    lower = crowded(sizes)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(list(sizes)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda value, _: "\n" * lower.get(value, 0) + f"{value:g}")
    )
    axes.set_xlabel(label)
    if len(sizes) > 1:
        axes.set_xlim(min(sizes) / 1.6, max(sizes) * 1.6)


def counts_axis(axes: Axes, label: str) -> None:
    """A logarithmic axis for numbers of many sizes, with a tick for each power of ten."""
    axes.set_xscale("log")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(label)


def errors_axis(axes: Axes) -> None:
    """Errors from 0 to what there is; wide intervals are cut where no error can be."""
    axes.set_ylim(0, min(1.05, axes.get_ylim()[1]))


def noted_errors_axis(axes: Axes) -> None:
    """Errors from 0 to 1, the same in every panel, with room for notes under points near 0."""
    axes.set_ylim(-0.16, 1.05)
    axes.set_yticks([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])


def legend_below(figure: Figure, axes: Axes, columns: int) -> None:
    """One legend for all panels, under them."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns)


def heat_map(
    axes: Axes,
    values: npt.NDArray[np.float64],
    rounds: Sequence[int],
    per_round: Sequence[int],
    limits: tuple[float, float],
) -> Any:
    """Present error by T (down) and K (across); the least is framed, what was not run is blank."""
    axes.grid(False)
    image = axes.imshow(values, cmap="cividis_r", vmin=limits[0], vmax=limits[1], aspect="auto")
    middle = (limits[0] + limits[1]) / 2
    for row, column in np.ndindex(values.shape):
        value = values[row, column]
        shown = "–" if np.isnan(value) else f"{value:.3f}"
        colour = "black" if np.isnan(value) or value < middle else "white"
        axes.text(column, row, shown, ha="center", va="center", fontsize=6.5, color=colour)
    if not np.isnan(values).all():
        row, column = np.unravel_index(int(np.nanargmin(values)), values.shape)
        frame = Rectangle(
            (float(column) - 0.46, float(row) - 0.46), 0.92, 0.92, fill=False, ec=VERMILION, lw=2
        )
        axes.add_patch(frame)
    axes.set_xticks(range(len(per_round)), [str(k) for k in per_round])
    axes.set_yticks(range(len(rounds)), [str(t) for t in rounds])
    axes.set_xlabel("K, queries per round")
    axes.set_ylabel("T, rounds")
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(length=0)
    return image
