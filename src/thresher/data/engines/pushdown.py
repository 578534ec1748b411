"""Which columns a database can code, and the expression that does it.

How a cell is coded is for `Feature.encode` to say. A database codes a column only if its expression
gives every cell the very same code. That is so for plain categories of texts, truth values and
numbers, for whole numbers in a range and for bins of numbers. Everything else arrives as it is, and
is coded here: text in a column of numbers, decimals, dates, and kinds of features that this file
does not know.

Why the codes are equal:

- Every code in an expression is what `encode` gives for the text or number that stands beside it.
- A number is compared as the nearest double, as everywhere. No arithmetic is done on it but
  `floor` and the subtraction of a whole number, after clipping: both are exact up to 2^53.
- Bins are found by comparing with their edges.
- NaN, which databases take for the largest number, is asked for first.
- Texts are compared by their characters, whatever the collation, after taking off what Python
  calls blanks.
"""

import dataclasses

import pyarrow as pa

from thresher.data.engines.dialects import Dialect, Postgres
from thresher.data.engines.engine import Column
from thresher.schema.cells import (
    LARGEST_INTEGER,
    UNREADABLE,
    codes_by_spelling,
    number_of,
    number_spelling,
)
from thresher.schema.features import Bins, Categorical, Feature, IntegerRange

MOST_BRANCHES = 1024
"""Longer lists of categories or edges are not written into a query."""

KNOWN = {
    *("name", "nulls", "outside", "extra", "review"),
    *("categories", "low", "high", "bins", "edges"),
}
"""The settings of a feature that expressions honour."""


def code_expression(feature: Feature, column: Column, sql: Dialect) -> str | None:
    """The expression of a cell's code, or None if the database cannot give exactly that.

    Args:
        feature: The feature.
        column: The column of the database.
        sql: How the database writes expressions.

    Example:
        >>> sex = Categorical(name="sex", categories=("F", "M"), outside="M", nulls="M")
        >>> code_expression(sex, Column(pa.bool_(), "boolean", raw="x"), Postgres())
        'CASE WHEN x THEN 1 WHEN NOT x THEN 1 ELSE 1 END'
        >>> code_expression(sex, Column(pa.date32(), "date", raw="x"), Postgres()) is None
        True
    """
    kind, cell = column.kind, column.raw
    if not _is_known(feature) or column.digits or column.moment:
        return None
    if type(feature) is Categorical and len(feature.categories) <= MOST_BRANCHES:
        if pa.types.is_string(kind):
            return _category_of_text(feature, cell, sql)
        if pa.types.is_boolean(kind):
            return _category_of_truth(feature, cell)
    is_number = pa.types.is_integer(kind) or kind in (pa.float32(), pa.float64())
    return _of_number(feature, cell, sql) if is_number and isinstance(sql, Postgres) else None


def _of_number(feature: Feature, cell: str, sql: Postgres) -> str | None:
    if type(feature) is Categorical and len(feature.categories) <= MOST_BRANCHES:
        return _category_of_number(feature, cell, sql)
    if type(feature) is IntegerRange and feature.high < LARGEST_INTEGER:
        return _whole_number(feature, cell, sql)
    if type(feature) is Bins and len(feature.edges) <= MOST_BRANCHES:
        return _bin(feature, cell, sql)
    return None


def _is_known(feature: Feature) -> bool:
    """Whether a feature has no settings but those that expressions honour."""
    return all(
        field.name in KNOWN or getattr(feature, field.name) in (field.default, _made(field))
        for field in dataclasses.fields(feature)
    )


def _made(field: "dataclasses.Field[object]") -> object:
    """The default that a field makes anew each time, if it does."""
    made = field.default_factory
    return field.default if made is dataclasses.MISSING else made()


def _category_of_text(feature: Categorical, cell: str, sql: Dialect) -> str:
    texts = [*codes_by_spelling(feature.categories), ""]
    codes = dict(zip(texts, _codes(feature, pa.array(texts)), strict=True))
    missing, other = _codes(feature, pa.array([None, UNREADABLE]))
    found = sql.by_text(cell, codes, other)
    return f"CASE WHEN {cell} IS NULL THEN {missing} ELSE {found} END"


def _category_of_truth(feature: Categorical, cell: str) -> str:
    true, false, missing = _codes(feature, pa.array([True, False, None]))
    return f"CASE WHEN {cell} THEN {true} WHEN NOT {cell} THEN {false} ELSE {missing} END"


def _category_of_number(feature: Categorical, cell: str, sql: Postgres) -> str:
    """A number has the category that spells it; no two doubles have the same spelling but 0, -0."""
    number = sql.as_double(cell)
    texts = codes_by_spelling(feature.categories)
    spelled = [number_of(text) for text in texts if number_spelling(number_of(text)) == text]
    cases = "".join(
        f" WHEN {number} = {sql.double(value)} THEN {code}"
        for value, code in zip(
            spelled, _codes(feature, pa.array(spelled, pa.float64())), strict=True
        )
    )
    [missing] = _codes(feature, pa.nulls(1, pa.float64()))
    other = _codes(feature, pa.array([UNREADABLE]))[0]
    return f"CASE WHEN {_is_missing(cell, sql)} THEN {missing}{cases} ELSE {other} END"


def _whole_number(feature: IntegerRange, cell: str, sql: Postgres) -> str:
    number = sql.as_double(cell)
    low, high = sql.double(float(feature.low)), sql.double(float(feature.high))
    missing, below, above = _codes(feature, pa.array([None, -float("inf"), float("inf")]))
    # Clipping first keeps infinity away from the conversion to a whole number.
    whole = f"CAST(floor(least(greatest({number}, {low}), {high})) - {low} AS BIGINT)"
    return (
        f"CASE WHEN {_is_missing(cell, sql)} THEN {missing} WHEN {number} < {low} THEN {below} "
        f"WHEN {number} >= {sql.double(float(feature.high + 1))} THEN {above} ELSE {whole} END"
    )


def _bin(feature: Bins, cell: str, sql: Postgres) -> str:
    number = sql.as_double(cell)
    missing, below, above = _codes(feature, pa.array([None, -float("inf"), float("inf")]))
    passed = sql.edges_passed(number, feature.edges[1:-1])
    return (
        f"CASE WHEN {_is_missing(cell, sql)} THEN {missing} "
        f"WHEN {number} < {sql.double(feature.edges[0])} THEN {below} "
        f"WHEN {number} >= {sql.double(feature.edges[-1])} THEN {above} ELSE {passed} END"
    )


def _is_missing(cell: str, sql: Postgres) -> str:
    return f"{cell} IS NULL OR {sql.is_nan(sql.as_double(cell))}"


def _codes(feature: Feature, cells: pa.Array) -> list[int]:
    return [int(code) for code in feature.encode(cells)]
