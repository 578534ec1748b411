"""r-of-k thresholds (Definition 2.4 of the paper): a set of features and how many must match."""

import math
import operator
from collections.abc import Iterable
from dataclasses import dataclass, field

from thresher.errors import QueryError
from thresher.schema import Schema
from thresher.wording import shown


@dataclass(frozen=True)
class Threshold:
    """A set of k features and a number r: at least r of the k values must match.

    It stands for all its consistent queries, one for each choice of target values. The order of
    the features is that of a table's axes; two thresholds over the same set are equal.

    Attributes:
        features: The k features' names.
        r: 1 ≤ r ≤ k. A k-way marginal is r = k; r = 1 is a disjunction.

    Example:
        >>> Threshold(("age", "race", "sex"), r=2)
        Threshold(2 of: age, race, sex)
        >>> Threshold(("sex", "age"), r=1) == Threshold(("age", "sex"), r=1)
        True
    """

    features: tuple[str, ...] = field(compare=False)
    r: int
    _members: frozenset[str] = field(init=False, repr=False)

    def __init__(self, features: Iterable[str], r: int | None = None) -> None:
        if isinstance(features, str):
            raise QueryError(
                f"the features of a threshold are a list of names, not {shown(features)}"
            )
        named = tuple(features)
        r = len(named) if r is None else r
        seen: set[str] = set()
        for name in named:
            if not isinstance(name, str):
                raise QueryError(f"a threshold names its features by text, not by {shown(name)}")
            if name in seen:
                raise QueryError(f"the threshold names the feature {shown(name)} twice")
            seen.add(name)
        if not named:
            raise QueryError("a threshold needs at least one feature")
        if not isinstance(r, int) or isinstance(r, bool) or not 1 <= r <= len(named):
            raise QueryError(
                f"r must be a whole number from 1 to k = {len(named)} (the number of features), "
                f"not {shown(r)}"
            )
        object.__setattr__(self, "features", named)
        object.__setattr__(self, "r", operator.index(r))  # no subclass of int
        object.__setattr__(self, "_members", frozenset(seen))

    @property
    def k(self) -> int:
        """The number of features."""
        return len(self.features)

    def shape(self, schema: Schema) -> tuple[int, ...]:
        """The shape of the table of all its consistent queries."""
        sizes = schema.all_sizes
        return tuple(sizes[schema.index(name)] for name in self.features)

    def query_count(self, schema: Schema) -> int:
        """The number of its consistent queries, exactly."""
        return math.prod(self.shape(schema))

    def __repr__(self) -> str:
        return f"Threshold({self.r} of: {', '.join(self.features)})"
