"""What requests are answered with: computed in the worker's thread, as plain JSON values."""

import math
from collections.abc import Sequence
from typing import Any

from thresher.queries.number_query import NumberQuery
from thresher.release import Answer, Release
from thresher.release.number_summary import summary_of, told
from thresher.release.spreadsheet import spreadsheet_safe
from thresher.service.refusal import CODES, first_line
from thresher.service.worker import Deadline

TOGETHER = 200
"""How many queries are answered before the deadline is looked at again."""


def answer_one(release: Release, text: str) -> dict[str, Any]:
    """The answer to a query.

    Args:
        release: The release.
        text: The query.
    """
    return _answered(text, release.answer(text))


def answer_many(
    release: Release, texts: Sequence[str], deadline: Deadline
) -> dict[str, list[dict[str, Any]]]:
    """The answers to many queries, in order. A query that cannot be answered has an error instead.

    Args:
        release: The release.
        texts: The queries.
        deadline: When to be done.
    """
    found: list[dict[str, Any]] = []
    for start in range(0, len(texts), TOGETHER):
        deadline.check()
        some = texts[start : start + TOGETHER]
        found.extend(map(_answered, some, release.answer_many(some)))
    return {"answers": found}


def _answered(text: str, answer: Answer) -> dict[str, Any]:
    if answer.fault is not None:
        return {"query": text, "error": {"code": CODES[422], "message": first_line(answer.fault)}}
    return {
        "query": text,
        "answer": finite(answer),
        "error_bar": finite(answer.error_bar),
        "count": finite(answer.count),
        "count_error_bar": finite(answer.count_error_bar),
        "is_estimated": answer.is_estimated,
        "read_as": answer.read_as,
    }


def number(release: Release, text: str) -> dict[str, Any]:
    """A mean, sum or quantile.

    Args:
        release: The release.
        text: The question, such as `mean of age among sex=Female`.
    """
    asked = NumberQuery.parse(text, release.schema)
    read_as = asked.among.read_as if asked.among else None
    return {"query": text, "read_as": read_as, **told(release.number(asked))}


def numbers(release: Release, feature: str, where: str | None, bins: int) -> dict[str, Any]:
    """The mean, sum, quartiles and histogram of a feature of numbers.

    Args:
        release: The release.
        feature: The feature.
        where: Conditions that all hold, to count nobody else.
        bins: The most bins of the histogram.
    """
    found = summary_of(release.numbers(feature, where=where), bins)
    bars = [{key: finite(value) for key, value in bar.items()} for bar in found["histogram"]]
    return {**found, "histogram": bars}


def finite(number: float | None) -> float | None:
    """A number as JSON has it: null for one that is not known, such as a share of nobody."""
    return float(number) if number is not None and math.isfinite(number) else None


def sampled(release: Release, rows: int, seed: int | None, labels: bool) -> dict[str, Any]:
    """Synthetic records, a list of values each.

    Args:
        release: The release.
        rows: How many.
        seed: The same seed gives the same records.
        labels: Whether labels such as `unknown` stand in columns of numbers and dates.
    """
    records = release.sample(rows, seed, labels=labels)
    columns = [
        [
            None if missing else _plain(value)
            for value, missing in zip(column, column.isna(), strict=True)
        ]
        for _, column in records.items()
    ]
    return {
        "columns": list(records.columns),
        "rows": [list(row) for row in zip(*columns, strict=True)],
    }


def sampled_csv(release: Release, rows: int, seed: int | None, labels: bool) -> str:
    """Synthetic records as CSV that is safe to open in a spreadsheet."""
    return spreadsheet_safe(release.sample(rows, seed, labels=labels)).to_csv(index=False)


def _plain(value: Any) -> Any:
    """A value of a column as JSON has it. What is no number, truth value or text is a day."""
    value = value.item() if hasattr(value, "item") else value
    return value if isinstance(value, bool | int | float | str) else str(value)[:10]
