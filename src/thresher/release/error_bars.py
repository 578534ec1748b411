"""How far an answer may be off, at 95 %, as far as public facts tell.

Three facts are public: how noisy each measurement is, how many cells of a measured table a query
adds up, and by how much D' missed what was measured last, before it was fitted to it. Each bounds
the error of some answers; where several do, the tightest counts.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, reduce
from operator import and_, attrgetter, itemgetter

import numpy as np
import numpy.typing as npt

from thresher.privacy.ladder import selection_rate
from thresher.privacy.measurements import (
    Measurement,
    QueryMeasurement,
    TableMeasurement,
    measured_queries,
    measured_tables,
)
from thresher.queries.condition import Condition
from thresher.queries.query import Query
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.release.sources import (
    AnswerSource,
    NoisyTables,
    RowsAndTables,
    SyntheticRows,
    margins_of,
)
from thresher.schema import Schema

WITHIN = 1.96
"""How many standard deviations of noise hold 95 of 100 errors."""

ONE_SIDED = 1.645
"""How many hold 95 of 100 errors to one side."""

AS_FITTED = 2.0
"""D' meets a measurement as closely as its noise warrants: its variance comes in twice."""

REMEMBERED = 1 << 16
"""Kinds of queries that are remembered; a stream of queries may have any number of them."""

MOST_SUMMED = 10
"""The most features of a threshold whose answers are taken apart into all marginals."""

Codes = tuple[tuple[int, ...], ...]

_feature_of, _codes_of = attrgetter("feature"), attrgetter("codes")


class Answer(float):
    """A fraction of people: a number like any other, which knows its error bar.

    Attributes:
        error_bar: Half the length of a 95 % interval, as far as public facts tell; None where
            they tell nothing.

    Example:
        >>> answer = Answer(0.25, error_bar=0.01)
        >>> answer, answer.error_bar
        (0.25, 0.01)
    """

    __slots__ = ("error_bar",)

    error_bar: float | None

    def __new__(cls, share: float, error_bar: float | None = None) -> "Answer":
        """A float has its value from the start."""
        answer = float.__new__(cls, share)
        answer.error_bar = error_bar
        return answer


class ErrorBars:
    """The error bars of one release's answers.

    Args:
        source: Where the answers come from.
        measurements: All that was measured.
        workload: The thresholds that D' was fitted for: what it missed tells of them only.

    Example:
        >>> import thresher as th
        >>> data = th.datasets.adult()
        >>> work = th.Workload(data.schema, [th.Threshold(("sex", "race"))])
        >>> release = th.GaussianJoint(rho=1).fit(data, work)
        >>> answer = release.answer("sex=Female, race in {White,Black}")
        >>> [table] = release.measurements
        >>> round(answer.error_bar / (table.sigma / table.n), 6)  # 1.96·√2, of two cells
        2.771859
    """

    def __init__(
        self, source: AnswerSource, measurements: Sequence[Measurement], workload: Workload
    ) -> None:
        self._source, self._schema = source, workload.schema
        self._queries = _queries(measurements)
        largest = source.largest_fitted if isinstance(source, RowsAndTables) else None
        self._tables = _tables(margin for m in measurements for margin in margins_of(m, largest))
        # To larger tables D' was not fitted, but it is held to their cells.
        self._clamped = _tables(
            m for m in measured_tables(measurements) if largest and m.counts.size > largest
        )
        if isinstance(source, SyntheticRows) and source.prediction_error is not None:
            for table, variance in _missed(source.prediction_error, measurements, workload):
                self._tables[table] = min(variance, self._tables.get(table, math.inf))
        self._covering = _Covering.of(self._tables, self._schema)
        self._known = lru_cache(REMEMBERED)(self._found)
        self._margin = lru_cache(REMEMBERED)(self._found_margin)

    def of(self, query: Query, answer: float) -> float | None:
        """Half the length of the error bar of a query's answer; None if nothing is known of it."""
        # Streams of millions of queries pass here: all but a few look-ups is remembered.
        codes = tuple(map(_codes_of, query.conditions))
        names = tuple(map(_feature_of, query.conditions))
        margin, same = self._margin(names, tuple(map(len, codes)), query.r)
        if same:
            margin = min(margin, same.get(codes, margin))
        # The truth, too, lies between 0 and 1.
        furthest = answer if answer > 0.5 else 1.0 - answer
        return margin if margin < furthest else furthest if margin < math.inf else None

    def _found_margin(
        self, names: tuple[str, ...], met: tuple[int, ...], r: int
    ) -> tuple[float, Mapping[Codes, float]]:
        """The bar of queries of one kind, and of those among them that were measured themselves."""
        known = self._known(names, r)
        if known is None:
            return math.inf, {}
        units = spread(known.sizes, met, r, known.adds_to_one)
        # Without spread, a query holds for all, or for none.
        variance = known.unit * units if units else 0.0
        if r == len(names) == sum(met):  # a single cell
            variance = min(variance, self._clamped.get(Threshold(names), math.inf))
        if known.adds_to_one and r < len(names) <= MOST_SUMMED:
            variance = min(variance, self._of_marginals(names, known.sizes, met, r))
        return WITHIN * math.sqrt(variance), known.same

    def _of_marginals(
        self, names: tuple[str, ...], sizes: tuple[int, ...], met: tuple[int, ...], r: int
    ) -> float:
        """The variance of an r-of-k answer, as the sum of marginals of r and more features.

        A marginal of s features comes in C(s - 1, r - 1) times, by inclusion and exclusion.
        """
        variance = 0.0
        for size in range(r, len(names) + 1):
            for some in itertools.combinations(range(len(names)), size):
                of_these = tuple(sizes[i] for i in some)
                unit = self._covering.least(names[i] for i in some) / math.prod(of_these)
                units = spread(of_these, tuple(met[i] for i in some), size, adds_to_one=True)
                variance += math.comb(size - 1, r - 1) ** 2 * (unit * units if units else 0.0)
        return variance

    def _found(self, names: tuple[str, ...], r: int) -> "_Known | None":
        """What is known about queries with r of some features."""
        source, asked = self._source, Threshold(names, r)
        sizes = asked.shape(self._schema)
        if isinstance(source, NoisyTables):
            table, _ = source.measured(asked)
            of_one = spread(sizes, (1,) * len(sizes), r) if table.threshold == asked else 1.0
            return _Known(sizes, _variance(table) / of_one, {}, adds_to_one=False)
        if isinstance(source, SyntheticRows):
            unit = self._covering.least(names) / math.prod(sizes)
            of_one = spread(sizes, (1,) * len(sizes), r, adds_to_one=True)
            if of_one:
                unit = min(unit, self._tables.get(asked, math.inf) / of_one)
            return _Known(sizes, unit, self._same(asked), adds_to_one=True)
        return None

    def _same(self, asked: Threshold) -> dict[Codes, float]:
        """The bars of queries that were measured, by their codes in the order asked for."""
        found = {}
        for conditions, variance in self._queries.get(asked, {}).items():
            codes = {c.feature: c.codes for c in conditions}
            found[tuple(codes[name] for name in asked.features)] = WITHIN * math.sqrt(variance)
        return found


def prediction_error_of(
    predicted: Sequence[tuple[Measurement, npt.ArrayLike]], detectable: float
) -> float | None:
    """By how much answers missed measurements that they were not fitted to, at 95 %, noise aside.

    Every measurement counts once. Within a table, cells count by the people whom D' sees there:
    most cells of most tables are empty, and to be right about those says nothing of the others.
    The mean square of the misses, less that of the noise, is an estimate from few numbers, and no
    smaller than what such noise hides, at 95 %. What was not measured may be missed by more: by
    as much as the choice of what to measure, being private, may overlook.

    Args:
        predicted: Measurements, each with the answers of D' to the same query or table.
        detectable: The least miss that the choice of what to measure would not have detectable.

    Returns:
        1.96 standard deviations of a miss; None without measurements.

    Example:
        >>> query = Query([Condition("sex", [0])])
        >>> missed = QueryMeasurement(query, 600, sigma=10.0, n=1000)
        >>> round(prediction_error_of([(missed, 0.5)] * 50, detectable=0.1), 3)
        0.195
    """
    if not predicted:
        return None
    misses, noise, weights = [], [], []
    for m, answers in predicted:
        says = np.ravel(np.asarray(answers, dtype=np.float64))
        measured = m.answer if isinstance(m, QueryMeasurement) else m.answers
        misses.append(np.ravel(measured) - says)
        noise.append(np.full(says.size, m.noise))
        people = np.maximum(says, 0.0) if says.size > 1 and says.max() > 0.0 else np.ones(says.size)
        weights.append(people / people.sum())
    weight = np.concatenate(weights) / len(predicted)
    of_noise = float(weight @ np.concatenate(noise) ** 2)
    missed = float(weight @ np.concatenate(misses) ** 2) - of_noise
    # The variance of a weighted mean of squares of noise is 2·σ⁴·Σ weight².
    hidden = ONE_SIDED * math.sqrt(2.0 * float(weight @ weight)) * of_noise
    return max(WITHIN * math.sqrt(max(missed, hidden)), detectable)


def detectable_error(candidates: int, rho: Fraction, n: int) -> float:
    """The miss at which a candidate is as likely to be chosen as all others, had they none.

    The exponential mechanism chooses one with a score of s counts exp(η·s) times as often as one
    with none, so that is ln(candidates)/η.

    Args:
        candidates: How many there were to choose from.
        rho: What one choice spent.
        n: The number of records.

    Example:
        >>> round(detectable_error(1000, Fraction(1, 1000), n=1000), 3)
        0.154
    """
    return math.log(candidates) / float(selection_rate(rho)) / n


def spread(
    sizes: tuple[int, ...], met: tuple[int, ...], r: int, adds_to_one: bool = False
) -> float:
    """The variance of a query's answer, in units of a cell's of the table over its features.

    It is the number of cells that the query adds up: those that meet at least r conditions.
    Answers of D' add up to 1 over a table, as the truth does. So what noise moves all N cells by
    alike does not move D', and c·(1 - c/N) is left for c cells.

    Args:
        sizes: The features' numbers of values.
        met: How many of them meet each condition.
        r: How many conditions must be met.
        adds_to_one: Whether the table is known to add up to 1.

    Example:
        >>> spread((3, 4), (1, 2), 2), spread((3, 4), (1, 2), 1)
        (2.0, 8.0)
    """
    whole = math.prod(sizes)
    cells = _cells_meeting(sizes, met, r)
    return cells * (whole - cells) / whole if adds_to_one else float(cells)


def _cells_meeting(sizes: tuple[int, ...], met: tuple[int, ...], r: int) -> int:
    """How many cells of a table meet at least r of the conditions."""
    if r == len(sizes):
        return math.prod(met)
    by_matches = [1]
    for size, meeting in zip(sizes, met, strict=True):
        missing = size - meeting
        with_one_more = [count * meeting for count in by_matches]
        by_matches = [count * missing for count in by_matches]
        by_matches.append(0)
        for matches, count in enumerate(with_one_more, start=1):
            by_matches[matches] += count
    return sum(by_matches[r:])


@dataclass(frozen=True, eq=False)
class _Known:
    """What is known about queries with r of some features.

    Attributes:
        sizes: The features' numbers of values.
        unit: The variance of an answer per unit of its spread; infinite if nothing is known.
        same: The bars of the very queries that were measured.
        adds_to_one: As of `spread`.
    """

    sizes: tuple[int, ...]
    unit: float
    same: Mapping[Codes, float]
    adds_to_one: bool


@dataclass(frozen=True, eq=False)
class _Covering:
    """Marginal tables, the best first: those whose cells' variances add up to least.

    Attributes:
        sums: The sum of each table's variances.
        having: For each feature, the tables that have it, as the bits of a number.
    """

    sums: tuple[float, ...]
    having: Mapping[str, int]

    @classmethod
    def of(cls, tables: Mapping[Threshold, float], schema: Schema) -> "_Covering":
        """The marginal tables among some, with the variances of their cells."""
        listed = sorted(
            (
                (variance * table.query_count(schema), table.features)
                for table, variance in tables.items()
                if table.r == table.k
            ),
            key=itemgetter(0),
        )
        places: dict[str, list[int]] = {}
        for place, (_, features) in enumerate(listed):
            for name in features:
                places.setdefault(name, []).append(place)
        having = {}
        for name, some in places.items():
            bits = np.zeros(len(listed), dtype=np.uint8)
            bits[some] = 1
            having[name] = int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")
        return cls(tuple(total for total, _ in listed), having)

    def least(self, names: Iterable[str]) -> float:
        """The least sum among the tables that have all these features; infinite if none has."""
        common = reduce(and_, (self.having.get(name, 0) for name in names))
        return self.sums[(common & -common).bit_length() - 1] if common else math.inf


def _tables(measurements: Iterable[Measurement]) -> dict[Threshold, float]:
    """The variance of what D' says of a cell of each table that was measured."""
    tables: dict[Threshold, float] = {}
    for m in measured_tables(measurements):
        tables[m.threshold] = _pooled(tables.get(m.threshold), m)
    return tables


def _queries(
    measurements: Iterable[Measurement],
) -> dict[Threshold, dict[frozenset[Condition], float]]:
    """The variance of what D' says of each single query that was measured."""
    queries: dict[Threshold, dict[frozenset[Condition], float]] = {}
    for m in measured_queries(measurements):
        kind, conditions = queries.setdefault(m.query.threshold, {}), frozenset(m.query.conditions)
        kind[conditions] = _pooled(kind.get(conditions), m)
    return queries


def _missed(
    prediction_error: float, measurements: Sequence[Measurement], workload: Workload
) -> Iterator[tuple[Threshold, float]]:
    """What D' missed, as the noise of the tables among which the worst were measured."""
    were_marginals = bool(measurements) and isinstance(measurements[-1], TableMeasurement)
    asked = workload.thresholds if not were_marginals else _felt_in_full(workload)
    for table in asked:
        cells = table.query_count(workload.schema)
        # Answers of D' add up to 1 already, and so do its misses to 0.
        centred = 1.0 - 1.0 / cells if table.r == table.k and cells > 1 else 1.0
        yield table, (prediction_error / WITHIN) ** 2 / centred


def _felt_in_full(workload: Workload) -> dict[Threshold, None]:
    """The marginals whose errors, as they are, are those of answers: so they were looked for."""
    return {
        Threshold(some): None
        for threshold in workload
        for size in range(max(2, threshold.r), threshold.k + 1)
        if size == threshold.k or threshold.k <= MOST_SUMMED
        for some in itertools.combinations(threshold.features, size)
    }


def _variance(m: Measurement) -> float:
    return m.noise**2


def _pooled(before: float | None, m: Measurement) -> float:
    """The variance of what D' says of what was measured once more, each weighted by precision."""
    variance = AS_FITTED * _variance(m)
    return variance if before is None else before * variance / (before + variance)
