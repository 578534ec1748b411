"""Where random bits come from: the operating system, or, for experiments only, a seed.

Everything random in `thresher.privacy` is made of uniform 64-bit words. A real release takes them
from `SystemRandomness`, which has no seed and no state. `InsecureSeededRandomness` repeats itself
by design, so whoever knows the seed can subtract the noise.
"""

import os
from abc import ABC, abstractmethod
from typing import ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from thresher.errors import ParameterError

_WORD_BITS = 64


class Randomness(ABC):
    """A source of independent uniform 64-bit words, and of exact uniform integers made of them.

    Attributes:
        is_secure: Whether a release may rest on this source.
    """

    is_secure: ClassVar[bool] = False

    @abstractmethod
    def words(self, count: int) -> NDArray[np.uint64]:
        """Draw `count` fresh words, uniform on {0, …, 2⁶⁴ − 1}."""

    def bits(self, count: int) -> int:
        """Draw an integer of `count` uniform bits.

        Args:
            count: How many bits, zero or more.

        Returns:
            An integer uniform on {0, …, 2^count − 1}.

        Example:
            >>> SystemRandomness().bits(100) < 2**100
            True
        """
        if count < 0:
            raise ParameterError(f"count must be at least 0, not {count!r}")
        whole = -(-count // _WORD_BITS)
        drawn = int.from_bytes(self.words(whole).tobytes(), "little")
        return drawn >> (whole * _WORD_BITS - count)

    def below(self, bound: int) -> int:
        """Draw an integer uniform on {0, …, bound − 1}, exactly, for a bound of any size.

        Bits enough to hold the bound are drawn until they fall below it: less than two tries on
        average, and no bias, as a remainder or a rounded product would have.

        Args:
            bound: At least one.

        Returns:
            The integer.

        Example:
            >>> InsecureSeededRandomness(0).below(10**30) < 10**30
            True
        """
        if bound < 1:
            raise ParameterError(f"bound must be at least 1, not {bound!r}")
        size = (bound - 1).bit_length()
        while (drawn := self.bits(size)) >= bound:
            pass
        return drawn


class SystemRandomness(Randomness):
    """The operating system's cryptographic generator, and the only source fit for a release.

    It keeps nothing between calls: no seed to leak, no buffer that a forked process would share
    with its parent, no state that could be replayed. It refuses to be copied or pickled all the
    same, so that code which would share a generator fails here rather than with a seeded one.

    Example:
        >>> SystemRandomness().words(3).dtype
        dtype('uint64')
    """

    is_secure: ClassVar[bool] = True

    def words(self, count: int) -> NDArray[np.uint64]:
        """Draw `count` fresh words, uniform on {0, …, 2⁶⁴ − 1}."""
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "SystemRandomness cannot be copied or pickled; make a new SystemRandomness() instead"
        )

    def __repr__(self) -> str:
        return "SystemRandomness()"


class InsecureSeededRandomness(Randomness):
    """A repeatable source, for experiments and tests on data that need no protection.

    NEVER for a release: the seed gives the noise away, and with it the records.

    Args:
        seed: A whole number of at least zero; the same seed gives the same words.

    Example:
        >>> InsecureSeededRandomness(7).below(1000) == InsecureSeededRandomness(7).below(1000)
        True
    """

    def __init__(self, seed: int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise ParameterError(f"seed must be a whole number of at least 0, not {seed!r}")
        self._seed = int(seed)
        self._generator = np.random.PCG64(self._seed)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Draw the next `count` words of the sequence that the seed stands for."""
        return self._generator.random_raw(count)

    def __repr__(self) -> str:
        return f"InsecureSeededRandomness(seed={self._seed})  # insecure: never for a release"


class OfOneProcess(Randomness):
    """A source that gives nothing to a process that was forked from the one it is for.

    What was paid for once is drawn once. If a process forks between payment and draw, its child
    would go on with the same scores and draw anew.

    Args:
        source: Where words come from.
        process: The number of the process.

    Example:
        >>> OfOneProcess(SystemRandomness(), os.getpid()).below(1)
        0
    """

    def __init__(self, source: Randomness, process: int) -> None:
        self._source, self._process = source, process

    def check(self) -> None:
        """Refuse another process."""
        if os.getpid() != self._process:
            raise ParameterError(
                "this process was forked from the one that holds the Curator, and would draw a "
                "second time what is paid for once: ask in the process that made it"
            )

    def words(self, count: int) -> NDArray[np.uint64]:
        """Draw `count` words of the source."""
        self.check()
        return self._source.words(count)

    def bits(self, count: int) -> int:
        """Draw an integer of `count` bits of the source."""
        self.check()
        return self._source.bits(count)

    def below(self, bound: int) -> int:
        """Draw an integer below a bound, from the source."""
        self.check()
        return self._source.below(bound)
