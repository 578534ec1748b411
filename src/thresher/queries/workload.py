"""Threshold workloads (Section 2.3 of the paper): thresholds that stand for all their queries.

The queries themselves are never listed. A query's id is its place in the concatenation of the
thresholds' tables, each read in C order; ids and counts are Python integers, so a workload of
10^15 queries is an ordinary object.
"""

import bisect
import itertools
import json
import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, overload

from thresher.errors import ParameterError, QueryError, ResourceError, SchemaError
from thresher.files import read_json, write_text
from thresher.queries.condition import Condition
from thresher.queries.query import Query
from thresher.queries.subsets import Subsets, check_k
from thresher.queries.threshold import Threshold
from thresher.schema import Schema
from thresher.schema.feature import without_numpy
from thresher.schema.numeric import is_number
from thresher.wording import shown

MOST_THRESHOLDS = 5_000_000
"""Thresholds that a workload of all of them may hold."""


@dataclass(frozen=True)
class Workload:
    """An ordered set of thresholds over a schema.

    Attributes:
        schema: The features.
        thresholds: The thresholds, each listed once.
        weights: How much an error in each threshold's answers matters, such as how often it was
            asked about. Public numbers above 0; 1 if not given.

    Example:
        >>> from thresher.data import datasets
        >>> work = Workload.random(datasets.adult_schema(), k=3, r=2, size=64, seed=0)
        >>> len(work), work[:2].thresholds == work.thresholds[:2]
        (64, True)
        >>> work.id_of(work.query(12345))
        12345
    """

    schema: Schema
    thresholds: tuple[Threshold, ...]
    weights: tuple[float, ...]

    def __init__(
        self,
        schema: Schema,
        thresholds: Iterable[Threshold],
        weights: Iterable[float] | None = None,
    ) -> None:
        object.__setattr__(self, "schema", schema)
        object.__setattr__(self, "thresholds", tuple(thresholds))
        given = (1.0,) * len(self.thresholds) if weights is None else tuple(weights)
        object.__setattr__(self, "weights", tuple(map(_checked_weight, given)))
        if len(self.weights) != len(self.thresholds):
            raise QueryError(
                f"{len(self.thresholds)} thresholds need as many weights, not {len(self.weights)}"
            )
        if not self.thresholds:
            raise QueryError("a workload needs at least one threshold")
        seen: set[Threshold] = set()
        for threshold in self.thresholds:
            schema.bases(threshold.features)
            if threshold in seen:
                raise QueryError(f"the workload holds {threshold} twice: list each one once")
            seen.add(threshold)

    @classmethod
    def all(
        cls,
        schema: Schema,
        k: int,
        r: int | None = None,
        *,
        among: Iterable[str] | None = None,
        having: Iterable[str] = (),
    ) -> "Workload":
        """Every threshold over k features.

        Args:
            schema: The features.
            k: Features per threshold.
            r: How many must match; k if not given.
            among: Take only these features; all if not given.
            having: Features that every threshold has: an outcome that everything is crossed with.

        Example:
            >>> from thresher.data import datasets
            >>> schema = datasets.adult_schema()
            >>> len(Workload.all(schema, k=2)), len(Workload.all(schema, k=2, having=["income"]))
            (91, 13)
            >>> len(Workload.all(schema, k=3, among=["age", "race", "sex", "income"]))
            4
        """
        fixed = dict.fromkeys(_known(having, schema))
        pool = schema.names if among is None else dict.fromkeys(_known(among, schema))
        others = [name for name in pool if name not in fixed]
        check_k(schema, k)
        chosen = k - len(fixed)
        if not 0 <= chosen <= len(others):
            raise ParameterError(
                f"k = {k}, but every threshold has {len(fixed)} features and there are "
                f"{len(others)} others to choose from: change k, or name other features"
            )
        if math.comb(len(others), chosen) > MOST_THRESHOLDS:
            raise ResourceError(
                f"there are {math.comb(len(others), chosen):,} thresholds of {k} features, too "
                "many to list: draw some with Workload.random"
            )
        sets = ((*subset, *fixed) for subset in itertools.combinations(others, chosen))
        # A feature and a view of it do not stand in one threshold.
        apart = (names for names in sets if len({*map(schema.base, names)}) == k)
        return cls(schema, (Threshold(names, r) for names in apart))

    @classmethod
    def random(
        cls,
        schema: Schema,
        k: int,
        r: int | None = None,
        *,
        size: int,
        seed: int,
        max_queries: int | None = None,
    ) -> "Workload":
        """`size` different thresholds over k features, uniformly at random.

        Args:
            schema: The features to draw from.
            k: Features per threshold.
            r: How many must match; k if not given.
            size: The number of thresholds: |W| in the paper.
            seed: The same seed gives the same workload.
            max_queries: Draw only thresholds with at most so many queries; n gives the filter of
                Aydore et al. that the paper studies.
        """
        subsets = Subsets(schema, k, max_queries)
        if size < 1:
            raise ParameterError(f"the size of a workload must be at least 1, not {size}")
        total = subsets.total
        if size > total:
            filtered = "" if max_queries is None else f" with at most {max_queries} queries"
            raise ParameterError(
                f"the schema has only {total} thresholds of {k} features{filtered}; "
                f"a workload of {size} was asked for"
            )
        ranks = _distinct_ranks(total, size, random.Random(seed))
        return cls(schema, (Threshold(subsets[rank], r) for rank in ranks))

    def within(self, max_queries: int) -> "Filtered":
        """The thresholds with at most `max_queries` queries, and what that leaves out."""
        kept = [i for i, t in enumerate(self) if t.query_count(self.schema) <= max_queries]
        if not kept:
            raise ParameterError(f"every threshold has more than {max_queries} queries")
        return Filtered(self, self._only(kept))

    def _only(self, positions: Sequence[int]) -> "Workload":
        """The thresholds at some positions, with their weights."""
        thresholds = [self.thresholds[i] for i in positions]
        return Workload(self.schema, thresholds, [self.weights[i] for i in positions])

    def __len__(self) -> int:
        return len(self.thresholds)

    def __iter__(self) -> Iterator[Threshold]:
        return iter(self.thresholds)

    @overload
    def __getitem__(self, index: int) -> Threshold: ...
    @overload
    def __getitem__(self, index: slice) -> "Workload": ...
    def __getitem__(self, index: int | slice) -> "Threshold | Workload":
        if isinstance(index, slice):
            return self._only(range(len(self))[index])
        return self.thresholds[index]

    def __or__(self, other: "Workload") -> "Workload":
        """The union: this workload's thresholds, then the other's new ones.

        If either has weights, those of a threshold that is in both are added up: logs are pooled.
        """
        if other.schema != self.schema:
            raise QueryError("workloads over different schemas have no union")
        pooled = dict(zip(self.thresholds, self.weights, strict=True))
        for threshold, weight in zip(other.thresholds, other.weights, strict=True):
            pooled[threshold] = pooled.get(threshold, 0.0) + weight
        has_weights = self.has_weights or other.has_weights
        return Workload(self.schema, pooled, pooled.values() if has_weights else None)

    def __repr__(self) -> str:
        return f"Workload({len(self)} thresholds, {self.query_count} queries)"

    @property
    def has_weights(self) -> bool:
        """Whether any weight was given that is not 1."""
        return any(weight != 1.0 for weight in self.weights)

    @property
    def relative_weights(self) -> tuple[float, ...]:
        """The weights over the largest of them: at most 1, as selection needs them.

        Example:
            >>> from thresher.data import datasets
            >>> asked = [Threshold(("age",)), Threshold(("sex",))]
            >>> Workload(datasets.adult_schema(), asked, [30, 10]).relative_weights
            (1.0, 0.3333333333333333)
        """
        largest = max(self.weights)
        return tuple(weight / largest for weight in self.weights)

    def weight_of(self, features: Iterable[str]) -> float:
        """The largest relative weight of a threshold that has all these features; 0 if none has.

        A mechanism that selects tables can weigh errors in a table by it.

        Example:
            >>> from thresher.data import datasets
            >>> asked = [Threshold(("age", "sex")), Threshold(("sex", "race"))]
            >>> work = Workload(datasets.adult_schema(), asked, [3, 1])
            >>> work.weight_of(["sex"]), work.weight_of(["race"])
            (1.0, 0.3333333333333333)
        """
        named = set(features)
        weighed = zip(self.thresholds, self.relative_weights, strict=True)
        return max((w for t, w in weighed if named <= {*t.features}), default=0.0)

    @property
    def query_count(self) -> int:
        """The number of consistent queries, exactly: m in the paper."""
        return self.starts[-1]

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The id of each threshold's first query, and at the end the number of all queries."""
        counts = (threshold.query_count(self.schema) for threshold in self.thresholds)
        return tuple(itertools.accumulate(counts, initial=0))

    def locate(self, query_id: int) -> tuple[int, int]:
        """The threshold's position and the cell of its table, in C order, of a query id."""
        if not 0 <= query_id < self.query_count:
            raise QueryError(f"query ids run from 0 to {self.query_count - 1}, not {query_id}")
        position = bisect.bisect_right(self.starts, query_id) - 1
        return position, query_id - self.starts[position]

    def query(self, query_id: int) -> Query:
        """The query of an id."""
        position, cell = self.locate(query_id)
        threshold = self.thresholds[position]
        targets = unravel(cell, threshold.shape(self.schema))
        conditions = (
            Condition(name, (code,)) for name, code in zip(threshold.features, targets, strict=True)
        )
        return Query(conditions, threshold.r)

    def id_of(self, query: Query) -> int:
        """The id of a consistent query: one target value per feature."""
        targets = {}
        query.check(self.schema)
        for condition in query.conditions:
            if len(condition.codes) != 1:
                raise QueryError(
                    f"only a query with one value per feature has an id; {condition.feature!r} "
                    f"has {len(condition.codes)}"
                )
            targets[condition.feature] = condition.codes[0]
        position = self._positions.get(query.threshold)
        if position is None:
            raise QueryError(f"the workload does not hold {query.threshold}")
        threshold = self.thresholds[position]
        cell = 0
        for name, size in zip(threshold.features, threshold.shape(self.schema), strict=True):
            cell = cell * size + targets[name]
        return self.starts[position] + cell

    @cached_property
    def _positions(self) -> dict[Threshold, int]:
        return {threshold: i for i, threshold in enumerate(self.thresholds)}

    def as_json(self) -> dict[str, Any]:
        """The workload as plain JSON values, with the views it may name.

        Weights are left out where all are 1.
        """
        listed = [{"features": list(t.features), "r": t.r} for t in self.thresholds]
        if self.has_weights:
            for entry, weight in zip(listed, self.weights, strict=True):
                entry["weight"] = int(weight) if weight.is_integer() else weight
        views = [view.as_json() for view in self.schema.views]
        return {**({"views": views} if views else {}), "thresholds": listed}

    @classmethod
    def from_json(cls, value: object, schema: Schema) -> "Workload":
        """Read a workload from plain JSON values. It may declare views, as a schema does."""
        listed = value.get("thresholds") if isinstance(value, dict) else None
        if not isinstance(value, dict) or not isinstance(listed, list):
            raise QueryError('a workload is a JSON object with a list "thresholds"')
        try:
            schema = schema.views_from_json(value.get("views", []))
        except SchemaError as fault:
            raise QueryError(str(fault)) from None
        thresholds, weights = [], []
        for number, entry in enumerate(listed, start=1):
            if not isinstance(entry, dict) or not isinstance(entry.get("features"), list):
                raise QueryError(
                    f'threshold {number} must look like {{"features": ["age", …], "r": 2}}'
                )
            try:
                thresholds.append(Threshold(entry["features"], entry.get("r")))
                weights.append(entry.get("weight", 1))
                cls(schema, thresholds[-1:], weights[-1:])
            except QueryError as fault:
                raise QueryError(f"threshold {number}: {fault}") from None
        return cls(schema, thresholds, weights)

    def save(self, path: str | Path) -> None:
        """Write the workload as a JSON file, one threshold a line."""
        parts = [
            f'"{name}": [\n'
            + ",\n".join("  " + json.dumps(entry, ensure_ascii=False) for entry in entries)
            + "\n]"
            for name, entries in self.as_json().items()
        ]
        write_text(path, "{" + ",\n".join(parts) + "}\n")

    @classmethod
    def load(cls, path: str | Path, schema: Schema) -> "Workload":
        """Read a workload file."""
        try:
            return cls.from_json(read_json(path, QueryError), schema)
        except QueryError as fault:
            raise QueryError(f"{path}: {fault}") from None


@dataclass(frozen=True)
class Filtered:
    """What a filter on the size of thresholds keeps and removes."""

    whole: Workload
    kept: Workload

    @property
    def thresholds_removed(self) -> float:
        """The share of thresholds that the filter removes."""
        return 1 - len(self.kept) / len(self.whole)

    @property
    def queries_removed(self) -> float:
        """The share of queries that the filter removes."""
        return 1 - self.kept.query_count / self.whole.query_count

    def __str__(self) -> str:
        removed = self.whole.query_count - self.kept.query_count
        return (
            f"{len(self.whole) - len(self.kept)} of {len(self.whole)} thresholds removed "
            f"({self.thresholds_removed:.1%}), with {removed} of {self.whole.query_count} queries "
            f"({self.queries_removed:.3%})"
        )


def unravel(cell: int, shape: Sequence[int]) -> tuple[int, ...]:
    """The indices of a cell of a table in C order, for tables of any size."""
    indices = []
    for size in reversed(shape):
        cell, index = divmod(cell, size)
        indices.append(index)
    return tuple(reversed(indices))


def _known(names: Iterable[str], schema: Schema) -> tuple[str, ...]:
    """Names of features, each of which the schema has."""
    listed = (names,) if isinstance(names, str) else tuple(names)
    for name in listed:
        schema.index(name)
    return listed


def _checked_weight(given: object) -> float:
    weight = without_numpy(given)
    if not is_number(weight) or weight <= 0:
        raise QueryError(f"a weight must be a finite number above 0, not {shown(given)}")
    return float(weight)


def _distinct_ranks(total: int, size: int, source: random.Random) -> Iterable[int]:
    """`size` of the numbers below `total`, uniformly, in random order."""
    if total < 2**32:
        return source.sample(range(total), size)
    drawn: dict[int, None] = {}
    while len(drawn) < size:
        drawn[source.randrange(total)] = None
    return drawn
