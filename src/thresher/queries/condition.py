"""One condition of a query: a feature takes one of some values."""

import operator
from collections.abc import Iterable
from dataclasses import dataclass


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
