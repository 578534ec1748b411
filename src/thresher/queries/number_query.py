"""A question about numbers: `mean of age among sex=Female`, `quantile 0.9 of capital-gain`."""

import re
from dataclasses import dataclass
from typing import Literal

from thresher.errors import QueryError
from thresher.queries.naming import feature_named
from thresher.queries.query import Query
from thresher.schema import Schema

Statistic = Literal["mean", "sum", "quantile"]

_OPENING = re.compile(
    r"\s*(?:(mean|average)|(sum|total)|(median)|quantile\s+(\S+))\s+of\s+(?=\S)", re.IGNORECASE
)
_AMONG = re.compile(r"\s+among\s+", re.IGNORECASE)
_COMPARES = re.compile(r"[=<>≤≥≠{]")


@dataclass(frozen=True)
class NumberQuery:
    """The mean, the sum or a quantile of a feature of numbers.

    Attributes:
        statistic: What is asked.
        part: For a quantile, the part of people at or below it; otherwise None.
        feature: The name of the feature.
        among: The people whose numbers count; None for everybody.

    Example:
        >>> from thresher.data import datasets
        >>> asked = NumberQuery.parse("median of age among sex=Female", datasets.adult_schema())
        >>> asked.statistic, asked.part, asked.feature, asked.among.k
        ('quantile', 0.5, 'age', 1)
    """

    statistic: Statistic
    part: float | None
    feature: str
    among: Query | None = None

    @classmethod
    def parse(cls, text: str, schema: Schema) -> "NumberQuery":
        """Read `mean of …`, `sum of …`, `median of …` or `quantile 0.9 of …`."""
        opening = _OPENING.match(text)
        if opening is None:
            raise QueryError(
                "a question about numbers is written: mean of age, sum of age, median of age or "
                "quantile 0.9 of age; then, if it is about some people only: among sex=Female"
            )
        name, *others = _AMONG.split(text[opening.end() :], maxsplit=1)
        feature = feature_named(schema, name.strip().strip('"')).name
        among = Query.parse(others[0], schema) if others else None
        if opening[1] or opening[2]:
            return cls("mean" if opening[1] else "sum", None, feature, among)
        return cls("quantile", 0.5 if opening[3] else _part(opening[4]), feature, among)


def asks_for_a_number(text: str) -> bool:
    """Whether a text is a question about numbers, and not about a share of people.

    Example:
        >>> asks_for_a_number("mean of age among sex=Female"), asks_for_a_number("sum of x=3")
        (True, False)
    """
    opening = _OPENING.match(text)
    if opening is None:
        return False
    return not _COMPARES.search(_AMONG.split(text[opening.end() :], maxsplit=1)[0])


def _part(text: str) -> float:
    try:
        part = float(text)
    except ValueError:
        part = -1.0
    if not 0.0 <= part <= 1.0:
        raise QueryError(f"a quantile is of a part from 0 to 1, such as 0.9, not {text!r}")
    return part
