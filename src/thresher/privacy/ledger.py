"""The ledger: one append-only text file per data set that says who spent what on which release.

A ledger is JSON Lines, sealed as `ledger_lines` says. The first line states the budget and has a
random id; each further line is one spend: number, amount ρ as an exact fraction and as a decimal,
UTC time, who, and for which release. Once the first spend on some data has let them be counted, a
line adds their fingerprint (see `fingerprint`), and from then on spends on other data are refused.
If the data were corrected, the curator declares it: that is a line with the new fingerprint. A
ledger can be for records of the same people from several periods, such as years. Each spend then
names its period, each period has its fingerprint, and the total covers all of them together. If
data could not be counted after a spend, a line takes the spend back: nobody was told anything.

Spending is one step under an exclusive `flock` on the file itself (POSIX; every operation opens the
file anew, so threads exclude each other too): read all, refuse or append, `fsync`, return. Only
then is the spend *acknowledged*, and only then may data be touched. Hence what a kill or a full
disk can leave behind is a last line without its newline that nobody was told of:

- if its checksum holds, only the newline is missing, and it counts;
- otherwise it is the beginning of a line. No data was touched for it, so ignoring it does not
  under-count; the next spend cuts it off.

A line *with* its newline may have been acknowledged, so if one is damaged, even the last, the
ledger refuses to be used until a person has looked at it.
"""

import fcntl
import getpass
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from thresher.data.persons import PersonData
from thresher.data.private import PrivateData
from thresher.errors import BudgetError, LedgerError
from thresher.privacy.counted import CountedTables
from thresher.privacy.fingerprint import fingerprint
from thresher.privacy.ledger_lines import amount, decimal, rounded_down, sealed
from thresher.privacy.statement import Entry, SoundText, Statement, kind_of, writes_delta
from thresher.privacy.unit import Unit


@dataclass(frozen=True)
class Ledger:
    """The privacy budget of one data set, over all its releases, kept in the file at `path`.

    Make one with `Ledger.create` or `Ledger.open`. It holds nothing but the path: every property is
    read from the file, so several processes can share a ledger and each sees what all have spent.

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> ledger = Ledger.create(Path(folder.name) / "people.ledger", Fraction(1, 2))
        >>> number = ledger.spend(Fraction(1, 3), release="first look", who="ada")
        >>> ledger.remaining
        Fraction(1, 6)
        >>> ledger.spend(Fraction(1, 3), release="second look", who="ada")
        Traceback (most recent call last):
        ...
        thresher.errors.BudgetError: people.ledger: 'second look' requested rho 0.333333, ...
        >>> folder.cleanup()
    """

    path: Path

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        rho: Fraction,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        accounting: str = "zcdp",
        data: str = "",
        unit: Unit | None = None,
    ) -> "Ledger":
        """Start a ledger at `path`, where there must be no file yet.

        The file appears whole or not at all, and survives a power cut once this returns. Only its
        owner can read it.

        Args:
            path: Where to keep it.
            rho: The whole budget of the data set, as zCDP.
            epsilon: The ε that `rho` was converted from, for the reader.
            delta: The δ that belongs to it.
            accounting: How (ε, δ) were converted to ρ. With `"gaussian"`, nothing but noisy counts
                may be paid from it, with the noise of `gaussian`; Curators see to that.
            data: The name of the data set.
            unit: Whom the budget protects; if not given, one record that is replaced by another.
        """
        path = Path(path)
        header: dict[str, Any] = {
            "ledger": kind_of(accounting),
            "data": data,
            **amount(rho),
            "epsilon": epsilon,
            "delta": delta,
        }
        header |= {"accounting": accounting, "unit": (unit if unit else Unit()).protected_json()}
        header |= {"created": _now(), "id": secrets.token_hex(32)}
        draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        with _explained(path, "created"):
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                _write(descriptor, sealed(header, "").encode() + b"\n")
                # Unlike a rename, a link never replaces a ledger that is already there.
                os.link(draft, path)
            finally:
                os.close(descriptor)
                os.unlink(draft)
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        return cls(path)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> "Ledger":
        """The ledger at `path`, after checking every line of it."""
        ledger = cls(Path(path))
        ledger.read()
        return ledger

    def read(self) -> Statement:
        """Everything the ledger says, as of one moment."""
        return self._text().statement

    @property
    def total(self) -> Fraction:
        """The whole budget of the data set."""
        return self.read().total

    @property
    def accounting(self) -> str:
        """How (ε, δ) were converted to the total. It decides what may be asked for."""
        return self.read().accounting

    @property
    def spent(self) -> Fraction:
        """What has been spent so far."""
        return self.read().spent

    @property
    def remaining(self) -> Fraction:
        """What is left."""
        return self.read().remaining

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The spends, oldest first."""
        return self.read().entries

    @property
    def identity(self) -> str:
        """What tells this ledger from every other, even from one of the same name."""
        return self.read().identity

    def recognise(self, counted: CountedTables, number: int, period: str | None = None) -> str:
        """The fingerprint of data, for `spend`; other data than those spent on are refused.

        The first data that a ledger sees of a period become its data of that period.

        Args:
            counted: The data.
            number: The spend that let them be counted. If it is taken back, so is this.
            period: The period that the data are of, in a ledger of several.

        Raises:
            LedgerError: Something was spent on other data, and no correction was declared.
        """
        found = fingerprint(counted, self._text().key)
        with self._opened_to_append() as (descriptor, text):
            self._refuse_others(text.statement, found, period)
            if period not in text.statement.fingerprints:
                line = {"number": text.lines + 1, "fingerprint": found, "of": number}
                _append(descriptor, text, {**line, **_period(period)})
        return found

    def declare_corrected(
        self, data: PrivateData, *, why: str, who: str | None = None, period: str | None = None
    ) -> None:
        """Declare that the data of this ledger were corrected, and are these records from now on.

        What was spent stays spent. The people in the data are the same ones, and what was released
        about them before tells about them still; for other people, make another ledger.

        Args:
            data: The data as they are now.
            why: What was corrected, for whoever reads the ledger.
            who: Who declares it; the current user unless told.
            period: The period that the data are of, in a ledger of several.

        Raises:
            LedgerError: These are the data that the ledger is for already, or it cannot be written.
        """
        person = data.person if isinstance(data, PersonData) else None
        found = fingerprint(CountedTables(data, Unit(person=person)), self._text().key)
        with self._opened_to_append() as (descriptor, text):
            if text.statement.fingerprints.get(period) == found:
                raise LedgerError(f"{self.path.name} is for these records already")
            line = {"number": text.lines + 1, "corrected": str(why), "time": _now()}
            line |= {"who": _current_user() if who is None else who, "fingerprint": found}
            _append(descriptor, text, {**line, **_period(period)})

    def spend(
        self,
        rho: Fraction,
        release: str,
        who: str | None = None,
        *,
        fingerprint: str | None = None,
        unit: Unit | None = None,
        period: str | None = None,
        delta: Fraction = Fraction(0),
        counts_only: bool = False,
    ) -> int:
        """Record a spend; once this returns, it is on disk and data may be touched.

        Args:
            rho: How much, as zCDP.
            release: What for.
            who: Who spends it; the current user unless told.
            fingerprint: That of the data, from `recognise`, once they have been counted.
            unit: Whom it protects; if not given, one record that is replaced by another.
            period: The period that the data are of, in a ledger of several.
            delta: What it spends of δ, beside ρ.
            counts_only: Whether it buys nothing but noisy counts, with the noise of `gaussian`.

        Returns:
            The number of the spend, for `take_back`.

        Raises:
            BudgetError: There is not that much left. Nothing is spent.
            LedgerError: The file is damaged or cannot be written, or is the ledger of other data
                or of another unit, or is for noisy counts only. Nothing is spent.
        """
        spent = amount(rho)
        with self._opened_to_append() as (descriptor, text):
            self._refuse_other_unit(text.statement, unit if unit else Unit())
            self._refuse_others(text.statement, fingerprint, period)
            self._refuse_all_but_counts(text.statement, counts_only)
            self._refuse_beyond(text.statement, rho, release, delta)
            line = {"number": text.lines + 1, **spent, **_delta(delta), "time": _now()}
            line |= {"who": _current_user() if who is None else who, "release": release}
            _append(descriptor, text, {**line, **_period(period)})
            return text.lines + 1

    def take_back(self, number: int) -> None:
        """Record that a spend told nobody anything: the data could not be counted.

        Only the Curator may say so.

        Args:
            number: That of the spend.
        """
        with self._opened_to_append() as (descriptor, text):
            if number not in {entry.number for entry in text.statement.entries}:
                raise LedgerError(f"{self.path.name} has no spend {number} to take back")
            line = {"number": text.lines + 1, "taken_back": number, "time": _now()}
            _append(descriptor, text, line)

    def check(self, rho: Fraction, release: str, delta: Fraction = Fraction(0)) -> None:
        """Refuse, as `spend` would now, without spending."""
        self._refuse_beyond(self.read(), rho, release, delta)

    def check_unit(self, unit: Unit) -> None:
        """Refuse, as `spend` would, to protect others than the ledger is for."""
        self._refuse_other_unit(self.read(), unit)

    @contextmanager
    def _opened_to_append(self) -> Iterator[tuple[int, SoundText]]:
        with _locked(self.path, os.O_RDWR | os.O_APPEND, fcntl.LOCK_EX) as descriptor:
            yield descriptor, SoundText.of(descriptor, self.path)

    def _text(self) -> SoundText:
        with _locked(self.path, os.O_RDONLY, fcntl.LOCK_SH) as descriptor:
            return SoundText.of(descriptor, self.path)

    def _refuse_other_unit(self, statement: Statement, unit: Unit) -> None:
        if not unit.protects_as(statement.unit):
            raise LedgerError(
                f"{self.path.name} is for another unit of privacy. There, {statement.unit}; here, "
                f"{unit}. Budgets of different units do not add up: fit with the unit of the "
                "ledger, or make another ledger"
            )

    def _refuse_others(self, statement: Statement, found: str | None, period: str | None) -> None:
        if found is not None and statement.fingerprints.get(period) not in (None, found):
            before = "before" if period is None else f"before for {period}"
            raise LedgerError(
                f"{self.path.name} is the ledger of other data: these records are not those that "
                f"were spent on {before}. Give the ledger of these data, or make one; if they are "
                "the same people's data, corrected, say so first (Ledger.declare_corrected)"
            )

    def _refuse_all_but_counts(self, statement: Statement, counts_only: bool) -> None:
        if statement.accounting == "gaussian" and not counts_only:
            raise LedgerError(
                f"{self.path.name} is for noisy counts only (Gaussian accounting): pay for "
                "anything else from a ledger with accounting 'tight'"
            )

    def _refuse_beyond(
        self, statement: Statement, rho: Fraction, release: str, delta: Fraction
    ) -> None:
        if delta:
            self._refuse_delta(statement, delta)
        remaining = statement.affordable(statement.delta_spent + delta) - statement.spent
        if rho > remaining:
            left = statement.as_epsilon(remaining)
            at_most = (
                f", at most epsilon {rounded_down(left)} at delta {statement.delta:g}"
                if left
                else ""
            )
            raise BudgetError(
                f"{self.path.name}: {release!r} requested rho {decimal(rho)}, remaining "
                f"{decimal(remaining)} of {decimal(statement.total)}, difference "
                f"{decimal(rho - remaining)}; ask for less{at_most}: what is spent stays spent"
            )

    def _refuse_delta(self, statement: Statement, delta: Fraction) -> None:
        if not writes_delta(statement.kind):
            raise LedgerError(
                f"{self.path.name} was started by an earlier version of thresher, which could not "
                "write down what is spent of delta: make another ledger for this"
            )
        left = Fraction(statement.delta or 1) - statement.delta_spent
        if not 0 < delta < left:
            raise BudgetError(
                f"{self.path.name}: requested delta {float(delta):.3g}, remaining "
                f"{float(left):.3g}; ask for much less, such as {float(left) / 100:.1g}"
            )


@contextmanager
def _locked(path: Path, flags: int, lock: int) -> Iterator[int]:
    """The open file, under its lock, with the operating system's errors made readable."""
    with _explained(path, "used"):
        while True:
            if not stat.S_ISREG(os.stat(path).st_mode):
                raise LedgerError(f"{path} is not a regular file, so it cannot be a ledger.")
            descriptor = os.open(path, flags | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, lock)
                # Replaced while we waited for the lock: what we hold is no longer the ledger.
                if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                    yield descriptor
                    return
            finally:
                os.close(descriptor)


@contextmanager
def _explained(path: Path, verb: str) -> Iterator[None]:
    try:
        yield
    except FileExistsError:
        raise LedgerError(f"{path} exists already; open it with Ledger.open.") from None
    except FileNotFoundError:
        raise LedgerError(
            f"{path} does not exist; make the folder if need be, then use Ledger.create."
        ) from None
    except OSError as error:
        raise LedgerError(
            f"{path} cannot be {verb}: {error.strerror}. Nothing was spent; mend this and retry."
        ) from error


def _append(descriptor: int, text: SoundText, line: dict[str, Any]) -> None:
    """Add a line to the file, and wait until it is on disk."""
    try:
        os.ftruncate(descriptor, text.length)
        _write(descriptor, text.joint + sealed(line, text.check).encode() + b"\n")
    except OSError:
        # Whatever did get written was not acknowledged. If even this fails, what stays is
        # a torn line, to be ignored, or a whole one, which errs on the safe side.
        with suppress(OSError):
            os.ftruncate(descriptor, text.length)
        raise


def _write(descriptor: int, content: bytes) -> None:
    """Write all of it, and wait until it is on disk."""
    while content:
        content = content[os.write(descriptor, content) :]
    os.fsync(descriptor)


def _period(period: str | None) -> dict[str, str]:
    return {} if period is None else {"period": str(period)}


def _delta(delta: Fraction) -> dict[str, str]:
    return {"delta": str(delta)} if delta else {}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _current_user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        # A container may run under a user id that has no name.
        return f"user {os.getuid()}"
