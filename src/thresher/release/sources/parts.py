"""The variance of an answer of D' in parts: shares of conditions, and how these depend on others.

The indicator of "at least r of k conditions hold" is a sum over sets A of conditions: each set adds
h_A·Π (1_i - p_i), the product over the conditions of A, with the shares p. So an error in what D'
has for a set counts h_A times, where h_A is the |A|-th difference of a probability about the other
conditions. Those are taken to be independent there. docs/topics/margins-of-error.md has the
formulas and says how the constants were chosen.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import combinations
from typing import NamedTuple

from thresher.release.sources.dependence import Pair
from thresher.release.uncertainty import count_probabilities

CORRELATION = 0.13
"""The error of D' in the correlation of two conditions that were not measured together."""

INTERACTION = 0.02
"""The same for what three conditions have beyond each two of them. Also the least that is expected
of conditions that were measured together."""

EXPECTED = {2: 1.0, 3: 0.15}
"""How large a correlation of two conditions, or an interaction of three, is expected if they were
measured together, in units of how strongly D' has their features depend on each other. The noise
counts up to that: D' does not follow it any further."""

CLAIMED = 0.1
"""How much of the dependence that D' claims may be wrong where something of it was not measured.

What D' claims is its answer less that of independent conditions.
"""

LARGEST_PART = 3
"""The most conditions whose errors together are looked at."""

MOST_EXACT = 8
"""The most conditions that are looked at three by three, and whose shares count one by one.

Beyond, they are looked at two by two, and each counts as their mean.
"""

PARTS = {
    "correlation": CORRELATION,
    "interaction": INTERACTION,
    "expected": EXPECTED,
    "claimed": CLAIMED,
    "most_exact": MOST_EXACT,
}


class Alone(NamedTuple):
    """What is known about a condition by itself.

    Attributes:
        name: Its feature.
        part: The part of the feature's values that it allows.
        share: The share by D', but as far from 0 and from 1 as its noise could hide.
        noise: The variance of the noise in its share; infinite if nothing was measured.
        excess: How far D' is from the feature's noisy shares beyond noise, squared.
    """

    name: str
    part: float
    share: float
    noise: float
    excess: float


def variance_in_parts(
    conditions: Sequence[Alone],
    r: int,
    answer: float | None,
    weight_of: Callable[[tuple[str, ...]], float],
    pair_of: Callable[[str, str], Pair],
) -> float:
    """The sum over all sets of one, two and three conditions.

    Args:
        conditions: The conditions. Something was measured of each.
        r: How many of them must hold.
        answer: The answer of D'; None for the one of independent conditions.
        weight_of: The noise of measured tables that have some features (W).
        pair_of: What D' says about two features.

    Example:
        >>> half = Alone("a", part=0.5, share=0.5, noise=4e-6, excess=0.0)
        >>> variance_in_parts([half], 1, None, lambda names: 1.6e-5, lambda a, b: Pair(0, 1))
        4e-06
    """
    shares = _shares(conditions)
    claimed = 0.0
    if answer is not None and len(shares) > 1:
        claimed = (answer - sum(count_probabilities(shares)[r:])) ** 2
    variance, is_measured = 0.0, True
    for places, counts in _sets(shares, r):
        if len(places) == 1:
            one = conditions[places[0]]
            noise = weight_of((one.name,)) * _contrast(one.part, shares[places[0]])
            variance += counts * (noise + one.excess)
            continue
        spread = math.prod([shares[i] * (1.0 - shares[i]) for i in places])
        names = tuple([conditions[i].name for i in places])
        weight = weight_of(names)
        if weight == math.inf:
            typical = CORRELATION if len(places) == 2 else INTERACTION
            variance += counts * typical**2 * spread
            is_measured = False
            continue
        noise = weight * math.prod([_contrast(conditions[i].part, shares[i]) for i in places])
        pairs = [pair_of(a, b) for a, b in combinations(names, 2)]
        noise *= max([pair.misfit for pair in pairs])
        # The geometric mean of the pairs' strengths.
        strength = math.prod([pair.strength for pair in pairs]) ** (1.0 / len(pairs))
        expected = (INTERACTION**2 + (EXPECTED[len(names)] * strength) ** 2) * spread
        variance += counts * _smaller(noise, expected)
    return variance if is_measured else variance + CLAIMED**2 * claimed


def excess_of(conditions: Sequence[Alone], r: int) -> float:
    """What D' is off in the shares of the conditions, beyond noise."""
    sets = _sets(_shares(conditions), r, largest=1)
    return sum(counts * conditions[place].excess for (place,), counts in sets)


def misfit_of(conditions: Sequence[Alone], pair_of: Callable[[str, str], Pair]) -> float:
    """The largest misfit of two of the features."""
    names = [one.name for one in conditions]
    return max([pair_of(a, b).misfit for a, b in combinations(names, 2)], default=1.0)


def _shares(conditions: Sequence[Alone]) -> list[float]:
    shares = [one.share for one in conditions]
    return shares if len(shares) <= MOST_EXACT else [sum(shares) / len(shares)] * len(shares)


def _sets(
    shares: Sequence[float], r: int, largest: int = LARGEST_PART
) -> Iterator[tuple[tuple[int, ...], float]]:
    """The sets of conditions, by their places, and the square of what an error in one counts."""
    k = len(shares)
    largest = min(largest, k, LARGEST_PART if k <= MOST_EXACT else 2)
    all_alike = cache(lambda size: _counts(shares[size:], size, r))
    for size in range(1, largest + 1):
        for places in combinations(range(k), size):
            if k > MOST_EXACT:
                yield places, all_alike(size)
            else:
                others = [share for i, share in enumerate(shares) if i not in places]
                yield places, _counts(others, size, r)


def _counts(others: Sequence[float], size: int, r: int) -> float:
    """h²: the square of the difference, of order `size`, of how probable it is that r hold."""
    exactly = count_probabilities(others)
    terms = (
        (-1) ** j * math.comb(size - 1, j) * exactly[r - size + j]
        for j in range(size)
        if 0 <= r - size + j < len(exactly)
    )
    return float(sum(terms) ** 2)


def _contrast(part: float, share: float) -> float:
    """What a value's noise counts in Σ (1 - p)·noise, a mean over all values."""
    return part * (1.0 - share) ** 2 + (1.0 - part) * share**2


def _smaller(noise: float, expected: float) -> float:
    """The variance of what is expected after a measurement: precisions add up."""
    return noise * expected / (noise + expected)
