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
    """The mean of a measure over seeds, with its standard error."""

    by_seed: Mapping[int, float]

    @property
    def value(self) -> float:
        """The mean over all seeds."""
        return float(np.mean([*self.by_seed.values()]))

    @property
    def error(self) -> float:
        """Its standard error; NaN for one seed."""
        values = [*self.by_seed.values()]
        if len(values) == 1:
            return math.nan
        return float(np.std(values, ddof=1) / math.sqrt(len(values)))

    def times(self, other: "Mean") -> float:
        """How many times another mean it is, over the seeds that both have; NaN without any.

        A seed also draws the workload, so means over different seeds are not comparable.

        Example:
            >>> Mean({0: 2.0, 1: 8.0}).times(Mean({0: 1.0}))
            2.0
        """
        common = sorted(self.by_seed.keys() & other.by_seed.keys())
        if not common:
            return math.nan
        one, two = (sum(mean.by_seed[seed] for seed in common) for mean in (self, other))
        return one / max(two, 1e-12)

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
    values: dict[Place, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    for cell, row in results.rows.items():
        if row["status"] == OK and row[measure]:
            place = (cell.data, cell.workload, cell.epsilon)
            values[place][cell.mechanism][cell.seed] = float(row[measure])
    return {
        place: {name: Mean(by_seed) for name, by_seed in sorted(by_name.items())}
        for place, by_name in sorted(values.items())
    }


def ratios(found: Found, mechanism: str) -> dict[Place, float]:
    """How many times the least error a mechanism's is, wherever there is one to compare with.

    Each other mechanism is compared over the seeds that both have. The best has 1.
    """
    compared = {}
    for place, by_name in found.items():
        others = by_name.keys() - {mechanism} if mechanism in by_name else ()
        times = [by_name[mechanism].times(by_name[other]) for other in others]
        if known := [ratio for ratio in times if not math.isnan(ratio)]:
            compared[place] = max(1.0, *known)
    return compared


def worse_than(found: Found, mechanism: str, other: str) -> list[Place]:
    """Where a mechanism is worse than another by more than a standard error of the difference.

    Seeds that both have are compared, because a seed also draws the workload. With one of them
    there is no standard error, and any difference counts.

    Example:
        >>> both = {"one": Mean({0: 5.0, 1: 3.0}), "two": Mean({0: 4.0, 1: 2.1})}
        >>> worse_than({("churn", "pairs x 64", 1.0): both}, "one", "two")
        [('churn', 'pairs x 64', 1.0)]
    """
    places = []
    for place, by_name in found.items():
        if mechanism in by_name and other in by_name:
            one, two = by_name[mechanism].by_seed, by_name[other].by_seed
            gap = Mean({seed: one[seed] - two[seed] for seed in one.keys() & two.keys()})
            if gap.by_seed and gap.value > np.nan_to_num(gap.error):
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
