"""What was measured, how noisy it is, and how far an answer can be trusted, all by public facts."""

import math
from itertools import islice

import numpy as np

from thresher.privacy.measurements import (
    QueryMeasurement,
    TableMeasurement,
    measured_queries,
    measured_tables,
)
from thresher.queries.workload import Workload
from thresher.release import Release
from thresher.release.error_bars import WITHIN
from thresher.release.sources import SyntheticRows, Zeros
from thresher.report.dots import Point, agreement
from thresher.report.drawing import percent
from thresher.report.last_round import LastRound, last_round
from thresher.report.markup import Markup, section, table, tag
from thresher.report.shares import typical_sigma

MOST_POINTS = 1000
MOST_LISTED = 200
SAMPLE = 10_000


def measured(release: Release) -> Markup:
    """Every noisy answer that was paid for, in numbers and in a picture."""
    if not release.measurements:
        return section("What was measured", tag("p", "Nothing."))
    queries = measured_queries(release.measurements)
    tables = measured_tables(release.measurements)
    sigmas = sorted(m.sigma for m in release.measurements)
    spread = f"{sigmas[0]:.4g}" + (f" to {sigmas[-1]:.4g}" if sigmas[-1] > sigmas[0] else "")
    what = " and ".join(
        words
        for words, some in (
            (f"{len(queries):,} single queries", queries),
            (f"{len(tables):,} tables with {sum(m.counts.size for m in tables):,} cells", tables),
        )
        if some
    )
    sigma = typical_sigma(release) or 0.0
    parts = [
        tag("p", f"{what} were counted, and noise was added to each count. The noise has a "
            f"standard deviation of σ = {spread} people, or "
            f"{percent(sigma)} of all {release.n:,}: 95 of 100 noisy answers are "
            f"within ± {percent(WITHIN * sigma)} of the truth.")
    ]  # fmt: skip
    if isinstance(release.source, SyntheticRows):
        points = [*_query_points(release, queries), *_table_points(release, tables)]
        inside = sum(abs(p.measured - p.answer) <= p.reach for p in points) / len(points)
        whose = f"{len(points):,} measured answers" + (
            " (of each table, the cells that the release says are largest)" if tables else ""
        )
        parts.append(
            tag(
                "figure",
                agreement(points),
                tag("figcaption", f"{whose} against what the release says. On the line, both "
                    "agree. The release is fitted to all of them at once, and not more closely "
                    f"than their noise warrants: {percent(inside)} are within the reach of their "
                    "noise."),
                class_="narrow",
            )
        )  # fmt: skip
        parts += _in_words(release, queries, points) if queries else []
    if tables:
        listed = (
            (f"{m.threshold.r} of: {', '.join(m.threshold.features)}", f"{m.counts.size:,}",
             f"{m.sigma:.4g}", f"± {percent(WITHIN * m.noise)}")
            for m in tables[:MOST_LISTED]
        )  # fmt: skip
        parts.append(
            _details(
                f"The {'first ' if len(tables) > MOST_LISTED else ''}tables",
                table(("table", "cells", "σ of a cell", "noise of a cell (95 %)"), listed),
            )
        )
    return section("What was measured, and how noisy it is", *parts)


def _query_points(release: Release, queries: list[QueryMeasurement]) -> list[Point]:
    shown = queries[-MOST_POINTS:]
    answers = release.answer_many(m.query for m in shown)
    return [
        Point(m.answer, answer, WITHIN * m.noise) for m, answer in zip(shown, answers, strict=True)
    ]


def _table_points(release: Release, tables: list[TableMeasurement]) -> list[Point]:
    """The largest cells of each table by the release's own account, which noise did not choose."""
    shown = tables[-MOST_POINTS:]
    points = []
    for m in shown:
        says = release.answer_all(Workload(release.schema, [m.threshold]))[0].reshape(-1)
        cells = np.argsort(-says, kind="stable")[: max(1, min(20, MOST_POINTS // len(shown)))]
        counted = m.answers.reshape(-1)
        reach = WITHIN * m.noise
        points += [Point(float(counted[cell]), float(says[cell]), reach) for cell in cells]
    return points


def _in_words(
    release: Release, queries: list[QueryMeasurement], points: list[Point]
) -> list[Markup]:
    shown = queries[-MOST_POINTS:]
    rows = (
        (m.query.text(release.schema), percent(point.measured), f"± {percent(point.reach)}",
         percent(point.answer))
        for m, point in islice(zip(shown, points, strict=False), MOST_LISTED)
    )  # fmt: skip
    first = "first " if len(shown) > MOST_LISTED else ""
    summary = f"The {first}{min(len(shown), MOST_LISTED):,} single queries in words"
    return [_details(summary, table(("query", "measured", "noise (95 %)", "release"), rows))]


def trust(release: Release) -> Markup:
    """What the error bars on this page cover, and what they do not."""
    if isinstance(release.source, Zeros):
        words = "This release answers 0 to everything: it is a baseline, and has no error bars."
        return section("How far to trust an answer", tag("p", words))
    of_people = WITHIN * math.sqrt(0.25 / release.n)
    of_sample = WITHIN * math.sqrt(0.25 / SAMPLE)
    points = [
        (
            "Noise.",
            "The error bars show the noise that was added for privacy, at 95 %. They need no "
            "private data: how noisy a measurement is, is public.",
        ),
        (
            "Not covered: chance.",
            "If the records are a random sample of a larger population, its shares differ from "
            f"theirs by up to ± {percent(of_people)} (95 %, for a share of one half).",
        ),
    ]
    if isinstance(release.source, SyntheticRows):
        points[1:1] = [
            (
                "Not covered: what was not measured.",
                "A dark bar means that some measurement asked about this value, alone or together "
                "with others; its error bar is that of one measurement. A pale bar means that none "
                "did: what the synthetic rows say there is a guess, and nothing is known about its "
                "error. Even a dark bar can be further off than its error bar, because what was "
                "measured may have been a part of it only.",
            ),
            (
                "Not covered: drawing records.",
                f"A sample of {SAMPLE:,} records drawn from this release adds up to "
                f"± {percent(of_sample)} (95 %, for a share of one half). The pictures here are "
                "of the synthetic rows themselves and have no such error.",
            ),
        ]
    else:
        points[1:1] = [
            (
                "Sums.",
                "Where cells of a noisy table are added up, their noise adds up too, and the error "
                "bars have grown accordingly. Sums below zero are drawn as zero.",
            )
        ]
    told = [tag("ul", *(tag("li", tag("strong", head), " ", text) for head, text in points))]
    check = last_round(release)
    if check is not None:
        told.append(tag("p", tag("strong", "A check without private data. "), _foresight(check)))
    return section("How far to trust an answer", *told)


def _foresight(check: LastRound) -> str:
    typical = percent(check.typical) if check.typical else "no more than their noise"
    return (
        f"The last round chose {check.count:,} queries that the synthetic rows seemed to answer "
        "worst, and measured them. Rows fitted without that round miss these answers typically by "
        f"{typical}, and at most by {percent(check.largest)}, noise included. They were chosen for "
        "being bad, so most others should be better; but the choice is itself noisy, and a worse "
        "one may have been overlooked."
    )


def _details(summary: str, *parts: object) -> Markup:
    return tag("details", tag("summary", summary), *parts)
