"""A share among some people: `share of income=>50K among sex=Female, age>=25`."""

import re
from dataclasses import dataclass, field

from thresher.errors import QueryError
from thresher.queries.condition import Condition
from thresher.queries.query import Query
from thresher.queries.threshold import Threshold
from thresher.schema import Schema

_SHARE_OF = re.compile(r"\s*share\s+of\s+", re.IGNORECASE)
_AMONG = re.compile(r"(?<!\s)\s+among\s+", re.IGNORECASE)


@dataclass(frozen=True)
class ConditionalQuery:
    """Of those who meet some conditions, who meets some more?

    Attributes:
        among: The people that the share is of.
        both: Those of them who meet the other conditions as well.
        read_as: How it was read, where ranges do not end with a bin; otherwise None.

    Example:
        >>> from thresher.data import datasets
        >>> schema = datasets.adult_schema()
        >>> asked = ConditionalQuery.parse("share of income=>50K among sex=Female", schema)
        >>> asked.both.text(schema)
        'all of: sex=Female, income=>50K'
    """

    among: Query
    both: Query
    read_as: str | None = field(default=None, compare=False)

    @classmethod
    def of(cls, part: Query, among: Query, schema: Schema) -> "ConditionalQuery":
        """The share of those who meet one query, among those who meet another."""
        read_as = None
        if part.read_as is not None or among.read_as is not None:
            texts = (query.read_as or query.text(schema) for query in (part, among))
            read_as = "share of {} among {}".format(*texts)
        return cls(among, all_of(among, part), read_as)

    @classmethod
    def parse(cls, text: str, schema: Schema) -> "ConditionalQuery":
        """Read `share of … among …`, with queries whose conditions must all hold."""
        opening = _SHARE_OF.match(text)
        middles = [] if opening is None else [*_AMONG.finditer(text, opening.end())]
        if opening is None or not middles:
            raise QueryError("a share among some people is written: share of … among …")
        fault = None
        for middle in middles:  # a value may hold the word, too
            try:
                part = Query.parse(text[opening.end() : middle.start()], schema)
                among = Query.parse(text[middle.end() :], schema)
            except QueryError as wrong:
                fault = fault or wrong
            else:
                return cls.of(part, among, schema)
        assert fault is not None
        raise fault

    @property
    def threshold(self) -> Threshold:
        """The threshold over all features."""
        return self.both.threshold


def all_of(*queries: Query) -> Query:
    """One query that asks for everything that some queries ask for.

    Raises:
        QueryError: One of them asks for less than all of its conditions.
    """
    wanted: dict[str, set[int]] = {}
    for query in queries:
        if query.r < query.k:
            raise QueryError(
                "queries are joined only if all their conditions must hold: leave out `N of:` and "
                "`any of:`"
            )
        for condition in query.conditions:
            codes = wanted.setdefault(condition.feature, {*condition.codes})
            codes &= {*condition.codes}
    return Query(Condition(name, codes) for name, codes in wanted.items())


def parse_query(text: str, schema: Schema) -> Query | ConditionalQuery:
    """Read a query of either kind."""
    if _SHARE_OF.match(text) and _AMONG.search(text):
        return ConditionalQuery.parse(text, schema)
    return Query.parse(text, schema)
