"""A forecast in a terminal and on a page: a table, and a picture of errors against ε."""

from collections.abc import Callable, Iterator, Sequence
from math import ceil, floor, log10
from typing import TYPE_CHECKING

from thresher.planning.trial import ExpectedFit
from thresher.progress.timeline import in_words
from thresher.report.drawing import WIDTH, line, percent, picture, text
from thresher.report.markup import Markup, joined, section, table, tag
from thresher.report.page import page_with

if TYPE_CHECKING:
    from thresher.planning.forecast import Forecast

COLUMNS = 48
"""The characters of a picture in a terminal."""

HEIGHT, LEFT, BOTTOM, TOP = 280.0, 58.0, 245.0, 32.0
"""The picture on a page: its height, and where its axes are."""

LINES = {
    "typical": ("o", "typical error", "#0072b2"),
    "cell_margin": ("±", "margin of error of a cell", "#009e73"),
    "largest": ("#", "largest error", "#d55e00"),
}
"""What is drawn: its mark in a terminal, its name and its colour on a page."""


def lines_of(forecast: "Forecast") -> Iterator[str]:
    """The forecast as lines of text."""
    yield f"{in_short(forecast)}:"
    heads, *rows = [*_table(forecast)]
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


def _table(forecast: "Forecast") -> Iterator[Sequence[str]]:
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
    low, high = _decades(known)

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


def _decades(fits: Sequence[ExpectedFit]) -> tuple[int, int]:
    """The powers of ten around all that is drawn."""
    drawn = [error for fit in fits for name in LINES if (error := fit.expected(name))]
    low, high = floor(log10(max(min(drawn), 1e-9))), ceil(log10(max(*drawn, 1e-8)))
    return low, max(high, low + 1)


def page_of(forecast: "Forecast") -> str:
    """The forecast as one HTML page, which loads nothing."""
    heads, *rows = _table(forecast)
    measured = [
        tag("li", f"at ε = {fit.epsilon:g}: {', '.join(map(str, fit.measured))}")
        for fit in forecast.fits
        if fit.measured
    ]
    body = joined(
        tag(
            "header",
            tag("h1", "Before you pay"),
            tag("p", f"A {in_short(forecast)}.", class_="lead"),
        ),
        tag(
            "main",
            section("Errors against ε", _chart(forecast.fits), table(heads, rows)),
            section("What would be measured", tag("ul", *measured)),
            section("Remarks", tag("ul", *(tag("li", words) for words in remarks(forecast)))),
        ),
    )
    return page_with("Before you pay: a forecast", body)


def _chart(fits: Sequence[ExpectedFit]) -> Markup:
    """Largest and typical errors against ε, both on logarithmic scales."""
    known = sorted((fit for fit in fits if fit.errors is not None), key=lambda fit: fit.epsilon)
    if not known:
        return tag("p", "No errors could be forecast.")
    low, high = _decades(known)
    first, last = log10(known[0].epsilon), log10(known[-1].epsilon)

    def x(epsilon: float) -> float:
        along = (log10(epsilon) - first) / (last - first) if last > first else 0.5
        return LEFT + 20 + along * (WIDTH - LEFT - 40)

    def y(error: float) -> float:
        up = (log10(max(error, 10.0**low)) - low) / (high - low)
        return BOTTOM - up * (BOTTOM - TOP)

    marks = []
    for power in range(low, high + 1):
        level = y(10.0**power)
        marks += [
            line(LEFT, level, WIDTH, level, "level"),
            text(LEFT - 5, level + 4, percent(10.0**power), "end"),
        ]
    marks += [text(x(f.epsilon), BOTTOM + 18, f"ε = {f.epsilon:g}", "middle") for f in known]
    for place, (name, (_, words, colour)) in enumerate(LINES.items()):
        points = [(x(f.epsilon), y(error)) for f in known if (error := f.expected(name))]
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        marks.append(tag("polyline", points=path, fill="none", stroke=colour, stroke_width=2))
        # The legend stands above the picture, each name behind its mark.
        legend = LEFT + place * (WIDTH - LEFT) / len(LINES) + 10
        marks += [_mark(px, py, name, colour) for px, py in [*points, (legend, 10.0)]]
        marks.append(text(legend + 10, 14, words, "start"))
    described = "; ".join(
        f"at ε {f.epsilon:g} the largest error is {f.errors.largest:.2g} and the typical one "
        f"{f.errors.typical:.2g}"
        for f in known
        if f.errors is not None
    )
    return picture("Expected errors against ε", described, HEIGHT, joined(*marks))


def _mark(x: float, y: float, name: str, colour: str) -> Markup:
    if name == "largest":
        return tag("rect", x=x - 4, y=y - 4, width=8, height=8, fill=colour)
    if name == "typical":
        return tag("circle", cx=x, cy=y, r=4.5, fill=colour)
    return tag("polygon", points=f"{x - 5},{y + 4} {x + 5},{y + 4} {x},{y - 5}", fill=colour)
