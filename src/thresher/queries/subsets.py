"""The k-subsets of a schema's features, drawn by rank without listing them."""

import math
import random
from collections.abc import Iterable, Sequence

from thresher.errors import ParameterError, QueryError
from thresher.schema import Schema


class Subsets:
    """The k-subsets of features, each with the product of its features' weights as its weight.

    None is listed. The weight of all subsets that begin alike is computed, less what was removed of
    them, so a rank below the total leads to one subset. If all weights are 1, ranks number the
    subsets in lexicographic order.

    Args:
        schema: The features.
        k: How many features a subset has.
        max_queries: Only subsets whose features have at most so many combinations of values.
        weights: A whole number for each feature; 1 for all if not given.

    Example:
        >>> from thresher.data.datasets import adult_schema
        >>> Subsets(adult_schema(), k=3).total
        364
        >>> Subsets(adult_schema(), k=2, max_queries=20)[0]
        ('workclass', 'sex')
    """

    def __init__(
        self,
        schema: Schema,
        k: int,
        max_queries: int | None = None,
        weights: Sequence[int] | None = None,
    ) -> None:
        check_k(schema, k)
        self.weights = [1] * len(schema) if weights is None else list(weights)
        self.names, self.sizes, self.k, self.limit = schema.names, schema.sizes, k, max_queries
        self._schema = schema
        self._is_uniform = weights is None
        self._sums: dict[tuple[int, int, int | None], int] = {}
        self._removed: dict[tuple[int, ...], int] = {}

    @property
    def total(self) -> int:
        """The weight of all subsets that are left."""
        return self._sum(0, self.k, self.limit) - self._removed.get((), 0)

    def __getitem__(self, rank: int) -> tuple[str, ...]:
        """The subset to which a rank below the total leads."""
        chosen: tuple[int, ...] = ()
        weight, limit, first = 1, self.limit, 0
        while len(chosen) < self.k:
            missing = self.k - len(chosen) - 1
            for i in range(first, len(self.names)):
                below = None if limit is None else limit // self.sizes[i]
                begun = (*chosen, i)
                here = weight * self.weights[i] * self._sum(i + 1, missing, below)
                here -= self._removed.get(begun, 0)
                if rank < here:
                    break
                rank -= here
            chosen, weight, limit, first = begun, weight * self.weights[i], below, i + 1
        return tuple(self.names[i] for i in chosen)

    def draw(self, source: random.Random) -> tuple[str, ...]:
        """One subset, with a probability proportional to its weight."""
        return self[source.randrange(self.total)]

    def remove(self, features: Iterable[str]) -> None:
        """Never draw this subset (again)."""
        places = tuple(sorted(self._schema.index(name) for name in features))
        if len(places) != self.k:
            raise QueryError(f"a threshold over {self.k} features was expected")
        if (places in self._removed) or not self._fits(places):
            return
        weight = math.prod(self.weights[i] for i in places)
        for length in range(self.k + 1):
            begun = places[:length]
            self._removed[begun] = self._removed.get(begun, 0) + weight

    def _fits(self, places: tuple[int, ...]) -> bool:
        return self.limit is None or math.prod(self.sizes[i] for i in places) <= self.limit

    def _sum(self, first: int, k: int, limit: int | None) -> int:
        """The weight of all k-subsets of the features from `first` on within the limit."""
        if limit is None and self._is_uniform:
            return math.comb(len(self.names) - first, k)
        if k == 0 or (limit is not None and limit < 1):
            return int(limit is None or limit >= 1)
        last = len(self.names) - k
        if first > last:
            return 0
        if (first, k, limit) not in self._sums:
            # From the back, so that the recursion is only k deep. Whole quotients lose nothing:
            # ⌊⌊limit / a⌋ / b⌋ = ⌊limit / ab⌋.
            total = 0
            for i in range(last, first - 1, -1):
                below = None if limit is None else limit // self.sizes[i]
                total += self.weights[i] * self._sum(i + 1, k - 1, below)
                self._sums[i, k, limit] = total
        return self._sums[first, k, limit]


def check_k(schema: Schema, k: int) -> None:
    """Refuse a k that no subset of the features has."""
    if not isinstance(k, int) or isinstance(k, bool) or not 1 <= k <= len(schema):
        raise ParameterError(
            f"k must be a whole number from 1 to d = {len(schema)} (the number of features), "
            f"not {k!r}"
        )
