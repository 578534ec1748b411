"""The journal of a fit: what was paid for is on disk before anything else happens with it.

A fit is a deterministic function of what the Curator told it. So to go on after Ctrl-C, a crash
or a full disk, the fit simply runs again; the calls whose results are in the journal are answered
from there and cost nothing, and the first call that is not goes to the Curator.

Before a call is paid, a line says so and room for its result is set aside on the disk. A call
that was announced but has no result (the process died in between) counts as paid and lost.
"""

import json
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from thresher.errors import BudgetError, LedgerError, ReleaseError
from thresher.privacy.budget import Amount, Budget, exact
from thresher.privacy.curator import Curator, Measurement
from thresher.queries.language import parse
from thresher.queries.query import Query
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.schema import Schema
from thresher.tables import AnswersOf

FORMAT = "thresher-journal"
BYTES_PER_QUERY = 4096


class Journal:
    """The calls of one fit and their results, in a folder of their own.

    Args:
        folder: Where the journal is, or will be.
        about: What is being fitted; a journal of anything else is refused.
    """

    def __init__(self, folder: str | Path, about: dict[str, Any]) -> None:
        self.folder = Path(folder)
        self._path = self.folder / "journal.jsonl"
        self.results: list[dict[str, Any]] = []
        self.lost = Fraction(0)
        header = {"format": FORMAT, "about": about}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if self._path.exists():
                self._read(header)
            else:
                self._path.touch()
                self._end = 0
                self._append(header)
        except OSError as fault:
            raise ReleaseError(f"{self._path} cannot be used: {fault.strerror}") from None

    @property
    def spent(self) -> Fraction:
        """What the calls in the journal cost, those that were lost included."""
        return sum((Fraction(result["rho"]) for result in self.results), self.lost)

    def announce(self, rho: Fraction, room: int) -> None:
        """Write down that a call is about to be paid for, with room on the disk for its result."""
        try:
            self._append({"paying": str(rho)}, room)
        except OSError as fault:
            raise ReleaseError(
                f"{self._path} cannot be written: {fault.strerror}. Nothing was paid for; make "
                "room, then go on from this journal (--resume)"
            ) from None

    def record(self, result: dict[str, Any]) -> None:
        """Write down the result of the call that was announced last."""
        self._append(result)

    def _append(self, entry: dict[str, Any], room: int = 0) -> None:
        line = json.dumps(entry, ensure_ascii=False).encode() + b"\n"
        with self._path.open("r+b") as file:
            if room:
                os.posix_fallocate(file.fileno(), self._end, len(line) + room)
            file.seek(self._end)
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        self._end += len(line)

    def _read(self, header: dict[str, Any]) -> None:
        # Room set aside reads as zeros, and a line without its end was never finished.
        text = self._path.read_bytes().rstrip(b"\0")
        text = text[: text.rfind(b"\n") + 1]
        self._end = len(text)
        try:
            entries = [json.loads(line) for line in text.splitlines()]
        except ValueError:
            raise ReleaseError(f"{self._path} is damaged and cannot be resumed from") from None
        if not entries or entries[0] != json.loads(json.dumps(header)):
            raise ReleaseError(
                f"{self.folder} is the journal of another fit (other data, workload, budget or "
                "settings): resume with the same command, or choose another output"
            )
        self.results = [entry for entry in entries[1:] if "verb" in entry]
        paid = sum(Fraction(entry.get("paying", 0)) for entry in entries)
        unpaid = sum(Fraction(entry.get("refused", 0)) for entry in entries)
        known = sum(Fraction(result["rho"]) for result in self.results)
        self.lost = Fraction(paid - unpaid - known)


class JournaledCurator:
    """A Curator whose results are written down the moment they are paid for, and replayed.

    Args:
        curator: The Curator that new calls go to.
        journal: Where results are, and go.
    """

    def __init__(self, curator: Curator, journal: Journal) -> None:
        self._curator, self._journal = curator, journal
        self._replay = list(journal.results)
        self._ahead = journal.spent - journal.lost
        self._calls = len(journal.results)

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
        """The ρ spent up to this call; results that are still to be replayed do not count yet."""
        return self._curator.spent - self._ahead

    @property
    def remaining(self) -> Fraction:
        """The ρ that calls from here on cost or can cost."""
        return self.budget.rho - self.spent

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
        """As `Curator.select`."""
        result = self._next("select")
        if result is None:
            with self._announced(rho, count) as amount:
                chosen = self._curator.select(workload, answers_of, count, excluding, rho=amount)
            texts = [query.text(self.schema) for query in chosen]
            self._journal.record({"verb": "select", "rho": str(amount), "queries": texts})
            return chosen
        return [parse(text, self.schema) for text in result["queries"]]

    def measure(
        self, targets: Sequence[Query | Threshold], *, rho: Amount, jointly: bool = True
    ) -> list[Measurement]:
        """As `Curator.measure`."""
        result = self._next("measure")
        listed = list(targets)
        files = [self._journal.folder / name for name in result["files"]] if result else []
        if result is None:
            files = [
                self._journal.folder / f"call{self._calls:04d}-{i}.npy"
                for i, target in enumerate(listed)
                if isinstance(target, Threshold)
            ]
            for file, target in zip(files, _thresholds(listed), strict=True):
                _reserve(file, 8 * target.query_count(self.schema) + BYTES_PER_QUERY)
            with self._announced(rho, len(listed)) as amount:
                measured = self._curator.measure(listed, rho=amount, jointly=jointly)
            self._write(measured, files, amount)
            return measured
        if len(listed) != len(result["sigmas"]):
            raise ReleaseError("the journal does not fit this run: it measured something else")
        counts = iter(result["counts"])
        tables = (np.load(file, allow_pickle=False) for file in files)
        return [
            Measurement(
                target,
                next(tables) if isinstance(target, Threshold) else np.asarray(next(counts)),
                sigma,
                self.n,
            )
            for target, sigma in zip(listed, result["sigmas"], strict=True)
        ]

    def _write(self, measured: list[Measurement], files: list[Path], amount: Fraction) -> None:
        tables = [m.counts for m in measured if isinstance(m.target, Threshold)]
        for path, table in zip(files, tables, strict=True):
            with path.open("r+b") as file:
                np.save(file, table)
                file.flush()
                os.fsync(file.fileno())
        entry = {
            "verb": "measure",
            "rho": str(amount),
            "counts": [int(m.counts) for m in measured if isinstance(m.target, Query)],
            "sigmas": [m.sigma for m in measured],
            "files": [path.name for path in files],
        }
        self._journal.record(entry)

    def _next(self, verb: str) -> dict[str, Any] | None:
        """The next result to replay, if there is one."""
        if not self._replay:
            return None
        result = self._replay.pop(0)
        if result.get("verb") != verb:
            raise ReleaseError("the journal does not fit this run: it has other calls")
        self._ahead -= Fraction(result["rho"])
        return result

    @contextmanager
    def _announced(self, rho: Amount, queries: int) -> Iterator[Fraction]:
        """Write down what is about to be paid; if it is refused, write that down too."""
        amount = exact(rho, "rho")
        self._journal.announce(amount, room=BYTES_PER_QUERY * (queries + 1))
        self._calls += 1
        try:
            yield amount
        except (BudgetError, LedgerError):
            self._journal.record({"refused": str(amount)})
            raise


Wall: TypeAlias = Curator | JournaledCurator
"""What a mechanism sees of the privacy wall: a Curator, with a journal or without."""


def _thresholds(targets: Sequence[Query | Threshold]) -> list[Threshold]:
    return [target for target in targets if isinstance(target, Threshold)]


def _reserve(path: Path, size: int) -> None:
    try:
        with path.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, size)
    except OSError as fault:
        raise ReleaseError(
            f"{path} cannot be written: {fault.strerror}. Nothing was paid for; make room, then go "
            "on from this journal (--resume)"
        ) from None
