"""What a ledger says: its budget, its spends, and whose data it is for."""

import hashlib
import os
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

from thresher.errors import LedgerError, ParameterError
from thresher.privacy.conversion import Accounting, epsilon_of, rho_of
from thresher.privacy.ledger_lines import is_torn, unsealed
from thresher.privacy.unit import Unit

KINDS = tuple(f"thresher ledger, version {number}" for number in range(1, 6))
"""Version 2 has an id in its first line, and may have lines that declare a correction.

Version 3 has the unit of privacy in its first line, and lines may name a period.
Version 4 may have spends of δ beside those of ρ.
Version 5 has Gaussian accounting, so nothing but noisy counts may be paid from it.
"""
KIND, GAUSSIAN_KIND = KINDS[3:]
_LONGEST_HEADER = 2**16


def kind_of(accounting: str) -> str:
    """The version of a new ledger: the least that can be read rightly."""
    if accounting not in (known := ("zcdp", *get_args(Accounting))):
        raise ParameterError(f"accounting must be one of {', '.join(known)}, not {accounting!r}")
    return GAUSSIAN_KIND if accounting == "gaussian" else KIND


def writes_delta(kind: str) -> bool:
    """Whether what is spent of δ can be written down."""
    return kind in (KIND, GAUSSIAN_KIND)


@dataclass(frozen=True)
class Entry:
    """One spend: `rho`, as zCDP, by `who` for the release named `release`, at `time` (UTC).

    `period` is that of the records it was spent on, in a ledger of several periods. `delta` is the
    probability, spent too, of an event that ρ says nothing about.
    """

    number: int
    rho: Fraction
    time: str
    who: str
    release: str
    period: str | None = None
    delta: Fraction = Fraction(0)


@dataclass(frozen=True)
class Correction:
    """A declaration by `who`, at `time` (UTC), that the records were corrected, and why."""

    number: int
    time: str
    who: str
    why: str


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
        entries: The spends, oldest first, without those that were taken back.
        corrections: The declared corrections of the data, oldest first.
        identity: What tells this ledger from every other, whatever their names.
        unit: Whom the budget protects. How rows of a person are counted is up to each release.
        fingerprints: Those of the records it is for, by their period, once something was spent.
        lines: How many lines follow the first one in the file.
        kind: The version in which the ledger was started.
    """

    total: Fraction
    epsilon: float | None
    delta: float | None
    accounting: str
    data: str
    created: str
    entries: tuple[Entry, ...]
    corrections: tuple[Correction, ...]
    identity: str
    unit: Unit
    fingerprints: dict[str | None, str] = field(repr=False)
    lines: int = field(repr=False)
    kind: str = field(default=KIND, repr=False)

    @property
    def spent(self) -> Fraction:
        """The sum of all entries."""
        return sum((entry.rho for entry in self.entries), Fraction(0))

    @property
    def delta_spent(self) -> Fraction:
        """The sum of what the entries spent of δ."""
        return sum((entry.delta for entry in self.entries), Fraction(0))

    @property
    def remaining(self) -> Fraction:
        """What is left of the total, which buys less ρ the more of δ was spent."""
        return self.affordable(self.delta_spent) - self.spent

    def affordable(self, delta_spent: Fraction) -> Fraction:
        """The total ρ with which (ε, δ) is kept if so much of δ is spent otherwise.

        A ledger without ε and δ promises ρ-zCDP with a probability of failure, which is told.
        """
        if not delta_spent or self.epsilon is None or not self.delta:
            return self.total
        left = Fraction(self.delta) - delta_spent
        if left <= 0:
            return Fraction(0)
        return min(self.total, rho_of(self.epsilon, left, self._curve))

    @property
    def _curve(self) -> Accounting:
        """The conversion of amounts: a tighter one than `paper` holds for what was paid, too."""
        return "gaussian" if self.accounting == "gaussian" else "tight"

    def as_epsilon(self, rho: Fraction) -> float | None:
        """The ε of an amount at the δ of this ledger: 0 for nothing, None if it has no δ."""
        if not self.delta:
            return None
        return epsilon_of(rho, self.delta, self._curve) if rho > 0 else 0.0

    @property
    def epsilon_so_far(self) -> float | None:
        """The ε of all entries together at the δ of this ledger; None if it has no δ."""
        left = Fraction(self.delta or 0) - self.delta_spent
        if left <= 0:
            return None
        return epsilon_of(self.spent, left, self._curve) if self.entries else 0.0

    @property
    def by_period(self) -> dict[str | None, Fraction]:
        """What was spent on the records of each period, in the order of their first spends."""
        spent: dict[str | None, Fraction] = {}
        for entry in self.entries:
            spent[entry.period] = spent.get(entry.period, Fraction(0)) + entry.rho
        return spent


@dataclass(frozen=True)
class SoundText:
    """The sound part of a ledger file: what it says, and what the next line must follow on from."""

    statement: Statement
    key: bytes
    check: str
    length: int
    joint: bytes

    @property
    def lines(self) -> int:
        """How many lines there are after the first."""
        return self.statement.lines

    @classmethod
    def of(cls, descriptor: int, path: Path) -> "SoundText":
        """Read and check an open ledger file; `path` is for messages."""
        with os.fdopen(os.dup(descriptor), "rb") as file:
            file.seek(0)
            first = file.readline(_LONGEST_HEADER)
            header = unsealed(first, "") if first.endswith(b"\n") else None
            if header is None or header.get("ledger") not in KINDS:
                raise LedgerError(
                    f"{path}: line 1 is not the first line of a thresher ledger, or was changed. "
                    "Give the path of a ledger, make one with Ledger.create, or restore a copy."
                )
            lines = file.readlines()
        check, length, joint = str(header["check"]), len(first), b""
        contents: list[dict[str, Any]] = []
        for number, raw in enumerate(lines, start=1):
            # After a power cut, what was not written can be there as zeros.
            line = raw.rstrip(b"\0")
            content = unsealed(line, check)
            whole = line.endswith(b"\n")
            if content is not None and content.get("number") == number:
                contents.append(content)
                check, length = str(content["check"]), length + len(line)
                joint = b"" if whole else b"\n"
            elif whole or not is_torn(line, number):
                raise LedgerError(
                    f"{path}: line {number + 1} is damaged, or does not follow from line {number}. "
                    "Restore the ledger from a copy; what was spent cannot be known from this file."
                )
        try:
            statement = _statement(header, contents)
        except (ParameterError, TypeError):
            raise LedgerError(
                f"{path}: line 1 names a unit of privacy that this thresher does not know"
            ) from None
        return cls(statement, _key(header), check, length, joint)


def _statement(header: dict[str, Any], contents: list[dict[str, Any]]) -> Statement:
    undone = {c["taken_back"] for c in contents if c.get("taken_back", c["number"]) < c["number"]}
    spends = [c for c in contents if "rho" in c and c["number"] not in undone]
    fingerprints = {
        c.get("period"): c["fingerprint"]
        for c in contents
        if "fingerprint" in c and (c.get("of") not in undone or _relied_on(c, contents, spends))
    }
    return Statement(
        total=Fraction(header["rho"]),
        epsilon=header["epsilon"],
        delta=header["delta"],
        accounting=header["accounting"],
        data=header["data"],
        created=header["created"],
        entries=tuple(map(_entry, spends)),
        corrections=tuple(_correction(content) for content in contents if "corrected" in content),
        identity=_derived("identity", header).hex(),
        unit=Unit.from_json(header.get("unit")),
        fingerprints=fingerprints,
        lines=len(contents),
        kind=header["ledger"],
    )


def _relied_on(
    line: dict[str, Any], contents: list[dict[str, Any]], spends: list[dict[str, Any]]
) -> bool:
    """Whether data were recognised by a fingerprint before its own spend was taken back."""
    [undone] = (c["number"] for c in contents if c.get("taken_back") == line["of"])
    return any(
        line["number"] < spend["number"] < undone and spend.get("period") == line.get("period")
        for spend in spends
    )


def _entry(content: dict[str, Any]) -> Entry:
    fields = ("number", "time", "who", "release")
    return Entry(
        rho=Fraction(content["rho"]),
        period=content.get("period"),
        delta=Fraction(content.get("delta", 0)),
        **{name: content[name] for name in fields},
    )


def _correction(content: dict[str, Any]) -> Correction:
    fields = ("number", "time", "who")
    return Correction(why=content["corrected"], **{name: content[name] for name in fields})


def _key(header: dict[str, Any]) -> bytes:
    """The secret key of the fingerprints in a ledger."""
    return _derived("key", header)


def _derived(purpose: str, header: dict[str, Any]) -> bytes:
    """Made of the checksum of the first line: of its random id, or of all that version 1 has."""
    return hashlib.blake2b(f"{purpose} {header['check']}".encode(), digest_size=32).digest()
