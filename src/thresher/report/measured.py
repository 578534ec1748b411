"""What was measured and with how much noise, and what the margins of error mean."""

import math
from typing import Any

import numpy as np

from thresher.privacy.measurements import (
    TableMeasurement,
    measured_queries,
    measured_residuals,
    measured_tables,
)
from thresher.queries.workload import Workload
from thresher.release import Release
from thresher.release.uncertainty import NORMAL_95
from thresher.report.wording import percent

MOST_POINTS = 1000
MOST_LISTED = 200
SAMPLE = 10_000


def measured(release: Release) -> dict[str, Any]:
    """In words and lists: how many queries and tables, which, and how noisy."""
    queries = measured_queries(release.measurements)
    tables = measured_tables(release.measurements)
    residuals = measured_residuals(release.measurements)
    return {
        "words": _in_short(release) if release.measurements else "Nothing.",
        "queries": [
            (m.query.text(release.schema), percent(m.answer), percent(m.noise))
            for m in queries[-MOST_LISTED:]
        ],
        "tables": [
            (", ".join(m.threshold.features), m.threshold.r, m.counts.size,
             f"{m.sigma / release.unit.parts:.4g}", percent(m.noise))
            for m in tables[:MOST_LISTED]
        ],
        "residuals": [
            (", ".join(m.threshold.features), m.contrasts.size,
             f"{m.sigma / release.unit.parts:.4g}", percent(m.noise))
            for m in residuals[:MOST_LISTED]
        ],
        "left_out": sum(max(0, len(some) - MOST_LISTED) for some in (queries, tables, residuals)),
    }  # fmt: skip


def _in_short(release: Release) -> str:
    queries = measured_queries(release.measurements)
    tables = measured_tables(release.measurements)
    residuals = measured_residuals(release.measurements)
    sigmas = [m.sigma / release.unit.parts for m in release.measurements]
    low, high = min(sigmas), max(sigmas)
    size, share = f"{low:.4g}", percent(low / release.n)
    if high > low:
        size, share = f"{size} to {high:.4g}", f"{share} to {percent(high / release.n)}"
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


def points(release: Release) -> list[dict[str, float]]:
    """Measured answers, their noise at 95 %, and the release's answers, where it has rows."""
    if release.source.rows is None:
        return []
    queries = measured_queries(release.measurements)[-MOST_POINTS:]
    answers = release.answer_many(m.query for m in queries)
    found = [_point(m.answer, answer, m.noise) for m, answer in zip(queries, answers, strict=True)]
    return found + _table_points(release, measured_tables(release.measurements)[-MOST_POINTS:])


def _table_points(release: Release, tables: list[TableMeasurement]) -> list[dict[str, float]]:
    """The largest cells of each table, by the release's answers.

    Cells that are the largest by their noisy counts would be too large on average.
    """
    found = []
    for m in tables:
        says = release.answer_all(Workload(release.schema, [m.threshold]))[0].reshape(-1)
        cells = np.argsort(-says, kind="stable")[: max(1, min(20, MOST_POINTS // len(tables)))]
        counted = m.answers.reshape(-1)
        found += [_point(float(counted[cell]), float(says[cell]), m.noise) for cell in cells]
    return found


def _point(noisy: float, answer: float, noise: float) -> dict[str, float]:
    return {"measured": noisy, "answer": float(answer), "noise": NORMAL_95 * noise}


def trust(release: Release) -> list[tuple[str, str]]:
    """What the margins of error on the page cover, and what they do not: heads and words."""
    if not release.measurements:
        return [("No margin of error.", "Nothing was measured, so no answer has one.")]
    return [
        *_margins(release),
        *(_OF_ROWS if release.source.rows is not None else _OF_TABLES),
        (
            "Not covered: chance.",
            "If the records are a random sample of a larger population, its shares differ from "
            f"theirs by up to {percent(NORMAL_95 * math.sqrt(0.25 / release.n))} (95 %, for a "
            "share of one half).",
        ),
    ]


_OF_TABLES = [
    (
        "Sums.",
        "Where cells of a noisy table are added up, their noise adds up too, and the margin of "
        "error is larger. Sums below 0 are shown as 0.",
    )
]

_OF_ROWS = [
    (
        "Estimated margins.",
        "Where no measured table has all features of a question, its margin is marked est.: "
        "nothing that was measured bounds the error. How wrong synthetic rows are about such "
        "questions was found out on other data sets.",
    ),
    (
        "Not covered: drawing records.",
        f"A sample of {SAMPLE:,} records drawn from this release adds an error of up to "
        f"{percent(NORMAL_95 * math.sqrt(0.25 / SAMPLE))} (95 %, for a share of one half). This "
        "page computes from the synthetic rows themselves and has no such error.",
    ),
]


def _margins(release: Release) -> list[tuple[str, str]]:
    points = [
        (
            "Margin of error.",
            "The share among the records is within this margin of the release’s answer, with 95 % "
            "confidence. It covers the noise that was added for privacy. It needs no private data, "
            "and it is the same that “thresher answer” prints.",
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
                "undetected.",
            )
        )
    return points
