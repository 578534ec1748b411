"""Runs of experiments: tasks with stable keys, and a store that only grows.

A task is a frozen set of parameters that knows how to run itself. What it found is one line of the
store, on disk before the next line begins. So a rerun does only what is missing, and a crash loses
no more than the runs in flight. `workforce` runs tasks on many cores and machines.
"""

import csv
import fcntl
import hashlib
import io
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

from thresher.errors import ParameterError, ThresherError

Result = dict[str, Any]
Sources = Mapping[str, str]
"""Where the files of data sets are that do not come with thresher, by their names."""

MEANING = 1
"""Part of every key: raise it when the same parameters come to mean another experiment."""

COLUMNS = ("key", "kind", "parameters", "result")


class UnavailableError(ThresherError):
    """Something that a run needs is not installed here."""


@dataclass(frozen=True, kw_only=True)
class Task(ABC):
    """One run of an experiment, by its parameters alone."""

    kind: ClassVar[str]
    later: ClassVar[frozenset[str]] = frozenset()
    """Parameters that came after results had been stored: at their defaults no key has them."""

    @abstractmethod
    def run(self, sources: Sources) -> Result:
        """Do it; the result is plain JSON."""

    @property
    def cost(self) -> float:
        """About how much work it is, in any unit: long runs start first, and foretell the time."""
        return 1.0

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters as plain JSON."""
        return asdict(self)

    @property
    def stored(self) -> dict[str, Any]:
        """The parameters as the store has them."""
        defaults = {field.name: field.default for field in fields(self)}
        return {
            name: value
            for name, value in self.parameters.items()
            if name not in self.later or value != defaults[name]
        }

    @property
    def key(self) -> str:
        """What the store knows the task by: the same in every process and on every machine."""
        told = json.dumps([MEANING, self.kind, self.stored], sort_keys=True)
        return hashlib.sha256(told.encode()).hexdigest()[:16]

    @property
    def noise_seed(self) -> int:
        """A seed of its own for each task, so that no two of them share their noise."""
        return int(self.key, 16)


class Store:
    """Results on disk, one line a run; open in one process at a time.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "runs.csv") as store:
        ...     len(store)
        0
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._results: dict[str, Result] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as fault:
            raise ParameterError(f"{path} cannot be written: {fault.strerror}") from None
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._load()
        except BlockingIOError:
            os.close(self._descriptor)
            raise ParameterError(
                f"{path} is in use by another run: wait for it, or give another folder"
            ) from None
        except BaseException:
            os.close(self._descriptor)
            raise

    def _load(self) -> None:
        whole = self.path.read_bytes()
        # A line without its end was being written when the process died.
        kept = whole[: whole.rfind(b"\n") + 1]
        os.ftruncate(self._descriptor, len(kept))
        if not kept:
            self._write(COLUMNS)
            return
        lines = _lines_of(kept, self.path)
        self._results = {line["key"]: json.loads(line["result"]) for line in lines}

    def _write(self, fields: Iterable[str]) -> None:
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(fields)
        os.write(self._descriptor, line.getvalue().encode())
        os.fsync(self._descriptor)

    def append(self, task: Task, result: Result) -> None:
        """Keep what a task found; it is on disk when this returns."""
        parameters = json.dumps(task.stored, sort_keys=True)
        self._write((task.key, task.kind, parameters, json.dumps(result)))
        self._results[task.key] = result

    def merge(self, path: Path) -> int:
        """Take over the results of another store, such as another machine's.

        A run that is known here stays as it is.

        Args:
            path: The other `results.csv`. It is read, not changed.

        Returns:
            How many runs were new.
        """
        try:
            whole = path.read_bytes()
        except OSError as fault:
            raise ParameterError(f"--merge {path}: cannot be read: {fault.strerror}") from None
        new = 0
        for line in _lines_of(whole[: whole.rfind(b"\n") + 1], path):
            if line["key"] not in self._results:
                self._write([line[name] for name in COLUMNS])
                self._results[line["key"]] = json.loads(line["result"])
                new += 1
        return new

    def data_sets(self) -> set[str]:
        """The names of the data sets that runs are of."""
        lines = _lines_of(self.path.read_bytes(), self.path)
        told = (json.loads(line["parameters"]) for line in lines)
        return {parameters["data"] for parameters in told if "data" in parameters}

    def results(self) -> Iterator[tuple[str, Result]]:
        """The kind and the result of every run."""
        for line in _lines_of(self.path.read_bytes(), self.path):
            yield line["kind"], json.loads(line["result"])

    def __getitem__(self, task: Task) -> Result:
        return self._results[task.key]

    def __contains__(self, task: Task) -> bool:
        return task.key in self._results

    def __len__(self) -> int:
        return len(self._results)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._descriptor)


def _lines_of(whole: bytes, path: Path) -> list[dict[str, str]]:
    """The lines of a store, each with a key and a result."""
    try:
        lines = list(csv.DictReader(io.StringIO(whole.decode())))
        for line in lines:
            json.loads(line["result"])
            if not all(isinstance(line[name], str) for name in COLUMNS):
                raise ValueError
    except (KeyError, TypeError, ValueError):
        raise ParameterError(
            f"{path} is not a store of results: give another folder, or remove it"
        ) from None
    return lines
