"""Subsets of k features by rank, each with a weight, without listing them.

The weight of a subset is the product of its features' weights. With all weights 1, weights count
subsets. The weight of all subsets that begin alike is computed once and remembered, so a rank
below the total leads to one subset in about d·k steps. Everything is exact, in whole numbers of
any length.
"""

import math
import random
from collections.abc import Iterable, Sequence

from thresher.errors import ParameterError, QueryError
from thresher.schema import Schema
from thresher.wording import shown


def check_k(schema: Schema, k: int) -> None:
    """Raise a ParameterError unless a threshold over k of the features exists."""
    if not isinstance(k, int) or isinstance(k, bool) or not 1 <= k <= len(schema):
        raise ParameterError(
            f"k must be a whole number from 1 to d = {len(schema)} (the number of features), "
            f"not {shown(k)}"
        )


class Subsets:
    """The k-subsets of features with at most so many queries, in lexicographic order.

    Args:
        schema: The features.
        k: Features per subset.
        max_queries: Leave out subsets whose table has more cells than this.
        weights: A whole number for each feature; 1 for all of them if not given.

    Example:
        >>> from thresher.schema import IntegerRange
        >>> schema = Schema(IntegerRange(name=x, low=0, high=1, nulls=0) for x in "abc")
        >>> subsets = Subsets(schema, 2)
        >>> [subsets[rank] for rank in range(subsets.total)]
        [('a', 'b'), ('a', 'c'), ('b', 'c')]
    """

    def __init__(
        self,
        schema: Schema,
        k: int,
        max_queries: int | None = None,
        weights: Sequence[int] | None = None,
    ) -> None:
        check_k(schema, k)
        self.k, self.max_queries = k, max_queries
        self._schema, self._sizes = schema, schema.sizes
        self._weights = tuple(weights) if weights is not None else (1,) * len(schema)
        self._all_one = set(self._weights) == {1}
        self._sums: dict[tuple[int, int, int | None], int] = {}
        self._removed: dict[tuple[int, ...], int] = {}

    @property
    def total(self) -> int:
        """The weight of all subsets that are left."""
        return self._sum(0, self.k, self.max_queries) - self._removed.get((), 0)

    def weight(self, features: Iterable[str]) -> int:
        """The weight of one subset, whether or not it was removed."""
        return math.prod(self._weights[self._schema.index(name)] for name in features)

    def remove(self, features: Iterable[str]) -> None:
        """Take a subset out; nothing changes if it is not there."""
        places = tuple(sorted(self._schema.index(name) for name in features))
        if len(places) != self.k:
            raise QueryError(f"a threshold over {self.k} features was expected")
        cells = math.prod(self._sizes[i] for i in places)
        if places in self._removed or (self.max_queries is not None and cells > self.max_queries):
            return
        weight = math.prod(self._weights[i] for i in places)
        for length in range(self.k + 1):
            begun = places[:length]
            self._removed[begun] = self._removed.get(begun, 0) + weight

    def draw(self, source: random.Random) -> tuple[str, ...]:
        """One subset that is left, with a probability proportional to its weight."""
        return self[source.randrange(self.total)]

    def __getitem__(self, rank: int) -> tuple[str, ...]:
        """The subset of a rank: the weights of all subsets before it add up to at most the rank."""
        chosen: tuple[int, ...] = ()
        weight, limit, first = 1, self.max_queries, 0
        while len(chosen) < self.k:
            missing = self.k - len(chosen) - 1
            for i in range(first, len(self._sizes)):
                below = None if limit is None else limit // self._sizes[i]
                begun = (*chosen, i)
                here = weight * self._weights[i] * self._sum(i + 1, missing, below)
                here -= self._removed.get(begun, 0)
                if rank < here:
                    break
                rank -= here
            chosen, weight, limit, first = begun, weight * self._weights[i], below, i + 1
        return tuple(self._schema.names[i] for i in chosen)

    def _sum(self, first: int, k: int, limit: int | None) -> int:
        """The weight of all k-subsets of the features from `first` on within the limit."""
        if limit is not None and limit < 1:
            return 0
        last = len(self._sizes) - k
        if k == 0 or first > last:
            return int(k == 0)
        if self._all_one and limit is None:
            return math.comb(len(self._sizes) - first, k)
        if (first, k, limit) not in self._sums:
            # From the back, so that the recursion is only k deep.
            total = 0
            for i in range(last, first - 1, -1):
                # ⌊⌊limit / a⌋ / b⌋ = ⌊limit / ab⌋: whole quotients lose nothing.
                below = None if limit is None else limit // self._sizes[i]
                total += self._weights[i] * self._sum(i + 1, k - 1, below)
                self._sums[i, k, limit] = total
        return self._sums[first, k, limit]
