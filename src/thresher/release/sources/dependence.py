"""Two features by D': how strongly they depend, and how far D' is from noisy tables of both."""

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thresher.privacy.measurements import TableMeasurement
from thresher.relaxed.rows import RelaxedRows
from thresher.release.sources.joint_tables import JointTable
from thresher.release.uncertainty import REMEMBERED
from thresher.schema import Schema

Shares = npt.NDArray[np.float64]


class Pair(NamedTuple):
    """Two features by D'.

    Attributes:
        strength: The typical correlation of the values of a person. With the shares d of pairs of
            values by D', and p and q those of the values, it is the root of
            Σ d·(d - pq)² / Σ d·p(1 - p)·q(1 - q).
        misfit: The mean square difference of D' and a noisy table, in units of the variance of the
            noise, over the sums of all cells from the first to any other; 1 if it is less. The
            table is the one with the least noise that has both features, summed over the others.
    """

    strength: float
    misfit: float


class Pairs:
    """Every two features by D'; each is looked at when it is asked for.

    Args:
        rows: D'.
        schema: The features.
        tables: Marginal tables that D' was fitted to.

    Example:
        >>> from thresher.data import datasets
        >>> codes = np.zeros((4, 14), int)
        >>> codes[:2] += 1
        >>> rows = RelaxedRows.from_codes(datasets.adult_schema().sizes, codes)
        >>> Pairs(rows, datasets.adult_schema(), ()).of("sex", "race")
        Pair(strength=1.0, misfit=1.0)
    """

    def __init__(
        self, rows: RelaxedRows, schema: Schema, tables: Iterable[TableMeasurement]
    ) -> None:
        self._rows, self._schema = rows, schema
        self._having: dict[str, dict[int, TableMeasurement]] = {}
        for place, table in enumerate(sorted(tables, key=noise_of_total)):
            for name in table.threshold.features:
                self._having.setdefault(name, {})[place] = table
        self._looked_at = lru_cache(REMEMBERED)(self._of)

    def of(self, first: str, second: str) -> Pair:
        """Two features, in either order."""
        return self._looked_at(min(first, second), max(first, second))

    def _of(self, first: str, second: str) -> Pair:
        blocks = [self._rows.block(self._schema.index(name)) for name in (first, second)]
        p, q = (block.mean(axis=1, dtype=np.float64) for block in blocks)
        both = blocks[0].astype(np.float64) @ blocks[1].T.astype(np.float64) / self._rows.count
        spread = float((p * (1.0 - p)) @ both @ (q * (1.0 - q)))
        off = float((both * (both - np.outer(p, q)) ** 2).sum())
        strength = math.sqrt(off / spread) if spread > 0.0 else 0.0
        return Pair(strength, self._misfit(first, second, both))

    def _misfit(self, first: str, second: str, both: Shares) -> float:
        having, others = self._having.get(first, {}), self._having.get(second, {})
        # Of tables from residuals, the one over both features is the first that has them.
        table = next((table for place, table in having.items() if place in others), None)
        if table is None:
            return 1.0
        off = (both - _margin(table, first, second)).cumsum(axis=0).cumsum(axis=1) ** 2
        t, u = (np.arange(1.0, size + 1.0) / size for size in both.shape)
        variances = noise_of_total(table) * np.outer(t, u)
        if isinstance(table, JointTable):
            variances = table.weight * np.outer(t * (1.0 - t), u * (1.0 - u))
            for name, mine, others in ((first, t, u), (second, u, t)):
                alone = self._weight_alone(name) * np.outer(mine * (1.0 - mine), others**2)
                variances += alone if name == first else alone.T
        is_random = variances > 0.0
        return max(1.0, float(np.mean(off[is_random] / variances[is_random])))

    def _weight_alone(self, name: str) -> float:
        """The noise of the residual of one feature; it was measured if that of two was."""
        tables = (t for t in self._having[name].values() if isinstance(t, JointTable))
        return next(t.weight for t in tables if t.threshold.k == 1)


def _margin(table: TableMeasurement, first: str, second: str) -> Shares:
    axes = [table.threshold.features.index(name) for name in (first, second)]
    others = tuple(i for i in range(table.counts.ndim) if i not in axes)
    noisy: Shares = table.answers.sum(axis=others)
    return noisy if axes[0] < axes[1] else noisy.T


def noise_of_total(table: TableMeasurement) -> float:
    """The variance of the noise of a cell, times the cells."""
    return table.noise**2 * table.counts.size


def one_way(rows: RelaxedRows, schema: Schema, name: str) -> Shares:
    """The share of people that D' has in each value of a feature."""
    return np.asarray(rows.block(schema.index(name)).mean(axis=1, dtype=np.float64))
