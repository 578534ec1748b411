"""The synthetic data in pictures: bars with error bars for one feature, a heat map for two."""

import math
from collections.abc import Sequence

import numpy as np

from thresher.report.drawing import (
    CHARACTER,
    WIDTH,
    levels,
    line,
    percent,
    picture,
    shortened,
    text,
    with_margin,
)
from thresher.report.markup import Markup, joined, tag
from thresher.report.shares import Bar, OneWay, TwoWay

INK, PALE = "#0b4f8a", "#a9c4dd"
LIGHT, DARK = (247, 250, 253), (8, 48, 107)
"""The ends of a heat map's scale."""


def bars(table: OneWay) -> Markup:
    """The shares of a feature's values: a row for each category, or a column for each number."""
    top = max(*(_upper_end(bar) for bar in table.bars), 1e-9)
    parts = _columns(table.bars, top) if table.is_ordered else _rows(table.bars, top)
    largest = max(table.bars, key=lambda bar: bar.answer)
    return picture(
        f"Shares of {table.feature.name}",
        f"{len(table.bars)} bars. The largest: {largest.label}, {percent(largest.answer)}.",
        *parts,
    )


def _rows(shown: Sequence[Bar], top: float) -> tuple[float, Markup]:
    height, left = 18.0, 170.0
    scale = (WIDTH - left - 60.0) / top
    marks = []
    for i, bar in enumerate(shown):
        y = i * height + 4.0
        middle = y + height / 2 - 1.5
        low, high = (left + end * scale for end in _interval(bar))
        marks += [
            text(left - 6.0, y + 11.0, shortened(bar.label, left - 10.0), "end"),
            _bar(left, y + 1.0, bar.answer * scale, height - 5.0, bar),
            *([] if bar.answer.error_bar is None else [line(low, middle, high, middle, "whisker")]),
            text(high + 5.0, y + 11.0, percent(bar.answer), "start"),
        ]
    return len(shown) * height + 8.0, joined(*marks)


def _columns(shown: Sequence[Bar], top: float) -> tuple[float, Markup]:
    bottom, left = 150.0, 46.0
    scale = (bottom - 10.0) / top
    step = min((WIDTH - left) / len(shown), 40.0)
    marks = [*levels(top, lambda share: bottom - share * scale, left)]
    every = max(1, math.ceil(len(shown) * max(len(b.label) for b in shown) * CHARACTER / 360.0))
    for i, bar in enumerate(shown):
        x = left + i * step
        middle, length = x + step / 2, bar.answer * scale
        marks.append(_bar(x + 0.08 * step, bottom - length, 0.84 * step, length, bar))
        if bar.answer.error_bar is not None:
            low, high = (bottom - end * scale for end in _interval(bar))
            marks.append(line(middle, low, middle, high, "whisker"))
        if i % every == 0:
            label = shortened(bar.label, every * step)
            half = len(label) * CHARACTER / 2
            marks.append(text(min(middle, WIDTH - half), bottom + 15.0, label, "middle"))
    return bottom + 24.0, joined(*marks)


def heat_map(table: TwoWay) -> Markup:
    """The joint shares of two features' values, from light to dark."""
    first, second = table.features
    rows, columns = table.labels
    left, top = 128.0, 18.0
    width = min((WIDTH - left) / len(columns), 60.0)
    height = 15.0
    darkest = max(float(table.shares.max()), 1e-9)
    marks = [
        text(left, 11.0, f"{second.name} →", "start", "axis"),
        text(left - 6.0, 11.0, f"{first.name} ↓", "end", "axis"),
    ]
    for i, (label, cells) in enumerate(zip(rows, table.cells, strict=True)):
        y = top + i * height
        marks.append(text(left - 6.0, y + 11.0, shortened(label, left - 10.0), "end"))
        for j, cell in enumerate(cells):
            fill = _shade(cell.answer / darkest)
            marks.append(_rectangle(left + j * width, y, width, height, fill, cell))
    bottom = top + len(rows) * height
    for j, label in enumerate(columns):
        x, y = left + (j + 0.5) * width + 3.0, bottom + 8.0
        turned = f"rotate(-40 {x:.1f} {y:.1f})"
        marks.append(text(x, y, shortened(label, 88.0), "end", transform=turned))
    edge = tag("rect", x=left, y=top, width=width * len(columns), height=bottom - top,
               class_="edge")  # fmt: skip
    row, column = np.unravel_index(int(table.shares.argmax()), table.shares.shape)
    return picture(
        f"Shares of {first.name} and {second.name}, jointly",
        f"{len(rows)} by {len(columns)} cells. The darkest: {rows[row]} and {columns[column]}, "
        f"{percent(darkest)}.",
        bottom + 70.0,
        joined(*marks, edge),
    )


def _bar(x: float, y: float, width: float, height: float, bar: Bar) -> Markup:
    fill = PALE if bar.answer.error_bar is None or bar.answer.is_estimated else INK
    return _rectangle(x, y, width, height, fill, bar)


def _rectangle(x: float, y: float, width: float, height: float, fill: str, bar: Bar) -> Markup:
    """A rectangle that names its share when somebody points at it."""
    name = tag("title", f"{bar.label}: {with_margin(bar.answer)}")
    return tag("rect", name, x=x, y=y, width=width, height=height, fill=fill)


def _interval(bar: Bar) -> tuple[float, float]:
    """The ends of the confidence interval, or the share itself twice."""
    return max(bar.answer - (bar.answer.error_bar or 0.0), 0.0), _upper_end(bar)


def _upper_end(bar: Bar) -> float:
    return bar.answer + (bar.answer.error_bar or 0.0)


def _shade(part: float) -> str:
    """A colour between light and dark; the square root shows small shares too."""
    depth = math.sqrt(min(max(part, 0.0), 1.0))
    mixed = (round(a + (b - a) * depth) for a, b in zip(LIGHT, DARK, strict=True))
    return "#" + "".join(f"{channel:02x}" for channel in mixed)
