"""The request that finds the categories of columns without a code book: those of many records.

The values that occur are unknown, so no noise can be drawn for those that do not. Every value that
does occur gets discrete Gaussian noise on its count, and is told only if the noisy count is at
least a threshold. A value that only one record or person has must be told almost never, because in
a neighbour it may not exist. The threshold makes the probability of that at most δ.

Proof. Let x and x' be neighbours, and let a unit have up to G rows that count, which together move
a count by up to S parts (`Unit`): G = S = 1 for single records. Which rows of a person count
depends on that person's rows alone, so x and x' differ in rows of one unit only. Call a value of
one of the C columns *common* if it occurs in both x and x'. In each column, the counts of all
values move by a squared L2 distance of at most `Unit.table_squared`, so those of common values do,
and all columns together by C times that. So telling the common values whose noisy counts pass the
threshold is post-processing of discrete Gaussian noise that costs ρ. A value that is not common
occurs in only one of x and x', and only in rows of the differing unit there: its count is at most
S, and each column has at most G such values. Let E be the event that none of them is told. Its
probability is at least 1 - C·G·P[S + N_Z(0, σ²) ≥ T], which `threshold_for` makes at least 1 - δ.
The noise of different values is independent, so given E the output is that of the common values
alone, in x as in x'. Hence the mechanism is δ-approximate ρ-zCDP (Bun and Steinke 2016, section 8):
both amounts add up over requests.
"""
# ruff: noqa: D102 (each method is documented once, at `Request`)

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import ClassVar, Self

import numpy as np

from thresher.data.private import FeatureSet
from thresher.errors import ParameterError
from thresher.privacy.amounts import exact
from thresher.privacy.counted import CountedTables
from thresher.privacy.noise import add_noise, exp_between, variance_for
from thresher.privacy.randomness import Randomness
from thresher.privacy.request import WithoutJournal
from thresher.privacy.unit import Unit
from thresher.schema import Schema

SMALLEST_DELTA = Fraction(1, 10**100)


@dataclass(frozen=True)
class FoundValues:
    """The values of a column that enough records have. All numbers are of records or persons.

    Attributes:
        column: The column.
        counts: About how many have each value. An empty text stands for blank cells.
        threshold: The least noisy count of a value that is told.
        sigma: The standard deviation of the noise.
    """

    column: str
    counts: dict[str, int]
    threshold: int
    sigma: float


@dataclass(frozen=True, eq=False)
class FindCategories(WithoutJournal[list[FoundValues]]):
    """Which values do enough records have? See `Access.find_categories`.

    Proof: at the top of this module. `tests/audit/test_categories.py` enumerates it.
    """

    verb: ClassVar[str] = "find_categories"
    needs_total: ClassVar[bool] = False
    needs_cells: ClassVar[bool] = True
    columns: tuple[str, ...]
    delta: Fraction

    def copied(self, schema: Schema) -> Self:
        return type(self)(plain_columns(self.columns, schema), exact(self.delta, "delta"))

    def failure(self) -> Fraction:
        return self.delta

    def check(self, schema: Schema, unit: Unit, rho: Fraction) -> None:
        check_columns(self.columns)
        if not SMALLEST_DELTA <= self.delta < 1:
            raise ParameterError("delta must lie between 1e-100 and 1; try delta=1e-9")
        self._threshold(unit, rho)

    def feature_sets(self) -> list[FeatureSet]:
        return []

    def squared_sensitivity(self, unit: Unit) -> int:
        """How far, squared and in L2, one unit moves the counts of common values together."""
        return len(self.columns) * unit.table_squared

    def _threshold(self, unit: Unit, rho: Fraction) -> int:
        variance = variance_for(rho, self.squared_sensitivity(unit))
        values = len(self.columns) * unit.rows_per_person
        return threshold_for(variance, values, self.delta, unit.scale)

    def run(
        self, counted: CountedTables, rho: Fraction, randomness: Randomness
    ) -> list[FoundValues]:
        threshold, parts = self._threshold(counted.unit, rho), counted.unit.parts
        squared = self.squared_sensitivity(counted.unit)
        found = []
        for name in self.columns:
            values, counts = counted.cells().values(name)
            noisy, sigma = add_noise(counts, rho, squared, randomness)
            told = np.flatnonzero(noisy >= threshold)
            shown = {values[place]: int(noisy[place]) // parts for place in told}
            found.append(FoundValues(name, shown, threshold // parts, sigma / parts))
        return found

    def nothing(self) -> list[FoundValues]:
        return [FoundValues(name, {}, 0, 0.0) for name in self.columns]


def threshold_for(variance: Fraction, values: int, delta: Fraction, most: int = 1) -> int:
    """The least T with values · exp(-(T - most)² / 2σ²) at most δ.

    N_Z(0, σ²) is subgaussian: P[N ≥ t] is at most exp(-t²/2σ²) for every t of at least 0 (Canonne,
    Kamath and Steinke 2020, section 3). So each value of one unit passes T with at most δ / values.

    Args:
        variance: σ².
        values: How many values one unit alone can have.
        delta: δ.
        most: The largest count of such a value.

    Example:
        >>> threshold_for(Fraction(100), 1, Fraction(1, 10**9))
        66
    """
    allowed = delta / values

    def is_enough(t: int) -> bool:
        return exp_between(t * t / (2 * variance), digits=30)[1] <= allowed

    high = isqrt(int(2 * variance)) + 1
    while not is_enough(high):
        high *= 2
    low = 0  # not enough: exp(0) is 1, and more than any δ
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high + most


def plain_columns(names: tuple[str, ...], schema: Schema) -> tuple[str, ...]:
    """The names of columns as the schema has them, whatever class they came in."""
    return tuple(schema[name].name for name in tuple(names))


def check_columns(names: tuple[str, ...]) -> None:
    """Refuse to ask about no column, or about one twice."""
    if not names or len(set(names)) < len(names):
        raise ParameterError("name at least one column, and each once")
