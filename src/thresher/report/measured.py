"""What was measured and with how much noise, and what the margins of error mean."""

import math
from itertools import islice

import numpy as np

from thresher.privacy.measurements import (
    QueryMeasurement,
    TableMeasurement,
    measured_queries,
    measured_residuals,
    measured_tables,
)
from thresher.queries.workload import Workload
from thresher.release import Release
from thresher.release.uncertainty import NORMAL_95
from thresher.report.dots import Point, agreement
from thresher.report.drawing import margin, percent
from thresher.report.markup import Markup, details, section, table, tag

MOST_POINTS = 1000
MOST_LISTED = 200
SAMPLE = 10_000


def measured(release: Release) -> Markup:
    """Every noisy answer that was paid for, in numbers and in a picture."""
    if not release.measurements:
        return section("What was measured", tag("p", "Nothing."))
    queries = measured_queries(release.measurements)
    tables = measured_tables(release.measurements)
    parts = [tag("p", _in_short(release, queries, tables))]
    if release.source.rows is not None:
        parts.append(_agreement(release, queries, tables))
        parts += [_listed_queries(release, queries)] if queries else []
    if tables:
        parts.append(_listed_tables(release, tables))
    return section("What was measured, and how noisy it is", *parts)


def _in_short(
    release: Release, queries: list[QueryMeasurement], tables: list[TableMeasurement]
) -> str:
    sigmas = [m.sigma / release.unit.parts for m in release.measurements]
    low, high = min(sigmas), max(sigmas)
    size, share = f"{low:.4g}", percent(low / release.n)
    if high > low:
        size, share = f"{size} to {high:.4g}", f"{share} to {percent(high / release.n)}"
    residuals = measured_residuals(release.measurements)
    what = " and ".join(
        words
        for words, some in (
            (f"{len(queries):,} single queries", queries),
            (f"{len(tables):,} tables with {sum(m.counts.size for m in tables):,} cells", tables),
            (
                f"{len(residuals):,} residuals (what tables say beyond their margins) with "
                f"{sum(m.contrasts.size for m in residuals):,} contrasts",
                residuals,
            ),
        )
        if some
    )
    return (
        f"{what} were counted, and noise was added to each count. The noise has a standard "
        f"deviation of σ = {size} {release.unit.counted}, or {share} of all {release.n:,}."
    )


def _agreement(
    release: Release, queries: list[QueryMeasurement], tables: list[TableMeasurement]
) -> Markup:
    points = [*_query_points(release, queries), *_table_points(release, tables)]
    agreeing = sum(point.agrees for point in points) / len(points)
    whose = f"{len(points):,} measured answers" + (
        " (of each table, the cells that the release says are largest)" if tables else ""
    )
    return tag(
        "figure",
        agreement(points),
        tag("figcaption", f"{whose} against the release’s answers. On the line, both are the same. "
            "The release is fitted to all measurements at once, and only as closely as their noise "
            f"allows: {percent(agreeing)} agree within their noise (95 %)."),
        class_="narrow",
    )  # fmt: skip


def _query_points(release: Release, queries: list[QueryMeasurement]) -> list[Point]:
    shown = queries[-MOST_POINTS:]
    answers = release.answer_many(m.query for m in shown)
    return [
        Point(m.answer, answer, NORMAL_95 * m.noise)
        for m, answer in zip(shown, answers, strict=True)
    ]


def _table_points(release: Release, tables: list[TableMeasurement]) -> list[Point]:
    """The largest cells of each table, by the release's answers.

    Cells that are the largest by their noisy counts would be too large on average.
    """
    shown = tables[-MOST_POINTS:]
    points = []
    for m in shown:
        says = release.answer_all(Workload(release.schema, [m.threshold]))[0].reshape(-1)
        cells = np.argsort(-says, kind="stable")[: max(1, min(20, MOST_POINTS // len(shown)))]
        counted = m.answers.reshape(-1)
        noise = NORMAL_95 * m.noise
        points += [Point(float(counted[cell]), float(says[cell]), noise) for cell in cells]
    return points


def _listed_queries(release: Release, queries: list[QueryMeasurement]) -> Markup:
    shown = queries[-MOST_POINTS:]
    answers = release.answer_many(m.query for m in shown[:MOST_LISTED])
    rows = (
        (m.query.text(release.schema), percent(m.answer), percent(m.noise), percent(answer),
         margin(answer))
        for m, answer in zip(islice(shown, MOST_LISTED), answers, strict=True)
    )  # fmt: skip
    first = "first " if len(shown) > MOST_LISTED else ""
    heads = ("query", "measured", "σ of its noise", "release", "margin of error (95 %)")
    summary = f"The {first}{min(len(shown), MOST_LISTED):,} single queries in words"
    return details(summary, table(heads, rows))


def _listed_tables(release: Release, tables: list[TableMeasurement]) -> Markup:
    rows = (
        (f"{m.threshold.r} of: {', '.join(m.threshold.features)}", f"{m.counts.size:,}",
         f"{m.sigma / release.unit.parts:.4g}", percent(m.noise))
        for m in tables[:MOST_LISTED]
    )  # fmt: skip
    heads = ("table", "cells", f"σ of a cell ({release.unit.counted})", "σ of a cell (share)")
    return details(f"The {'first ' if len(tables) > MOST_LISTED else ''}tables", table(heads, rows))


def trust(release: Release) -> Markup:
    """What the margins of error on this page cover, and what they do not."""
    title = "How far to trust an answer"
    if not release.measurements:
        return section(title, tag("p", "Nothing was measured, so no answer has a margin of error."))
    points = [
        *_margins(release),
        *(_of_rows() if release.source.rows is not None else _OF_TABLES),
        (
            "Not covered: chance.",
            "If the records are a random sample of a larger population, its shares differ from "
            f"theirs by up to {percent(NORMAL_95 * math.sqrt(0.25 / release.n))} (95 %, for a "
            "share of one half).",
        ),
    ]
    return section(
        title, tag("ul", *(tag("li", tag("strong", head), " ", words) for head, words in points))
    )


_OF_TABLES = [
    (
        "Sums.",
        "Where cells of a noisy table are added up, their noise adds up too, and the margin of "
        "error is larger. Sums below 0 are shown as 0.",
    )
]


def _margins(release: Release) -> list[tuple[str, str]]:
    points = [
        (
            "Margin of error.",
            "The share among the records is within this margin of the release’s answer, with 95 % "
            "confidence. It covers the noise that was added for privacy. It needs no private data, "
            "and it is the same that `thresher answer` prints.",
        )
    ]
    error = release.source.prediction_error
    if error is not None:
        points.append(
            (
                "Prediction error.",
                "Before the last measurements, the synthetic rows predicted them with an error of "
                f"up to {percent(error)} (95 %, without the noise of the measurements). What was "
                "measured is what the rows seemed to answer worst, so most other answers should be "
                "better. But that selection is noisy too and may have left a larger error "
                "undetected. Margins of error for the workload’s queries that were not measured "
                "come from this number.",
            )
        )
    return points


def _of_rows() -> list[tuple[str, str]]:
    of_sample = NORMAL_95 * math.sqrt(0.25 / SAMPLE)
    return [
        (
            "Estimated margins of error.",
            "The margin of a pale bar is an estimate: no measured table has all of its features.",
        ),
        (
            "Not covered: drawing records.",
            f"A sample of {SAMPLE:,} records drawn from this release adds an error of up to "
            f"{percent(of_sample)} (95 %, for a share of one half). The pictures here show the "
            "synthetic rows themselves and have no such error.",
        ),
    ]
