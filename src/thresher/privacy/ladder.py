"""One exact draw of the exponential mechanism, from how many queries stand at each level.

A *level* is a value of the score. A query of score s is chosen with probability proportional to
exp(η·s), so a level is drawn with probability proportional to its number of queries times
exp(η·level).

Proof of privacy: replacing one record moves every score by at most the sensitivity, so the
mechanism has range 2η·sensitivity; range b is b²/8-zCDP (Cesar & Rogers 2021). Proof of exactness:
the docstring of `Ladder.draw`.
"""

from bisect import bisect_left
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from itertools import accumulate
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.errors import ParameterError
from thresher.privacy.randomness import Randomness


def selection_rate(rho: Fraction, sensitivity: Fraction | int = 1) -> Fraction:
    """The η at which one selection costs at most `rho`-zCDP: √(2ρ)/sensitivity, rounded down.

    Rounding down (by less than 2^-63, relative) means that the budget is never overspent; from
    here on η is an exact rational, so that the sampler has a definite target to be exact about.

    Example:
        >>> selection_rate(Fraction(2))
        Fraction(2, 1)
    """
    if rho <= 0:
        raise ParameterError(f"rho must be positive, not {rho}: a selection cannot be free.")
    if sensitivity <= 0:
        raise ParameterError(f"sensitivity must be positive, not {sensitivity}.")
    square = Fraction(2 * rho) / Fraction(sensitivity) ** 2
    shortfall = square.denominator.bit_length() - square.numerator.bit_length()
    shift = 64 + max(0, shortfall // 2 + 1)
    return Fraction(isqrt((square.numerator << 2 * shift) // square.denominator), 1 << shift)


@dataclass(frozen=True, repr=False)
class Ladder:
    """The levels that have members left, from the top down: what one draw is made from.

    Attributes:
        levels: The levels, descending.
        counts: How many members each has: int64, or Python integers when these could overflow.
        rate: η; a level's weight is count × exp(-η·(top - level)).
    """

    levels: NDArray[np.int64]
    counts: NDArray[Any]
    rate: Fraction

    def without_one(self, at: int) -> "Ladder":
        """The ladder once a member of level number `at` has been drawn."""
        counts = self.counts.copy()
        counts[at] -= 1
        left = counts > 0
        return Ladder(self.levels[left], counts[left], self.rate)

    def weights(self) -> NDArray[np.float64]:
        """The weight of each level, in double precision.

        Example:
            >>> Ladder(np.array([5, 3]), np.array([1, 100]), Fraction(1)).weights().round(3)
            array([ 1.   , 13.534])
        """
        weights: NDArray[np.float64] = self.counts.astype(np.float64)
        # Whether this underflows depends on the scores. So it must stay silent even where a caller
        # has told NumPy to raise (`np.seterr`): the error would be an answer that nobody paid for.
        with np.errstate(all="ignore"):
            weights *= np.exp(-float(self.rate) * (self.levels[0] - self.levels))
        return weights

    def rounding_band(self) -> float:
        """How far, relative to the total, double precision can misplace a draw at a boundary.

        With u = 2^-53, L levels and x = η·gap ≤ 746 (beyond, exp is 0 in double precision): x is
        off by at most 3u·x (η, the gap, their product), exp by 4 ulp ≤ 8u, the count and its
        product with exp by u each, so a weight is off by a factor 1 ± (3x + 10)u; a running sum of
        positive terms adds L·u. Underflow adds less than 2^512·2^-1021, as there are fewer than
        2^512 members, against a total of at least 1. The point U·total carries the error of the
        total, two roundings and the bits of U below 2^-64. That is less than 2(3x + 10 + L)u + 4u
        and terms in u²; what is returned is almost twice as much.
        """
        widest = min(float(self.rate) * float(self.levels[0] - self.levels[-1]), 746.0)
        return 4 * (3 * widest + 16 + len(self.levels)) * 2.0**-53

    def boundary_bounds(self, digits: int) -> tuple[list[int], list[int]]:
        """Integers below and above each boundary C_j (see `draw`), in units of 10^-digits.

        Where x > 2.31·digits, exp(-x) lies between 0 and 1 unit. Elsewhere x and exp(-x) are
        rounded to digits + 25 places (`Decimal.exp` rounds correctly), which costs less than
        1 unit, and taking whole units costs less than another.

        Example:
            >>> Ladder(np.array([1, 0]), np.array([1, 1]), Fraction(1)).boundary_bounds(digits=3)
            ([998, 1363], [1002, 1371])
        """
        context = Context(prec=digits + 25, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
        units: list[int] = []
        for level in self.levels.tolist():
            x = self.rate * (int(self.levels[0]) - level)
            if 100 * x > 231 * digits:
                units.append(0)
                continue
            exponent = context.divide(Decimal(-x.numerator), Decimal(x.denominator))
            units.append(int(context.scaleb(context.exp(exponent), digits)))
        counts = self.counts.tolist()
        lower = accumulate(n * max(0, e - 2) for n, e in zip(counts, units, strict=True))
        upper = accumulate(n * (e + 2) for n, e in zip(counts, units, strict=True))
        return list(lower), list(upper)

    def draw(self, randomness: Randomness, guard: float = 0.0) -> int:
        """The number of a level, with probability exactly proportional to its weight.

        Let C_j be the weight of levels 0…j, and U a uniform real in [0, 1), of which only as many
        bits are drawn as are needed. The level is the j with C_{j-1} ≤ U·C_last < C_j, which has
        the right probability. The first 64 bits of U and double precision settle j, unless
        U·C_last lies within `rounding_band` of a boundary; then exact integer bounds on the
        boundaries settle it, at rising precision. Either way the result is that same j, a function
        of U alone, so it is exactly distributed. Levels so low that their weight underflows lie in
        the band at the upper end, and so have their exact share too, be it exp(-5000).
        """
        last = len(self.levels) - 1
        if last == 0:
            return 0
        word = int(randomness.words(1)[0])
        with np.errstate(all="ignore"):
            boundaries = np.cumsum(self.weights())
        total = float(boundaries[last])
        point = word * 2.0**-64 * total
        band = max(guard, self.rounding_band()) * total
        at = int(np.searchsorted(boundaries[:last], point, side="right"))
        clear_below = at == 0 or point - boundaries[at - 1] > band
        clear_above = at == last or boundaries[at] - point > band
        return at if clear_below and clear_above else self._settle(word, randomness)

    def _settle(self, word: int, randomness: Randomness) -> int:
        """The level of the uniform real whose first 64 bits are `word`; see `draw`."""
        numerator, bits, digits = word, 64, 40
        last = len(self.levels) - 1
        while True:
            while bits < 4 * digits:
                numerator = numerator << 64 | int(randomness.words(1)[0])
                bits += 64
            lower, upper = self.boundary_bounds(digits)
            # The first level whose end is certainly above every U that starts with these bits…
            needed = -(-(numerator + 1) * upper[last] >> bits)
            at = bisect_left(lower, needed, hi=last)
            # …is the one, if its beginning is certainly not above any of them.
            if at == 0 or numerator * lower[last] >= upper[at - 1] << bits:
                return at
            digits *= 2
