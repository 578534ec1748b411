"""The synthetic data in pictures: one feature at a time, and two together."""

from itertools import islice

import numpy as np

from thresher.release import Release
from thresher.report.drawing import percent
from thresher.report.markup import Markup, section, table, tag
from thresher.report.pictures import INK, PALE, bars, heat_map
from thresher.report.shares import OneWay, TwoWay, one_way, telling_pairs

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
        "The share of people with each value, with error bars where there are any (see above). "
        "Numbers in bins are named by the lower edge of their bin." + missing
    )
    legend = tag(
        "p",
        *(tag("span", "", class_="swatch", style=f"background: {INK}"), "some measurement asked, "),
        *(tag("span", "", class_="swatch", style=f"background: {PALE}"), "none did: a guess, "),
        *(tag("span", "", class_="swatch line"), "noise, 95 %"),
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
        "so that small shares show). Of the pairs that the workload asks about, those are shown "
        "which are tied most closely, or known with the least noise."
    )
    figures = tag("div", *(_two(pair) for pair in pairs), class_="grid")
    return section("Two features together", tag("p", words), figures)


def _one(shown: OneWay) -> Markup:
    rows = (
        (bar.label, percent(bar.share), "not measured" if bar.reach is None
         else f"± {percent(bar.reach)}")
        for bar in shown.bars
    )  # fmt: skip
    return tag(
        "figure",
        tag("figcaption", tag("strong", shown.feature.name)),
        bars(shown),
        tag(
            "details",
            tag("summary", "Numbers"),
            table((shown.feature.name, "share", "noise (95 %)"), rows),
        ),
    )


def _two(shown: TwoWay) -> Markup:
    first, second = shown.features
    reach = "" if shown.reach is None else f" Noise of a measured cell: ± {percent(shown.reach)}."
    cells = np.argsort(-shown.shares, axis=None, kind="stable")[:MOST_CELLS_LISTED]
    rows = []
    for cell in cells:
        i, j = np.unravel_index(int(cell), shown.shares.shape)
        rows.append((shown.labels[0][i], shown.labels[1][j], percent(float(shown.shares[i, j]))))
    return tag(
        "figure",
        tag("figcaption", tag("strong", first.name, " and ", second.name), ".", reach),
        heat_map(shown),
        tag(
            "details",
            tag("summary", f"The {len(rows)} largest cells"),
            table((first.name, second.name, "share"), rows),
        ),
    )
