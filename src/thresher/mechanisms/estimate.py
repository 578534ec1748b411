"""The time and memory that a fit will take, known before any budget is spent."""

import os
import time
from dataclasses import dataclass
from functools import cache

import numpy as np

from thresher.errors import ResourceError

LONGEST = 7 * 24 * 3600.0
"""The most seconds of a fit that is not refused: a week."""


@dataclass(frozen=True)
class Estimate:
    """An estimate from public facts: the sizes of things, and the speed of this machine.

    Attributes:
        seconds: About how long.
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


@cache
def multiply_adds_per_second() -> float:
    """The speed of float32 matrix products on this machine, tried for a few milliseconds."""
    matrix = np.ones((1000, 1000), dtype=np.float32)
    matrix @ matrix
    begin = time.perf_counter()
    matrix @ matrix
    return 1e9 / max(time.perf_counter() - begin, 1e-6)
