"""A forecast in a terminal: a table, and a picture of errors against ε."""

from collections.abc import Callable, Iterator, Sequence
from math import ceil, floor, log10
from typing import TYPE_CHECKING

from thresher.planning.trial import ExpectedFit
from thresher.progress.timeline import in_words

if TYPE_CHECKING:
    from thresher.planning.forecast import Forecast

COLUMNS = 48
"""The characters of a picture in a terminal."""

LINES = {
    "typical": ("o", "typical error", "#0072b2"),
    "cell_margin": ("±", "margin of error of a cell", "#009e73"),
    "largest": ("#", "largest error", "#d55e00"),
}
"""What is drawn: its mark in a terminal, its name, and its colour on a page."""


def lines_of(forecast: "Forecast") -> Iterator[str]:
    """The forecast as lines of text."""
    yield f"{in_short(forecast)}:"
    heads, *rows = [*table_of(forecast)]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    for row in (heads, *rows):
        yield "  " + "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
    yield from _drawn(forecast.fits)
    for fit in forecast.fits:
        if fit.measured:
            yield f"measured at epsilon {fit.epsilon:g}: {', '.join(map(str, fit.measured))}"
    yield from remarks(forecast)


def in_short(forecast: "Forecast") -> str:
    """What was forecast, in a line."""
    work, fit = forecast.workload, forecast.fits[0]
    return (
        f"forecast for {forecast.n:,} people, {len(work):,} thresholds ({work.query_count:,} "
        f"queries), {fit.mechanism}, delta {fit.delta:.3g}"
    )


def remarks(forecast: "Forecast") -> Iterator[str]:
    """What to do about it, and what was assumed."""
    if forecast.margin is not None:
        found = forecast.epsilon_for(forecast.margin)
        at = "no epsilon within reason" if found is None else f"epsilon {found:.2g}"
        yield f"a largest error of {forecast.margin:g} is expected at {at}"
    yield from (f"advice: {words}" for words in forecast.advice)
    yield from (f"doubt: {words}" for words in forecast.doubts)
    yield forecast.assumption


def table_of(forecast: "Forecast") -> Iterator[Sequence[str]]:
    """A line of heads, and a line for each fit."""
    columns: dict[str, Callable[[ExpectedFit], str]] = {
        "epsilon": lambda fit: f"{fit.epsilon:.4g}",
        "rho": lambda fit: f"{float(fit.rho):.3g}",
        "largest error": lambda fit: _share(fit.expected("largest")),
        "typical error": lambda fit: _share(fit.expected("typical")),
        "± cell": lambda fit: _share(fit.expected("cell_margin")),
        "± share of a value": lambda fit: _share(fit.expected("one_way_margin")),
    }
    if any(threshold.r < threshold.k for threshold in forecast.workload):
        columns["± r of k"] = lambda fit: _share(fit.expected("threshold_margin"))
    columns["time"] = lambda fit: in_words(fit.estimate.seconds)
    columns["memory"] = lambda fit: f"{fit.estimate.memory / 2**30:.2f} GiB"
    if forecast.account is not None:
        columns["left: rho"] = lambda fit: _left(forecast, fit)[0]
        columns["left: epsilon"] = lambda fit: _left(forecast, fit)[1]
    yield tuple(columns)
    for fit in forecast.fits:
        yield tuple(of(fit) for of in columns.values())


def _share(value: float | None) -> str:
    return "?" if value is None else f"{value:.2g}"


def _left(forecast: "Forecast", fit: ExpectedFit) -> tuple[str, str]:
    left = forecast.left_after(fit)
    if left is None or left[0] < 0:
        return "refused", "refused"
    return f"{left[0]:.3g}", "none" if left[1] is None else f"{left[1]:.3g}"


def _drawn(fits: Sequence[ExpectedFit]) -> Iterator[str]:
    """A picture of characters: errors from left to right, on a logarithmic scale."""
    known = [fit for fit in fits if fit.errors is not None]
    if not known:
        return
    low, high = decades(known)

    def place(error: float) -> int:
        share = (log10(max(error, 10.0**low)) - low) / (high - low)
        return min(COLUMNS - 1, max(0, round(share * (COLUMNS - 1))))

    width = max(len(f"{fit.epsilon:.4g}") for fit in known)
    yield f"  {'':{width}}  {10.0**low:<{COLUMNS // 2}g}{10.0**high:>{COLUMNS - COLUMNS // 2}g}"
    for fit in known:
        row = ["·"] * COLUMNS
        for name, (mark, *_) in LINES.items():
            error = fit.expected(name)
            if error is not None:
                row[place(error)] = mark
        yield f"  {f'{fit.epsilon:.4g}':>{width}} |{''.join(row)}|"
    legend = ", ".join(f"{mark} {words}" for mark, words, _ in LINES.values())
    yield f"  {'':{width}}  by epsilon: {legend}"


def decades(fits: Sequence[ExpectedFit]) -> tuple[int, int]:
    """The powers of ten around all that is drawn."""
    drawn = [error for fit in fits for name in LINES if (error := fit.expected(name))]
    low, high = floor(log10(max(min(drawn), 1e-9))), ceil(log10(max(*drawn, 1e-8)))
    return low, max(high, low + 1)
