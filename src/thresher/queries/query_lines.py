"""Many queries in a file, one a line, read at speed."""

from collections.abc import Callable, Iterable, Iterator

from thresher.errors import QueryError
from thresher.queries.condition import Condition
from thresher.queries.conditional import ConditionalQuery, parse_query
from thresher.queries.language import OPENING
from thresher.queries.query import Query
from thresher.queries.writing import written
from thresher.schema import Schema

Known = dict[str, tuple[Condition, bool]]
"""Conditions by their texts, and whether each was read to the letter."""


def read_queries(
    lines: Iterable[str],
    schema: Schema,
    report: Callable[[str, QueryError], None] | None = None,
    start: int = 1,
) -> Iterator[tuple[str, Query | ConditionalQuery]]:
    """Read one query a line, with its text; blank lines and `# comments` are passed over.

    Conditions recur from line to line, so each text of one is parsed once and remembered.

    Args:
        lines: The lines.
        schema: The features.
        report: Is told each line that is not a query, and what is wrong. The others are read.
        start: The number of the first line.

    Raises:
        QueryError: A line is not a query, and there is no `report`. The message names its number.

    Example:
        >>> from thresher.data import datasets
        >>> lines = ["# women", "any of: sex=Female, race=Black", "", "age=20..29"]
        >>> [query.k for _, query in read_queries(lines, datasets.adult_schema())]
        [2, 1]
    """
    known: Known = {}
    for number, line in enumerate(lines, start):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        try:
            query = _remembering(text, schema, known) or parse_query(text, schema)
        except QueryError as fault:
            named = QueryError(f"line {number}: {fault}")
            if report is None:
                raise named from None
            report(text, named)
        else:
            yield text, query


def _remembering(text: str, schema: Schema, known: Known) -> Query | None:
    """The query of a plain line, or None where the parser must look at the whole of it."""
    if "{" in text:
        return None
    opening = OPENING.match(text)
    # A comma inside quotes leaves a part with an unclosed quote, which is no condition.
    parts = (text[opening.end() :] if opening else text).split(",")
    conditions, is_exact = [], True
    for part in parts:
        found = known.get(part)
        if found is None:
            # Such a part would be read as the opening of a query; inside a line it is none.
            if OPENING.match(part):
                return None
            try:
                query = Query.parse(part, schema)
            except QueryError:
                return None
            if query.k > 1:
                return None
            found = known[part] = query.conditions[0], query.read_as is None
        conditions.append(found[0])
        is_exact &= found[1]
    k = len(conditions)
    r = k if not opening or opening[1] else 1 if opening[2] else int(opening[3])
    if not 1 <= r <= k or len({condition.feature for condition in conditions}) < k:
        return None
    read_as = None if is_exact else written(conditions, r, schema, bins_as_ranges=True)
    return Query.trusted(tuple(conditions), r, read_as)
