"""Who runs the tasks: processes of this machine or a Dask cluster, at a low priority if asked.

Whoever runs a task, its result is the same: its seeds are made from its parameters. A worker that
dies loses the task it was at, and another one does it again.
"""

import ctypes
import gc
import importlib
import os
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

import joblib
import numba

from thresher.errors import ParameterError, ResourceError
from thresher.parallel import cores, products_on_one_core
from thresher.reproduction.running import Result, Sources, Store, Task, UnavailableError

Watch = Callable[[float, float, str], None]
"""Called with the work done, the work in all, and what was done last."""

CONNECTING = 30.0
AHEAD = 4
"""Tasks handed to each worker of a cluster before the first of them is done."""

NEW_OBJECTS = 10_000
"""So many new objects between two looks for cycles; Python's default is 700."""

STATUS, PEAK_RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
"""Where Linux tells a process its peak memory, and lets it start anew."""


@dataclass(frozen=True)
class Skipped:
    """A task that could not be run here, and why; the next run tries it again."""

    task: Task
    reason: str


@dataclass(frozen=True)
class Share:
    """The part of all tasks that one of several machines does.

    Attributes:
        number: Which machine this is, from 1.
        machines: How many there are.

    Example:
        >>> Share.parse("2/3")
        Share(number=2, machines=3)
    """

    number: int = 1
    machines: int = 1

    @classmethod
    def parse(cls, text: str) -> "Share":
        """Read `2/3`: the second of three machines."""
        number, _, machines = text.partition("/")
        try:
            share = cls(int(number), int(machines))
        except ValueError:
            raise ParameterError(f"--share must look like 2/3, not {text!r}") from None
        if not 1 <= share.number <= share.machines:
            raise ParameterError(f"--share {text}: the first number runs from 1 to the second")
        return share

    def has(self, task: Task) -> bool:
        """Whether this machine does the task; every task is done by exactly one."""
        return int(task.key, 16) % self.machines == self.number - 1


@dataclass(frozen=True)
class Workforce:
    """Who does the work.

    Attributes:
        processes: How many processes of this machine; all its cores if not given.
        dask: The address of a Dask scheduler to use instead, such as `tcp://10.0.0.1:8786`.
        niceness: The priority of the processes, from 0 (usual) to 19 (lowest).
        minutes: After this time no task is begun. What is missing is run the next time.
        share: The part of the tasks that is done here.
        cheap_first: Whether short runs come first. Long ones first end sooner in all.
    """

    processes: int | None = None
    dask: str | None = None
    niceness: int = 0
    minutes: float | None = None
    share: Share = Share()
    cheap_first: bool = False

    def in_order(self, tasks: Iterable[Task], store: Store) -> list[Task]:
        """The tasks of this machine that the store has no result of, each once."""
        missing = [t for t in dict.fromkeys(tasks) if t not in store and self.share.has(t)]
        return sorted(missing, key=lambda task: task.cost if self.cheap_first else -task.cost)

    def results(
        self, tasks: Iterable[Task], sources: Sources
    ) -> Iterator[tuple[Task, Result | Skipped]]:
        """Run tasks; they come as they end, in any order."""
        begun = self._in_time(tasks)
        processes = self.processes or cores()
        with ExitStack() as stack:
            if self.dask is not None:
                client = stack.enter_context(_cluster(self.dask))
                yield from self._on_cluster(client, begun, sources)
            elif processes == 1:
                yield from (run_alone(task, sources, self.niceness) for task in begun)
            else:
                stack.enter_context(
                    joblib.parallel_config("loky", n_jobs=processes, inner_max_num_threads=1)
                )
                # One task at a time, or a finished one would wait in memory for its neighbours.
                parallel = joblib.Parallel(return_as="generator_unordered", batch_size=1)
                call = joblib.delayed(run_alone)
                yield from parallel(call(task, sources, self.niceness) for task in begun)

    def _in_time(self, tasks: Iterable[Task]) -> Iterator[Task]:
        """Tasks for as long as there is time."""
        began = time.monotonic()
        for task in tasks:
            if self.minutes is not None and time.monotonic() - began > 60 * self.minutes:
                return
            yield task

    def _on_cluster(
        self, client: Any, tasks: Iterator[Task], sources: Sources
    ) -> Iterator[tuple[Task, Result | Skipped]]:
        """Keep every worker busy; the scheduler hands on the tasks of workers that died."""
        distributed = importlib.import_module("distributed")

        def submit(task: Task) -> Any:
            return client.submit(run_alone, task, dict(sources), self.niceness, pure=False)

        workers = max(1, len(client.scheduler_info(n_workers=-1)["workers"]))
        running = distributed.as_completed(
            [submit(task) for task in islice(tasks, AHEAD * workers)], with_results=True
        )
        for _, found in running:
            yield found
            following = next(tasks, None)
            if following is not None:
                running.add(submit(following))


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
    missing = workforce.in_order(tasks, store)
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


def run_alone(task: Task, sources: Sources, niceness: int = 0) -> tuple[Task, Result | Skipped]:
    """Run one task on one core: the others have tasks of their own.

    The result says how much processor time and memory the run took, and which versions made it.
    """
    if niceness:
        os.setpriority(os.PRIO_PROCESS, 0, niceness)
    tells_peak = _forget_peak()
    began = time.process_time()
    try:
        with _one_core(), _rare_collections():
            found = task.run(sources)
    except (ResourceError, UnavailableError) as fault:
        return task, Skipped(task, str(fault))
    seconds = round(time.process_time() - began, 2)
    peak = _peak_mebibytes() if tells_peak else None
    return task, {**found, "cpu_seconds": seconds, "peak_mib": peak, "software": _software()}


def _forget_peak() -> bool:
    """Count peak memory from here on, without what earlier runs have left; False if nobody can."""
    gc.collect()
    with suppress(OSError, AttributeError):  # only glibc keeps memory that it can give back
        ctypes.CDLL(None).malloc_trim(0)
    try:
        PEAK_RESET.write_text("5")
    except OSError:
        return False
    return True


def _peak_mebibytes() -> int | None:
    """The most memory that the process had since the task began; None where nobody tells."""
    try:
        lines = STATUS.read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM")), None)


@cache
def _software() -> str:
    """Versions of what made a result; in a checkout with the commit, as all have one version."""
    names = ("thresher", "numpy", "numba")
    told = ", ".join(f"{name} {version(name)}" for name in names)
    package = Path(__file__).parents[1]
    asked = ["git", "-C", str(package), "log", "-1", "--format=%h", "--", "."]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return told
    # An installed package may lie in a checkout of something else, which knows nothing of it.
    commit = done.stdout.strip()
    return f"{told}, commit {commit}" if commit else told


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
def _rare_collections() -> Iterator[None]:
    """Look for cycles of objects less often.

    A fit keeps many thousands of queries. Going through them again and again took a quarter of the
    processor time of RAP with (T, K) = (64, 256), and freed next to nothing.
    """
    before = gc.get_threshold()
    gc.set_threshold(NEW_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextmanager
def _cluster(address: str) -> Iterator[Any]:
    """A client of a cluster whose workers have one thread each."""
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
        client.wait_for_workers(1, timeout=CONNECTING)
        yield client
