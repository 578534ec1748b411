"""The Curator: the one door between the private records and everything that is published.

It holds the records and the budget, and has four budgeted verbs: `select` (which queries are
answered worst?), `select_table` (which table is?), `measure` (what are their noisy answers?) and
`choose` (which of several sets of answers is best?). Each pays before it looks: the budget is
checked, the ledger written and flushed, and only then are the records touched. A mechanism is
given a Curator, never records, so whatever it does with what it gets is post-processing.

Neighbouring data sets have the same number of records and differ in one of them. So n is public,
as is the schema.
"""

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from fractions import Fraction
from typing import NoReturn, TypeVar
from weakref import WeakKeyDictionary

import numba
import numpy as np
import numpy.typing as npt

from thresher.data.exact import exact_answers, exact_count, exact_table
from thresher.data.records import Records
from thresher.errors import ParameterError, QueryError, ResourceError
from thresher.parallel import in_order, products_on_one_core
from thresher.privacy.budget import Account, Amount, Budget, exact
from thresher.privacy.ledger import Ledger
from thresher.privacy.levels import EXCLUDED
from thresher.privacy.measurements import Measurement, QueryMeasurement, TableMeasurement
from thresher.privacy.noise import add_noise, variance_for
from thresher.privacy.randomness import Randomness, SystemRandomness
from thresher.privacy.selection import levelwise_selection
from thresher.queries.query import Query
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.schema import Schema
from thresher.tables import AnswersOf, Slab, check_fits, slabs_of

MOST_QUERIES = 10**13
"""Beyond this many queries, looking at each of them once would take weeks."""

TRIES = 3
"""How often a selection is begun anew when the public answers change under it."""

WORTH_SHARING = 100_000
"""Below this many queries, starting a second thread takes longer than the work."""

WHOLE_WEIGHT = 1 << 16
"""The weight 1 of an error; smaller ones are whole parts of it."""

Result = TypeVar("Result")

_records: "WeakKeyDictionary[Curator, Records]" = WeakKeyDictionary()
"""Which records each Curator holds: kept here, so that no attribute of it hands them out."""


class Curator:
    """Holds private records and a privacy budget; tells only what has been paid for.

    Args:
        records: The private records.
        budget: What may be spent here.
        ledger: Where spending is recorded for good, if the data set has a ledger.
        release: The name under which the ledger records it.
        randomness: Where noise comes from; the operating system unless an experiment says so.
        spent: What an earlier, interrupted run has spent of the budget and recorded already.

    Example:
        >>> from thresher.data import datasets
        >>> curator = Curator(datasets.adult(), Budget.from_epsilon(1, 1e-9))
        >>> query = Query.parse("2 of: race=Black, sex=Female, income=>50K", curator.schema)
        >>> [measured] = curator.measure([query], rho="1/100")
        >>> abs(measured.answer - 0.09) < 0.01
        True
        >>> curator.spent
        Fraction(1, 100)
    """

    __slots__ = ("__weakref__", "_account", "_ledger", "_lock", "_randomness", "_release")

    def __init__(
        self,
        records: Records,
        budget: Budget,
        ledger: Ledger | None = None,
        *,
        release: str = "unnamed release",
        randomness: Randomness | None = None,
        spent: Fraction = Fraction(0),
    ) -> None:
        _records[self] = records
        self._account = Account(budget)
        if spent:
            self._account.spend(spent)
        self._ledger = ledger
        self._release = release
        self._randomness = randomness if randomness is not None else SystemRandomness()
        self._lock = threading.Lock()

    @property
    def n(self) -> int:
        """The number of records, which is public."""
        return _records[self].n

    @property
    def schema(self) -> Schema:
        """The description of the columns, which is public."""
        return _records[self].schema

    @property
    def budget(self) -> Budget:
        """The whole budget, spent or not."""
        return self._account.budget

    @property
    def spent(self) -> Fraction:
        """The ρ spent so far."""
        return self._account.spent

    @property
    def remaining(self) -> Fraction:
        """The ρ that can still be spent."""
        return self._account.remaining

    @property
    def is_secure(self) -> bool:
        """Whether the noise comes from a source fit for a release."""
        return self._randomness.is_secure

    def __repr__(self) -> str:
        spent, whole = float(self.spent), float(self.budget.rho)
        return f"Curator({_records[self]!r}, rho {spent:.6g} of {whole:.6g} spent)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Curator holds private records and cannot be copied or pickled")

    def select(
        self,
        workload: Workload,
        answers_of: AnswersOf,
        count: int,
        excluding: Collection[Query] = (),
        *,
        rho: Amount,
    ) -> list[Query]:
        """Choose the queries of a workload that the public answers get most wrong, privately.

        A query's score is |count - round(n · answer)|, an integer that replacing one record moves
        by at most 1; `count` of them are drawn as by AS and OSAS (Algorithms 2 and 4).

        Args:
            workload: The thresholds whose consistent queries may be chosen.
            answers_of: The public answers they are compared with, as fractions.
            count: How many to choose: K in the paper. If fewer are left, all are chosen.
            excluding: Queries of the workload that must not be chosen again.
            rho: What the selections spend, all together.

        Returns:
            The chosen queries, in the order in which they were chosen.
        """
        self._check_schema(workload.schema)
        if not isinstance(count, int | np.integer) or count < 1:
            raise ParameterError(f"count must be a whole number of at least 1, not {count!r}")
        amount = exact(rho, "rho")
        slabs = _slabs_of(workload)
        barred = np.array(sorted({workload.id_of(query) for query in excluding}), dtype=np.int64)
        if len(barred) == workload.query_count:
            raise ParameterError("there is no query left to choose: all are excluded")
        records = self._pay(amount)
        for _ in range(TRIES):
            scores = _Scores(records, workload, slabs, answers_of, barred)
            try:
                with products_on_one_core():
                    places = levelwise_selection(
                        scores, int(count), amount, self._randomness, each=scores.each
                    )
            except _AnswersChangedError:
                # What was drawn is thrown away unseen, for a reason that is public: the answers.
                continue
            return [workload.query(scores.query_id(p.slab, p.position)) for p in places]
        raise ParameterError("answers_of must give the same answers every time it is asked")

    def measure(
        self, targets: Sequence[Query | Threshold], *, rho: Amount, jointly: bool = True
    ) -> list[Measurement]:
        """Answer queries, or all cells of marginal tables, with discrete Gaussian noise.

        Args:
            targets: Queries, each of sensitivity 1; or thresholds, whose tables are measured whole.
            rho: What all of them spend together; all get the same noise.
            jointly: Whether a table is measured as one vector: a replaced record moves two cells
                of a marginal table (r = k), so its squared L2 sensitivity is 2, whatever its size.
                If False, every cell pays for itself, as in the paper's Gaussian mechanism.

        Returns:
            One measurement per target, in order.
        """
        # What is paid for must be what is measured, even if an iterator is passed.
        listed: tuple[Query | Threshold, ...] = tuple(targets)
        if not listed:
            raise ParameterError("there is nothing to measure: name at least one query or table")
        amount = exact(rho, "rho")
        sensitivity = sum(self._squared_sensitivity(target, jointly) for target in listed)
        variance_for(amount, sensitivity)  # what cannot be measured is refused before it is paid
        records = self._pay(amount)
        measured: list[Measurement] = []
        for target in listed:
            counts = _exact_counts(records, target)
            noisy, sigma = add_noise(counts, amount, sensitivity, self._randomness)
            measured.append(_measurement(target, np.asarray(noisy), sigma, records.n))
        return measured

    def choose(self, workload: Workload, candidates: Sequence[AnswersOf], *, rho: Amount) -> int:
        """Choose, privately, the answers whose worst error on a workload is smallest.

        The worst error is the maximum over all queries of |count - round(n · answer)|: n times the
        present error, as an integer. Replacing one record moves each term by at most 1, so also
        their maximum. A candidate is drawn by the exponential mechanism on minus its worst error.

        Args:
            workload: The thresholds whose consistent queries count.
            candidates: Public answers to them, as fractions, from each of several sources.
            rho: What the choice spends, however many candidates there are.

        Returns:
            The position of the chosen candidate.
        """
        self._check_schema(workload.schema)
        listed = tuple(candidates)
        if not listed:
            raise ParameterError("there is nothing to choose from: give at least one candidate")
        amount = exact(rho, "rho")
        slabs = _slabs_of(workload)
        nothing = np.empty(0, dtype=np.int64)
        records = self._pay(amount)
        worst = [
            max(_Scores(records, workload, slabs, answers, nothing).largest()) for answers in listed
        ]
        [place] = levelwise_selection([-np.array(worst)], 1, amount, self._randomness)
        return place.position

    def select_table(
        self,
        tables: Sequence[Threshold],
        answers_of: AnswersOf,
        handicaps: Sequence[int],
        *,
        weights_of: AnswersOf | None = None,
        rho: Amount,
    ) -> Threshold:
        """Choose, privately, the table whose worst answer is furthest off, less its handicap.

        A table's score is the maximum over its cells of weight · |count - round(n · answer)|,
        rounded down, less a public integer. Replacing one record moves each term by at most 1, for
        no weight is above 1; so also their maximum.

        Args:
            tables: The candidates.
            answers_of: The public answers they are compared with, as fractions.
            handicaps: What is taken off each candidate's score, in counts, by public facts.
            weights_of: How much an error in each cell counts, by public facts; held to [0, 1], and
                1 if not given.
            rho: What the choice spends, however many candidates there are.

        Returns:
            The chosen table.
        """
        if len(tables) == 0 or len(handicaps) != len(tables):
            raise ParameterError("give at least one candidate, and a handicap for each")
        workload = Workload(self.schema, tables)
        amount = exact(rho, "rho")
        slabs = _slabs_of(workload)
        nothing = np.empty(0, dtype=np.int64)
        records = self._pay(amount)
        worst = -np.array([int(handicap) for handicap in handicaps], dtype=np.int64)
        largest = np.zeros(len(tables), dtype=np.int64)
        scores = _Scores(records, workload, slabs, answers_of, nothing, weights_of)
        for (position, _), of_slab in zip(slabs, scores.largest(), strict=True):
            largest[position] = max(largest[position], of_slab)
        [place] = levelwise_selection([worst + largest], 1, amount, self._randomness)
        return tables[place.position]

    def _squared_sensitivity(self, target: Query | Threshold, jointly: bool) -> int:
        """How far, squared and in L2, replacing one record moves what is counted for a target."""
        if isinstance(target, Query):
            target.check(self.schema)
            return 1
        if not isinstance(target, Threshold):
            raise ParameterError(f"only queries and thresholds can be measured, not {target!r}")
        check_fits(target, self.schema)
        if not jointly:
            return target.query_count(self.schema)
        if target.r != target.k:
            raise QueryError(
                f"{target} cannot be measured as one table: only marginals (r = k) can; measure "
                f"the marginal {Threshold(target.features)}, from which its answers follow"
            )
        return 2

    def _check_schema(self, schema: Schema) -> None:
        if schema.fingerprint != self.schema.fingerprint:
            raise QueryError("the workload is over another schema than the records")

    def _pay(self, amount: Fraction) -> Records:
        """Spend, in the ledger first; only who has paid gets to see the records."""
        with self._lock:
            if self._ledger is not None and amount <= self._account.remaining:
                self._ledger.spend(amount, release=self._release)
            self._account.spend(amount)
        return _records[self]


def _measurement(
    target: Query | Threshold, noisy: npt.NDArray[np.int64], sigma: float, n: int
) -> Measurement:
    if isinstance(target, Query):
        return QueryMeasurement(target, int(noisy), sigma, n)
    return TableMeasurement(target, noisy, sigma, n)


def _exact_counts(records: Records, target: Query | Threshold) -> npt.NDArray[np.int64]:
    if isinstance(target, Query):
        return np.array(exact_count(records, target), dtype=np.int64)
    return exact_answers(records, target)


def _slabs_of(workload: Workload) -> list[tuple[int, Slab]]:
    """All slabs of a workload, each with its threshold's position."""
    if workload.query_count > MOST_QUERIES:
        raise ResourceError(
            f"the workload has {workload.query_count} queries, and a selection looks at all of "
            "them: take fewer or smaller thresholds (max_queries)"
        )
    return [
        (position, slab)
        for position, threshold in enumerate(workload)
        for slab in slabs_of(threshold.shape(workload.schema))
    ]


class _AnswersChangedError(Exception):
    """The public answers to a slab were not the same at the second look."""


class _Scores:
    """The scores of all queries of a workload, slab by slab, computed when asked for."""

    def __init__(
        self,
        records: Records,
        workload: Workload,
        slabs: list[tuple[int, Slab]],
        answers_of: AnswersOf,
        barred: npt.NDArray[np.int64],
        weights_of: AnswersOf | None = None,
    ) -> None:
        self._records, self._workload, self._answers_of = records, workload, answers_of
        self._slabs, self._barred, self._weights_of = slabs, barred, weights_of
        self._open = threading.local()
        self._marks: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._slabs)

    def each(self, function: Callable[[int], Result], indices: range) -> Iterator[Result]:
        """Apply a function to the indices of slabs, in order, on all cores if it is worth it."""
        shared = self._workload.query_count >= WORTH_SHARING
        return in_order(function, indices) if shared else map(function, indices)

    def largest(self) -> Iterator[int]:
        """The largest score of each slab."""
        return self.each(lambda index: int(self[index].max()), range(len(self)))

    def __getitem__(self, index: int) -> npt.NDArray[np.int64]:
        position, slab = self._slabs[index]
        # Every thread walks with tables of its own, which keep what its next slab needs.
        mine = self._open
        if getattr(mine, "position", None) != position:
            threshold = self._workload[position]
            mine.exact = exact_table(self._records, threshold)
            mine.answers = self._answers_of(threshold)
            mine.weights = self._weights_of(threshold) if self._weights_of else None
            mine.position = position
        # Not-a-number, or memory beyond too short an array, would make scores that a record can
        # move by more than 1; so would answers that change between the two looks at a slab. What
        # is refused here depends on the public answers alone.
        threshold = self._workload[position]
        answers = _numbers(f"answers_of({threshold})", mine.answers(slab), slab.size)
        scores = np.empty(slab.size, dtype=np.int64)
        mark = _score(mine.exact(slab).reshape(-1), answers, self._records.n, scores)
        if self._marks.setdefault(index, mark) != mark:
            raise _AnswersChangedError
        if mine.weights is not None:
            _weigh(scores, _numbers(f"weights_of({threshold})", mine.weights(slab), slab.size))
        first = self._workload.starts[position] + slab.first
        here = slice(*np.searchsorted(self._barred, (first, first + slab.size)))
        scores[self._barred[here] - first] = EXCLUDED
        return scores

    def query_id(self, index: int | None, place: int) -> int:
        assert index is not None
        position, slab = self._slabs[index]
        return self._workload.starts[position] + slab.first + place


def _numbers(given: str, values: npt.ArrayLike, size: int) -> npt.NDArray[np.float32]:
    numbers = np.ascontiguousarray(values, dtype=np.float32).reshape(-1)
    if numbers.size != size or np.isnan(numbers).any():
        raise ParameterError(f"{given} must give a number for each query")
    return numbers


def _weigh(scores: npt.NDArray[np.int64], weights: npt.NDArray[np.float32]) -> None:
    """Scores times weights of [0, 1], rounded down: in whole numbers, so that 1 stays at most 1."""
    scores *= (np.clip(weights, 0.0, 1.0) * WHOLE_WEIGHT).astype(np.int64)
    scores //= WHOLE_WEIGHT


@numba.njit(cache=True, nogil=True)
def _score(counts, answers, n, scores):  # type: ignore[no-untyped-def]
    """|count - round(n·answer)|, with the answer held to [0, 1] so that scores stay within n.

    Returns a checksum of the rounded public answers, by which they can be recognised.
    """
    mark = np.int64(0)
    for i in range(counts.size):
        answer = min(max(np.float64(answers[i]), 0.0), 1.0)
        rounded = np.int64(np.rint(n * answer))
        scores[i] = abs(counts[i] - rounded)
        mark = mark * 1099511628211 + rounded  # wraps around: the prime of FNV hashing
    return mark
