"""The time and memory that a fit will take, known before any budget is spent."""

import math
import os
import time
from dataclasses import dataclass
from functools import cache

import numpy as np

from thresher.data.counting import ARRAY_BYTES, RUN_BYTES
from thresher.errors import ResourceError
from thresher.parallel import products_on_one_core
from thresher.queries.workload import Workload
from thresher.tables.sparse import DENSE_PER_PAIR

LONGEST = 7 * 24 * 3600.0
"""The most seconds of a fit that is not refused: a week."""

STARTING = 0.45
"""What a fit takes however small it is: loading compiled kernels, mostly."""

BATCH_BYTES = 256 << 20
"""What the batches of records that are being read and coded take, at the most."""

TRIALS, TRIAL_CELLS, TRIAL_ROWS = 15, 200, 1000
TRIAL_SECONDS = 3.9e-3
"""The small trial of `slowness`, and its seconds on the machine of the constants."""


@dataclass(frozen=True)
class Estimate:
    """An estimate from public facts: the sizes of things, and the speed of this machine.

    Attributes:
        seconds: About how many seconds of processor time. On several idle cores it takes less, on
            a busy machine more.
        memory: About how many bytes at the most.
        advice: What to change if that is too much.

    Example:
        >>> print(Estimate(seconds=90.0, memory=3 << 29, advice="take fewer rounds"))
        about 90 s and 1.50 GiB
    """

    seconds: float
    memory: int
    advice: str

    def check(self) -> None:
        """Refuse what cannot fit, before anything is paid for."""
        free = available_memory()
        if self.memory > free:
            raise ResourceError(
                f"this fit needs about {self.memory / 2**30:.1f} GiB of memory and "
                f"{free / 2**30:.1f} GiB are free: {self.advice}"
            )
        if self.seconds > LONGEST:
            raise ResourceError(
                f"this fit would take about {self.seconds / 86400:.0f} days: {self.advice}"
            )

    def __str__(self) -> str:
        return f"about {max(1, round(self.seconds))} s and {self.memory / 2**30:.2f} GiB"


def available_memory() -> int:
    """The bytes of memory that can be had, or a generous guess where the system does not say."""
    try:
        # Pages that merely cache files can be had, though they are not free.
        with open("/proc/meminfo", encoding="ascii") as file:
            [kibibytes] = (line.split()[1] for line in file if line.startswith("MemAvailable:"))
        return int(kibibytes) << 10
    except (ValueError, OSError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return 8 << 30


@dataclass(frozen=True)
class Work:
    """Work of a known kind, in seconds of processor time on the machine it was measured on.

    The constants were measured on one core of an EPYC by taking fits apart (64, 16 3-way marginals
    and 64 1-of-3 thresholds of ADULT, `loans_like`). On another machine, `slowness` says how much
    longer it takes.

    Attributes:
        seconds: The seconds.

    Example:
        >>> (Work.drawing(10**6) + Work.drawing(10**6)).seconds == Work.drawing(2 * 10**6).seconds
        True
    """

    seconds: float

    def __add__(self, other: "Work") -> "Work":
        return Work(self.seconds + other.seconds)

    def times(self, factor: float) -> "Work":
        """The same work several times."""
        return Work(factor * self.seconds)

    @classmethod
    def counting(cls, n: int, workload: Workload) -> "Work":
        """One pass over n records, read from a file."""
        features = {name for threshold in workload for name in threshold.features}
        sets = {threshold.features for threshold in workload}
        cells = [math.prod(workload.schema[name].size for name in names) for names in sets]
        arrays = sum(size <= DENSE_PER_PAIR * n for size in cells)
        runs = len(cells) - arrays
        return cls(n * (1.2e-8 * len(features) + 2e-9 * arrays + 4e-8 * runs))

    @classmethod
    def drawing(cls, cells: int) -> "Work":
        """Noise for so many counts."""
        return cls(2.1e-7 * cells)

    @classmethod
    def scoring(cls, cells: int, tables: int, rows: int) -> "Work":
        """One look at all cells of some tables on D', which has so many rows."""
        return cls(cells * (2.5e-11 * rows + 5e-9) + tables * (2.2e-7 * rows + 8e-4))

    @classmethod
    def choosing(cls, cells: float, rows: int) -> "Work":
        """The choice of the worst of so many queries."""
        return cls(cells * (6e-11 * rows + 3e-8))

    @classmethod
    def walking(cls, cells: float, products: float) -> "Work":
        """A look at so many cells, whose answers take so many multiply-adds of a product."""
        return cls(1e-8 * cells + 3.5e-11 * products)

    @classmethod
    def fitting_tables(cls, cells: float, tables: float, rows: int) -> "Work":
        """One iteration of a projection on so many tables: a gradient, and two looks."""
        return cls(cells * rows * (1.23e-10 + 2 * 4.6e-11) + tables * rows * (4.7e-7 + 2 * 2.2e-7))

    @classmethod
    def fitting_queries(cls, queries: float, rows: int) -> "Work":
        """One iteration of a projection on so many queries."""
        return cls(2e-8 * queries * rows)

    @classmethod
    def stepping(cls, width: int, rows: int) -> "Work":
        """One iteration of a projection, apart from what it is fitted to."""
        return cls(2 * 7e-9 * width * rows)

    def here(self) -> float:
        """The seconds on this machine, with what starting takes."""
        return slowness() * (self.seconds + STARTING)


def counting_memory(n: int, workload: Workload) -> int:
    """The bytes of the counted tables, as far as they stay in memory, and of batches of records."""
    sizes = (threshold.query_count(workload.schema) for threshold in workload)
    tables = min(sum(16 * min(n, size) for size in sizes), ARRAY_BYTES + RUN_BYTES)
    return tables + min(16 * n, BATCH_BYTES)


@cache
def slowness() -> float:
    """How many times as long as on the machine of the constants a small trial takes here.

    The best of several trials, in processor time of one thread: what else the machine does then
    hardly matters.
    """
    rng = np.random.default_rng(0)
    left = rng.random((TRIAL_CELLS, TRIAL_ROWS), dtype=np.float32)
    right = rng.random((TRIAL_CELLS, TRIAL_ROWS), dtype=np.float32)
    taken = []
    with products_on_one_core():
        for _ in range(TRIALS):
            begin = time.thread_time()
            for _ in range(4):
                product = left @ right.T
                np.maximum(product * np.float32(0.5), np.float32(0.1)).sum()
            taken.append(time.thread_time() - begin)
    return max(min(taken), 1e-6) / TRIAL_SECONDS
