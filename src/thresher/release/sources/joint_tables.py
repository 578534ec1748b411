"""Noisy tables that are put together from measured residuals."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from thresher.privacy.measurements import (
    Measurement,
    ResidualMeasurement,
    TableMeasurement,
)
from thresher.queries.threshold import Threshold
from thresher.release.sources.residual_tables import ResidualTables
from thresher.schema import Schema

ROUNDING = 1 / 12
"""The variance of what rounding to whole counts adds to the noise."""


@dataclass(frozen=True, eq=False)
class JointTable(TableMeasurement):
    """A marginal table as if it had been measured, rounded to whole counts.

    The noise of its cells is correlated, and so is that of tables with common features: they say
    nothing about these that one of them does not say.

    Attributes:
        weight: The variance of the noise of its residual in every direction, times the cells. If
            all cells had independent noise, it would be that of a cell, times the cells.
    """

    weight: float


def joint_table(source: ResidualTables, table: Threshold) -> JointTable:
    """One marginal table, with the noise that each of its cells has.

    Args:
        source: The residuals.
        table: The marginal.
    """
    noisy = source.counts(table)
    sigma = float(((source.noise(table) * noisy.n) ** 2 + ROUNDING) ** 0.5)
    counts = np.ascontiguousarray(np.rint(noisy.counts).astype(np.int64))
    residual = source.residual(table.features).noise
    return JointTable(table, counts, sigma, noisy.n, residual**2 * counts.size)


def residuals_as_tables(measurements: Iterable[Measurement], schema: Schema) -> list[Measurement]:
    """The measurements, with the table over the same features in place of each residual.

    Args:
        measurements: What was measured; with each residual, those over all subsets of its features.
        schema: The features.

    Example:
        >>> from thresher.schema import IntegerRange
        >>> schema = Schema(IntegerRange(name=x, low=0, high=1, nulls=0) for x in "ab")
        >>> contrasts = {("a",): [-20], ("b",): [10], ("a", "b"): [[4]]}
        >>> measured = [
        ...     ResidualMeasurement(Threshold(names), np.array(found), sigma=3.0, n=100)
        ...     for names, found in contrasts.items()
        ... ]
        >>> [*alone, both] = residuals_as_tables(measured, schema)
        >>> both.counts.tolist(), round(both.sigma, 2)
        ([[24, 16], [32, 28]], 2.14)
    """
    listed = list(measurements)
    source = ResidualTables.of(listed, schema)
    return [
        joint_table(source, m.threshold) if isinstance(m, ResidualMeasurement) else m
        for m in listed
    ]
