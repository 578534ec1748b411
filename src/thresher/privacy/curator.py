"""The Curator: the one door between the private records and everything that is published.

It has the records, the budget, and the four budgeted verbs of `Access`: `select` (which queries are
answered worst?), `select_table` (which table is?), `measure` (what are their noisy answers?) and
`choose` (which of several sets of answers is best?). It pays before it looks: the request is
checked by public facts, the ledger written and flushed, and only then are the records counted, once
for all requests. If they cannot be counted (a lost connection, other data than the ledger's), the
payment is taken back: nobody has been told anything. A mechanism is given a Curator, never records,
so whatever it does with what it gets is post-processing.

Neighbouring data sets have the same number of records and differ in one of them. So n is public,
as is the schema.
"""

import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from typing import NoReturn, TypeVar
from weakref import WeakKeyDictionary

from thresher.data.private import FeatureSet, PrivateData
from thresher.errors import ParameterError, ResourceError
from thresher.privacy.access import Access
from thresher.privacy.budget import Account, Budget
from thresher.privacy.counted import CountedTables
from thresher.privacy.fingerprint import fingerprint
from thresher.privacy.ledger import Ledger
from thresher.privacy.randomness import Randomness, SystemRandomness
from thresher.privacy.request import Request
from thresher.privacy.requests import Choose, Measure, Select, SelectTable
from thresher.queries.workload import Workload
from thresher.schema import Schema
from thresher.tables.sparse import MOST_CELLS

Fingerprint = Callable[[bytes], str]
"""Gives the fingerprint of the data under a key."""

REQUESTS = (Select, SelectTable, Measure, Choose)
"""All that can be asked. Nothing else gets to see the records."""

MOST_RECORDS = 2**40
"""Up to so many records, no arithmetic on scores can leave 64 bits."""

Result = TypeVar("Result")

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
        "_feature_sets",
        "_known_as",
        "_ledger",
        "_lock",
        "_randomness",
        "_recognise",
        "_release",
        "_taken_back",
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
    ) -> None:
        if data.n > MOST_RECORDS:
            raise ResourceError(f"a Curator takes up to 2^40 records, not {data.n}")
        _counted[self] = CountedTables(data)
        self._account = Account(budget)
        if spent:
            self._account.spend(spent)
        self._ledger = ledger
        if ledger is not None:
            ledger.read()  # a damaged one is better found before there is anything to pay
        self._taken_back = Fraction(0)
        self._known_as: str | None = None
        self._feature_sets: set[FeatureSet] = set()
        self._recognise: list[Callable[[Fingerprint], None]] = []
        self._release = release
        self._randomness = randomness if randomness is not None else SystemRandomness()
        self._lock = threading.Lock()

    @property
    def n(self) -> int:
        """The number of records, which is public."""
        return _counted[self].n

    @property
    def schema(self) -> Schema:
        """The description of the columns, which is public."""
        return _counted[self].schema

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
        return f"Curator({self.n} records, rho {spent:.6g} of {whole:.6g} spent)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Curator holds private records and cannot be copied or pickled")

    def _carry_out(self, request: Request[Result], rho: Fraction) -> Result:
        if type(request) not in REQUESTS:
            raise ParameterError(f"a Curator does not know the request {type(request).__name__}")
        request.check(self.schema, rho)
        try:
            return request.run(self._pay(rho, request.feature_sets()), rho, self._randomness)
        except BaseException as fault:
            _forget_locals(fault)
            raise

    def will_ask(self, workload: Workload) -> None:
        """Say which features requests will be about, so that all are counted in one pass.

        It costs nothing and changes no result. Features that were not named here are counted when
        a request needs them.

        Args:
            workload: The thresholds, over the features of the records.
        """
        schema = self.schema
        self._feature_sets |= {
            threshold.features
            for threshold in workload
            if threshold.query_count(schema) <= MOST_CELLS
        }

    def _pay(self, amount: Fraction, feature_sets: list[FeatureSet]) -> CountedTables:
        """Spend, in the ledger first; only who has paid gets to see the counts."""
        counted, number = _counted[self], None
        with self._lock:
            if self._ledger is not None and amount <= self._account.remaining:
                number = self._ledger.spend(
                    amount, release=self._release, fingerprint=self._known_as
                )
            self._account.spend(amount)
            try:
                counted.count_together([*feature_sets, *self._feature_sets, *self._single()])
                self._check_data(counted)
            except BaseException:
                # No noise was drawn and no count used: all that anybody learns is that the data
                # cannot be counted, or are other data.
                if self._ledger is not None and number is not None:
                    self._ledger.take_back(number)
                self._account.take_back(amount)
                self._taken_back += amount
                raise
        return counted

    def _single(self) -> list[FeatureSet]:
        """The single features, if somebody has to recognise the data by them."""
        asked = self._ledger is not None or self._recognise
        return [(name,) for name in self.schema.names] if asked else []

    def _check_data(self, counted: CountedTables) -> None:
        """Let the ledger and the journal recognise the data, once."""
        if self._ledger is not None and self._known_as is None:
            self._known_as = self._ledger.recognise(counted)
        while self._recognise:
            self._recognise[-1](lambda key: fingerprint(counted, key))
            self._recognise.pop()


def _forget_locals(fault: BaseException | None) -> None:
    """Empty the wall's frames behind an exception: loggers and debuggers may show local variables.

    The frames of whoever called, or was called back, stay as they are.
    """
    while fault is not None:
        for frame, _ in traceback.walk_tb(fault.__traceback__):
            if frame.f_globals.get("__name__", "").startswith("thresher."):
                with suppress(RuntimeError):  # a frame that is still running
                    frame.clear()
        fault = fault.__context__
