"""The synthetic data in pictures: one feature at a time, and two together."""

from itertools import islice

import numpy as np

from thresher.release import Release
from thresher.report.drawing import margin, percent
from thresher.report.markup import Markup, details, section, table, tag
from thresher.report.pictures import INK, PALE, bars, heat_map
from thresher.report.shares import OneWay, TwoWay, one_way, telling_pairs

MARGIN = "margin of error (95 %)"
MOST_FEATURES = 60
MOST_PAIRS = 6
MOST_CELLS_LISTED = 10


def one_at_a_time(release: Release) -> Markup:
    """The shares of each feature's values."""
    tables = [one_way(release, name) for name in islice(release.schema.names, MOST_FEATURES)]
    found = [table for table in tables if table is not None]
    if not found:
        words = "This release has no table of a single feature."
        return section("One feature at a time", tag("p", words))
    left_out = len(release.schema) - len(found)
    missing = (
        f" {left_out} features are not shown: the release has no table of them, or they are "
        f"beyond the first {MOST_FEATURES}."
        if left_out
        else ""
    )
    words = (
        "The share of people with each value, and its margin of error as an error bar (see above). "
        "A bin such as 0–10 includes its lower end, not its upper end; a group of whole numbers "
        "such as 20–29 includes both." + missing
    )
    legend = tag(
        "p",
        *(tag("span", "", class_="swatch", style=f"background: {INK}"), "measured, "),
        *(
            tag("span", "", class_="swatch", style=f"background: {PALE}"),
            "margin of error estimated, ",
        ),
        *(tag("span", "", class_="swatch line"), "margin of error, 95 %"),
    )
    figures = tag("div", *(_one(table) for table in found), class_="grid")
    return section("One feature at a time", tag("p", words), legend, figures)


def two_together(release: Release) -> Markup:
    """The joint shares of the pairs of features that tell most."""
    pairs = telling_pairs(release, MOST_PAIRS)
    if not pairs:
        words = "This release has no table of two features."
        return section("Two features together", tag("p", words))
    words = (
        "Each cell is the share of people with both values, darker for more (by the square root, "
        "so that small shares show). Of the pairs of features that the workload asks about, these "
        "are the most closely related, or those with the smallest margins of error. Point at a "
        "cell to read its share and its margin of error."
    )
    figures = tag("div", *(_two(pair) for pair in pairs), class_="grid")
    return section("Two features together", tag("p", words), figures)


def _one(shown: OneWay) -> Markup:
    rows = ((bar.label, percent(bar.answer), margin(bar.answer)) for bar in shown.bars)
    return tag(
        "figure",
        tag("figcaption", tag("strong", shown.feature.name)),
        bars(shown),
        details("Numbers", table((shown.feature.name, "share", MARGIN), rows)),
    )


def _two(shown: TwoWay) -> Markup:
    first, second = shown.features
    cells = np.argsort(-shown.shares, axis=None, kind="stable")[:MOST_CELLS_LISTED]
    rows = []
    for cell in cells:
        i, j = np.unravel_index(int(cell), shown.shares.shape)
        answer = shown.cells[i][j].answer
        rows.append((shown.labels[0][i], shown.labels[1][j], percent(answer), margin(answer)))
    return tag(
        "figure",
        tag("figcaption", tag("strong", first.name, " and ", second.name)),
        heat_map(shown),
        details(
            f"The {len(rows)} largest cells",
            table((first.name, second.name, "share", MARGIN), rows),
        ),
    )
