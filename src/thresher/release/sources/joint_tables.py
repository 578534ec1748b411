"""Noisy tables that are put together from measured residuals, each as if it had been measured."""

from collections.abc import Iterable

import numpy as np

from thresher.privacy.measurements import (
    Measurement,
    ResidualMeasurement,
    TableMeasurement,
)
from thresher.queries.condition import Condition
from thresher.queries.query import Query
from thresher.queries.threshold import Threshold
from thresher.release.sources.residual_tables import ResidualTables, ResidualVariances
from thresher.schema import Schema

ROUNDING = 1 / 12
"""The variance of what rounding to whole counts adds to the noise."""


def joint_table(source: ResidualTables, table: Threshold) -> TableMeasurement:
    """One marginal table, rounded to whole counts, with the noise that each of its cells has.

    The noise of its cells is correlated, and that of tables with common features is, too.

    Args:
        source: The residuals.
        table: The marginal.
    """
    noisy = source.counts(table)
    cell = Query([Condition(name, [0]) for name in table.features], table.r)
    variance, _ = ResidualVariances(source).of(cell)
    sigma = float((variance * noisy.n**2 + ROUNDING) ** 0.5)
    counts = np.ascontiguousarray(np.rint(noisy.counts).astype(np.int64))
    return TableMeasurement(table, counts, sigma, noisy.n)


def residuals_as_tables(measurements: Iterable[Measurement], schema: Schema) -> list[Measurement]:
    """The measurements, with the largest tables that residuals determine in place of residuals.

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
        >>> [table] = residuals_as_tables(measured, schema)
        >>> table.counts.tolist(), round(table.sigma, 2)
        ([[24, 16], [32, 28]], 2.14)
    """
    listed = list(measurements)
    others: list[Measurement] = [m for m in listed if not isinstance(m, ResidualMeasurement)]
    if len(others) == len(listed):
        return others
    source = ResidualTables.of(listed, schema)
    return [*others, *(joint_table(source, Threshold(names)) for names in _largest(source))]


def _largest(source: ResidualTables) -> list[tuple[str, ...]]:
    """The sets of features that are part of no other, in the order in which they were measured."""
    covered = {
        features[:i] + features[i + 1 :]
        for features in source.residuals
        for i in range(len(features))
    }
    return [features for features in source.residuals if features not in covered]
