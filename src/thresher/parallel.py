"""Work on all cores: many independent pieces, each on one core, results in order.

The pieces are large (a slab of a table), so that cores rarely wait for each other. Matrix
products inside a piece stay on its core. Otherwise BLAS and this module would each start one thread
per core, and on a busy machine these threads would mostly wait for one another.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import chain, islice
from typing import TypeVar

from threadpoolctl import ThreadpoolController

from thresher.errors import ParameterError

Item = TypeVar("Item")
Result = TypeVar("Result")


def cores() -> int:
    """How many cores this process may use; THRESHER_CORES in the environment can set fewer."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    wanted = os.environ.get("THRESHER_CORES") or available or 1
    try:
        return max(1, min(int(wanted), available or 1))
    except ValueError:
        raise ParameterError(
            f"THRESHER_CORES must be a whole number such as 2, not {wanted!r}"
        ) from None


def in_order(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Apply a function to many items on all cores; the results come in the items' order.

    At most a few results are computed ahead of the one that is asked for, so that large ones do
    not pile up. A single item is worked on in the caller's thread.

    Example:
        >>> list(in_order(lambda x: x * x, range(5)))
        [0, 1, 4, 9, 16]
    """
    workers = cores()
    with products_on_one_core():
        pending = iter(items)
        first = list(islice(pending, 2))
        if workers == 1 or len(first) < 2:
            yield from map(function, chain(first, pending))
            return
        with ThreadPoolExecutor(workers) as pool:
            ahead: deque[Future[Result]] = deque()
            try:
                for item in chain(first, pending):
                    ahead.append(pool.submit(function, item))
                    if len(ahead) > 2 * workers:
                        yield ahead.popleft().result()
                while ahead:
                    yield ahead.popleft().result()
            finally:
                for future in ahead:
                    future.cancel()


@contextmanager
def products_on_one_core() -> Iterator[None]:
    """Keep matrix products on one core; their last digits then do not depend on who calls."""
    with _blas().limit(limits=1, user_api="blas"):
        yield


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()
