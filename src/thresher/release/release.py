"""The release: what is published, and all that an analyst needs.

A release has public contents only: the schema, the measurements and their noise, the budget that
they cost, and the source of its answers. Using it costs no privacy, however often.
"""

import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from thresher.errors import ParameterError, QueryError, ReleaseError
from thresher.privacy.budget import Budget, epsilon_of
from thresher.privacy.measurements import Measurement
from thresher.privacy.unit import Unit
from thresher.queries.conditional import ConditionalQuery, parse_query
from thresher.queries.number_query import NumberQuery
from thresher.queries.query import Query
from thresher.queries.rewriting import equivalents
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.relaxed.rounding import round_rows
from thresher.release.answer import Answer
from thresher.release.cross_table import Percent, cross_table, ratio
from thresher.release.numbers import Estimate, Numbers
from thresher.release.sources import AnswerSource
from thresher.release.uncertainty import Uncertainty
from thresher.release.writing import save
from thresher.schema import Schema
from thresher.tables import MEMORY_CEILING, check_fits, slabs_of
from thresher.wording import shown

if TYPE_CHECKING:
    import pandas as pd

Asked: TypeAlias = Query | ConditionalQuery | str | Mapping[str, object]
"""The ways to say a query."""

LIBRARIES = ("thresher", "numpy", "numba", "pandas", "pyarrow")


@cache
def _versions() -> tuple[tuple[str, str], ...]:
    return tuple((name, version(name)) for name in LIBRARIES)


@dataclass(frozen=True, eq=False)
class Release:
    """What is published of one fit.

    Attributes:
        schema: The public description of the columns.
        n: The number of records, persons or rows (`unit.counted`): public, or measured.
        workload: The thresholds it was fitted for.
        mechanism: The mechanism's name.
        settings: The mechanism's parameters.
        budget: The budget that was given.
        spent: How much of it was spent, as ρ.
        measurements: All noisy counts that were paid for.
        source: Where its answers come from.
        is_secure: Whether the noise came from secure randomness, as a published release needs.
        created: When it was made (UTC).
        versions: The versions of the libraries that made it.
        unit: What the promise protects, and how it was counted.
        n_sigma: The standard deviation of the noise of n; 0 if n is public.
    """

    schema: Schema
    n: int
    workload: Workload
    mechanism: str
    settings: Mapping[str, Any]
    budget: Budget
    spent: Fraction
    measurements: tuple[Measurement, ...]
    source: AnswerSource
    is_secure: bool
    created: str
    versions: Mapping[str, str]
    unit: Unit = field(default_factory=Unit)
    n_sigma: float = 0.0

    @classmethod
    def now(cls, **contents: Any) -> "Release":
        """A release made at this moment, with these libraries."""
        return cls(
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            versions=dict(_versions()),
            **contents,
        )

    @property
    def delta(self) -> Fraction:
        """The δ of its promise: as given, or 1/n² (and below 1 even for a single record)."""
        return self.budget.delta or Fraction(1, max(2, self.unit.worth(self.n)) ** 2)

    @property
    def epsilon(self) -> float:
        """The ε of its promise: as given, or what the budget's ρ implies at δ."""
        if self.budget.epsilon is not None:
            return float(self.budget.epsilon)
        return epsilon_of(self.budget.rho, self.delta, self.budget.curve)

    def __repr__(self) -> str:
        return (
            f"Release({self.mechanism}, epsilon={self.epsilon:.4g}, delta={float(self.delta):.2g}, "
            f"{len(self.measurements)} measurements, answers from {self.source.kind})"
        )

    def answer(self, query: Asked) -> Answer:
        """The fraction of people who meet a query, with its margin of error (`error_bar`).

        Args:
            query: A query, its text (`"2 of: race=Black, sex=Female, income=>50K"`, or `"share of
                income=>50K among sex=Female"`), or values that all must hold
                (`{"race": "Black", "age": "65.."}`).
        """
        [answer] = self.answer_trusted((self._checked(query),))
        return answer

    def share(self, query: Asked, *, among: Asked) -> Answer:
        """The share of those who meet one query among those who meet another.

        Args:
            query: What is asked; all of its conditions must hold.
            among: The people that the share is of; all of its conditions must hold.
        """
        part, of = self._query(query), self._query(among)
        return self.answer(ConditionalQuery.of(part, of, self.schema))

    def table(
        self,
        *features: str,
        where: Asked | None = None,
        percent: Percent | None = None,
    ) -> "pd.DataFrame":
        """Shares and counts by one, two or three features, with margins of error and totals.

        The rows are labelled by the features. The columns are `share` (of all people), `margin`,
        `count` (the share times n) and `count_margin`; `unreliable`, whether the margin is above
        half of the value; and `estimated`, whether no measured table has the features. The table of
        one column in the usual layout is `release.table("education", "sex")["share"].unstack()`.
        If a range in `where` does not end with a bin, `attrs["read_as"]` says how it was read.

        Args:
            features: The features.
            where: Only people who meet these conditions, all of which must hold.
            percent: Adds `percent` and `percent_margin`: of all with the same value of the first
                feature (`"row"`), of the last feature (`"column"`), or of all (`"total"`).
        """
        return cross_table(self, features, None if where is None else self._query(where), percent)

    def numbers(self, feature: str, *, where: Asked | None = None) -> Numbers:
        """The mean, sum, quantiles and histogram of a feature of numbers.

        Args:
            feature: Whole numbers or numbers in bins.
            where: Only people who meet these conditions, all of which must hold.
        """
        return Numbers.of(self, feature, None if where is None else self._query(where))

    def number(self, query: str | NumberQuery) -> Estimate:
        """A mean, sum or quantile in words, with its 95 % interval.

        Args:
            query: `mean of age`, `sum of age among sex=Female`, `median of age` or
                `quantile 0.9 of age`.
        """
        asked = NumberQuery.parse(query, self.schema) if isinstance(query, str) else query
        numbers = self.numbers(asked.feature, where=asked.among)
        return numbers.estimate(asked.statistic, asked.part)

    def answer_many(self, queries: Iterable[Asked]) -> Iterator[Answer]:
        """The answers to many queries, in order, streaming.

        A query that cannot be answered does not stop the others: its answer is NaN, and says in
        `fault` what is wrong.
        """
        faults: deque[Answer | None] = deque()

        def good() -> Iterator[Query | ConditionalQuery]:
            for query in queries:
                try:
                    checked = self._checked(query)
                except QueryError as fault:
                    faults.append(Answer(math.nan, n=self.n, fault=str(fault)))
                else:
                    faults.append(None)
                    yield checked

        for answer in self.answer_trusted(good()):
            while (bad := faults.popleft()) is not None:
                yield bad
            yield answer
        yield from (bad for bad in faults if bad is not None)

    def answer_trusted(self, queries: Iterable[Query | ConditionalQuery]) -> Iterator[Answer]:
        """The same as `answer_many`, for queries that were checked by `check` before."""
        kept: deque[tuple[Query | ConditionalQuery, tuple[Query, ...]]] = deque()

        def single() -> Iterator[Query]:
            for query in queries:
                parts = tuple(map(self._best_put, _parts_of(query)))
                kept.append((query, parts))
                yield from parts

        shares = self.source.queries(single())
        for share in shares:
            query, (first, *others) = kept.popleft()
            answer = self._answer(first, share)
            for among in others:
                answer = ratio(answer, self._answer(among, next(shares)))
                answer.read_as = query.read_as
            yield answer

    def check(self, query: Query | ConditionalQuery) -> None:
        """Raise a QueryError unless the release can answer a query."""
        for part in _parts_of(query):
            part.check(self.schema)
            self._answerable_ways(part)

    def _best_put(self, query: Query) -> Query:
        """The query, or the same about views or features that the release knows better."""
        if not self.schema.views:
            return query
        return min(self._answerable_ways(query), key=self._uncertainty.rank)

    def _answerable_ways(self, query: Query) -> list[Query]:
        """The ways of putting a query that the source can answer; an error if there is none."""
        ways, fault = [], None
        for way in equivalents(query, self.schema):
            try:
                self.source.check(way)
                ways.append(way)
            except QueryError as refused:
                fault = fault or refused
        if not ways and fault is not None:
            raise fault
        return ways

    def _answer(self, query: Query, share: float) -> Answer:
        margin, is_estimated = self._uncertainty.margin_of_error(query, share)
        return Answer(share, margin, self.n, is_estimated, query.read_as)

    @cached_property
    def _uncertainty(self) -> Uncertainty:
        variances = self.source.variances(self.measurements, self.workload)
        return Uncertainty(variances, self.n_sigma / self.n)

    def _checked(self, asked: Asked) -> Query | ConditionalQuery:
        if isinstance(asked, ConditionalQuery):
            query: Query | ConditionalQuery = asked
        elif isinstance(asked, str):
            query = parse_query(asked, self.schema)
        else:
            query = self._query(asked)
        self.check(query)
        return query

    def _query(self, asked: Asked) -> Query:
        """A query as it may be given, but not a share among some people."""
        if isinstance(asked, str):
            return Query.parse(asked, self.schema)
        if isinstance(asked, Mapping):
            return Query.where(self.schema, asked)
        if not isinstance(asked, Query):
            raise QueryError(
                f"a query is text, a Query, or a dictionary of values, not {shown(asked)}"
            )
        asked.check(self.schema)
        return asked

    def answer_all(self, workload: Workload | None = None) -> "AllAnswers":
        """The answers to all queries of a workload, a table per threshold, made when asked for.

        Args:
            workload: The workload; the one it was fitted for if not given.
        """
        asked = workload or self.workload
        if asked.schema.fingerprint != self.schema.fingerprint:
            raise QueryError("the workload is over another schema than the release")
        return AllAnswers(self.source, asked)

    def sample(self, rows: int, seed: int | None = None, *, labels: bool = False) -> "pd.DataFrame":
        """Synthetic records, by randomised rounding of the relaxed rows.

        This is post-processing: it costs no privacy, and its seed protects nothing.

        Args:
            rows: How many records.
            seed: The same seed gives the same records.
            labels: Whether labels such as `unknown`, which a feature lists under `extra`, stand in
                the records as words. Otherwise they are missing values, and columns of numbers
                and dates stay such.
        """
        if self.source.rows is None:
            raise ReleaseError(
                f"a release of {self.mechanism} has no synthetic rows to sample from: fit with a "
                "mechanism that makes them, such as rap"
            )
        if not isinstance(rows, int | np.integer) or rows < 1:
            raise ParameterError(f"rows must be a whole number of at least 1, not {rows!r}")
        if seed is not None and (not isinstance(seed, int | np.integer) or seed < 0):
            raise ParameterError(f"seed must be a whole number of at least 0, not {seed!r}")
        rng = np.random.default_rng(seed)
        codes = round_rows(self.source.rows, rows, rng)  # those of views come last
        import pandas as pd  # half a second, which answers do without

        return pd.DataFrame(
            {f.name: f.column(codes[:, i], rng, labels=labels) for i, f in enumerate(self.schema)}
        )

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the release as a folder of plain files, whole or not at all."""
        save(self, Path(path), overwrite)


def _parts_of(query: Query | ConditionalQuery) -> tuple[Query, ...]:
    """The query itself; or the two whose answers a share among some people is the ratio of."""
    return (query.both, query.among) if isinstance(query, ConditionalQuery) else (query,)


@dataclass(frozen=True, eq=False)
class AllAnswers:
    """The answers to a workload: a lazy sequence of tables, one per threshold.

    Example:
        `for threshold, table in release.answer_all(workload): …`; or one by its threshold,
        `release.answer_all(workload)[threshold]`.
    """

    source: AnswerSource
    workload: Workload

    def __len__(self) -> int:
        return len(self.workload)

    def __iter__(self) -> Iterator[tuple[Threshold, npt.NDArray[np.float64]]]:
        return ((threshold, self[threshold]) for threshold in self.workload)

    def __getitem__(self, threshold: Threshold | int) -> npt.NDArray[np.float64]:
        if not isinstance(threshold, Threshold):
            threshold = self.workload[threshold]
        schema = self.workload.schema
        check_fits(threshold, schema, MEMORY_CEILING)
        answers = self.source.table(threshold)
        table = np.empty(threshold.query_count(schema))
        for slab in slabs_of(threshold.shape(schema)):
            table[slab.first : slab.first + slab.size] = answers(slab).reshape(-1)
        return table.reshape(threshold.shape(schema))
