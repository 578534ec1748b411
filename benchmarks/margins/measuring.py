"""Errors and margins of error of the answers of a release, by kind of query."""

import contextlib
import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import numpy as np

import thresher as th
from benchmarks.margins.queries import KINDS, MEANS, Asker

LEAST_SHARE = 0.001
"""Smaller answers are not counted."""


@dataclass(frozen=True)
class Coverage:
    """How one release did on one kind of query.

    Attributes:
        table: The name of the public table.
        case: The workload and ε.
        kind: The kind of query.
        answers: How many were counted.
        inside: For how many of them the truth is inside the margin.
        median_margin: The median of the margins.
        median_error: The median of the absolute errors.
    """

    table: str
    case: str
    kind: str
    answers: int
    inside: int
    median_margin: float
    median_error: float


def coverages(
    table: str, case: str, data: th.Records, release: th.Release, count: int, seed: int
) -> Iterator[Coverage]:
    """All kinds of queries to one release."""
    for kind in KINDS:
        asked = [*Asker(data, release.workload, seed).queries(kind, count)]
        answers = release.answer_many(query for query, _ in asked)
        found = [
            (abs(answer - truth), answer.error_bar or 0.0)
            for answer, (_, truth) in zip(answers, asked, strict=True)
            if answer > LEAST_SHARE
        ]
        if found:
            yield _coverage(table, case, kind.name, found)
    for kind in MEANS:
        found = []
        for feature, among, truth in Asker(data, release.workload, seed).means(kind, count // 5):
            if release.answer(among) > LEAST_SHARE:
                # D' may have nobody there who has a number.
                with contextlib.suppress(th.QueryError):
                    mean = release.numbers(feature, where=among).mean()
                    found.append((abs(mean - truth), mean.error_bar))
        if found:
            yield _coverage(table, case, kind.name, found)


def _coverage(table: str, case: str, kind: str, found: Sequence[tuple[float, float]]) -> Coverage:
    errors, margins = np.array(found).T
    inside = int((errors <= margins + 1e-9).sum())
    medians = float(np.median(margins)), float(np.median(errors))
    return Coverage(table, case, kind, len(found), inside, *medians)


def summary(rows: Sequence[Coverage]) -> Iterator[str]:
    """A line of a Markdown table per kind. Ratios are medians over the releases."""
    yield "| kind of query | answers | true value inside | worst table | median margin / error |"
    yield "|---|---|---|---|---|"
    for kind in dict.fromkeys(row.kind for row in rows):
        alike = [row for row in rows if row.kind == kind]
        answers = sum(row.answers for row in alike)
        part = sum(row.inside for row in alike) / answers
        tables = {row.table for row in alike}
        worst = min(_inside(row for row in alike if row.table == table) for table in tables)
        ratio = np.median([row.median_margin / max(row.median_error, 1e-9) for row in alike])
        yield f"| {kind} | {answers:,} | {part:.1%} | {worst:.0%} | {ratio:.1f} |"


def _inside(rows: Iterable[Coverage]) -> float:
    listed = [*rows]
    return sum(row.inside for row in listed) / sum(row.answers for row in listed)


def store(rows: Iterable[Coverage], path: Path) -> None:
    """One line of a CSV file per release and kind."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([field.name for field in fields(Coverage)])
        writer.writerows(map(astuple, rows))
