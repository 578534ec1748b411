"""Random queries of every kind, about the values of random people, with their true answers."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import thresher as th

MOST_OUTSIDE = 4
"""The most features of a query outside of the workload; two are the least."""

TRIES = 200

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Kind:
    """A kind of query.

    Attributes:
        name: In words.
        where: `"in"` if a threshold of the workload has the features, `"out"` if none has; empty
            for queries about one feature, which are in or out by chance.
        ranges: Whether conditions are ranges, not single values.
        some: Whether fewer than all conditions are asked for.
    """

    name: str
    where: str = ""
    ranges: bool = False
    some: bool = False


KINDS = (
    Kind("one value"),
    Kind("range of one feature", ranges=True),
    Kind("cell, in the workload", "in"),
    Kind("ranges, in the workload", "in", ranges=True),
    Kind("r of k values, in the workload", "in", some=True),
    Kind("r of k ranges, in the workload", "in", ranges=True, some=True),
    Kind("cell, outside", "out"),
    Kind("ranges, outside", "out", ranges=True),
    Kind("r of k values, outside", "out", some=True),
    Kind("r of k ranges, outside", "out", ranges=True, some=True),
)
NUMBERS = (Kind("in the workload", "in"), Kind("outside", "out"))


class Asker:
    """Draws queries about a table of records.

    Args:
        data: The records.
        workload: The thresholds that the release was fitted for.
        seed: The same seed draws the same queries.
    """

    def __init__(self, data: th.Records, workload: th.Workload, seed: int) -> None:
        self._data, self._rng = data, np.random.default_rng(seed)
        self._sets = [frozenset(threshold.features) for threshold in workload]

    def queries(self, kind: Kind, count: int) -> Iterator[tuple[th.Query, float]]:
        """Queries and their true shares; none if there are no features of the kind."""
        for _ in range(count):
            names = self._features(kind)
            if names is None:
                return
            person, k = int(self._rng.integers(self._data.n)), len(names)
            conditions = [self._condition(name, person, kind.ranges) for name in names]
            r = int(self._rng.integers(1, k)) if kind.some else k
            met = np.zeros(self._data.n, np.uint8)
            for condition in conditions:
                met += self._holds(condition)
            yield th.Query(conditions, r), float((met >= r).mean())

    def numbers(self, kind: Kind, count: int) -> Iterator[tuple[str, th.Query, Numbers]]:
        """A feature of whole numbers, people (by one value of another), and their numbers."""
        for _ in range(count):
            names = self._features(kind)
            if names is None:
                return
            name, other = names[:2]
            person = int(self._rng.integers(self._data.n))
            among = self._condition(other, person, ranges=False)
            feature, codes = self._data.schema[name], self._data.codes(name)[self._holds(among)]
            codes = codes[codes < feature.size - len(feature.extra)]
            if isinstance(feature, th.IntegerRange) and len(codes):
                yield name, th.Query([among]), codes.astype(np.int64) + feature.low

    def _features(self, kind: Kind) -> list[str] | None:
        names = self._data.schema.names
        if not kind.where:
            return [str(self._rng.choice(names))]
        if kind.where == "in":
            chosen = self._sets[int(self._rng.integers(len(self._sets)))]
            return [str(name) for name in self._rng.permutation(sorted(chosen))]
        for _ in range(TRIES):
            most = min(MOST_OUTSIDE, len(names))
            size = int(self._rng.integers(2, most + 1))
            drawn = [str(name) for name in self._rng.choice(names, size, replace=False)]
            if not any(known.issuperset(drawn) for known in self._sets):
                return drawn
        return None

    def _condition(self, name: str, person: int, ranges: bool) -> th.Condition:
        """The value of a person, or a range that has it, but not all values."""
        code = int(self._data.codes(name)[person])
        size = self._data.schema[name].size
        if not ranges or size == 2:
            return th.Condition(name, [code])
        while True:
            low, high = int(self._rng.integers(code + 1)), int(self._rng.integers(code, size))
            if high - low + 1 < size:
                return th.Condition(name, range(low, high + 1))

    def _holds(self, condition: th.Condition) -> npt.NDArray[np.bool_]:
        allowed = np.zeros(self._data.schema[condition.feature].size, bool)
        allowed[list(condition.codes)] = True
        return allowed[self._data.codes(condition.feature)]
