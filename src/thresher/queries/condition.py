"""One condition of a query: a feature takes one of some values."""

import operator
from collections.abc import Iterable
from dataclasses import dataclass

from thresher.errors import QueryError
from thresher.schema import Boolean, Categorical, Schema
from thresher.wording import plain, shown


@dataclass(frozen=True)
class Condition:
    """One feature's value lies in a set of codes: one value, several, a range, or all but some.

    Attributes:
        feature: The feature's name.
        codes: The codes that meet the condition, ascending.
    """

    feature: str
    codes: tuple[int, ...]

    def __init__(self, feature: str, codes: Iterable[int]) -> None:
        object.__setattr__(self, "feature", feature)
        object.__setattr__(self, "codes", tuple(sorted({operator.index(code) for code in codes})))


def code_of(schema: Schema, name: str, value: object) -> int:
    """The code of a value that a query names, or a QueryError that lists what there is."""
    feature = schema[name]
    code = feature.code_of(value)
    if code is None:
        known = ", ".join(feature.labels[:12]) + (", …" if feature.size > 12 else "")
        kind = "values" if isinstance(feature, Categorical | Boolean) else "values or bins"
        raise QueryError(
            f"feature {name!r} has no value {shown(value)}; its {kind}: {plain(known)}"
        )
    return code
