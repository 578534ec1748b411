"""The journal of a fit: what was paid for is on disk before anything else happens with it.

A fit is a deterministic function of what the Curator told it. So to go on after Ctrl-C, a crash
or a full disk, the fit simply runs again; the calls whose results are in the journal are answered
from there and cost nothing, and the first call that is not goes to the Curator.

Before a call is paid, a line says so and room for its result is set aside on the disk. A call
that was announced but has no result (the process died in between) counts as paid and lost. The
mechanism goes on with its plan all the same: every payment still to come is smaller by the same
factor, so that all of them together are what is left.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

from thresher.errors import BudgetError, ParameterError, ReleaseError
from thresher.privacy.access import Access
from thresher.privacy.budget import Budget
from thresher.privacy.curator import Curator, Receipt
from thresher.privacy.gaussian import rho_of_choices
from thresher.privacy.journal_file import BYTES_PER_QUERY, Journal
from thresher.privacy.measurements import TotalMeasurement
from thresher.privacy.request import Request, Saved, Terms, digest_of
from thresher.privacy.unit import Unit
from thresher.schema import Schema

__all__ = ["Journal", "JournaledCurator"]

MEASURING = ("measure", "measure_residuals")
"""The verbs whose results are enough to go on with when nothing is left to pay with."""

Result = TypeVar("Result")


class JournaledCurator(Access):
    """A Curator whose results are written down the moment they are paid for, and replayed.

    Args:
        curator: The Curator that new calls go to; it has paid for what is in the journal.
        journal: Where results are, and go. The Curator must have been made with it.

    Raises:
        ParameterError: The Curator was made with another journal, or without one.
        ReleaseError: The journal began with another ledger. If it began with other records, the
            first call that is not in it says so.
    """

    def __init__(self, curator: Curator, journal: Journal) -> None:
        if curator._journal is not journal:
            raise ParameterError(
                "this is not the journal of the Curator: make one with it, Curator(…, journal=…)"
            )
        self._curator, self._journal = curator, journal
        ledger = curator._ledger
        if ledger is not None and not journal.is_bound and journal.spent > ledger.spent:
            raise ReleaseError(
                f"{journal.folder} has paid more than {ledger.path.name} says was ever spent: give "
                "the ledger that it began with"
            )
        journal.bind(None if ledger is None else ledger.identity)
        curator._journals.append(journal)
        self._pending = deque(zip(journal.results, journal.paid_before, strict=True))
        self._notes = deque(journal.notes)
        self._paid_elsewhere = curator.spent - journal.spent
        self._lock = threading.Lock()
        self._planned = Fraction(0)
        self._asked = False

    @property
    def unit(self) -> Unit:
        """What the promise protects."""
        return self._curator.unit

    @property
    def measured_total(self) -> TotalMeasurement | None:
        """The public number of records, persons or rows; None before it has been measured."""
        return self._curator.measured_total

    @property
    def schema(self) -> Schema:
        """The description of the columns, which is public."""
        return self._curator.schema

    @property
    def budget(self) -> Budget:
        """The whole budget, spent or not."""
        return self._curator.budget

    @property
    def spent(self) -> Fraction:
        """The ρ of all calls up to here as the mechanism plans it, as if nothing had been lost."""
        return self._planned

    @property
    def remaining(self) -> Fraction:
        """The ρ that calls from here on can cost, by the same plan."""
        return self.budget.rho - self._planned

    def drawn_for(self, rho: Fraction, choices: int = 1) -> Fraction:
        """The ρ that choices which pay ρ together now are drawn for, by the same plan."""
        gaussian, left = self._curator.is_gaussian, self.remaining - rho
        return rho_of_choices(rho, left, choices) if gaussian else rho

    @property
    def is_secure(self) -> bool:
        """Whether the noise comes from a source fit for a release."""
        return self._curator.is_secure

    @property
    def folder(self) -> Path:
        """Where the journal is."""
        return self._journal.folder

    @property
    def results(self) -> int:
        """How many calls have a result in the journal."""
        return len(self._journal.results)

    @property
    def answered(self) -> int:
        """How many of them have been answered in this run, from the journal or by the Curator."""
        return len(self._journal.results) - len(self._pending)

    @property
    def notes(self) -> int:
        """How many notes (see `noted`) are in the journal."""
        return len(self._journal.notes)

    @property
    def notes_taken(self) -> int:
        """How many of them have been asked for in this run."""
        return len(self._journal.notes) - len(self._notes)

    def digest(self, calls: int, notes: int) -> str:
        """A digest of the results of the first calls, and of the first notes, which are public."""
        return self._journal.digest(calls, notes)

    @property
    def is_only_replayed(self) -> bool:
        """Whether every call so far was answered from the journal: no record was looked at."""
        return bool(self._journal.results) and not self._asked

    def _carry_out(self, request: Request[Result], rho: Fraction) -> Result:
        if not self._lock.acquire(blocking=False):
            raise ParameterError("one call at a time: a journal keeps calls in their order")
        try:
            return self._next(request.copied(self.schema), rho)
        finally:
            self._lock.release()

    def _next(self, request: Request[Result], rho: Fraction) -> Result:
        left = self.remaining
        if self._pending:
            result = self._replayed(request, rho, *self._pending[0])
            self._pending.popleft()
            self._planned += rho
            return result
        amount = self._price(rho, left)
        if not amount:
            self._planned += rho
            return request.nothing()
        noise = self._curator._rho_of_noise(request, amount, self._curator._left() - amount)
        self._asked = True
        files = self._journal.reserve(request.table_sizes(self.schema))
        with self._announced(amount, request.size()) as receipt:
            result = self._curator._carry_out(request, amount, receipt)
        self._planned += rho
        asked = {"verb": request.verb, "asked": digest_of(request, self.schema)}
        if noise != amount:
            asked["noise"] = str(noise)
        self._record(asked, amount, request.saved(result, self.schema), files)
        return result

    def noted(self, find: Callable[[], Sequence[float]]) -> list[float]:
        """A few numbers that follow from the results so far, on which later calls may depend.

        They stand in the journal. So a fit that goes on plans as the interrupted one did.

        Args:
            find: Finds them. It is not called if they are in the journal.
        """
        if not self._notes:
            found = [*map(float, find())]
            self._journal.note(found)
            return found
        calls, numbers = self._notes[0]
        if calls != self.answered:
            raise self._of_another_run("looks at other results")
        self._notes.popleft()
        return numbers

    def _learn_total(self, measured: TotalMeasurement) -> None:
        self._curator._learn_total(measured)

    def _replayed(
        self, request: Request[Result], rho: Fraction, entry: dict[str, Any], paid: Fraction
    ) -> Result:
        """The result of a call that is in the journal, if it is this call at this price.

        Args:
            request: The call.
            rho: What it was planned at.
            entry: What the journal has.
            paid: What the calls before it cost, lost ones included.
        """
        asked = digest_of(request, self.schema)
        # Journals of the first builds do not say what was asked.
        if entry["verb"] != request.verb or entry.get("asked", asked) != asked:
            raise self._of_another_run("makes other calls")
        amount, had = Fraction(entry["rho"]), self.budget.rho - self._paid_elsewhere - paid
        if amount != _scaled(rho, had, self.remaining):
            raise self._of_another_run("pays something else for its calls")
        noise = self._curator._rho_of_noise(request, amount, had - amount)
        if entry.get("noise", str(amount)) != str(noise):
            raise self._of_another_run("has another accounting, and so other noise")
        try:
            tables = [self._journal.table(name) for name in entry.get("files", ())]
            known = self.measured_total
            total = 0 if known is None else known.n * self.unit.parts
            terms = Terms(self.schema, self.unit, noise, total)
            return request.restored(Saved(entry, tables), terms)
        except (OSError, ValueError, TypeError, KeyError, IndexError, EOFError):
            raise ReleaseError(
                f"{self._journal.folder} is damaged, or of another run, and cannot be resumed from"
            ) from None

    def _of_another_run(self, does: str) -> ReleaseError:
        return ReleaseError(f"{self._journal.folder} does not fit this run, which {does}")

    def _price(self, planned: Fraction, left: Fraction) -> Fraction:
        """What a call costs that was planned at `planned` when the plan had `left` to spend."""
        if self._curator.remaining or not self._journal.lost:
            # Without a loss the two are equal, and the call costs what was planned.
            return _scaled(planned, self._curator.remaining, left)
        if any(entry["verb"] in MEASURING for entry in self._journal.results):
            return Fraction(0)
        raise BudgetError(
            "the interrupted fit had paid its whole budget when its results were lost: there is "
            f"nothing to go on with. Delete {self._journal.folder}; a new fit needs a new budget"
        )

    @contextmanager
    def _announced(self, amount: Fraction, queries: int) -> Iterator[Receipt]:
        """Write down what is about to be paid; if it is refused unpaid, write that down too."""
        self._journal.announce(amount, room=BYTES_PER_QUERY * (queries + 1))
        receipt = Receipt()
        try:
            yield receipt
        except BaseException:
            if not receipt.is_paid:
                self._journal.refuse(amount)
            raise

    def _record(
        self, asked: dict[str, str], amount: Fraction, saved: Saved, files: list[str]
    ) -> None:
        entry = {**asked, "rho": str(amount), **saved.values}
        try:
            for name, counts in zip(files, saved.tables, strict=True):
                self._journal.write_table(name, counts)
            self._journal.record({**entry, "files": files} if files else entry)
        except OSError as fault:
            raise ReleaseError(
                f"{self._journal.folder} cannot be written: {fault.strerror}. What was paid for "
                "last is lost; mend this, then go on with the rest (--resume)"
            ) from None


def _scaled(planned: Fraction, remaining: Fraction, left: Fraction) -> Fraction:
    """What is paid if `remaining` is there where the plan has `left` to spend."""
    return planned * remaining / left if left else planned
