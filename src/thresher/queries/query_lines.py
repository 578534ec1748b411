"""Many queries in a file, one a line, read at speed."""

from collections.abc import Iterable, Iterator

from thresher.errors import QueryError
from thresher.queries.condition import Condition
from thresher.queries.language import OPENING
from thresher.queries.query import Query
from thresher.schema import Schema


def read_queries(lines: Iterable[str], schema: Schema) -> Iterator[tuple[str, Query]]:
    """Read one query a line, with its text; blank lines and `# comments` are passed over.

    Conditions recur from line to line, so each text of one is parsed once and remembered.

    Args:
        lines: The lines.
        schema: The features.

    Raises:
        QueryError: A line is not a query; the message names its number.

    Example:
        >>> from thresher.data import datasets
        >>> lines = ["# women", "any of: sex=Female, race=Black", "", "age=20..29"]
        >>> [query.k for _, query in read_queries(lines, datasets.adult_schema())]
        [2, 1]
    """
    known: dict[str, Condition] = {}
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        try:
            yield text, _remembering(text, schema, known) or Query.parse(text, schema)
        except QueryError as fault:
            raise QueryError(f"line {number}: {fault}") from None


def _remembering(text: str, schema: Schema, known: dict[str, Condition]) -> Query | None:
    """The query of a plain line, or None where the parser must look at the whole of it."""
    if "{" in text:
        return None
    opening = OPENING.match(text)
    # A comma inside quotes leaves a part with an unclosed quote, which is no condition.
    parts = (text[opening.end() :] if opening else text).split(",")
    conditions = []
    for part in parts:
        condition = known.get(part)
        if condition is None:
            # Such a part would be read as the opening of a query; inside a line it is none.
            if OPENING.match(part):
                return None
            try:
                [condition] = Query.parse(part, schema).conditions
            except QueryError:
                return None
            known[part] = condition
        conditions.append(condition)
    k = len(conditions)
    r = k if not opening or opening[1] else 1 if opening[2] else int(opening[3])
    if not 1 <= r <= k or len({condition.feature for condition in conditions}) < k:
        return None
    return Query.trusted(tuple(conditions), r)
