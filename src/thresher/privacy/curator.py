"""The Curator: the one door between the private records and everything that is published.

It has the records, the budget, and the budgeted verbs of `Access`: `select` (which queries are
answered worst?), `select_table` (which table is?), `measure` (what are their noisy answers?),
`measure_residuals` (what do tables say beyond their margins?),
`choose` (which of several sets of answers is best?) and, where the number of records is private,
`measure_total` (how many are there?). About records that have no schema yet, it is asked
`find_categories` and `find_edges`. It pays before it looks: the request is
checked by public facts, the ledger written and flushed, and only then are the records counted, once
for all requests. If they cannot be counted (a lost connection, other data than the ledger's), the
payment is taken back: nobody has been told anything. A mechanism is given a Curator, never records,
so whatever it does with what it gets is post-processing.

Neighbouring data sets differ in one unit: by default, one record is replaced by another. So n is
public, as is the schema. See `unit` for other units, such as persons with several rows.
"""

import os
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NoReturn, Protocol, TypeVar
from weakref import WeakKeyDictionary

from thresher.data.private import FeatureSet, PrivateData
from thresher.errors import BudgetError, ParameterError, ResourceError, ThresherError
from thresher.privacy.access import Access
from thresher.privacy.amounts import Amount, exact
from thresher.privacy.budget import Account, Budget
from thresher.privacy.categories import FindCategories
from thresher.privacy.copies import copied_workload
from thresher.privacy.counted import CountedTables
from thresher.privacy.edges import FindEdges
from thresher.privacy.fingerprint import fingerprint
from thresher.privacy.forgetting import forget_locals, frames_behind
from thresher.privacy.gaussian import rho_of_choices, rho_of_noise
from thresher.privacy.ledger import Ledger
from thresher.privacy.measurements import TotalMeasurement
from thresher.privacy.randomness import OfOneProcess, Randomness, SystemRandomness
from thresher.privacy.request import Choice, Request
from thresher.privacy.requests import Choose, Measure, MeasureTotal, Select, SelectTable
from thresher.privacy.residuals import MeasureResiduals
from thresher.privacy.unit import Unit
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.schema import Schema, View
from thresher.tables.sparse import MOST_CELLS

REQUESTS = (
    Select, SelectTable, Measure, MeasureResiduals, Choose, MeasureTotal, FindCategories, FindEdges,
)  # fmt: skip
"""All that can be asked. Nothing else gets to see the records."""

Result = TypeVar("Result")


def is_gaussian(budget: Budget, ledger: Ledger | None) -> bool:
    """Whether what is paid from these is under Gaussian accounting (see `gaussian`)."""
    return budget.accounting == "gaussian" or pays_for_counts_only(ledger)


def pays_for_counts_only(ledger: Ledger | None) -> bool:
    """Whether nothing but noisy counts can be paid from a ledger: it has Gaussian accounting."""
    return ledger is not None and ledger.accounting == "gaussian"


@dataclass
class Receipt:
    """Whether a call was paid for in the end, for whoever keeps books about it."""

    is_paid: bool = False


class Recogniser(Protocol):
    """Something that must recognise the data by their fingerprint, under a key of its own."""

    @property
    def key(self) -> bytes:
        """The secret key."""
        ...

    def recognise(self, found: str) -> None:
        """Refuse data of another fingerprint than before."""
        ...


_counted: "WeakKeyDictionary[Curator, CountedTables]" = WeakKeyDictionary()
"""The data and counts of each Curator: kept here, so that no attribute of it hands them out."""


class Curator(Access):
    """Holds private records and a privacy budget; tells only what has been paid for.

    Args:
        data: The private records, wherever they are.
        budget: What may be spent here.
        ledger: Where spending is recorded for good, if the data set has a ledger.
        release: The name under which the ledger records it.
        randomness: Where noise comes from; the operating system unless an experiment says so.
        spent: What an earlier, interrupted run has spent of the budget and recorded already.
        unit: What the promise protects; if not given, one record that is replaced by another.
        period: The period that the records are of, for a ledger of several.
        journal: The only journal that may write down what this Curator says, if there is one. A
            journal tells whether the records are those of its fingerprint, so whoever holds the
            records chooses it: a guess in a journal of somebody else would be confirmed or refused.
        views: Views beyond those of the data's schema, which requests may name.
        delta: What requests that need δ may spend of it here, all together; none if not given.

    Example:
        >>> from thresher.data import datasets
        >>> curator = Curator(datasets.adult(), Budget.from_epsilon(1, 1e-9))
        >>> from thresher.queries import Query
        >>> query = Query.parse("2 of: race=Black, sex=Female, income=>50K", curator.schema)
        >>> [measured] = curator.measure([query], rho="1/100")
        >>> abs(measured.answer - 0.09) < 0.01
        True
        >>> curator.spent
        Fraction(1, 100)
    """

    __slots__ = (
        "__weakref__",
        "_account",
        "_choosing",
        "_counts_only",
        "_delta",
        "_feature_sets",
        "_is_gaussian",
        "_journal",
        "_journals",
        "_kept",
        "_known_as",
        "_ledger",
        "_lock",
        "_period",
        "_process",
        "_public_schema",
        "_randomness",
        "_release",
    )

    def __init__(
        self,
        data: PrivateData,
        budget: Budget,
        ledger: Ledger | None = None,
        *,
        release: str = "unnamed release",
        randomness: Randomness | None = None,
        spent: Fraction = Fraction(0),
        unit: Unit | None = None,
        period: str | None = None,
        journal: Recogniser | None = None,
        views: Iterable[View] = (),
        delta: Amount | None = None,
    ) -> None:
        if period is not None and (type(period) is not str or not period):
            raise ParameterError(f"period must be a name, such as '2024', not {period!r}")
        # What is handed out are copies, too: nobody else can change what the wall goes by.
        declared = tuple(views)
        _counted[self] = CountedTables(data, None if unit is None else replace(unit), declared)
        if journal is not None and _counted[self].has_cells:
            raise ParameterError("records without a schema cannot be recognised by a journal")
        if ledger is not None:  # a damaged one is better found before there is anything to pay
            ledger.check_unit(self.unit)
        self._account = Account(replace(budget))
        self._is_gaussian = is_gaussian(self._account.budget, ledger)
        self._counts_only = pays_for_counts_only(ledger)
        self._choosing: Request[Any] | None = None
        self._kept: Fraction | None = None
        if spent:
            self._account.spend(spent)
        self._delta = Fraction(0) if delta is None else exact(delta, "delta")
        self._ledger, self._period, self._public_schema = (
            ledger, period, data.schema.with_views(declared)
        )  # fmt: skip
        self._known_as: str | None = None
        self._feature_sets: frozenset[FeatureSet] = frozenset()
        self._journal, self._journals = journal, list[Recogniser]()
        self._release = release
        self._randomness = randomness if randomness is not None else SystemRandomness()
        self._process = os.getpid()  # a fork would copy the account
        self._lock = threading.Lock()

    @property
    def unit(self) -> Unit:
        """What the promise protects."""
        return replace(_counted[self].unit)

    @property
    def measured_total(self) -> TotalMeasurement | None:
        """The public number of records, persons or rows; None before it has been measured."""
        known = _counted[self].measured_total
        return None if known is None else replace(known)

    @property
    def schema(self) -> Schema:
        """The description of the columns, which is public."""
        return self._public_schema

    @property
    def budget(self) -> Budget:
        """The whole budget, spent or not."""
        return replace(self._account.budget)

    @property
    def is_gaussian(self) -> bool:
        """Whether what it tells is under Gaussian accounting."""
        return self._is_gaussian

    @property
    def counts_only(self) -> bool:
        """Whether nothing but noisy counts can be asked for: its ledger has that accounting."""
        return self._counts_only

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
        known = self.measured_total
        number = "?" if known is None else f"{known.n}"
        return f"Curator({number} {self.unit.counted}, rho {spent:.6g} of {whole:.6g} spent)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Curator holds private records and cannot be copied or pickled")

    def _carry_out(
        self, request: Request[Result], rho: Fraction, receipt: Receipt | None = None
    ) -> Result:
        if type(request) not in REQUESTS:
            raise ParameterError(f"a Curator does not know the request {type(request).__name__}")
        randomness = OfOneProcess(self._randomness, self._process)
        randomness.check()
        schema = _counted[self].schema
        # By its class: an instance could carry a `copied` that gives something else.
        request = type(request).copied(request, schema)
        with self._undisturbed(request):
            noise = self._rho_of_noise(request, rho, self._left() - rho)
            if request.needs_total:
                self.known_total()
            if request.needs_cells and not _counted[self].has_cells:
                raise ParameterError(f"{request.verb} is for records that have no schema yet")
            receipt = Receipt() if receipt is None else receipt
            spared = frames_behind(sys.exception())
            try:
                # No variable of this frame has the counts: it is still there when others are empty.
                return request.run(self._pay(rho, request, receipt), noise, randomness)
            except BaseException as fault:
                forget_locals(fault, spared)
                raise

    def _rho_of_noise(self, request: Request[Result], rho: Fraction, left: Fraction) -> Fraction:
        """Check a request by public facts alone; the ρ that its noise or choice is drawn for.

        Args:
            request: The request.
            rho: What it pays.
            left: What is left of the budget after it.
        """
        schema, unit = _counted[self].schema, self.unit
        request.check(schema, unit, rho)
        if not self._is_gaussian:
            return rho
        least = request.least_variance(schema, unit, rho)
        if least is not None:
            noise = rho_of_noise(rho, least)
        elif not isinstance(request, Choice) or self._counts_only:
            raise BudgetError(
                f"{request.verb} is more than Gaussian accounting covers"
                f"{' on a ledger, which is noise on counts' * self._counts_only}: use a budget and "
                "a ledger with accounting 'tight'"
            )
        elif left > 0:
            noise = rho_of_choices(rho, left, request.size())
        else:
            raise BudgetError(
                f"{request.verb} must leave some of the budget, because Gaussian accounting relies "
                "on noise that is still to come: pay less for it, or use accounting 'tight'"
            )
        request.check(schema, unit, noise)
        return noise

    def _left(self) -> Fraction:
        """What is left of the budget, or of the part of it that a fit may spend."""
        return self.remaining - (self._kept or 0)

    def drawn_for(self, rho: Fraction, choices: int = 1) -> Fraction:
        """The ρ that choices which would pay ρ together now are drawn for (see `gaussian`)."""
        return rho_of_choices(rho, self._left() - rho, choices) if self._is_gaussian else rho

    @contextmanager
    def part(self, rho: Amount) -> Iterator[None]:
        """Let calls within cost at most ρ together: the promise of a fit is about its own part.

        Under Gaussian accounting, choices rely on what is left of this part.

        Args:
            rho: The part of what is left, or 0.

        Raises:
            BudgetError: There is not as much left.
            ParameterError: Another part is not over yet.
        """
        part = exact(rho, "rho") if rho else Fraction(0)
        with self._lock:
            if self._kept is not None:
                raise ParameterError("one fit at a time: another one of this Curator is running")
            self._account.check(part)
            self._kept = self.remaining - part
        try:
            yield
        finally:
            self._kept = None

    @contextmanager
    def _undisturbed(self, request: Request[Result]) -> Iterator[None]:
        """Let nobody else pay before a choice is drawn that relies on what is left (`gaussian`)."""
        if not (self._is_gaussian and isinstance(request, Choice)):
            yield
            return
        try:
            with self._lock:
                self._refuse_beside_a_choice(request)
                self._choosing = request
            yield
        finally:
            if self._choosing is request:
                self._choosing = None

    def _refuse_beside_a_choice(self, request: Request[Result]) -> None:
        if self._choosing is not None and self._choosing is not request:
            raise ParameterError(
                "one call at a time: under Gaussian accounting, nothing else can be asked while a "
                "choice is being made"
            )

    def _learn_total(self, measured: TotalMeasurement) -> None:
        _counted[self].measured_total = replace(measured)

    def will_ask(self, workload: Workload) -> None:
        """Say which features requests will be about, so that all are counted in one pass.

        It costs nothing and changes no result. Features that were not named here are counted when
        a request needs them.

        Args:
            workload: The thresholds, over the features of the records.
        """
        schema = _counted[self].schema
        thresholds = copied_workload(workload, schema).thresholds
        # Views are counted through the columns that they are about.
        bases = ((t, Threshold(schema.bases(t.features))) for t in thresholds)
        countable = (t for t, base in bases if base.query_count(schema) <= MOST_CELLS)
        with self._lock:
            self._feature_sets |= {threshold.features for threshold in countable}

    def _pay(self, amount: Fraction, request: Request[Result], receipt: Receipt) -> CountedTables:
        """Spend, in the ledger first; only who has paid gets to see the counts."""
        counted, number, failure = _counted[self], None, request.failure()
        with self._lock:
            self._refuse_beside_a_choice(request)
            self._account.check(amount, self._left())
            if failure > self._delta:
                raise BudgetError(
                    f"requested delta={float(failure):.3g}, remaining {float(self._delta):.3g}: "
                    "ask for less, or allow the Curator more"
                )
            if self._ledger is not None and amount <= self._account.remaining:
                receipt.is_paid = True  # or may be, if it is interrupted while it is written
                try:
                    number = self._ledger.spend(
                        amount,
                        release=self._release,
                        fingerprint=self._known_as,
                        unit=self.unit,
                        period=self._period,
                        delta=failure,
                        counts_only=self._is_gaussian and not isinstance(request, Choice),
                    )
                except ThresherError:
                    receipt.is_paid = False
                    raise
            self._account.spend(amount)
            self._delta -= failure
            receipt.is_paid = True
            try:
                wanted = request.feature_sets()
                counted.count_together([*wanted, *self._feature_sets, *self._single()])
                self._check_data(counted, number)
            except ResourceError:
                raise  # a lack of room may depend on the records, so it stays paid, as below
            except (ThresherError, KeyboardInterrupt):
                # No noise was drawn and no count used: all that anybody learns is that the data
                # cannot be counted, or are other data. Anything else, such as a lack of memory,
                # may depend on the records and stays paid.
                if self._ledger is not None and number is not None:
                    self._ledger.take_back(number)
                self._account.take_back(amount)
                self._delta += failure
                receipt.is_paid = False
                raise
        return counted

    def _single(self) -> list[FeatureSet]:
        """The single features, if somebody has to recognise the data by them."""
        counted = _counted[self]
        asked = (self._ledger is not None or self._journals) and not counted.has_cells
        return [(name,) for name in counted.schema.names] if asked else []

    def _check_data(self, counted: CountedTables, number: int | None) -> None:
        """Let the journal and the ledger recognise the data, once.

        Records without a schema are not recognised: a fingerprint is about the codes of a schema,
        and the first fit has one.
        """
        if counted.has_cells:
            return
        while self._journals:
            journal = self._journals[-1]
            journal.recognise(fingerprint(counted, journal.key))
            self._journals.pop()
        if self._ledger is not None and number is not None and self._known_as is None:
            self._known_as = self._ledger.recognise(counted, number, self._period)
