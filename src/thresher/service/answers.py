"""What requests are answered with: computed in the worker's thread, as plain JSON values."""

from collections.abc import Iterator, Sequence
from typing import Any

from thresher.errors import ThresherError
from thresher.queries.query import Query
from thresher.release import Answer, Release
from thresher.release.spreadsheet import spreadsheet_safe
from thresher.service.refusal import words_of
from thresher.service.worker import Deadline

TOGETHER = 200
"""How many queries are answered before the deadline is looked at again."""


def answer_one(release: Release, text: str) -> dict[str, Any]:
    """The answer to a query.

    Args:
        release: The release.
        text: The query.
    """
    return _answered(release, text, release.answer(text))


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
        found.extend(_each(release, texts[start : start + TOGETHER]))
    return {"answers": found}


def _each(release: Release, texts: Sequence[str]) -> Iterator[dict[str, Any]]:
    read = [_read(release, text) for text in texts]
    good = [query for query in read if isinstance(query, Query)]
    answers: Iterator[Answer | str]
    try:
        answers = iter([*release.answer_trusted(good)])
    except ThresherError:  # this release cannot answer one of them
        answers = iter([_tried(release, query) for query in good])
    for text, query in zip(texts, read, strict=True):
        found = next(answers) if isinstance(query, Query) else query
        if isinstance(found, Answer):
            yield _answered(release, text, found)
        else:
            yield {"query": text, "error": {"code": "invalid", "message": found}}


def _read(release: Release, text: str) -> Query | str:
    """A query, or what is wrong with it."""
    try:
        return Query.parse(text, release.schema)
    except ThresherError as fault:
        return words_of(fault)


def _tried(release: Release, query: Query) -> Answer | str:
    try:
        return release.answer(query)
    except ThresherError as fault:
        return words_of(fault)


def _answered(release: Release, text: str, answer: Answer) -> dict[str, Any]:
    return {
        "query": text,
        "answer": float(answer),
        "error_bar": answer.error_bar,
        "count": float(answer) * release.n,
    }


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
    """A value of a column as JSON has it: a number, a truth value or a text."""
    value = value.item() if hasattr(value, "item") else value
    return value if isinstance(value, bool | int | float | str) else str(value)
