"""What `fit` and `tune` share: everything around a run that spends a privacy budget."""

import fcntl
import json
import shlex
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from thresher.cli.console import Interrupted, phases_of, warn
from thresher.cli.inputs import load_records, load_schema
from thresher.data.engines.address import without_secrets
from thresher.data.persons import persons_in
from thresher.data.private import PrivateData
from thresher.errors import BudgetError, LedgerError, ParameterError, ReleaseError
from thresher.mechanisms.mechanism import Mechanism
from thresher.planning.forecast import Forecast, forecast
from thresher.privacy.ledger import Ledger
from thresher.privacy.unit import Counting, Neighbours, Unit
from thresher.progress.display import Display
from thresher.queries.workload import Workload
from thresher.release import Release
from thresher.release.folder import check_free

FEW = 1000
"""With fewer records than this, δ = 1/n² is above 1e-6: a promise with a large hole."""


@dataclass(frozen=True)
class Run:
    """A run that is about to spend a budget: what it reads, and where its release goes."""

    data: str
    records: PrivateData
    workload: Workload
    unit: Unit
    ledger: Ledger | None
    period: str | None
    journal: Path
    output: Path
    overwrite: bool
    began: float

    @property
    def options(self) -> dict[str, Any]:
        """What every function that fits is told."""
        return {
            "unit": self.unit,
            "ledger": self.ledger,
            "period": self.period,
            "journal": self.journal,
            "release": str(self.output),
        }

    def warn(self, epsilon: float | None, delta: float | None) -> None:
        """Say, before anything is paid, what the curator may regret."""
        if self.ledger is None:
            warn(
                f"without --ledger nothing adds up what all releases from {self.data} spend "
                "together; `thresher ledger create` makes a ledger"
            )
        if epsilon is None or delta is not None or not self.unit.total_is_public:
            return  # a number that is private is not told
        n = persons_in(self.records) if self.unit.person else self.records.n
        if n < FEW:
            units = "persons" if self.unit.person else "records"
            warn(
                f"with {n:,} {units} the default delta 1/n² is {n**-2:.1g}, a weak promise: give "
                "--delta 1e-6 or less"
            )

    def forecast(self, mechanism: Mechanism) -> Forecast:
        """What the run would achieve, by public facts: nothing is paid, and no record is counted.

        Raises:
            ParameterError: The number of records or persons is private.
        """
        if not self.unit.total_is_public:
            raise ParameterError(
                "the number of records is private, so --dry-run cannot use it: `thresher plan` "
                "takes a guess of it, --n"
            )
        n = persons_in(self.records) if self.unit.person else self.records.n
        budget = mechanism.budget_for(self.records, self.unit, self.ledger)
        with phases_of("planning") as progress:
            return forecast(
                [budget], mechanism, self.workload, n, self.unit, self.ledger, progress=progress
            )

    @contextmanager
    def paid(self) -> Iterator[Display]:
        """Follow the run; tell who interrupts it that what was paid for is still there."""
        try:
            with phases_of("fitting") as progress:
                yield progress
        except KeyboardInterrupt:
            if not journal_holds_payment(self.journal):
                raise
            raise Interrupted(
                f"what was paid for is kept: go on with --resume: {command_to_resume()}"
            ) from None
        finally:
            self._forget_unpaid()

    def publish(self, release: Release) -> float:
        """Save the release, then drop the journal; how many seconds the whole run took."""
        release.save(self.output, overwrite=self.overwrite)
        shutil.rmtree(self.journal, ignore_errors=True)
        return time.perf_counter() - self.began

    def _forget_unpaid(self) -> None:
        """A run that was refused before it paid leaves nothing that looks paid for."""
        if not journal_holds_payment(self.journal):
            remove_unpaid(self.journal)


def prepare(
    data: str,
    workload: Path,
    output: Path,
    *,
    schema: Path | None,
    line_breaks: bool,
    unit: Unit,
    case_sensitive_ids: bool,
    ledger: Path | None,
    period: str | None,
    resume: bool,
    overwrite: bool,
    kind: str,
) -> Run:
    """Read and check everything that a run needs; what takes long comes last."""
    if output.exists() and not overwrite:
        raise ReleaseError(f"{output} exists: choose another --output, or give --overwrite")
    check_free(output, overwrite)
    journal = output.absolute().with_name(output.absolute().name + ".partial")
    _check_journal(journal, resume, kind)
    account = open_ledger(ledger) if ledger else None
    if account is not None:
        check_unit(account, unit)
    elif period is not None:
        raise ParameterError("--period says which part of a ledger is spent on: give --ledger too")
    features = load_schema(data, schema)
    work = Workload.load(workload, features)
    records = load_records(
        data, features, line_breaks, unit.person, case_sensitive_ids,
        # The number of persons may be public, but how many rows each of them has is not.
        tell_number=unit.total_is_public and unit.person is None,
    )  # fmt: skip
    return Run(
        without_secrets(data), records, work, unit, account, period, journal, output, overwrite,
        began=time.perf_counter(),
    )  # fmt: skip


def check_budget(epsilon: float | None, delta: float | None, rho: str | None) -> None:
    """Refuse a budget that is missing or said twice."""
    if epsilon is None and rho is None:
        raise ParameterError("how much may be spent? Give --epsilon, or --rho")
    if epsilon is not None and rho is not None:
        raise BudgetError("give either --epsilon or --rho, not both")
    if delta is not None and epsilon is None:
        raise BudgetError("--delta belongs to --epsilon: leave it out, or give --epsilon")


def unit_of(
    neighbours: Neighbours,
    person: str | None,
    rows_per_person: int | None,
    counting: Counting,
    epsilon: float | None,
    delta: float | None,
) -> Unit:
    """What is protected, by the options of a command."""
    if person is None and rows_per_person is not None:
        raise ParameterError(
            "--rows-per-person needs --person, the column that says whose row it is"
        )
    if person is not None and rows_per_person is None:
        raise ParameterError(
            "how many rows of a person may be used? Give --rows-per-person: more rows use more of "
            "the data, but the noise grows with them if --count rows"
        )
    if neighbours != "replace" and epsilon is not None and delta is None:
        raise BudgetError(
            "with --neighbours add-remove the number of records is private, so delta has no "
            "default: give --delta, well below one over the number of people"
        )
    return Unit(neighbours, person, rows_per_person or 1, counting)


def unit_options(unit: Unit) -> str:
    """The options that ask for a unit.

    Example:
        >>> unit_options(Unit("add-remove", person="id"))
        '--neighbours add-remove --person id'
    """
    person = "" if unit.person is None else f" --person {shlex.quote(unit.person)}"
    return f"--neighbours {unit.neighbours}{person}"


def check_unit(ledger: Ledger, unit: Unit) -> None:
    """Refuse to spend on another unit than the ledger's, with options for advice."""
    there = ledger.read().unit
    if not unit.protects_as(there):
        without = "" if there.person or not unit.person else ", without --person"
        raise LedgerError(
            f"{ledger.path.name} is for another unit of privacy. There, {there}; here, {unit}. "
            f"Budgets of different units do not add up: give {unit_options(there)}{without}, or "
            f"make another ledger (`thresher ledger create` with {unit_options(unit)})"
        )


def open_ledger(path: Path) -> Ledger:
    """Open a ledger for a command."""
    if not path.exists():
        raise LedgerError(f"{path} does not exist; `thresher ledger create` makes a ledger")
    return Ledger.open(path)


def spent(release: Release, output: Path, seconds: float) -> dict[str, Any]:
    """What the JSON of every run that pays starts with."""
    return {
        "release": str(output),
        "rho": float(release.spent),
        "epsilon": release.epsilon,
        "delta": float(release.delta),
        "seconds": round(seconds, 3),
    }


def command_to_resume() -> str:
    """The command line of this run with --resume, without passwords."""
    words = [without_secrets(word) for word in sys.argv[1:] if word != "--resume"]
    return shlex.join(["thresher", *words, "--resume"])


def given(**settings: Any) -> dict[str, Any]:
    """The settings that were given; a mechanism has a default for the others."""
    return {name: value for name, value in settings.items() if value is not None}


def _check_journal(journal: Path, resume: bool, kind: str) -> None:
    paid = journal_holds_payment(journal)
    if resume and not paid:
        raise ReleaseError(f"there is no interrupted {kind} {journal}: leave out --resume to start")
    if paid and not resume:
        raise ReleaseError(
            f"{journal} holds an interrupted {kind}, already paid for: go on with --resume, "
            "or delete it"
        )
    if not paid:
        remove_unpaid(journal)


def journal_holds_payment(folder: Path) -> bool:
    """Whether anything was paid for by the run that left this folder.

    A payment is announced before it is made, so an announcement counts unless it was refused. What
    cannot be read counts as paid for.
    """
    announced = Fraction(0)
    try:
        text = (folder / "journal.jsonl").read_bytes().rstrip(b"\0")
        # A line without its end was never finished, and nothing was paid before it was.
        for line in text[: text.rfind(b"\n") + 1].splitlines():
            entry = json.loads(line)
            announced += Fraction(entry.get("paying", 0)) - Fraction(entry.get("refused", 0))
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError, AttributeError, TypeError, ArithmeticError, RecursionError):
        return True
    return announced > 0


def remove_unpaid(folder: Path) -> None:
    """Remove the journal of a run that paid for nothing, unless a process is at work with it."""
    journal = folder / "journal.jsonl"
    with suppress(OSError):
        if journal.exists():
            with journal.open("rb") as opened:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if journal_holds_payment(folder):  # since we looked without the lock
                    return
                journal.unlink()
        folder.rmdir()
