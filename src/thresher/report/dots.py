"""Dot plots: measured answers against the release's, and errors by threshold."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle

from thresher.report.drawing import (
    CHARACTER,
    WIDTH,
    levels,
    line,
    percent,
    picture,
    shortened,
    text,
    ticks,
)
from thresher.report.markup import Markup, joined, tag

MARKS = (
    ("#0072b2", "circle"),
    ("#6b6b6b", "cross"),
    ("#b34700", "square"),
    ("#007a5a", "triangle"),
    ("#7b3294", "diamond"),
    ("#1b1f24", "ring"),
)


@dataclass(frozen=True)
class Point:
    """A measured answer and the release's answer to the same query, as shares of people.

    Attributes:
        measured: The noisy answer that was measured.
        answer: The release's answer.
        noise: The noise of the measurement at 95 %: 1.96 standard deviations.
    """

    measured: float
    answer: float
    noise: float

    @property
    def agrees(self) -> bool:
        """Whether the noise of the measurement explains the difference."""
        return abs(self.measured - self.answer) <= self.noise


def agreement(points: Sequence[Point]) -> Markup:
    """Measured answers, with bars for their noise, against the release's answers."""
    top = max(*(max(p.measured + p.noise, p.answer) for p in points), 1e-9)
    left, bottom, size = 56.0, 290.0, 280.0
    scale = size / top
    below = "measured, with its noise (95 %)"
    marks = [
        *levels(top, lambda share: bottom - share * scale, left, left + size),
        tag("line", x1=left, y1=bottom, x2=left + size, y2=bottom - size, class_="ideal"),
        text(left + size / 2, bottom + 32.0, below, "middle", "axis"),
        text(
            0.0,
            0.0,
            "the release's answer",
            "middle",
            "axis",
            transform=f"translate(12 {bottom - size / 2:.1f}) rotate(-90)",
        ),
    ]
    for tick in ticks(top):
        marks.append(text(left + tick * scale, bottom + 15.0, percent(tick), "middle"))
    for p in points:
        x, y = left + max(p.measured, 0.0) * scale, bottom - p.answer * scale
        low, high = (left + max(p.measured + s * p.noise, 0.0) * scale for s in (-1, 1))
        marks.append(line(low, y, high, y, "whisker faint"))
        marks.append(tag("circle", cx=x, cy=y, r=2.6, class_="dot"))
    inside = sum(p.agrees for p in points)
    return picture(
        "Measured answers against the release's",
        f"{len(points)} points; {inside} of them agree within their noise.",
        bottom + 40.0,
        joined(*marks),
    )


def errors(labels: Sequence[str], compared: Mapping[str, Sequence[float]]) -> Markup:
    """The error of each threshold, a row each, one mark per method, on a logarithmic scale."""
    left, top, height = 230.0, 48.0, 14.0
    largest = max(max(values) for values in compared.values())
    smallest = min((v for values in compared.values() for v in values if v > 0), default=1e-4)
    low = math.floor(math.log10(max(min(smallest, largest / 10), 1e-9)))
    high = math.ceil(math.log10(max(largest, 10.0 ** (low + 1))))
    scale = (WIDTH - left - 20.0) / (high - low)
    bottom = top + len(labels) * height

    def place(error: float) -> float:
        return left + (math.log10(max(error, 10.0**low)) - low) * scale

    marks = []
    for power in range(low, high + 1):
        x = left + (power - low) * scale
        marks += [
            line(x, top - 4.0, x, bottom, "level"),
            text(x, top - 8.0, f"{10.0**power:g}", "middle"),
        ]
    x = 4.0
    for (name, _), (colour, shape) in zip(compared.items(), cycle(MARKS), strict=False):
        marks += [_mark(shape, x + 4.0, 10.0, colour), text(x + 12.0, 14.0, name, "start")]
        x += 30.0 + len(name) * CHARACTER
    for i, label in enumerate(labels):
        y = top + (i + 0.5) * height
        marks.append(text(left - 8.0, y + 4.0, shortened(label, left - 10.0), "end"))
        marks.append(line(left, y, WIDTH - 20.0, y, "level faint"))
        for (_, values), (colour, shape) in zip(compared.items(), cycle(MARKS), strict=False):
            marks.append(_mark(shape, place(values[i]), y, colour))
    worst = ", ".join(f"{name} {max(values):.4f}" for name, values in compared.items())
    return picture(
        "Largest error by threshold", f"The largest of all: {worst}.", bottom + 8.0, joined(*marks)
    )


def _mark(shape: str, x: float, y: float, colour: str) -> Markup:
    if shape == "circle":
        return tag("circle", cx=x, cy=y, r=3.6, fill=colour)
    if shape == "square":
        return tag("rect", x=x - 3.0, y=y - 3.0, width=6.0, height=6.0, fill=colour)
    if shape == "triangle":
        path = f"M{x:.1f} {y - 4:.1f}l4 7h-8z"
        return tag("path", d=path, fill=colour)
    if shape == "diamond":
        return tag("path", d=f"M{x:.1f} {y - 4.5:.1f}l4.5 4.5l-4.5 4.5l-4.5 -4.5z", fill=colour)
    if shape == "ring":
        return tag("circle", cx=x, cy=y, r=3.2, stroke=colour, stroke_width="1.6", fill="none")
    path = f"M{x - 3:.1f} {y - 3:.1f}l6 6m0 -6l-6 6"
    return tag("path", d=path, stroke=colour, stroke_width="1.6", fill="none")
