"""Errors and margins of error of the answers of a release, by kind of query."""

import contextlib
import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

import thresher as th
from benchmarks.margins.queries import KINDS, NUMBERS, Asker, Numbers

LEAST_SHARE = 0.001
"""Smaller answers are not counted."""

NORMAL_QUANTILES = np.array([NormalDist().inv_cdf(0.5 + i / 400) for i in range(1, 200, 2)]) / 1.96
"""Absolute values of a normal variable, each as likely, over the margin of 95 %."""


class Found(NamedTuple):
    """The error and the margin of one answer, and whether the truth is inside if that is known."""

    error: float
    margin: float
    known: bool | None = None

    @property
    def is_inside(self) -> bool:
        """Whether the truth is inside the margin."""
        return self.error <= self.margin + 1e-9 if self.known is None else self.known


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
        high_error: Their 95 % quantile.
        ideal_error: What their median would be if errors were normal and margins 1.96 of their
            standard deviations: exactly right.
    """

    table: str
    case: str
    kind: str
    answers: int
    inside: int
    median_margin: float
    median_error: float
    high_error: float
    ideal_error: float


def coverages(
    table: str, case: str, data: th.Records, release: th.Release, count: int, seed: int
) -> Iterator[Coverage]:
    """All kinds of queries to one release."""
    for kind in KINDS:
        asked = [*Asker(data, release.workload, seed).queries(kind, count)]
        answers = release.answer_many(query for query, _ in asked)
        found = [
            Found(abs(answer - truth), answer.error_bar or 0.0)
            for answer, (_, truth) in zip(answers, asked, strict=True)
            if answer > LEAST_SHARE
        ]
        if found:
            yield _coverage(table, case, kind.name, found)
    for kind in NUMBERS:
        asked_for = Asker(data, release.workload, seed).numbers(kind, count // 5)
        by_statistic: dict[str, list[Found]] = {}
        for feature, among, truth in asked_for:
            for statistic, one in _of_numbers(release, feature, among, truth):
                by_statistic.setdefault(statistic, []).append(one)
        for statistic, found in by_statistic.items():
            yield _coverage(table, case, f"{statistic}, {kind.name}", found)


def _of_numbers(
    release: th.Release, feature: str, among: th.Query, truth: Numbers
) -> Iterator[tuple[str, Found]]:
    """The mean, sum and median of some people."""
    if release.answer(among) <= LEAST_SHARE:
        return
    # D' may have nobody there who has a number.
    with contextlib.suppress(th.QueryError):
        numbers = release.numbers(feature, where=among)
        # Half of the people are at or below the median.
        middle = float(np.sort(truth)[(len(truth) - 1) // 2])
        true = {"mean": float(truth.mean()), "sum": float(truth.sum()), "median": middle}
        for statistic, value in true.items():
            told = numbers.quantile(0.5) if statistic == "median" else numbers.estimate(statistic)
            # The interval of a median need not be symmetric.
            is_inside = told.low - 1e-9 <= value <= told.high + 1e-9
            yield statistic, Found(abs(told - value), told.error_bar, is_inside)


def _coverage(table: str, case: str, kind: str, found: Sequence[Found]) -> Coverage:
    errors, margins = (np.array([one[i] for one in found]) for i in (0, 1))
    return Coverage(
        table,
        case,
        kind,
        answers=len(found),
        inside=sum(one.is_inside for one in found),
        median_margin=float(np.median(margins)),
        median_error=float(np.median(errors)),
        high_error=float(np.quantile(errors, 0.95)),
        ideal_error=float(np.median(np.outer(margins, NORMAL_QUANTILES))),
    )


def summary(rows: Sequence[Coverage]) -> Iterator[str]:
    """A line of a Markdown table per kind. Ratios are medians over the releases."""
    yield (
        "| kind of query | answers | true value inside | worst table | median margin, over median "
        "error | if errors were normal | 95 % quantile of errors, over their median |"
    )
    yield "|---|---|---|---|---|---|---|"
    for kind in dict.fromkeys(row.kind for row in rows):
        alike = [row for row in rows if row.kind == kind]
        answers = sum(row.answers for row in alike)
        part = sum(row.inside for row in alike) / answers
        tables = {row.table for row in alike}
        worst = min(_inside(row for row in alike if row.table == table) for table in tables)
        ratios = (
            _typical((row.median_margin, row.median_error) for row in alike),
            _typical((row.median_margin, row.ideal_error) for row in alike),
            _typical((row.high_error, row.median_error) for row in alike),
        )
        yield f"| {kind} | {answers:,} | {part:.1%} | {worst:.0%} | {' | '.join(ratios)} |"


def _typical(pairs: Iterable[tuple[float, float]]) -> str:
    """The median of ratios; a dash where half of them are over 0, as for medians of numbers."""
    ratio = np.median([a / b if b else np.inf for a, b in pairs])
    return f"{ratio:.1f}" if np.isfinite(ratio) else "-"


def _inside(rows: Iterable[Coverage]) -> float:
    listed = [*rows]
    return sum(row.inside for row in listed) / sum(row.answers for row in listed)


def store(rows: Iterable[Coverage], path: Path) -> None:
    """One line of a CSV file per release and kind."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([field.name for field in fields(Coverage)])
        writer.writerows(map(astuple, rows))
