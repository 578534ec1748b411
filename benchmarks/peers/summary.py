"""Means over seeds, the best of each cell, and how far the others are from it."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.peers.one import OK
from benchmarks.peers.results import MEASURES, Results

Place = tuple[str, str, float]
"""A table, a workload and an ε."""


@dataclass(frozen=True)
class Mean:
    """The mean of a measure over seeds, with its standard error (NaN for one seed)."""

    value: float
    error: float
    seeds: int

    @classmethod
    def of(cls, values: list[float]) -> "Mean":
        """The mean of some values."""
        error = np.std(values, ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan
        return cls(float(np.mean(values)), float(error), len(values))

    def __str__(self) -> str:
        shown = f"{self.value:.2g}" if self.value < 0.1 else f"{self.value:.3g}"
        return shown if math.isnan(self.error) else f"{shown} ± {self.error:.1g}"

    def in_full(self) -> str:
        """With three decimals, for shares that differ little from one another."""
        return f"{self.value:.3f}" + ("" if math.isnan(self.error) else f" ± {self.error:.3f}")


Found = Mapping[Place, Mapping[str, Mean]]
"""By place and mechanism."""


def means(results: Results, measure: str) -> Found:
    """The means over seeds of one measure, wherever it was measured.

    Args:
        results: The stored results.
        measure: One of `MEASURES`.
    """
    assert measure in MEASURES
    values: dict[Place, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for cell, row in results.rows.items():
        if row["status"] == OK and row[measure]:
            place = (cell.data, cell.workload, cell.epsilon)
            values[place][cell.mechanism].append(float(row[measure]))
    return {
        place: {name: Mean.of(listed) for name, listed in sorted(by_name.items())}
        for place, by_name in sorted(values.items())
    }


def ratios(found: Found, mechanism: str) -> dict[Place, float]:
    """How many times the least error a mechanism's is, wherever there is one to compare with."""
    return {
        place: by_name[mechanism].value / max(least(by_name), 1e-12)
        for place, by_name in found.items()
        if mechanism in by_name and len(by_name) > 1
    }


def least(by_name: Mapping[str, Mean]) -> float:
    """The least mean."""
    return min(mean.value for mean in by_name.values())


def worse_than(found: Found, mechanism: str, other: str) -> list[Place]:
    """Where a mechanism is worse than another by more than a standard error of the difference.

    With one seed there is none, and any difference counts.
    """
    places = []
    for place, by_name in found.items():
        if mechanism in by_name and other in by_name:
            one, two = by_name[mechanism], by_name[other]
            error = np.nan_to_num(math.hypot(one.error, two.error))
            if one.value > two.value + error:
                places.append(place)
    return places


def geometric_mean(values: Iterable[float]) -> float:
    """The geometric mean; NaN of nothing.

    Example:
        >>> round(geometric_mean([1, 4]), 6)
        2.0
    """
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan
