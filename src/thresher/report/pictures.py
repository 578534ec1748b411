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
)
from thresher.report.markup import Markup, joined, tag
from thresher.report.shares import Bar, OneWay, TwoWay

INK, PALE = "#0b4f8a", "#a9c4dd"
LIGHT, DARK = (247, 250, 253), (8, 48, 107)
"""The ends of a heat map's scale."""


def bars(table: OneWay) -> Markup:
    """The shares of a feature's values: a row per category, or a column per number."""
    top = max(*(bar.share + (bar.reach or 0.0) for bar in table.bars), 1e-9)
    parts = _columns(table.bars, top) if table.is_ordered else _rows(table.bars, top)
    largest = max(table.bars, key=lambda bar: bar.share)
    return picture(
        f"Shares of {table.feature.name}",
        f"{len(table.bars)} bars. The largest: {largest.label}, {percent(largest.share)}.",
        *parts,
    )


def _rows(shown: Sequence[Bar], top: float) -> tuple[float, Markup]:
    height, left = 18.0, 170.0
    scale = (WIDTH - left - 60.0) / top
    marks = []
    for i, bar in enumerate(shown):
        y = i * height + 4.0
        length = max(bar.share, 0.0) * scale
        marks += [
            text(left - 6.0, y + 11.0, shortened(bar.label, left - 10.0), "end"),
            _bar(left, y + 1.0, length, height - 5.0, bar),
            _whisker(bar, left, scale, y + height / 2 - 1.5),
            text(left + (max(bar.share, 0) + (bar.reach or 0)) * scale + 5.0, y + 11.0,
                  percent(bar.share), "start"),
        ]  # fmt: skip
    return len(shown) * height + 8.0, joined(*marks)


def _columns(shown: Sequence[Bar], top: float) -> tuple[float, Markup]:
    bottom, left = 150.0, 46.0
    scale = (bottom - 10.0) / top
    step = min((WIDTH - left) / len(shown), 40.0)
    marks = [*levels(top, lambda share: bottom - share * scale, left)]
    every = max(1, math.ceil(len(shown) * max(len(b.label) for b in shown) * CHARACTER / 360.0))
    for i, bar in enumerate(shown):
        x = left + i * step
        length = max(bar.share, 0.0) * scale
        marks.append(_bar(x + 0.08 * step, bottom - length, 0.84 * step, length, bar))
        if bar.reach is not None:
            ends = (bar.share - bar.reach, bar.share + bar.reach)
            low, high = (bottom - max(end, 0.0) * scale for end in ends)
            marks.append(line(x + step / 2, low, x + step / 2, high, "whisker"))
        if i % every == 0:
            label = shortened(bar.label, every * step)
            half = len(label) * CHARACTER / 2
            middle = min(x + step / 2, WIDTH - half)
            marks.append(text(middle, bottom + 15.0, label, "middle"))
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
    for i, label in enumerate(rows):
        y = top + i * height
        marks.append(text(left - 6.0, y + 11.0, shortened(label, left - 10.0), "end"))
        for j, share in enumerate(table.shares[i]):
            fill = _shade(float(share) / darkest)
            marks.append(
                tag("rect", x=left + j * width, y=y, width=width, height=height, fill=fill)
            )
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
    fill = INK if bar.reach is not None else PALE
    told = tag("title", f"{bar.label}: {percent(bar.share)}")
    return tag("rect", told, x=x, y=y, width=width, height=height, fill=fill)


def _whisker(bar: Bar, left: float, scale: float, y: float) -> Markup:
    if bar.reach is None:
        return Markup("")
    low, high = (left + max(bar.share + sign * bar.reach, 0.0) * scale for sign in (-1, 1))
    return line(low, y, high, y, "whisker")


def _shade(part: float) -> str:
    """A colour between light and dark; the square root shows small shares too."""
    depth = math.sqrt(min(max(part, 0.0), 1.0))
    mixed = (round(a + (b - a) * depth) for a, b in zip(LIGHT, DARK, strict=True))
    return "#" + "".join(f"{channel:02x}" for channel in mixed)
