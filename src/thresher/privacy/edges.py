"""The request that finds edges of bins with about equally many records, among public candidates.

Edges are chosen one after the other. A candidate's score is the smaller of two counts: the numbers
below it, down to the next edge chosen before, and those at or above it, up to the next one. The
first edge is thus about a median, and later ones divide the fullest bins. A value that most records
have is no trouble: it cannot be divided, so the edges go elsewhere.

Proof. Both counts are of records whose number lies in an interval that is public: candidates are,
and so are edges chosen before. Replacing, adding or removing a unit moves each of them by at most S
(`Unit.scale`, 1 for single records), so also the smaller one. Divided by S and rounded down, it
moves by at most 1. Hence every choice is the exponential mechanism with scores of sensitivity 1
(`levelwise_selection`), and all of them together cost ρ by composition. No δ is needed, and nothing
about the range of the numbers has to be known.
"""
# ruff: noqa: D102 (each method is documented once, at `Request`)

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from thresher.data.private import FeatureSet
from thresher.errors import ParameterError
from thresher.privacy.categories import check_columns, plain_columns
from thresher.privacy.counted import CountedTables
from thresher.privacy.randomness import Randomness
from thresher.privacy.request import WithoutJournal
from thresher.privacy.requests import plain
from thresher.privacy.selection import levelwise_selection
from thresher.privacy.tally import excluding
from thresher.privacy.unit import Unit
from thresher.schema import Schema
from thresher.schema.numeric import is_number

MOST_CANDIDATES = 10**6
"""Candidates of all columns together."""

MOST_EDGES = 1000
"""Edges of a column."""

Below = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FindEdges(WithoutJournal[list[tuple[float, ...]]]):
    """Which public candidates divide the numbers of columns best? See `Access.find_edges`.

    Proof: at the top of this module. `tests/audit/test_edges.py` finds the sensitivity by brute
    force, and enumerates the choices.
    """

    verb: ClassVar[str] = "find_edges"
    needs_total: ClassVar[bool] = False
    needs_cells: ClassVar[bool] = True
    columns: tuple[str, ...]
    candidates: tuple[tuple[float, ...], ...]
    count: int

    def copied(self, schema: Schema) -> Self:
        listed = tuple(tuple(map(_plain_number, some)) for some in tuple(self.candidates))
        return type(self)(plain_columns(self.columns, schema), listed, plain(self.count))

    def check(self, schema: Schema, unit: Unit, rho: Fraction) -> None:
        check_columns(self.columns)
        if len(self.candidates) != len(self.columns):
            raise ParameterError("give the candidates of every column")
        if type(self.count) is not int or not 1 <= self.count <= MOST_EDGES:
            raise ParameterError(
                f"count must be a whole number from 1 to {MOST_EDGES}, not {self.count!r}"
            )
        if sum(map(len, self.candidates)) > MOST_CANDIDATES:
            raise ParameterError(f"there are more than {MOST_CANDIDATES:,} candidates: take fewer")
        for some in self.candidates:
            if not some or not all(low < high for low, high in pairwise(some)):
                raise ParameterError("candidates must be finite numbers that rise")

    @property
    def choices(self) -> int:
        """How many edges are chosen in all columns."""
        return sum(min(self.count, len(some)) for some in self.candidates)

    def feature_sets(self) -> list[FeatureSet]:
        return []

    def run(
        self, counted: CountedTables, rho: Fraction, randomness: Randomness
    ) -> list[tuple[float, ...]]:
        each, found = rho / self.choices, []
        for name, some in zip(self.columns, self.candidates, strict=True):
            numbers, counts = counted.cells().numbers(name)
            below = counts_below(numbers, counts, some)
            chosen: list[int] = []
            for _ in range(min(self.count, len(some))):
                smaller = split_scores(below, chosen) // counted.unit.scale
                scores = excluding(smaller, chosen)
                [place] = levelwise_selection([scores], 1, each, randomness)
                chosen.append(place.position)
            found.append(tuple(some[place] for place in sorted(chosen)))
        return found

    def nothing(self) -> list[tuple[float, ...]]:
        return [() for _ in self.columns]


def counts_below(
    numbers: npt.NDArray[np.float64], counts: npt.NDArray[np.int64], candidates: tuple[float, ...]
) -> Below:
    """For each candidate, how many numbers are below it; last, how many there are.

    Example:
        >>> counts_below(np.array([1.0, 2.0]), np.array([5, 3]), (1.5, 9.0)).tolist()
        [5, 8, 8]
    """
    sums = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    places = np.searchsorted(numbers, np.array(candidates), side="left")
    return np.append(sums[places], sums[-1])


def split_scores(below: Below, chosen: list[int]) -> npt.NDArray[np.int64]:
    """For each candidate, the smaller of the two counts that it divides a bin into.

    Args:
        below: What `counts_below` gives.
        chosen: The places of the edges chosen before.

    Example:
        >>> split_scores(np.array([1, 4, 6, 8]), []).tolist()
        [1, 4, 2]
        >>> split_scores(np.array([1, 4, 6, 8]), [1]).tolist()
        [1, 0, 2]
    """
    edges, places = np.array(sorted(chosen), dtype=np.int64), np.arange(len(below) - 1)
    starts = np.concatenate([[0], below[edges]])
    ends = np.concatenate([below[edges], below[-1:]])
    # An edge chosen before begins a bin, of which nothing is below it.
    bins = np.searchsorted(edges, places, side="right")
    smaller: npt.NDArray[np.int64] = np.minimum(below[:-1] - starts[bins], ends[bins] - below[:-1])
    return smaller


def _plain_number(number: float) -> float:
    """A finite number as a plain `float`, read once."""
    if type(number) not in (int, float) or not is_number(number):
        raise ParameterError("candidates must be finite numbers that rise")
    return float(number)
