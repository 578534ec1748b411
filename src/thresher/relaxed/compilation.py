"""The one place that calls numba, so that every kernel has the same settings and is cached."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import numba
from numba.core import event

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

# Sums may be reordered (that is what lets them use vector registers) and multiply-adds fused,
# but infinities and NaN keep their meaning: a NaN must stay visible to the caller.
_REORDER = {"reassoc", "contract", "nsz", "arcp"}

# Below this many numbers, waking a second core costs more time than it saves, and much more when
# other programs keep that core busy.
_WORTH_SHARING = 2_000_000


def njit(*, parallel: bool = False, reorder: bool = True) -> Callable[[Kernel], Kernel]:
    """Compile a kernel on first use and keep the machine code beside the source for later runs.

    Args:
        parallel: Spread the kernel's `prange` loops over the processor's cores. Kernels share
            rows out in fixed blocks and add partial sums in a fixed order, so results do not
            depend on how many cores take part.
        reorder: Whether sums may be reordered. If not, two kernels that add up the same numbers in
            the same order get the same sum to the last bit.

    Returns:
        A decorator that leaves the function's type as it is.
    """
    settings: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    if reorder:
        settings["fastmath"] = _REORDER
    return cast(Callable[[Kernel], Kernel], numba.njit(cache=True, parallel=parallel, **settings))


@contextmanager
def cores_for(size: int) -> Iterator[None]:
    """Run kernels on one core if they work on too few numbers (`size`) to be worth sharing out.

    Example:
        >>> with cores_for(1000):
        ...     numba.get_num_threads()
        1
    """
    before = numba.get_num_threads()
    if size < _WORTH_SHARING:
        numba.set_num_threads(1)
    try:
        yield
    finally:
        numba.set_num_threads(before)


@contextmanager
def telling_of_compilation(tell: Callable[[], None]) -> Iterator[None]:
    """Call `tell` before a kernel is compiled for the first time on this machine, at most once.

    Compiling all kernels of a fit takes several seconds. Kernels that are cached are not compiled.

    Example:
        >>> with telling_of_compilation(lambda: print("compiling")):
        ...     numba.njit(lambda x: x + 1)(1)
        compiling
        2
    """
    with event.install_listener("numba:compile", _FirstTime(tell)):
        yield


class _FirstTime(event.Listener):
    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell, self._told = tell, False

    def on_start(self, event: object) -> None:
        if not self._told:
            self._told = True
            self._tell()

    def on_end(self, event: object) -> None:
        """Nothing to say."""
