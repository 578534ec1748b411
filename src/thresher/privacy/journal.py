"""The journal of a fit: what was paid for is on disk before anything else happens with it.

A fit is a deterministic function of what the Curator told it. So to go on after Ctrl-C, a crash
or a full disk, the fit simply runs again; the calls whose results are in the journal are answered
from there and cost nothing, and the first call that is not goes to the Curator.

Before a call is paid, a line says so and room for its result is set aside on the disk. A call
that was announced but has no result (the process died in between) counts as paid and lost. The
mechanism goes on with its plan all the same: every payment still to come is smaller by the same
factor, so that all of them together are what is left.
"""

import fcntl
import json
import os
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from thresher.errors import BudgetError, ReleaseError, ThresherError
from thresher.files import flush
from thresher.privacy.budget import Amount, Budget, exact
from thresher.privacy.curator import Curator
from thresher.privacy.measurements import (
    Measurement,
    QueryMeasurement,
    TableMeasurement,
    measured_queries,
    measured_tables,
)
from thresher.queries.query import Query
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.schema import Schema
from thresher.tables import AnswersOf

FORMAT = "thresher-journal"
BYTES_PER_QUERY = 4096


class Journal:
    """The calls of one fit and their results, in a folder of their own.

    It is a context: while one process works with a journal, no other can.

    Args:
        folder: Where the journal is, or will be.
        about: What is being fitted; a journal of anything else is refused.
    """

    def __init__(self, folder: str | Path, about: dict[str, Any]) -> None:
        self.folder = Path(folder)
        self._path = self.folder / "journal.jsonl"
        self.results: list[dict[str, Any]] = []
        self.lost = Fraction(0)
        self._end = 0
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._read({"format": FORMAT, "about": about})
            except BaseException:
                os.close(self._descriptor)
                raise
        except BlockingIOError:
            raise ReleaseError(f"{self.folder} is in use: another process fits from it") from None
        except OSError as fault:
            raise ReleaseError(f"{self._path} cannot be used: {fault.strerror}") from None

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *fault: object) -> None:
        os.close(self._descriptor)

    @property
    def spent(self) -> Fraction:
        """What the calls in the journal cost, those that were lost included."""
        return sum((Fraction(result["rho"]) for result in self.results), self.lost)

    def announce(self, rho: Fraction, room: int) -> None:
        """Write down that a call is about to be paid for, with room on the disk for its result."""
        try:
            self._append({"paying": str(rho)}, room)
        except OSError as fault:
            with suppress(OSError):
                os.ftruncate(self._descriptor, self._end)
            raise _nothing_paid(self._path, fault) from None

    def refuse(self, rho: Fraction) -> None:
        """Write down that the call that was announced last was not paid for after all."""
        self._append({"refused": str(rho)})

    def record(self, result: dict[str, Any]) -> None:
        """Write down the result of the call that was announced last."""
        self._append(result)
        self.results.append(result)

    def _append(self, entry: dict[str, Any], room: int = 0) -> None:
        line = json.dumps(entry, ensure_ascii=False).encode() + b"\n"
        if room:
            _set_aside(self._descriptor, self._end, len(line) + room)
        _write_at(self._descriptor, self._end, line)
        os.fsync(self._descriptor)
        self._end += len(line)

    def _read(self, header: dict[str, Any]) -> None:
        # Room set aside reads as zeros, and a line without its end was never finished.
        text = self._path.read_bytes().rstrip(b"\0")
        text = text[: text.rfind(b"\n") + 1]
        self._end = len(text)
        if not text:
            self._append(header)
            flush(self.folder, self.folder.parent)
            return
        try:
            entries = [json.loads(line) for line in text.splitlines()]
            if entries[0] != json.loads(json.dumps(header)):
                raise ReleaseError(
                    f"{self.folder} is the journal of another fit (other data, workload, budget, "
                    "settings or ledger): resume with the same command, or choose another output"
                )
            self._replay(entries[1:])
        except (ValueError, TypeError, AttributeError, KeyError, ArithmeticError) as fault:
            if isinstance(fault, ReleaseError):
                raise
            raise ReleaseError(f"{self._path} is damaged and cannot be resumed from") from None

    def _replay(self, entries: list[dict[str, Any]]) -> None:
        """Match announcements with what became of them; what became of nothing is lost."""
        open_ = Fraction(0)
        for entry in entries:
            if "paying" in entry:
                self.lost += open_
                open_ = exact(entry["paying"], "rho")
                continue
            amount = exact(entry["refused"] if "refused" in entry else entry["rho"], "rho")
            if amount != open_:
                raise ValueError("a result that was not announced")
            if "verb" in entry:
                self.results.append(entry)
            open_ = Fraction(0)
        self.lost += open_


class JournaledCurator:
    """A Curator whose results are written down the moment they are paid for, and replayed.

    Args:
        curator: The Curator that new calls go to; it has paid for what is in the journal.
        journal: Where results are, and go.
    """

    def __init__(self, curator: Curator, journal: Journal) -> None:
        self._curator, self._journal = curator, journal
        self._pending = deque(journal.results)
        self._planned = Fraction(0)

    @property
    def n(self) -> int:
        """The number of records, which is public."""
        return self._curator.n

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

    @property
    def is_secure(self) -> bool:
        """Whether the noise comes from a source fit for a release."""
        return self._curator.is_secure

    def select(
        self,
        workload: Workload,
        answers_of: AnswersOf,
        count: int,
        excluding: Collection[Query] = (),
        *,
        rho: Amount,
    ) -> list[Query]:
        """As `Curator.select`; nothing is chosen where all that was left has been lost."""
        amount, result = self._next("select", rho)
        if result is not None:
            with self._whole_journal():
                return [Query.parse(text, self.schema) for text in result["queries"]]
        if not amount:
            return []
        with self._announced(amount, count):
            chosen = self._curator.select(workload, answers_of, count, excluding, rho=amount)
        texts = [query.text(self.schema) for query in chosen]
        self._record({"verb": "select", "rho": str(amount), "queries": texts}, [], [])
        return chosen

    def measure(
        self, targets: Sequence[Query | Threshold], *, rho: Amount, jointly: bool = True
    ) -> list[Measurement]:
        """As `Curator.measure`; nothing is measured where all that was left has been lost."""
        amount, result = self._next("measure", rho)
        listed = list(targets)
        if result is not None:
            with self._whole_journal():
                return self._measured(listed, result)
        if not amount:
            return []
        thresholds = [target for target in listed if isinstance(target, Threshold)]
        call = len(self._journal.results)
        files = [f"call{call:04d}-{i}.npy" for i in range(len(thresholds))]
        for name, threshold in zip(files, thresholds, strict=True):
            size = 8 * threshold.query_count(self.schema) + BYTES_PER_QUERY
            _reserve(self._journal.folder / name, size)
        with self._announced(amount, len(listed)):
            measured = self._curator.measure(listed, rho=amount, jointly=jointly)
        entry = {
            "verb": "measure",
            "rho": str(amount),
            "counts": [m.count for m in measured_queries(measured)],
            "sigmas": [m.sigma for m in measured],
            "files": files,
        }
        self._record(entry, files, measured_tables(measured))
        return measured

    def choose(self, workload: Workload, candidates: Sequence[AnswersOf], *, rho: Amount) -> int:
        """As `Curator.choose`; the first is chosen where all that was left has been lost."""
        amount, result = self._next("choose", rho)
        listed = list(candidates)
        if result is not None:
            with self._whole_journal():
                chosen = int(result["chosen"])
                if chosen not in range(len(listed)):
                    raise ValueError("a choice between others")
                return chosen
        if not amount:
            return 0
        with self._announced(amount, 1):
            chosen = self._curator.choose(workload, listed, rho=amount)
        self._record({"verb": "choose", "rho": str(amount), "chosen": chosen}, [], [])
        return chosen

    def select_table(
        self,
        tables: Sequence[Threshold],
        answers_of: AnswersOf,
        handicaps: Sequence[int],
        *,
        weights_of: AnswersOf | None = None,
        rho: Amount,
    ) -> Threshold:
        """As `Curator.select_table`; the first is chosen where all that was left has been lost."""
        amount, result = self._next("select_table", rho)
        if result is not None:
            with self._whole_journal():
                return tables[int(result["table"])]
        if not amount:
            return tables[0]
        with self._announced(amount, 1):
            chosen = self._curator.select_table(
                tables, answers_of, handicaps, weights_of=weights_of, rho=amount
            )
        entry = {"verb": "select_table", "rho": str(amount), "table": list(tables).index(chosen)}
        self._record(entry, [], [])
        return chosen

    def _measured(
        self, targets: list[Query | Threshold], result: dict[str, Any]
    ) -> list[Measurement]:
        """The measurements of a call in the journal."""
        single, tables = iter(result["counts"]), iter(result["files"])
        measured: list[Measurement] = []
        for target, sigma in zip(targets, map(float, result["sigmas"]), strict=True):
            if isinstance(target, Query):
                measured.append(QueryMeasurement(target, int(next(single)), sigma, self.n))
                continue
            path = self._journal.folder / Path(next(tables)).name
            counts = np.load(path, allow_pickle=False)
            if counts.shape != target.shape(self.schema) or counts.dtype != np.int64:
                raise ValueError("a table of something else")
            measured.append(TableMeasurement(target, counts, sigma, self.n))
        return measured

    def _next(self, verb: str, rho: Amount) -> tuple[Fraction, dict[str, Any] | None]:
        """What a call costs, and its result if it is in the journal."""
        planned, left = exact(rho, "rho"), self.remaining
        self._planned += planned
        if self._pending:
            result = self._pending.popleft()
            if result["verb"] != verb:
                raise ReleaseError(
                    f"{self._journal.folder} does not fit this run, which makes other calls"
                )
            return Fraction(result["rho"]), result
        if self._curator.remaining or not self._journal.lost:
            # Without a loss the two are equal, and the call costs what was planned.
            return (planned * self._curator.remaining / left if left else planned), None
        if any(result["verb"] == "measure" for result in self._journal.results):
            return Fraction(0), None
        raise BudgetError(
            "the interrupted fit had paid its whole budget when its results were lost: there is "
            f"nothing to go on with. Delete {self._journal.folder}; a new fit needs a new budget"
        )

    def _record(
        self, entry: dict[str, Any], files: list[str], tables: Sequence[TableMeasurement]
    ) -> None:
        try:
            for name, table in zip(files, tables, strict=True):
                with (self._journal.folder / name).open("r+b") as file:
                    np.save(file, table.counts)
                    file.flush()
                    os.fsync(file.fileno())
            self._journal.record(entry)
        except OSError as fault:
            raise ReleaseError(
                f"{self._journal.folder} cannot be written: {fault.strerror}. What was paid for "
                "last is lost; mend this, then go on with the rest (--resume)"
            ) from None

    @contextmanager
    def _announced(self, amount: Fraction, queries: int) -> Iterator[None]:
        """Write down what is about to be paid; if it is refused unpaid, write that down too."""
        self._journal.announce(amount, room=BYTES_PER_QUERY * (queries + 1))
        before = self._curator.spent
        try:
            yield
        except ThresherError:
            if self._curator.spent == before:
                self._journal.refuse(amount)
            raise

    @contextmanager
    def _whole_journal(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError, TypeError, KeyError, StopIteration, EOFError):
            raise ReleaseError(
                f"{self._journal.folder} is damaged, or of another run, and cannot be resumed from"
            ) from None


def _reserve(path: Path, size: int) -> None:
    try:
        with path.open("wb") as file:
            _set_aside(file.fileno(), 0, size)
    except OSError as fault:
        raise _nothing_paid(path, fault) from None


def _set_aside(descriptor: int, start: int, size: int) -> None:
    """Make sure of room on the disk, full of zeros."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, start, size)
    else:
        _write_at(descriptor, start, bytes(size))


def _write_at(descriptor: int, start: int, content: bytes) -> None:
    while content:
        written = os.pwrite(descriptor, content, start)
        start, content = start + written, content[written:]


def _nothing_paid(path: Path, fault: OSError) -> ReleaseError:
    return ReleaseError(
        f"{path} cannot be written: {fault.strerror}. Nothing was paid for; make room, then go on "
        "from this journal (--resume)"
    )
