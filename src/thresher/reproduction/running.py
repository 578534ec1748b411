"""Runs of experiments: tasks with stable keys, a store that only grows, and work on many cores.

A task is a frozen set of parameters that knows how to run itself. What it found is one line of the
store, on disk before the next line begins. So a rerun does only what is missing, and a crash loses
no more than the runs in flight.
"""

import csv
import fcntl
import hashlib
import importlib
import io
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

import joblib
import numba

from thresher.errors import ParameterError, ResourceError, ThresherError
from thresher.parallel import cores, products_on_one_core

Result = dict[str, Any]
Sources = Mapping[str, str]
"""Where the files of data sets are that do not come with thresher, by their names."""

Watch = Callable[[float, float, str], None]
"""Called with the work done, the work in all, and what was done last."""

MEANING = 1
"""Part of every key: raise it when the same parameters come to mean another experiment."""

COLUMNS = ("key", "kind", "parameters", "result")
CONNECTING = 30.0


class UnavailableError(ThresherError):
    """Something that a run needs is not installed here."""


@dataclass(frozen=True, kw_only=True)
class Task(ABC):
    """One run of an experiment, by its parameters alone."""

    kind: ClassVar[str]

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
    def key(self) -> str:
        """What the store knows the task by: the same in every process and on every machine."""
        told = json.dumps([MEANING, self.kind, self.parameters], sort_keys=True)
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
        try:
            lines = list(csv.DictReader(io.StringIO(kept.decode())))
            self._results = {line["key"]: json.loads(line["result"]) for line in lines}
        except (KeyError, TypeError, ValueError):
            raise ParameterError(
                f"{self.path} is not a store of results: give another folder, or remove it"
            ) from None

    def _write(self, fields: Iterable[str]) -> None:
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(fields)
        os.write(self._descriptor, line.getvalue().encode())
        os.fsync(self._descriptor)

    def append(self, task: Task, result: Result) -> None:
        """Keep what a task found; it is on disk when this returns."""
        parameters = json.dumps(task.parameters, sort_keys=True)
        self._write((task.key, task.kind, parameters, json.dumps(result)))
        self._results[task.key] = result

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


@dataclass(frozen=True)
class Skipped:
    """A task that could not be run here, and why; the next run tries it again."""

    task: Task
    reason: str


@dataclass(frozen=True)
class Workforce:
    """Who does the work.

    Attributes:
        processes: How many processes of this machine; all its cores if not given.
        dask: The address of a Dask scheduler to use instead, such as `tcp://10.0.0.1:8786`.
    """

    processes: int | None = None
    dask: str | None = None

    def results(
        self, tasks: Iterable[Task], sources: Sources
    ) -> Iterator[tuple[Task, Result | Skipped]]:
        """Run tasks; they come as they end, in any order."""
        processes = self.processes or cores()
        with ExitStack() as stack:
            if self.dask is not None:
                stack.enter_context(_cluster(self.dask))
            elif processes == 1:
                yield from (run_alone(task, sources) for task in tasks)
                return
            else:
                stack.enter_context(
                    joblib.parallel_config("loky", n_jobs=processes, inner_max_num_threads=1)
                )
            # One task at a time, or a finished one would wait in memory for its neighbours.
            parallel = joblib.Parallel(return_as="generator_unordered", batch_size=1)
            yield from parallel(joblib.delayed(run_alone)(task, sources) for task in tasks)


def run_missing(
    tasks: Iterable[Task],
    store: Store,
    sources: Sources,
    workforce: Workforce,
    watch: Watch | None = None,
) -> list[Skipped]:
    """Run the tasks that the store has no result of, and keep what they find.

    Args:
        tasks: All tasks; those listed twice run once.
        store: Where results are and go.
        sources: Files of data sets.
        workforce: Who does the work.
        watch: Told after each run.

    Returns:
        What could not be run here.
    """
    missing = sorted((t for t in dict.fromkeys(tasks) if t not in store), key=lambda t: -t.cost)
    total, done = sum(task.cost for task in missing), 0.0
    skipped = []
    if not missing:
        return []
    for task, result in workforce.results(missing, sources):
        done += task.cost
        if isinstance(result, Skipped):
            skipped.append(result)
        else:
            store.append(task, result)
        if watch is not None:
            watch(done, total, task.kind)
    return skipped


def run_alone(task: Task, sources: Sources) -> tuple[Task, Result | Skipped]:
    """Run one task on one core: the others have tasks of their own."""
    try:
        with _one_core():
            return task, task.run(sources)
    except (ResourceError, UnavailableError) as fault:
        return task, Skipped(task, str(fault))


@contextmanager
def _one_core() -> Iterator[None]:
    before, threads = os.environ.get("THRESHER_CORES"), numba.get_num_threads()
    os.environ["THRESHER_CORES"] = "1"
    numba.set_num_threads(1)
    try:
        with products_on_one_core():
            yield
    finally:
        numba.set_num_threads(threads)
        if before is None:
            del os.environ["THRESHER_CORES"]
        else:
            os.environ["THRESHER_CORES"] = before


@contextmanager
def _cluster(address: str) -> Iterator[None]:
    """Joblib's Dask backend, on a cluster whose workers have one thread each."""
    distributed = importlib.import_module("distributed")

    try:
        client = distributed.Client(address, timeout=CONNECTING)
    except (OSError, ValueError) as fault:
        raise ParameterError(f"--dask {address}: no scheduler answers there ({fault})") from None
    with client:
        workers = client.scheduler_info(n_workers=-1)["workers"]
        if any(worker["nthreads"] > 1 for worker in workers.values()):
            # The kernels' threads are the process's own; two runs in one would meet there.
            raise ParameterError(
                f"--dask {address}: start the workers with one thread each, as in "
                "`dask worker --nthreads 1 --nworkers auto`"
            )
        with joblib.parallel_config("dask", wait_for_workers_timeout=CONNECTING):
            yield
