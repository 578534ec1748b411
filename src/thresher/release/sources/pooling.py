"""Several measurements of one table as one, and a large table as its margins."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np
import numpy.typing as npt

from thresher.privacy.measurements import (
    Measurement,
    ResidualMeasurement,
    TableMeasurement,
    measured_tables,
)
from thresher.queries.threshold import Threshold
from thresher.release.sources.joint_tables import JointTable


@dataclass(frozen=True, eq=False)
class PooledTable:
    """All measurements of one marginal table, averaged with their precisions as weights.

    Attributes:
        features: The features, in the order of the axes.
        shares: The noisy shares of people. They may be below 0 or above 1.
        sigma: The standard deviation of their noise.
    """

    features: tuple[str, ...]
    shares: npt.NDArray[np.float64]
    sigma: float

    @property
    def noise_of_total(self) -> float:
        """The variance of the noise in the sum of all cells.

        Of two tables, the one with less of it has the margin over common features with less noise.
        """
        return float(self.sigma**2 * self.shares.size)

    def with_(self, other: "PooledTable") -> "PooledTable":
        """Pooled with another measurement of the same table."""
        mine, others = self.sigma**-2, other.sigma**-2
        shares = mine * self.shares + others * other.ordered(self.features)
        return PooledTable(self.features, shares / (mine + others), (mine + others) ** -0.5)

    def ordered(self, features: tuple[str, ...]) -> npt.NDArray[np.float64]:
        """The shares, with the axes in the order of these features."""
        return np.transpose(self.shares, [self.features.index(name) for name in features])


def pooled_marginals(measurements: Iterable[Measurement]) -> dict[frozenset[str], PooledTable]:
    """The marginal tables among some measurements, pooled, by their sets of features.

    A table is left out if a larger one knows it better: if the margin of that one has less noise.
    """
    pooled: dict[frozenset[str], PooledTable] = {}
    for m in measured_tables(measurements):
        if m.threshold.r == m.threshold.k:
            key = frozenset(m.threshold.features)
            table = PooledTable(m.threshold.features, m.answers, m.noise)
            pooled[key] = pooled[key].with_(table) if key in pooled else table
    by_sum = sorted(pooled, key=lambda key: pooled[key].noise_of_total)
    return {
        key: pooled[key]
        for key in pooled
        if not any(key < other for other in by_sum[: by_sum.index(key)])
    }


def margins_of(measurement: Measurement, largest: int | None) -> list[Measurement]:
    """The measurement itself; if it is a table with too many cells, its largest small margins.

    A residual with too many contrasts is left out, because its margins have residuals themselves;
    and so is a table that was put together from residuals.

    Args:
        measurement: What was measured.
        largest: The most cells that a table may have; None for no limit.

    Example:
        >>> counts = np.arange(24).reshape(2, 3, 4)
        >>> table = TableMeasurement(Threshold(("a", "b", "c")), counts, sigma=1.0, n=1000)
        >>> [(m.threshold.features, m.sigma) for m in margins_of(table, largest=8)]
        [(('a', 'c'), 1.7320508075688772), (('a', 'b'), 2.0)]
    """
    if largest is None or not isinstance(measurement, ResidualMeasurement | TableMeasurement):
        return [measurement]
    if isinstance(measurement, ResidualMeasurement):
        return [measurement] if measurement.contrasts.size <= largest else []
    if measurement.counts.size <= largest:
        return [measurement]
    return [] if isinstance(measurement, JointTable) else [*_small_margins(measurement, largest)]


def _small_margins(table: TableMeasurement, largest: int) -> Iterator[TableMeasurement]:
    """The largest small margins, but none whose features, three by three, others have.

    There are thousands of them for a table of a dozen features.
    """
    features, shape = table.threshold.features, table.counts.shape
    covered: set[tuple[int, ...]] = set()
    level = {tuple(range(len(shape)))}
    while level:
        large = {axes for axes in level if prod(shape[i] for i in axes) > largest}
        for axes in sorted(level - large, reverse=True):
            together = {some for size in (1, 2, 3) for some in combinations(axes, size)}
            if not together <= covered:
                covered |= together
                left_out = tuple(i for i in range(len(shape)) if i not in axes)
                yield TableMeasurement(
                    Threshold(features[i] for i in axes),
                    table.counts.sum(axis=left_out),
                    table.sigma * prod(shape[i] for i in left_out) ** 0.5,
                    table.n,
                )
        level = {axes[:i] + axes[i + 1 :] for axes in large for i in range(len(axes))} - {()}
