"""The one thread that computes, so that requests can come and go while it does."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from thresher.service.limits import Limits
from thresher.service.refusal import Refusal

Result = TypeVar("Result")


@dataclass(frozen=True)
class Deadline:
    """When a request must be done. Long work asks now and then, and stops.

    Attributes:
        at: The moment, by the monotonic clock.
        seconds: How many seconds there were.
    """

    at: float
    seconds: float

    def check(self) -> None:
        """Raise a Refusal if it has passed."""
        if time.monotonic() > self.at:
            raise self.refusal()

    def refusal(self) -> Refusal:
        """What is said to the sender of a request that took too long."""
        return Refusal(
            422, f"this took longer than {self.seconds:g} seconds: ask for less", "too_slow"
        )


class Worker:
    """Computes for one request after the other.

    One thread: kernels of numba must not run in two threads at once on every platform, and most
    of the work needs Python's lock in any case.

    Args:
        limits: How long a request may take, and how many may wait.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits, self._waiting = limits, 0
        self._pool: ThreadPoolExecutor | None = None

    async def run(self, work: Callable[[Deadline], Result]) -> Result:
        """The result of some work, or a Refusal.

        Args:
            work: What to do. If it takes long, it checks its deadline.
        """
        seconds = self._limits.seconds
        if self._waiting >= self._limits.waiting:
            raise _busy()
        deadline = Deadline(time.monotonic() + seconds, seconds)
        self._waiting += 1
        self._pool = self._pool or ThreadPoolExecutor(1, "answers")
        future = self._pool.submit(work, deadline)
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            # Work that has started goes on until it checks its deadline; its result is dropped.
            raise (_busy() if future.cancelled() else deadline.refusal()) from None
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """Stop, without what is still waiting. Further work starts another thread."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None


def _busy() -> Refusal:
    return Refusal(
        429, "too many requests are waiting: try again later", headers={"Retry-After": "1"}
    )
