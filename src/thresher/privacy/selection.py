"""Private selection (RNM, AS and OSAS: Algorithms 2 and 4): which queries D' answers worst.

A score is an integer, |count_i - round(n·q̂_i(D'))|, and replacing one record moves it by at most 1.
One selection is the exponential mechanism: query i with probability proportional to exp(η·score_i).
It is 2η-bounded-range, so η²/2-zCDP (Cesar & Rogers 2021); adding Gumbel noise of scale 1/η and
taking the maximum is the same mechanism, and taking the top K of one noisy vector is the same as K
selections, each without what was chosen before (Durfee & Rogers 2019). K selections that share ρ
therefore have η = √(2ρ/K).

The paper's AS is given ρ and spends half of it here, so its Gumbel scale is √(K/ρ). Algorithm 4
prints √(K/(2ρ)), which would spend ρ on selection and 1.5ρ in all; nothing here uses that scale.

`report_noisy_max`, `adaptive_selection` and `oneshot_adaptive_selection` follow the paper, with
floating-point Gumbel noise for every query: for research and tests. A release uses
`levelwise_selection`. The mechanism depends on the scores only through how many queries stand at
each level, so this histograms them (`Levels`), draws levels and ranks with *exactly* the right
probabilities, and looks the drawn queries up in a second pass (`locate`). It needs no noise per
query and never holds all scores.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from itertools import accumulate
from math import isqrt
from typing import Any, Final, TypeAlias

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
_LONGEST_TABLE: Final = 2**20


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
    marked = _integers(scores).copy()
    marked.reshape(-1)[np.fromiter(positions, dtype=np.int64)] = EXCLUDED
    return marked


def report_noisy_max(scores: Scores, rho: Fraction, randomness: Randomness) -> int:
    """RNM: the index of the largest score after Gumbel noise of scale 1/√(2ρ) on each.

    The noise is floating point: fine for research, but a release uses `levelwise_selection`.

    Example:
        >>> from thresher.privacy.randomness import SystemRandomness
        >>> report_noisy_max(np.array([0, 900, 3]), Fraction(1), SystemRandomness())
        1
    """
    if not np.any(_integers(scores) != EXCLUDED):
        raise ParameterError("scores: there is no query left to choose.")
    return oneshot_adaptive_selection(scores, 1, rho, randomness)[0]


def adaptive_selection(
    scores: Scores, count: int, rho: Fraction, randomness: Randomness
) -> list[int]:
    """The indices that AS (Algorithm 2) selects, in order: `count` times RNM on what is left.

    Args:
        scores: One integer score per query; `EXCLUDED` marks those that cannot be chosen.
        count: The paper's K. If fewer queries are left, all of them are chosen.
        rho: What all selections together spend: half of what the paper gives to AS.
        randomness: The source of the Gumbel noise.

    Example:
        >>> from thresher.privacy.randomness import SystemRandomness
        >>> adaptive_selection(np.array([0, 900, 400]), 2, Fraction(1), SystemRandomness())
        [1, 2]
    """
    left = _integers(scores).copy()
    count = _selections(count, int(np.count_nonzero(left != EXCLUDED)))
    chosen: list[int] = []
    for _ in range(count):
        chosen.append(report_noisy_max(left, Fraction(rho) / count, randomness))
        left[chosen[-1]] = EXCLUDED
    return chosen


def oneshot_adaptive_selection(
    scores: Scores, count: int, rho: Fraction, randomness: Randomness
) -> list[int]:
    """The indices that OSAS (Algorithm 4) selects, in order: the top `count` of the noisy scores.

    Same arguments, result and output distribution as `adaptive_selection`. The Gumbel scale is
    1/η = √(count/(2·rho)), where `rho` is half of the paper's: √(K/ρ) in its letters, and not the
    √(K/(2ρ)) that it prints.

    Example:
        >>> from thresher.privacy.randomness import SystemRandomness
        >>> oneshot_adaptive_selection(np.array([0, 900, 400]), 2, Fraction(1), SystemRandomness())
        [1, 2]
    """
    scores = _integers(scores)
    candidates = np.flatnonzero(scores != EXCLUDED)
    count = _selections(count, candidates.size)
    if count == 0:
        return []
    scale = 1 / float(selection_rate(Fraction(rho) / count))
    # Half a step keeps the uniform away from 0 and 1, where the Gumbel quantile is infinite.
    uniform = ((randomness.words(candidates.size) >> np.uint64(11)) + 0.5) * 2.0**-53
    noisy = scores[candidates] - scale * np.log(-np.log(uniform))
    top = np.argpartition(noisy, candidates.size - count)[candidates.size - count :]
    return [int(i) for i in candidates[top[np.argsort(-noisy[top])]]]


@dataclass(frozen=True, repr=False)
class Draw:
    """One drawn query: the `rank`-th of its level's listed, or else of its implicit, members.

    The level is the query's true score and the rank depends on the others', so neither may leave
    the wall, and `repr` shows neither. What may be published is the query that `locate` finds.
    """

    level: int
    rank: int
    listed: bool


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
        self._listed: Counter[int] = Counter()
        self._implicit = 0

    def __repr__(self) -> str:
        return f"Levels(members={self.members})"

    @property
    def members(self) -> int:
        """How many queries there are to choose from, listed and implicit."""
        return self._listed.total() + self._implicit

    def add(self, scores: Scores) -> None:
        """Count one slab of listed queries, skipping those marked `EXCLUDED`."""
        flat = _integers(scores).ravel()
        if flat.size and flat.min() == EXCLUDED:
            flat = flat[flat != EXCLUDED]
        if flat.size == 0:
            return
        low, high = int(flat.min()), int(flat.max())
        if max(-low, high) > _HIGHEST_LEVEL:
            raise ParameterError("scores must lie between -2^61 and 2^61.")
        if high - low < max(4 * flat.size, 2**12):
            sizes = np.bincount(flat - low)
            levels, sizes = np.flatnonzero(sizes) + low, sizes[sizes > 0]
        else:
            levels, sizes = np.unique(flat, return_counts=True)
        for level, size in zip(levels.tolist(), sizes.tolist(), strict=True):
            self._listed[level] += size

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
        count = _selections(count, self.members)
        if count == 0:
            return []
        # Python integers have no largest value; int64, which is faster, is used when it suffices.
        kind = "int64" if self.members < 2**63 else "object"
        sizes = self._listed + Counter({0: self._implicit})
        levels = sorted(sizes, reverse=True)
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
            listed = self._listed[level]
            draws.append(Draw(level, rank if rank < listed else rank - listed, rank < listed))
            ladder = ladder.without_one(at)
        return draws


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


@dataclass(frozen=True)
class Place:
    """Where a chosen query stands: in which slab and at which index of it, in C order.

    An implicit query has no slab (None), and `position` is its number among the implicit ones. What
    may be published is the query itself: which queries are listed can depend on the records.
    """

    slab: int | None
    position: int


def levelwise_selection(
    slabs: Callable[[], Iterable[Scores]],
    count: int,
    rho: Fraction,
    randomness: Randomness,
    *,
    implicit: int = 0,
    sensitivity: Fraction | int = 1,
) -> list[Place]:
    """Choose `count` queries, in order, as AS does, exactly, without holding the scores of all.

    Args:
        slabs: Called once for each of two passes; must give the same scores both times. Queries
            already chosen are marked by `excluding`.
        count: The paper's K. If fewer queries are left, all of them are chosen.
        rho: What all selections together spend: half of what the paper gives to AS.
        randomness: Where the random bits come from.
        implicit: How many more queries have score 0 and are in no slab (excluded ones not counted).
        sensitivity: How far one record can move a score.

    Example:
        >>> from thresher.privacy.randomness import SystemRandomness
        >>> def slabs():
        ...     yield np.array([0, 1, 0])
        ...     yield excluding(np.array([2, 950, 970]), [2])
        >>> levelwise_selection(slabs, 1, Fraction(1), SystemRandomness(), implicit=10**9)
        [Place(slab=1, position=1)]
    """
    levels = Levels()
    for scores in slabs():
        levels.add(scores)
    levels.add_implicit(implicit)
    return locate(slabs(), levels.draw(count, rho, randomness, sensitivity=sensitivity))


def locate(slabs: Iterable[Scores], draws: Sequence[Draw]) -> list[Place]:
    """Find the drawn queries in a second pass over the slabs; the places are in the draws' order.

    Example:
        >>> locate([np.array([4, 9]), np.array([9, 4])], [Draw(level=9, rank=1, listed=True)])
        [Place(slab=1, position=0)]
    """
    order = [i for i, draw in enumerate(draws) if draw.listed]
    order.sort(key=lambda i: (draws[i].level, draws[i].rank))
    levels = np.array([draws[i].level for i in order], dtype=np.int64)
    ranks = np.array([draws[i].rank for i in order], dtype=np.int64)
    # A table of where each level begins, unless the levels are too far apart for one.
    distinct, first = np.unique(levels, return_index=True)
    span = int(np.ptp(distinct)) + 1 if order else 0
    firsts = np.zeros(span if span <= _LONGEST_TABLE else 0, dtype=np.int64)
    if firsts.size:
        firsts[distinct - distinct[0]] = first
    following, seen = np.arange(len(order)), np.zeros(len(order), dtype=np.int64)
    positions = np.full(len(order), -1)
    places = [Place(None, draw.rank) for draw in draws]
    missing = set(range(len(order)))
    for slab, scores in enumerate(slabs):
        if not missing:
            break
        _scan(_integers(scores).ravel(), levels, firsts, ranks, following, seen, positions)
        for k in [k for k in missing if positions[k] >= 0]:
            places[order[k]] = Place(slab, int(positions[k]))
            missing.remove(k)
    if missing:
        raise ParameterError("slabs must be those the draws were made from: a query is missing.")
    return places


@njit(cache=True)
def _scan(
    scores: NDArray[np.int64],
    levels: NDArray[np.int64],
    firsts: NDArray[np.int64],
    ranks: NDArray[np.int64],
    following: NDArray[np.int64],
    seen: NDArray[np.int64],
    positions: NDArray[np.int64],
) -> None:
    """Write the positions of those wanted, sorted (level, rank) pairs that this slab holds.

    At the first pair of each level, `following` holds which pair of that level comes next, and
    `seen` how many of the level's members have gone by; they carry over from slab to slab.
    """
    for position in range(scores.size):
        score = scores[position]
        # Most scores are below all wanted levels, so that this comparison is all they cost.
        if score < levels[0] or score > levels[-1]:
            continue
        first = firsts[score - levels[0]] if firsts.size else np.searchsorted(levels, score)
        if levels[first] != score:
            continue
        pair = following[first]
        if pair < levels.size and levels[pair] == score and ranks[pair] == seen[first]:
            positions[pair] = position
            following[first] += 1
        seen[first] += 1


def _integers(scores: Scores) -> NDArray[np.int64]:
    """The scores as 64-bit integers, uncopied if they are; nothing is rounded or wrapped."""
    given = np.asarray(scores)
    if given.dtype.kind not in "iu" or not np.can_cast(given.dtype, np.int64):
        raise ParameterError(f"scores must be integers that fit into int64, not {given.dtype}.")
    return given.astype(np.int64, copy=False)


def _selections(count: int, left: int) -> int:
    """How many selections there will be; the budget is divided among these."""
    if count < 0:
        raise ParameterError(f"count must be at least 0, not {count}.")
    return min(count, left)
