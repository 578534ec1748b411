"""The file behind a journal: which calls were announced, what each cost, and what came back.

The file is JSON Lines. The first line says what is being fitted, and the next binds the journal to
the ledger. Before the first result, a line binds it to the data, by a keyed fingerprint (see
`fingerprint`). Every call has a line `{"paying": ρ}` before it is paid for, and a line with its
result after; or a line `{"refused": ρ}` if nothing was paid. A line `{"noted": […]}` has numbers
that follow from the results before it, on which later calls depend. Tables of counts are in `.npy`
files beside it, which the result names. Folder and files are readable by their owner only. The D'
of fits may stand beside them (`thresher.mechanisms.checkpoint`); a journal does without.
"""

import fcntl
import hashlib
import json
import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from thresher.errors import ReleaseError
from thresher.files import flush
from thresher.privacy.amounts import exact
from thresher.privacy.fingerprint import KEY_BYTES
from thresher.privacy.request import Counts

FORMAT = "thresher-journal"
BYTES_PER_QUERY = 4096
DIGEST_BYTES = 16


class Journal:
    """The calls of one fit and their results, in a folder of their own.

    It is a context: while one process works with a journal, no other can.

    Args:
        folder: Where the journal is, or will be.
        about: What is being fitted; a journal of anything else is refused.

    Attributes:
        results: The calls with their results.
        paid_before: For each of them, what all calls before it cost, lost ones included.
        notes: Numbers that were noted, each with how many results stood before.
        lost: What was paid for calls without a result.
    """

    def __init__(self, folder: str | Path, about: dict[str, Any]) -> None:
        self.folder = Path(folder)
        self._path = self.folder / "journal.jsonl"
        self.results: list[dict[str, Any]] = []
        self.paid_before: list[Fraction] = []
        self.notes: list[tuple[int, list[float]]] = []
        self.lost = Fraction(0)
        self._recorded = self._open = Fraction(0)
        self._bound: dict[str, Any] | None = None
        self._untied = False
        self._end = 0
        self._digests: list[bytes] = [b""]
        try:
            self._descriptor = self._opened()
            try:
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
        try:
            if not (self.spent or self._open):
                self._remove()
        finally:
            os.close(self._descriptor)

    def _opened(self) -> int:
        """The file, open and locked; it is made, readable by its owner only, if there is none."""
        while True:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # A process that paid nothing removes its journal, perhaps just before we lock it.
                with suppress(FileNotFoundError):
                    if os.path.samestat(os.fstat(descriptor), self._path.stat()):
                        return descriptor
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)

    def _remove(self) -> None:
        """Leave nothing behind: a journal of which nothing was paid for is not worth keeping."""
        with suppress(OSError):
            for table in self.folder.glob("call[0-9][0-9][0-9][0-9]-*.npy"):
                table.unlink()
            self._path.unlink()
            self.folder.rmdir()

    def bind(self, ledger: str | None) -> None:
        """Tie the journal to its ledger; if it is tied to another, refuse.

        Args:
            ledger: The identity of the ledger, if there is one.
        """
        if self._bound is None:
            self._bound = {"key": secrets.token_bytes(KEY_BYTES).hex(), "ledger": ledger}
            try:
                self._append({"bound": self._bound})
            except OSError as fault:
                raise _nothing_paid(self._path, fault) from None
        elif self._bound["ledger"] != ledger:
            raise ReleaseError(
                f"{self.folder} is the journal of a fit that is paid from another ledger of this "
                "name: give that one"
            )

    @property
    def key(self) -> bytes:
        """The secret key of its fingerprints."""
        return bytes.fromhex((self._bound or {})["key"])

    def recognise(self, found: str) -> None:
        """Tie the journal to its data, once they are counted; if it is tied to others, refuse.

        Nothing is written in the middle of a call; the next result takes the tie with it.

        Args:
            found: The fingerprint of the data under the journal's key.
        """
        bound = self._bound or {}
        if bound.get("records") is None:
            self._bound, self._untied = {**bound, "records": found}, True
        elif bound["records"] != found:
            raise ReleaseError(
                f"{self.folder} is the journal of a fit on other data: these records are not those "
                "that it began with. Give those, or choose another output for a new fit"
            )

    @property
    def is_bound(self) -> bool:
        """Whether it knows its ledger; a journal of the first build does not."""
        return self._bound is not None

    @property
    def spent(self) -> Fraction:
        """What the calls in the journal cost, those that were lost included."""
        return self._recorded + self.lost

    def reserve(self, tables: Sequence[int]) -> list[str]:
        """Set room aside for the tables of the next call, of so many cells; the files' names."""
        call = len(self.results)
        names = [f"call{call:04d}-{i}.npy" for i in range(len(tables))]
        for name, cells in zip(names, tables, strict=True):
            path = self.folder / name
            try:
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
                try:
                    _set_aside(descriptor, 0, 8 * cells + BYTES_PER_QUERY)
                finally:
                    os.close(descriptor)
            except OSError as fault:
                raise _nothing_paid(path, fault) from None
        return names

    def announce(self, rho: Fraction, room: int) -> None:
        """Write down that a call is about to be paid for, with room on the disk for its result."""
        try:
            self._append({"paying": str(rho)}, room)
        except OSError as fault:
            with suppress(OSError):
                os.ftruncate(self._descriptor, self._end)
            raise _nothing_paid(self._path, fault) from None
        self.lost, self._open = self.lost + self._open, rho

    def refuse(self, rho: Fraction) -> None:
        """Write down that the call that was announced last was not paid for after all."""
        self._append({"refused": str(rho)})
        self._open = Fraction(0)

    def write_table(self, name: str, counts: Counts) -> None:
        """Write a table of the call that was announced last into the file reserved for it."""
        with (self.folder / name).open("r+b") as file:
            np.save(file, counts)
            file.flush()
            os.fsync(file.fileno())

    def table(self, name: str) -> Counts:
        """The table in a file of the journal."""
        counts: Counts = np.load(self.folder / Path(name).name, allow_pickle=False)
        return counts

    def digest(self, calls: int, notes: int) -> str:
        """A digest of the results of the first so many calls, with their tables, and of notes."""
        while len(self._digests) <= calls:
            result = self.results[len(self._digests) - 1]
            digest = hashlib.blake2b(self._digests[-1], digest_size=DIGEST_BYTES)
            digest.update(json.dumps(result, sort_keys=True).encode())
            for name in result.get("files", ()):
                with (self.folder / Path(name).name).open("rb") as file:
                    while content := file.read(1 << 20):
                        digest.update(content)
            self._digests.append(digest.digest())
        noted = json.dumps(self.notes[:notes]).encode()
        return hashlib.blake2b(
            noted, key=self._digests[calls], digest_size=DIGEST_BYTES
        ).hexdigest()

    def record(self, result: dict[str, Any]) -> None:
        """Write down the result of the call that was announced last."""
        if self._untied:
            self._append({"bound": self._bound})
            self._untied = False
        self._append(result)
        self._add(result)

    def note(self, numbers: Sequence[float]) -> None:
        """Write down numbers that follow from the results so far."""
        try:
            self._append({"noted": [*numbers]})
        except OSError as fault:
            raise _nothing_paid(self._path, fault) from None
        self.notes.append((len(self.results), [*numbers]))

    def _add(self, result: dict[str, Any]) -> None:
        self.paid_before.append(self.spent)
        self.results.append(result)
        self._recorded, self._open = self._recorded + Fraction(result["rho"]), Fraction(0)

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
            if _renamed(entries[0]) != json.loads(json.dumps(header)):
                raise ReleaseError(
                    f"{self.folder} is the journal of another fit (other data, workload, budget, "
                    "settings or ledger): resume with the same command, or choose another output"
                )
            self._replay(entries[1:])
        except (
            *(ValueError, TypeError, AttributeError, KeyError, ArithmeticError, RecursionError),
        ) as fault:
            if isinstance(fault, ReleaseError):
                raise
            raise ReleaseError(f"{self._path} is damaged and cannot be resumed from") from None

    def _replay(self, entries: list[dict[str, Any]]) -> None:
        """Match announcements with what became of them; what became of nothing is lost."""
        for entry in entries:
            if "bound" in entry:
                bound = entry["bound"]
                self._bound = {name: bound.get(name) for name in ("key", "records", "ledger")}
                if len(bytes.fromhex(self._bound["key"])) != KEY_BYTES:
                    raise ValueError("a key of another length")
                continue
            if "noted" in entry:
                self.notes.append((len(self.results), [*map(float, entry["noted"])]))
                continue
            if "paying" in entry:
                self.lost, self._open = self.lost + self._open, exact(entry["paying"], "rho")
                continue
            amount = exact(entry["refused"] if "refused" in entry else entry["rho"], "rho")
            if amount != self._open:
                raise ValueError("a result that was not announced")
            if "verb" in entry:
                self._add(entry)
            self._open = Fraction(0)
        self.lost, self._open = self.lost + self._open, Fraction(0)


def begun(folder: str | Path) -> dict[str, Any] | None:
    """What the fit of a journal is about, as its first line says; None if there is no such line."""
    try:
        with (Path(folder) / "journal.jsonl").open("rb") as file:
            about = json.loads(file.readline())["about"]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    return about if isinstance(about, dict) else None


def _renamed(header: dict[str, Any]) -> dict[str, Any]:
    """The header of a journal, with the settings of the first build under their present names."""
    settings = header["about"].get("settings")
    if isinstance(settings, dict) and "own_tables" in settings:
        settings["workload_tables"] = settings.pop("own_tables")
    return header


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
        f"{path} cannot be written: {fault.strerror}. Nothing was paid for; make room, then run it "
        "again (with --resume, if calls before this one were paid for)"
    )
