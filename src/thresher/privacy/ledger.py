"""The ledger: one append-only text file per data set that says who spent what on which release.

A ledger is JSON Lines. The first line states the budget; each further line is one spend: number,
amount ρ as an exact fraction and as a decimal, UTC time, who, and for which release. Every line
ends with a checksum of itself and of the line before, so that a changed, lost or reordered line is
noticed. The checksum is not a signature: it guards against accidents, not against somebody who
recomputes it, and whole lines cut off the end leave no trace.

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
import hashlib
import json
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from thresher.errors import BudgetError, LedgerError

_KIND = "thresher ledger, version 1"
_LONGEST_HEADER = 2**16
_LONGEST_NUMBER = 8192


@dataclass(frozen=True)
class Entry:
    """One spend: `rho`, as zCDP, by `who` for the release named `release`, at `time` (UTC)."""

    number: int
    rho: Fraction
    time: str
    who: str
    release: str


@dataclass(frozen=True)
class Statement:
    """What a ledger says at one moment.

    Attributes:
        total: The whole budget of the data set, as zCDP.
        epsilon: The ε that the total was converted from, if it was.
        delta: The δ that belongs to it.
        accounting: How (ε, δ) were converted to ρ.
        data: The name of the data set.
        created: When the ledger was made (UTC).
        entries: The spends, oldest first.
    """

    total: Fraction
    epsilon: float | None
    delta: float | None
    accounting: str
    data: str
    created: str
    entries: tuple[Entry, ...]

    @property
    def spent(self) -> Fraction:
        """The sum of all entries."""
        return sum((entry.rho for entry in self.entries), Fraction(0))

    @property
    def remaining(self) -> Fraction:
        """What is left of the total."""
        return self.total - self.spent


@dataclass(frozen=True)
class Ledger:
    """The privacy budget of one data set, over all its releases, kept in the file at `path`.

    Make one with `Ledger.create` or `Ledger.open`. It holds nothing but the path: every property is
    read from the file, so several processes can share a ledger and each sees what all have spent.

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> ledger = Ledger.create(Path(folder.name) / "people.ledger", Fraction(1, 2))
        >>> ledger.spend(Fraction(1, 3), release="first look", who="ada")
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
    ) -> "Ledger":
        """Start a ledger at `path`, where there must be no file yet.

        The file appears whole or not at all, and survives a power cut once this returns.

        Args:
            path: Where to keep it.
            rho: The whole budget of the data set, as zCDP.
            epsilon: The ε that `rho` was converted from, for the reader.
            delta: The δ that belongs to it.
            accounting: How (ε, δ) were converted to ρ.
            data: The name of the data set.
        """
        path = Path(path)
        header = {"ledger": _KIND, "data": data, **_amount(rho), "epsilon": epsilon, "delta": delta}
        header |= {"accounting": accounting, "created": _now()}
        draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        with _explained(path, "created"):
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            try:
                _write(descriptor, _sealed(header, "").encode() + b"\n")
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
        with _locked(self.path, os.O_RDONLY, fcntl.LOCK_SH) as descriptor:
            return _Text.of(descriptor, self.path).statement

    @property
    def total(self) -> Fraction:
        """The whole budget of the data set."""
        return self.read().total

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

    def spend(self, rho: Fraction, release: str, who: str | None = None) -> None:
        """Record a spend; once this returns, it is on disk and data may be touched.

        Args:
            rho: How much, as zCDP.
            release: What for.
            who: Who spends it; the current user unless told.

        Raises:
            BudgetError: There is not that much left. Nothing is spent.
            LedgerError: The file is damaged or cannot be written. Nothing is spent.
        """
        amount = _amount(rho)
        with _locked(self.path, os.O_RDWR | os.O_APPEND, fcntl.LOCK_EX) as descriptor:
            text = _Text.of(descriptor, self.path)
            self._refuse_beyond(text.statement, rho, release)
            line = {"number": len(text.statement.entries) + 1, **amount, "time": _now()}
            line |= {"who": _current_user() if who is None else who, "release": release}
            content = text.joint + _sealed(line, text.check).encode() + b"\n"
            try:
                os.ftruncate(descriptor, text.length)
                _write(descriptor, content)
            except OSError:
                # Whatever did get written was not acknowledged. If even this fails, what stays is
                # a torn line, to be ignored, or a whole one, which errs on the safe side.
                with suppress(OSError):
                    os.ftruncate(descriptor, text.length)
                raise

    def check(self, rho: Fraction, release: str) -> None:
        """Refuse, as `spend` would now, without spending."""
        self._refuse_beyond(self.read(), rho, release)

    def _refuse_beyond(self, statement: Statement, rho: Fraction, release: str) -> None:
        remaining = statement.remaining
        if rho > remaining:
            raise BudgetError(
                f"{self.path.name}: {release!r} requested rho {_decimal(rho)}, remaining "
                f"{_decimal(remaining)} of {_decimal(statement.total)}, difference "
                f"{_decimal(rho - remaining)}; ask for less: what is spent stays spent"
            )


@dataclass(frozen=True)
class _Text:
    """The sound part of a ledger file: what it says, and what the next line must follow on from."""

    statement: Statement
    check: str
    length: int
    joint: bytes

    @classmethod
    def of(cls, descriptor: int, path: Path) -> "_Text":
        with os.fdopen(os.dup(descriptor), "rb") as file:
            file.seek(0)
            first = file.readline(_LONGEST_HEADER)
            header = _unsealed(first, "") if first.endswith(b"\n") else None
            if header is None or header.get("ledger") != _KIND:
                raise LedgerError(
                    f"{path}: line 1 is not the first line of a thresher ledger, or was changed. "
                    "Give the path of a ledger, make one with Ledger.create, or restore a copy."
                )
            lines = file.readlines()
        check, length, joint = str(header["check"]), len(first), b""
        entries: list[Entry] = []
        for number, raw in enumerate(lines, start=1):
            # After a power cut, what was not written can be there as zeros.
            line = raw.rstrip(b"\0")
            content = _unsealed(line, check)
            whole = line.endswith(b"\n")
            if content is not None and content.get("number") == number:
                entries.append(_entry(content))
                check, length = str(content["check"]), length + len(line)
                joint = b"" if whole else b"\n"
            elif whole or not _is_torn(line, number):
                raise LedgerError(
                    f"{path}: line {number + 1} is damaged, or does not follow from line {number}. "
                    "Restore the ledger from a copy; what was spent cannot be known from this file."
                )
        statement = Statement(
            total=Fraction(header["rho"]),
            epsilon=header["epsilon"],
            delta=header["delta"],
            accounting=header["accounting"],
            data=header["data"],
            created=header["created"],
            entries=tuple(entries),
        )
        return cls(statement, check, length, joint)


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


def _write(descriptor: int, content: bytes) -> None:
    """Write all of it, and wait until it is on disk."""
    while content:
        content = content[os.write(descriptor, content) :]
    os.fsync(descriptor)


def _sealed(content: dict[str, Any], previous: str) -> str:
    """One line of the file, without its newline, ending with its checksum."""
    body = _text(content)
    check = hashlib.sha256(f"{previous}\n{body}".encode()).hexdigest()
    return _text({**content, "check": check})


def _unsealed(line: bytes, previous: str) -> dict[str, Any] | None:
    """What a line says, or None if it is not exactly what `_sealed` would have written."""
    try:
        content = json.loads(line)
        body = {key: value for key, value in content.items() if key != "check"}
        sound = _sealed(body, previous).encode() == line.removesuffix(b"\n")
    except (ValueError, AttributeError, RecursionError):
        return None
    return content if sound else None


def _is_torn(line: bytes, number: int) -> bool:
    """Whether a last line without its newline is the beginning of a spend, and not all of one."""
    opening = f'{{"number": {number}, "rho": "'.encode()
    if line[: len(opening)] != opening[: len(line)]:
        return False
    try:
        json.JSONDecoder().raw_decode(line.decode(errors="replace"))
    except ValueError:
        return True
    return False


def _text(content: dict[str, Any]) -> str:
    """JSON on one line: letters of any script as they are, what does not print escaped."""
    raw = json.dumps(content, ensure_ascii=False)
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in raw)


def _amount(rho: Fraction) -> dict[str, str]:
    """The two forms in which an amount is written."""
    if not isinstance(rho, Fraction | int) or rho <= 0:
        raise BudgetError(f"rho must be a positive Fraction, such as Fraction(1, 10), not {rho!r}.")
    if max(rho.numerator.bit_length(), rho.denominator.bit_length()) > _LONGEST_NUMBER:
        raise BudgetError(f"rho must be a fraction of numbers below 2^{_LONGEST_NUMBER}.")
    return {"rho": str(rho), "decimal": _decimal(rho)}


def _decimal(rho: Fraction) -> str:
    """About six digits of an amount, for the reader."""
    return f"{Decimal(rho.numerator) / Decimal(rho.denominator):.6g}"


def _entry(content: dict[str, Any]) -> Entry:
    fields = ("number", "time", "who", "release")
    return Entry(rho=Fraction(content["rho"]), **{name: content[name] for name in fields})


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _current_user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        # A container may run under a user id that has no name.
        return f"user {os.getuid()}"
