"""The budgeted requests: all that can be asked about the records."""
# ruff: noqa: D102 (each method is documented once, at `Request`)

import math
import operator
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np

from thresher.data.private import FeatureSet
from thresher.errors import ParameterError, QueryError, ResourceError
from thresher.parallel import products_on_one_core
from thresher.privacy.callbacks import guarded
from thresher.privacy.copies import copied_ids, copied_target, copied_threshold, copied_workload
from thresher.privacy.counted import CountedTables
from thresher.privacy.measurements import (
    Measurement,
    QueryMeasurement,
    TableMeasurement,
    TotalMeasurement,
    measured_queries,
    measured_tables,
)
from thresher.privacy.noise import add_noise, variance_for
from thresher.privacy.randomness import Randomness
from thresher.privacy.request import Choice, Counts, Request, Saved, Terms, check_memory
from thresher.privacy.scores import WorkloadScores
from thresher.privacy.searching import can_be_searched
from thresher.privacy.selection import levelwise_selection
from thresher.privacy.unit import MOST_UNITS, Unit
from thresher.queries.query import Query
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.schema import Schema
from thresher.tables import AnswersOf, check_fits, slabs_of
from thresher.tables.listing import Same
from thresher.tables.sparse import check_countable

MOST_QUERIES = 10**13
"""Beyond this many queries whose scores cannot be searched, looking at each would take weeks."""

MOST_SELECTED = 2**20
"""The most queries that one call chooses: each is drawn on its own."""

LARGEST_HANDICAP = 2**60
"""With it, and up to `unit.MOST_UNITS` records or persons, no score leaves the sampler's range."""


@dataclass(frozen=True, eq=False)
class Select(Choice[list[Query]]):
    """Which queries of a workload do the public answers get most wrong? See `Access.select`.

    Proof: `levelwise_selection`, with scores of sensitivity 1 (see `scores`).
    """

    verb: ClassVar[str] = "select"
    workload: Workload
    answers_of: AnswersOf
    count: int
    excluding: tuple[Query | int, ...]

    def copied(self, schema: Schema) -> Self:
        workload = copied_workload(self.workload, schema)
        excluding = tuple(copied_ids(self.excluding, workload))
        answers_of = guarded(self.answers_of, "answers_of")
        return type(self)(workload, answers_of, plain(self.count), excluding)

    def check(self, schema: Schema, unit: Unit, rho: Fraction) -> None:
        _check_workload(self.workload)
        _check_walkable(self.workload, [self.answers_of])
        if type(self.count) is not int or self.count < 1:
            raise ParameterError(f"count must be a whole number of at least 1, not {self.count!r}")
        if not self.left:
            raise ParameterError("there is no query left to choose: all are excluded")
        if self.size() > MOST_SELECTED:
            raise ResourceError(f"one call chooses up to {MOST_SELECTED} queries: choose fewer")

    def parts(self) -> tuple[Any, ...]:
        excluding = map(self.workload.query, self._excluded_ids)
        return (*_parts_of(self.workload), self.count, [*map(parts_of_target, excluding)])

    @cached_property
    def _excluded_ids(self) -> list[int]:
        """In the order that they were given."""
        return copied_ids(self.excluding, self.workload)

    @cached_property
    def excluded(self) -> dict[int, Counts]:
        """For positions of thresholds, the cells that must not be chosen, ascending."""
        ids = sorted({*self._excluded_ids})
        cells, first = {}, 0
        for position, (start, end) in enumerate(pairwise(self.workload.starts)):
            last = bisect_left(ids, end, first)
            if first < last:
                cells[position] = np.array([i - start for i in ids[first:last]], dtype=np.int64)
            first = last
        return cells

    @property
    def left(self) -> int:
        """How many queries there are to choose from."""
        return self.workload.query_count - sum(map(len, self.excluded.values()))

    def feature_sets(self) -> list[FeatureSet]:
        return [threshold.features for threshold in self.workload]

    def run(self, counted: CountedTables, rho: Fraction, randomness: Randomness) -> list[Query]:
        # The caller's `answers_of` sees which slabs, and which searched tables, are looked at a
        # second time. These are the ones that hold a chosen query, each once, in ascending order,
        # whether that query was listed or not: a function of the queries that this call returns,
        # so post-processing of what was paid for. That stays true if
        # `answers_of` raises at a second look, or changes its answers, which is refused at once:
        # the caller has then learned a part of what one paid selection would have told. There is
        # no second selection without a second payment.
        scores = WorkloadScores(
            counted, self.workload, self.answers_of, self.excluded,
            _weights_of(self.workload), looks=2,
        )  # fmt: skip
        with products_on_one_core():
            places = levelwise_selection(scores, self.count, rho, randomness, each=scores.each)
        return [self.workload.query(scores.query_id(p.slab, p.position)) for p in places]

    def nothing(self) -> list[Query]:
        return []

    def size(self) -> int:
        return min(self.count, self.left)

    def saved(self, result: list[Query], schema: Schema) -> Saved:
        return Saved({"queries": [query.text(schema) for query in result]})

    def restored(self, saved: Saved, terms: Terms) -> list[Query]:
        chosen = [Query.parse(text, terms.schema) for text in saved.values["queries"]]
        ids = {*map(self.workload.id_of, chosen)}
        if not len(chosen) == len(ids) == self.size() or not ids.isdisjoint(self._excluded_ids):
            raise ValueError("a choice from others")
        return chosen


@dataclass(frozen=True, eq=False)
class SelectTable(Choice[Threshold]):
    """Which table's worst answer is furthest off, less its handicap? See `Access.select_table`.

    Proof: `levelwise_selection`, with the largest score of each table, of sensitivity 1 as the
    scores are, less a public number.
    """

    verb: ClassVar[str] = "select_table"
    candidates: tuple[Threshold, ...]
    answers_of: AnswersOf
    handicaps: tuple[int, ...]
    weights_of: AnswersOf | None

    def copied(self, schema: Schema) -> Self:
        candidates = tuple(copied_threshold(t, schema) for t in self.candidates)
        handicaps = tuple(plain(handicap) for handicap in self.handicaps)
        answers_of = guarded(self.answers_of, "answers_of")
        weights_of = None if self.weights_of is None else guarded(self.weights_of, "weights_of")
        return type(self)(candidates, answers_of, handicaps, weights_of)

    def check(self, schema: Schema, unit: Unit, rho: Fraction) -> None:
        if not self.candidates or len(self.handicaps) != len(self.candidates):
            raise ParameterError("give at least one candidate, and a handicap for each")
        for handicap in self.handicaps:
            if type(handicap) is not int or abs(handicap) > LARGEST_HANDICAP:
                raise ParameterError(
                    "handicaps must be whole numbers from -2^60 to 2^60, in counts; round them"
                )
        workload = Workload(schema, self.candidates)
        _check_workload(workload)
        _check_walkable(workload, [self.answers_of], self.weights_of)

    def parts(self) -> tuple[Any, ...]:
        return ([*map(parts_of_target, self.candidates)], self.handicaps, self.weights_of is None)

    def feature_sets(self) -> list[FeatureSet]:
        return [threshold.features for threshold in self.candidates]

    def run(self, counted: CountedTables, rho: Fraction, randomness: Randomness) -> Threshold:
        workload = Workload(counted.schema, self.candidates)
        scores = WorkloadScores(counted, workload, self.answers_of, {}, self.weights_of)
        worst = scores.largest() - np.array(self.handicaps, dtype=np.int64)
        [place] = levelwise_selection([worst], 1, rho, randomness)
        return self.candidates[place.position]

    def nothing(self) -> Threshold:
        return self.candidates[0]

    def saved(self, result: Threshold, schema: Schema) -> Saved:
        return Saved({"table": self.candidates.index(result)})

    def restored(self, saved: Saved, terms: Terms) -> Threshold:
        return self.candidates[_position(saved.values["table"], len(self.candidates))]


@dataclass(frozen=True, eq=False)
class Measure(Request[list[Measurement]]):
    """What are the noisy counts of some queries and tables? See `Access.measure`.

    Proof: the discrete Gaussian of `noise`, on counts of the squared L2 sensitivity that `check`
    adds up. `tests/audit/test_sensitivity.py` finds the same sensitivities by brute force.
    """

    verb: ClassVar[str] = "measure"
    targets: tuple[Query | Threshold, ...]
    jointly: bool

    def copied(self, schema: Schema) -> Self:
        targets = tuple(copied_target(target, schema) for target in self.targets)
        return type(self)(targets, bool(self.jointly))

    def check(self, schema: Schema, unit: Unit, rho: Fraction) -> None:
        if not self.targets:
            raise ParameterError("there is nothing to measure: name at least one query or table")
        self._variance(schema, unit, rho)
        sizes = self.table_sizes(schema)
        check_memory(8 * (sum(sizes) + max(sizes, default=0)))

    def least_variance(self, schema: Schema, unit: Unit, rho: Fraction) -> Fraction:
        return self._variance(schema, unit, rho)

    def _variance(self, schema: Schema, unit: Unit, rho: Fraction) -> Fraction:
        return variance_for(rho, self.squared_sensitivity(schema, unit))

    def parts(self) -> tuple[Any, ...]:
        return ([*map(parts_of_target, self.targets)], self.jointly)

    def squared_sensitivity(self, schema: Schema, unit: Unit) -> int:
        """How far, squared and in L2, one unit moves all counts together."""
        return sum(
            squared_sensitivity(target, schema, self.jointly, unit) for target in self.targets
        )

    def feature_sets(self) -> list[FeatureSet]:
        thresholds = (t.threshold if isinstance(t, Query) else t for t in self.targets)
        return [threshold.features for threshold in thresholds]

    def run(
        self, counted: CountedTables, rho: Fraction, randomness: Randomness
    ) -> list[Measurement]:
        sensitivity = self.squared_sensitivity(counted.schema, counted.unit)
        measured: list[Measurement] = []
        for target in self.targets:
            noisy, sigma = add_noise(exact_counts(counted, target), rho, sensitivity, randomness)
            if isinstance(target, Query):
                measured.append(QueryMeasurement(target, int(noisy[()]), sigma, counted.total))
            else:
                measured.append(TableMeasurement(target, noisy, sigma, counted.total))
        return measured

    def nothing(self) -> list[Measurement]:
        return []

    def size(self) -> int:
        return len(self.targets)

    def table_sizes(self, schema: Schema) -> list[int]:
        return [t.query_count(schema) for t in self.targets if isinstance(t, Threshold)]

    def saved(self, result: list[Measurement], schema: Schema) -> Saved:
        counts = [measured.count for measured in measured_queries(result)]
        tables = [measured.counts for measured in measured_tables(result)]
        return Saved({"counts": counts, "sigmas": [m.sigma for m in result]}, tables)

    def restored(self, saved: Saved, terms: Terms) -> list[Measurement]:
        variance = self._variance(terms.schema, terms.unit, terms.rho)
        sigmas = [checked_sigma(kept, variance) for kept in saved.values["sigmas"]]
        counts, tables = list(saved.values["counts"]), list(saved.tables)
        measured: list[Measurement] = []
        for target, sigma in zip(self.targets, sigmas, strict=True):
            if isinstance(target, Query):
                count = whole(counts.pop(0))
                measured.append(QueryMeasurement(target, count, sigma, terms.total))
                continue
            table = tables.pop(0)
            if table.shape != target.shape(terms.schema) or table.dtype != np.int64:
                raise ValueError("a table of something else")
            measured.append(TableMeasurement(target, table, sigma, terms.total))
        if counts or tables:
            raise ValueError("the counts of something else")
        return measured


@dataclass(frozen=True, eq=False)
class Choose(Choice[int]):
    """Which public answers have the smallest worst error on a workload? See `Access.choose`.

    Proof: `levelwise_selection`, with minus the largest score of each candidate, of sensitivity 1
    as the scores are.
    """

    verb: ClassVar[str] = "choose"
    workload: Workload
    candidates: tuple[AnswersOf, ...]

    def copied(self, schema: Schema) -> Self:
        candidates = tuple(guarded(each, "each of candidates") for each in self.candidates)
        return type(self)(copied_workload(self.workload, schema), candidates)

    def check(self, schema: Schema, unit: Unit, rho: Fraction) -> None:
        _check_workload(self.workload)
        if not self.candidates:
            raise ParameterError("there is nothing to choose from: give at least one candidate")
        _check_walkable(self.workload, self.candidates)

    def parts(self) -> tuple[Any, ...]:
        return (*_parts_of(self.workload), len(self.candidates))

    def feature_sets(self) -> list[FeatureSet]:
        return [threshold.features for threshold in self.workload]

    def run(self, counted: CountedTables, rho: Fraction, randomness: Randomness) -> int:
        worst = [
            WorkloadScores(counted, self.workload, answers_of, {}).largest().max()
            for answers_of in self.candidates
        ]
        [place] = levelwise_selection([-np.array(worst)], 1, rho, randomness)
        return place.position

    def nothing(self) -> int:
        return 0

    def saved(self, result: int, schema: Schema) -> Saved:
        return Saved({"chosen": result})

    def restored(self, saved: Saved, terms: Terms) -> int:
        return _position(saved.values["chosen"], len(self.candidates))


@dataclass(frozen=True, eq=False)
class MeasureTotal(Request[TotalMeasurement]):
    """How many records, persons or rows are there, about? See `Access.measure_total`.

    Proof: the discrete Gaussian of `noise`, on a number of the sensitivity `Unit.total_squared`.
    """

    verb: ClassVar[str] = "measure_total"
    needs_total: ClassVar[bool] = False

    def copied(self, schema: Schema) -> Self:
        return type(self)()

    def check(self, schema: Schema, unit: Unit, rho: Fraction) -> None:
        if unit.total_is_public:
            raise ParameterError(f"the number of {unit.counted} is public: use n, which is free")
        variance_for(rho, unit.total_squared)

    def least_variance(self, schema: Schema, unit: Unit, rho: Fraction) -> Fraction:
        return variance_for(rho, unit.total_squared)

    def parts(self) -> tuple[Any, ...]:
        return ()

    def feature_sets(self) -> list[FeatureSet]:
        return []

    def run(
        self, counted: CountedTables, rho: Fraction, randomness: Randomness
    ) -> TotalMeasurement:
        exact = np.array(counted.exact_total(), dtype=np.int64)
        noisy, sigma = add_noise(exact, rho, counted.unit.total_squared, randomness)
        # Cut off at what can be counted, which is post-processing.
        return TotalMeasurement(min(max(1, int(noisy[()])), MOST_UNITS), sigma)

    def nothing(self) -> TotalMeasurement:
        return TotalMeasurement(1, 0.0)

    def saved(self, result: TotalMeasurement, schema: Schema) -> Saved:
        return Saved({"n": result.n, "sigma": result.sigma})

    def restored(self, saved: Saved, terms: Terms) -> TotalMeasurement:
        variance = variance_for(terms.rho, terms.unit.total_squared)
        n, sigma = whole(saved.values["n"]), checked_sigma(saved.values["sigma"], variance)
        if not 1 <= n <= MOST_UNITS:
            raise ValueError("no number of records")
        return TotalMeasurement(n, sigma)


def squared_sensitivity(
    target: Query | Threshold, schema: Schema, jointly: bool, unit: Unit
) -> int:
    """How far, squared and in L2, one unit moves what is counted for one target.

    Raises:
        ThresherError: The target cannot be measured so.
    """
    if isinstance(target, Query):
        target.check(schema)
        check_counted(target.threshold, schema)
        return unit.query_squared
    check_fits(target, schema)
    check_counted(target, schema)
    if not jointly:
        return target.query_count(schema) * unit.query_squared
    if target.r != target.k:
        raise QueryError(
            f"{target} cannot be measured as one table: only marginals (r = k) can; measure "
            f"the marginal {Threshold(target.features)}, from which its answers follow"
        )
    return unit.table_squared


def checked_sigma(kept: Any, variance: Fraction) -> float:
    """The σ of noise of a variance; a ValueError if a journal says something else."""
    sigma = math.sqrt(variance)
    if not math.isclose(float(kept), sigma, rel_tol=1e-9):
        raise ValueError("other noise than was paid for")
    return sigma


def plain(number: int) -> int:
    """A whole number as a plain `int`, read once; anything else as it is, for `check` to refuse.

    A number of another class could be one thing when it is checked and another when it is used.
    """
    is_whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
    return operator.index(number) if is_whole else number


def _check_workload(workload: Workload) -> None:
    for threshold in workload:
        check_counted(threshold, workload.schema)


def check_counted(threshold: Threshold, schema: Schema) -> None:
    """Refuse a threshold that cannot be counted: behind views, their features are."""
    columns = Threshold(schema.bases(threshold.features))
    check_countable(columns.shape(schema), threshold)


def _check_walkable(
    workload: Workload, sources: Sequence[AnswersOf], weights_of: AnswersOf | None = None
) -> None:
    """Refuse to look at each of too many queries. Those of tables that can be searched are free."""
    schema = workload.schema
    if workload.query_count <= MOST_QUERIES:
        return
    walked = sum(
        threshold.query_count(schema)
        for threshold in workload
        if not all(can_be_searched(threshold, schema, answers_of) for answers_of in sources)
        or (weights_of is not None and type(weights_of(threshold)) is not Same)
    )
    if walked > MOST_QUERIES:
        raise ResourceError(
            f"the workload has {workload.query_count} queries, and a selection looks at {walked} "
            "of them: take marginals (r = k), or fewer or smaller thresholds (max_queries)"
        )


def _weights_of(workload: Workload) -> AnswersOf | None:
    """The public weights of a workload's thresholds, as parts of the largest; None if all are 1."""
    if not workload.has_weights:
        return None
    weights = dict(zip(workload, map(Same, workload.relative_weights), strict=True))
    return weights.__getitem__


def exact_counts(counted: CountedTables, target: Query | Threshold) -> Counts:
    """The exact counts of all cells of a threshold's table, or of one query."""
    if isinstance(target, Query):
        return np.array(counted.count(target), dtype=np.int64)
    answers, shape = counted.answers(target), target.shape(counted.schema)
    counts = np.empty(math.prod(shape), dtype=np.int64)
    for slab in slabs_of(shape):
        counts[slab.first : slab.first + slab.size] = answers(slab).reshape(-1)
    return counts.reshape(shape)


def whole(value: Any) -> int:
    """A whole number that a journal keeps."""
    if type(value) is not int:
        raise ValueError("not a whole number")
    return value


def parts_of_target(target: Query | Threshold) -> tuple[Any, ...]:
    """A query or a threshold in plain values."""
    if isinstance(target, Query):
        return tuple((c.feature, c.codes) for c in target.conditions), target.r
    return target.features, target.r


def _parts_of(workload: Workload) -> tuple[Any, ...]:
    return [*map(parts_of_target, workload.thresholds)], workload.weights


def _position(value: Any, length: int) -> int:
    position = whole(value)
    if position not in range(length):
        raise ValueError("a choice between others")
    return position
