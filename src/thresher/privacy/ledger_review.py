"""A ledger as its reader needs it: what each release cost and when, and what is unusual."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from thresher.privacy.budget import PROMISES_LITTLE
from thresher.privacy.statement import Entry, Statement

NEARLY_SPENT = Fraction(1, 20)
"""If less than this part of the total is left, the reader is told."""

WEAK_DELTA = 1e-5
"""A δ above this is a hole in the promise that is worth a remark, whatever n is."""


@dataclass(frozen=True)
class ReleaseCost:
    """What one release cost.

    Attributes:
        name: Its name.
        entries: Its spends, oldest first.
    """

    name: str
    entries: tuple[Entry, ...]

    @property
    def rho(self) -> Fraction:
        """The sum of its spends."""
        return sum((entry.rho for entry in self.entries), Fraction(0))

    @property
    def days(self) -> tuple[str, ...]:
        """The days (UTC) on which it was paid for."""
        return tuple(dict.fromkeys(entry.time[:10] for entry in self.entries))

    @property
    def who(self) -> tuple[str, ...]:
        """Who paid for it."""
        return tuple(dict.fromkeys(entry.who for entry in self.entries))

    @property
    def periods(self) -> tuple[str, ...]:
        """The periods of the records that it is of."""
        return tuple(dict.fromkeys(e.period for e in self.entries if e.period is not None))


def releases_in(statement: Statement) -> tuple[ReleaseCost, ...]:
    """The releases of a ledger, in the order of their first spends.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from thresher.privacy.ledger import Ledger
        >>> folder = tempfile.TemporaryDirectory()
        >>> ledger = Ledger.create(Path(folder.name) / "people.ledger", Fraction(1, 2))
        >>> for release in ("one", "two", "one"):
        ...     _ = ledger.spend(Fraction(1, 10), release=release, who="ada")
        >>> [(release.name, release.rho) for release in releases_in(ledger.read())]
        [('one', Fraction(1, 5)), ('two', Fraction(1, 10))]
        >>> folder.cleanup()
    """
    entries: dict[str, list[Entry]] = {}
    for entry in statement.entries:
        entries.setdefault(entry.release, []).append(entry)
    return tuple(ReleaseCost(name, tuple(spends)) for name, spends in entries.items())


def unusual(statement: Statement) -> Iterator[str]:
    """What a careful reader of a ledger would ask about, a line each."""
    if statement.epsilon is not None and statement.epsilon > PROMISES_LITTLE:
        yield f"epsilon {statement.epsilon:g} in total promises little"
    if statement.delta is not None and statement.delta > WEAK_DELTA:
        yield f"delta {statement.delta:g} is a weak promise; 1e-6 and less is usual"
    if statement.entries and not statement.fingerprints:
        yield "something was spent, but no records are bound to this ledger yet: a fit does that"
    times = [statement.created, *(entry.time for entry in statement.entries)]
    if times != sorted(times):
        yield "the times of its lines are not in order: a clock was wrong"
    for release in releases_in(statement):
        if len(release.days) > 1:
            yield (
                f"{release.name} was paid for on {len(release.days)} days, {release.days[0]} to "
                f"{release.days[-1]}: one fit that was interrupted, or two of the same name"
            )
        if len(release.who) > 1:
            yield f"{release.name} was paid for by {' and '.join(release.who)}"
    for correction in statement.corrections:
        yield (
            f"{correction.who} declared on {correction.time[:10]} that the data were corrected: "
            f"{correction.why}"
        )
    if statement.remaining < NEARLY_SPENT * statement.total:
        share = float(100 * statement.remaining / statement.total)
        yield f"{share:.2g} % of the budget is left: ask for more noise, or stop here"
