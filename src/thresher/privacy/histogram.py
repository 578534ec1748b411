"""How many queries stand at each level of the score, and exact draws of queries from that alone.

A selection by the exponential mechanism depends on the scores only through how many queries
stand at each level. So the scores are counted slab by slab and forgotten; levels and ranks
are drawn with *exactly* the right probabilities; and only the slabs that hold a drawn query are
looked at again to find it. No noise per query is needed, and the scores of all are never held.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from thresher.errors import ParameterError
from thresher.privacy.ladder import Ladder, selection_rate
from thresher.privacy.randomness import Randomness
from thresher.privacy.tally import (
    ListedScores,
    Scores,
    Tally,
    lowest_and_highest,
    members_at,
    tallied,
)

_MOST_MEMBERS: Final = 2**512


class Slabs(Protocol):
    """Scores in slabs, or listed table by table. Any can be had again, the same as before."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Scores | ListedScores: ...


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
    """Where a chosen query stands: in which slab (or listed table) and at which cell, in C order.

    An implicit query has no slab (None), and `position` is its number among the implicit ones. What
    may be published is the query itself: which queries are listed can depend on the records.
    """

    slab: int | None
    position: int


class Histogram:
    """How many queries stand at each level of the score: all that a selection depends on.

    Scores are added slab by slab and forgotten. Queries known to have score 0 need not be listed at
    all: `add_implicit` takes only their number. Levels may be negative; for scores that are
    multiples of 1/q, multiply them and the sensitivity by q.

    Example:
        >>> from thresher.privacy.randomness import SystemRandomness
        >>> histogram = Histogram()
        >>> histogram.add(np.array([3, 0, 3]))
        >>> histogram.add_implicit(10**12)
        >>> histogram
        Histogram(members=1000000000003)
        >>> [draw] = histogram.draw(1, Fraction(10**4), SystemRandomness())
        >>> draw.level, draw.rank in (0, 1), draw.listed
        (3, True, True)
    """

    def __init__(self) -> None:
        self._implicit = 0
        self._slabs: list[Tally] = []

    def __repr__(self) -> str:
        return f"Histogram(members={self.members})"

    @property
    def members(self) -> int:
        """How many queries there are to choose from, listed and implicit."""
        return sum(int(slab.sizes.sum()) for slab in self._slabs) + self._implicit

    def add(self, slab: Scores | ListedScores | Tally) -> None:
        """Count one slab of queries, given as scores or as their tally."""
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
        ladder = Ladder(
            np.array(levels, dtype=np.int64),
            np.array([sizes[level] for level in levels], dtype=_wide_enough(members)),
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
        sizes = self._sizes()
        low, high = lowest_and_highest(levels)
        if high - low < max(4 * levels.size, 2**12):
            found, place = np.arange(low, high + 1), levels - low
        else:
            found, place = np.unique(levels, return_inverse=True)
        totals = np.zeros(len(found), dtype=sizes.dtype)
        np.add.at(totals, place, sizes)
        return {
            level: size for level, size in zip(found.tolist(), totals.tolist(), strict=True) if size
        }

    def _sizes(self) -> NDArray[Any]:
        """How many members each level of each slab has, so wide that their sum does not wrap."""
        sizes = np.concatenate([slab.sizes for slab in self._slabs])
        return sizes.astype(_wide_enough(self.members), copy=False)

    def locate(self, draws: Sequence[Draw], slabs: Slabs) -> list[Place]:
        """Find the drawn queries; only the slabs that hold one are asked for again.

        Args:
            draws: What `draw` gave.
            slabs: The slabs that were added, in the same order.

        Returns:
            The places, in the order of the draws.

        Example:
            >>> slabs = [np.array([4, 9]), np.array([9, 4])]
            >>> histogram = Histogram()
            >>> for scores in slabs:
            ...     histogram.add(scores)
            >>> histogram.locate([Draw(level=9, rank=1, listed=True)], slabs)
            [Place(slab=1, position=0)]
        """
        places = [Place(None, draw.rank) for draw in draws]
        wanted: dict[tuple[int, int], list[tuple[int, int]]] = {}
        if not self._slabs:
            return places
        level_of = np.concatenate([slab.levels for slab in self._slabs])
        size_of = self._sizes()
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
        for slab, levels in groupby(sorted(wanted), key=itemgetter(0)):
            scores = slabs[slab]
            for _, level in levels:
                sought = wanted[slab, level]
                found = members_at(scores, level, [rank for _, rank in sought])
                for (i, _), position in zip(sought, found, strict=True):
                    places[i] = Place(slab, position)
        return places


def _wide_enough(members: int) -> str:
    """Python integers have no largest value; int64, which is faster, is used when it suffices."""
    return "int64" if members < 2**63 else "object"


def selections(count: int, left: int) -> int:
    """How many selections there will be; the budget is divided among these."""
    if count < 0:
        raise ParameterError(f"count must be at least 0, not {count}.")
    return min(count, left)
