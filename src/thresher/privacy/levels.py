"""How many queries stand at each level of the score, and exact draws from that alone.

A selection by the exponential mechanism depends on the scores only through how many queries
stand at each level. So the scores are histogrammed slab by slab and forgotten; levels and ranks
are drawn with *exactly* the right probabilities; and only the slabs that hold a drawn query are
looked at again to find it. No noise per query is needed, and the scores of all are never held.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from itertools import accumulate
from math import isqrt
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from thresher.errors import ParameterError
from thresher.privacy.randomness import Randomness

Scores: TypeAlias = NDArray[np.integer[Any]]

EXCLUDED: Final = int(np.iinfo(np.int64).min)
"""The score of a query that must not be chosen; see `excluding`."""
_HIGHEST_LEVEL: Final = 2**61
_MOST_MEMBERS: Final = 2**512


class Slabs(Protocol):
    """Scores in slabs, any of which can be had again, the same as before."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Scores: ...


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


def excluding(scores: Scores, positions: Iterable[int]) -> NDArray[np.int64]:
    """A copy of `scores` in which the queries at (C order) `positions` can no longer be chosen.

    The mark travels with the scores, so that nobody has to be told twice which queries to skip.

    Example:
        >>> excluding(np.array([7, 5]), [0]).tolist() == [EXCLUDED, 5]
        True
    """
    marked = integers(scores).copy()
    marked.reshape(-1)[np.fromiter(positions, dtype=np.int64)] = EXCLUDED
    return marked


@dataclass(frozen=True, eq=False, repr=False)
class Tally:
    """How many queries of a slab, or of several, stand at each level; as private as the scores.

    Attributes:
        levels: The levels that have members, ascending.
        sizes: How many members each has.
    """

    levels: NDArray[np.int64]
    sizes: NDArray[np.int64]


def tallied(scores: Scores) -> Tally:
    """Count one slab of queries by level, skipping those marked `EXCLUDED`."""
    flat = integers(scores).ravel()
    low, high = _lowest_and_highest(flat)
    if low <= high and max(-low, high) > _HIGHEST_LEVEL:
        raise ParameterError("scores must lie between -2^61 and 2^61.")
    if low <= high and high - low < max(4 * flat.size, 2**12):
        sizes = np.zeros(high - low + 1, dtype=np.int64)
        _tally(flat, low, sizes)
        levels = np.flatnonzero(sizes)
        return Tally(levels + low, sizes[levels])
    return Tally(*np.unique(flat[flat != EXCLUDED], return_counts=True))


@dataclass(frozen=True, repr=False)
class Draw:
    """One drawn query: the `rank`-th of its level's listed, or else of its implicit, members.

    The level is the query's true score and the rank depends on the others', so neither may leave
    the wall, and `repr` shows neither. What may be published is the query that `locate` finds.
    """

    level: int
    rank: int
    listed: bool


@dataclass(frozen=True)
class Place:
    """Where a chosen query stands: in which slab and at which index of it, in C order.

    An implicit query has no slab (None), and `position` is its number among the implicit ones. What
    may be published is the query itself: which queries are listed can depend on the records.
    """

    slab: int | None
    position: int


class Levels:
    """How many queries stand at each level of the score: all that a selection depends on.

    Scores are added slab by slab and forgotten. Queries known to have score 0 need not be listed at
    all: `add_implicit` takes only their number. Levels may be negative; for scores that are
    multiples of 1/q, multiply them and the sensitivity by q.

    Example:
        >>> from thresher.privacy.randomness import SystemRandomness
        >>> levels = Levels()
        >>> levels.add(np.array([3, 0, 3]))
        >>> levels.add_implicit(10**12)
        >>> levels
        Levels(members=1000000000003)
        >>> [draw] = levels.draw(1, Fraction(10**4), SystemRandomness())
        >>> draw.level, draw.rank in (0, 1), draw.listed
        (3, True, True)
    """

    def __init__(self) -> None:
        self._implicit = 0
        self._slabs: list[Tally] = []

    def __repr__(self) -> str:
        return f"Levels(members={self.members})"

    @property
    def members(self) -> int:
        """How many queries there are to choose from, listed and implicit."""
        return sum(int(slab.sizes.sum()) for slab in self._slabs) + self._implicit

    def add(self, slab: Scores | Tally) -> None:
        """Count one slab of listed queries, given as scores or as their tally."""
        self._slabs.append(slab if isinstance(slab, Tally) else tallied(slab))

    def add_implicit(self, number: int) -> None:
        """Count `number` more queries at level 0 that are not listed anywhere, nor excluded."""
        if not 0 <= number < _MOST_MEMBERS:
            raise ParameterError("number must be at least 0 and below 2^512.")
        self._implicit += number

    def draw(
        self,
        count: int,
        rho: Fraction,
        randomness: Randomness,
        *,
        sensitivity: Fraction | int = 1,
        guard: float = 0.0,
    ) -> list[Draw]:
        """Draw `count` different queries, as AS does, at a total cost of at most `rho`-zCDP.

        Each draw takes a level (`Ladder.draw`), then one of its members not yet drawn, uniformly:
        that is the exponential mechanism on the queries left. The histogram is not changed.

        Args:
            count: How many queries to draw; if there are fewer, all are drawn.
            rho: What all draws together may spend.
            randomness: Where the random bits come from.
            sensitivity: How far one record can move a score.
            guard: Widens the band, relative to the total weight, in which floating point is not
                trusted. It has no effect on the distribution; at 1 every draw is decided exactly.
        """
        members = self.members
        count = selections(count, members)
        if count == 0:
            return []
        listed_at = self._listed()
        sizes = {**listed_at, 0: listed_at.get(0, 0) + self._implicit}
        levels = sorted((level for level, size in sizes.items() if size), reverse=True)
        # Python integers have no largest value; int64, which is faster, is used when it suffices.
        kind = "int64" if members < 2**63 else "object"
        ladder = Ladder(
            np.array(levels, dtype=np.int64),
            np.array([sizes[level] for level in levels], dtype=kind),
            selection_rate(Fraction(rho) / count, sensitivity),
        )
        moved: dict[int, dict[int, int]] = {}
        draws: list[Draw] = []
        for _ in range(count):
            at = ladder.draw(randomness, guard)
            level, left = int(ladder.levels[at]), int(ladder.counts[at])
            # A shuffle that stores only its swaps: the last one left takes the drawn one's place.
            swaps, index = moved.setdefault(level, {}), randomness.below(left)
            rank = swaps.get(index, index)
            swaps[index] = swaps.get(left - 1, left - 1)
            listed = listed_at.get(level, 0)
            draws.append(Draw(level, rank if rank < listed else rank - listed, rank < listed))
            ladder = ladder.without_one(at)
        return draws

    def _listed(self) -> dict[int, int]:
        """How many listed queries stand at each level."""
        if not self._slabs:
            return {}
        levels = np.concatenate([slab.levels for slab in self._slabs])
        sizes = np.concatenate([slab.sizes for slab in self._slabs])
        low, high = _lowest_and_highest(levels)
        if high - low < max(4 * levels.size, 2**12):
            found, place = np.arange(low, high + 1), levels - low
        else:
            found, place = np.unique(levels, return_inverse=True)
        totals = np.zeros(len(found), dtype=np.int64)
        np.add.at(totals, place, sizes)
        return {
            level: size for level, size in zip(found.tolist(), totals.tolist(), strict=True) if size
        }

    def locate(self, draws: Sequence[Draw], slabs: Slabs) -> list[Place]:
        """Find the drawn queries; only the slabs that hold one are asked for again.

        Args:
            draws: What `draw` gave.
            slabs: The slabs that were added, in the same order.

        Returns:
            The places, in the order of the draws.

        Example:
            >>> slabs = [np.array([4, 9]), np.array([9, 4])]
            >>> levels = Levels()
            >>> for scores in slabs:
            ...     levels.add(scores)
            >>> levels.locate([Draw(level=9, rank=1, listed=True)], slabs)
            [Place(slab=1, position=0)]
        """
        places = [Place(None, draw.rank) for draw in draws]
        wanted: dict[tuple[int, int], list[tuple[int, int]]] = {}
        if not self._slabs:
            return places
        level_of = np.concatenate([slab.levels for slab in self._slabs])
        size_of = np.concatenate([slab.sizes for slab in self._slabs])
        slab_of = np.repeat(np.arange(len(self._slabs)), [len(s.levels) for s in self._slabs])
        for level in {draw.level for draw in draws if draw.listed}:
            here = np.flatnonzero(level_of == level)
            ends = np.cumsum(size_of[here])
            for i, draw in enumerate(draws):
                if draw.listed and draw.level == level:
                    at = int(np.searchsorted(ends, draw.rank, side="right"))
                    before = int(ends[at - 1]) if at else 0
                    slab = int(slab_of[here[at]])
                    wanted.setdefault((slab, level), []).append((i, draw.rank - before))
        opened, scores = -1, np.empty(0, dtype=np.int64)
        for (slab, level), sought in sorted(wanted.items()):
            if slab != opened:
                opened, scores = slab, integers(slabs[slab]).ravel()
            members = np.flatnonzero(scores == level)
            for i, rank in sought:
                if rank >= members.size:
                    raise ParameterError("slabs must give the scores that were added, unchanged")
                places[i] = Place(slab, int(members[rank]))
        return places


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
        reach = min(float(self.rate) * float(self.levels[0] - self.levels[-1]), 746.0)
        return 4 * (3 * reach + 16 + len(self.levels)) * 2.0**-53

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


@njit(cache=True, nogil=True)
def _lowest_and_highest(scores: NDArray[np.int64]) -> tuple[int, int]:
    """The range of the scores that are not `EXCLUDED`; upside down if there are none."""
    low, high = np.iinfo(np.int64).max, EXCLUDED
    for score in scores:
        if score != EXCLUDED:
            low, high = min(low, score), max(high, score)
    return low, high


@njit(cache=True, nogil=True)
def _tally(scores: NDArray[np.int64], low: int, sizes: NDArray[np.int64]) -> None:
    for score in scores:
        if score != EXCLUDED:
            sizes[score - low] += 1


def integers(scores: Scores) -> NDArray[np.int64]:
    """The scores as 64-bit integers, uncopied if they are; nothing is rounded or wrapped."""
    given = np.asarray(scores)
    if given.dtype.kind not in "iu" or not np.can_cast(given.dtype, np.int64):
        raise ParameterError(f"scores must be integers that fit into int64, not {given.dtype}.")
    return given.astype(np.int64, copy=False)


def selections(count: int, left: int) -> int:
    """How many selections there will be; the budget is divided among these."""
    if count < 0:
        raise ParameterError(f"count must be at least 0, not {count}.")
    return min(count, left)
