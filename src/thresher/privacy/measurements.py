"""What the Curator measured: noisy counts, and the standard deviation of their noise."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from thresher.queries.query import Query
from thresher.queries.threshold import Threshold
from thresher.schema import Schema


@dataclass(frozen=True)
class QueryMeasurement:
    """The noisy count of one query.

    Attributes:
        query: What was asked.
        count: How many records meet it, after noise.
        sigma: The standard deviation of the noise, in counts.
        n: The number of records; where counts are in parts of a person, that of all parts.

    Example:
        >>> from thresher.queries import Condition
        >>> female = Query([Condition("sex", [0])])
        >>> QueryMeasurement(female, count=52, sigma=3.0, n=100).answer
        0.52
    """

    query: Query
    count: int
    sigma: float
    n: int

    @property
    def answer(self) -> float:
        """The noisy count as a fraction of all records."""
        return self.count / self.n

    @property
    def noise(self) -> float:
        """The standard deviation of the noise of `answer`."""
        return self.sigma / self.n


@dataclass(frozen=True, eq=False)
class TableMeasurement:
    """The noisy counts of all consistent queries of one threshold.

    Attributes:
        threshold: Whose table was measured.
        counts: How many records meet each query, after noise: an axis per feature.
        sigma: The standard deviation of the noise of every cell, in counts.
        n: The number of records; where counts are in parts of a person, that of all parts.

    Example:
        >>> table = TableMeasurement(Threshold(("sex",)), np.array([30, 70]), sigma=2.0, n=100)
        >>> table.answers.tolist(), table.noise
        ([0.3, 0.7], 0.02)
    """

    threshold: Threshold
    counts: npt.NDArray[np.int64]
    sigma: float
    n: int

    @property
    def answers(self) -> npt.NDArray[np.float64]:
        """The noisy counts as fractions of all records."""
        return self.counts / self.n

    @property
    def noise(self) -> float:
        """The standard deviation of the noise of every cell of `answers`."""
        return self.sigma / self.n


@dataclass(frozen=True, eq=False)
class ResidualMeasurement:
    """The noisy residual of a marginal table: what it says beyond its margins.

    Attributes:
        threshold: The marginal (r = k).
        contrasts: Its Helmert contrasts (see `tables.contrasts`), after noise: an axis per feature,
            each shorter by one than the feature has values.
        sigma: The standard deviation of the noise in every direction of the residual space, in
            counts. That of a contrast is larger by the norm of its vector.
        n: The number of records; where counts are in parts of a person, that of all parts.

    Example:
        >>> ResidualMeasurement(Threshold(("sex",)), np.array([-40]), sigma=2.0, n=100).noise
        0.02
    """

    threshold: Threshold
    contrasts: npt.NDArray[np.int64]
    sigma: float
    n: int

    @property
    def answers(self) -> npt.NDArray[np.float64]:
        """The noisy contrasts as fractions of all records."""
        return self.contrasts / self.n

    @property
    def noise(self) -> float:
        """The same standard deviation as a fraction of all records."""
        return self.sigma / self.n


@dataclass(frozen=True)
class TotalMeasurement:
    """The number of records, persons or rows: measured, or public.

    Attributes:
        n: The number, after noise; at least 1.
        sigma: The standard deviation of the noise; 0 if the number is public.

    Example:
        >>> TotalMeasurement(n=1003, sigma=4.5).n
        1003
    """

    n: int
    sigma: float


Measurement: TypeAlias = QueryMeasurement | TableMeasurement | ResidualMeasurement


def measured_queries(measurements: Iterable[Measurement]) -> list[QueryMeasurement]:
    """The single queries among some measurements."""
    return [m for m in measurements if isinstance(m, QueryMeasurement)]


def measured_tables(measurements: Iterable[Measurement]) -> list[TableMeasurement]:
    """The tables among some measurements."""
    return [m for m in measurements if isinstance(m, TableMeasurement)]


def measured_residuals(measurements: Iterable[Measurement]) -> list[ResidualMeasurement]:
    """The residuals among some measurements."""
    return [m for m in measurements if isinstance(m, ResidualMeasurement)]


def contrast_count(marginal: Threshold, schema: Schema) -> int:
    """How many contrasts the residual of a marginal has.

    Example:
        >>> from thresher.data import datasets
        >>> contrast_count(Threshold(("sex", "race")), datasets.adult_schema())
        4
    """
    return math.prod(_contrast_shape(marginal, schema))


def unpacked(
    contrasts: npt.NDArray[np.int64],
    marginals: Sequence[Threshold],
    sigmas: Sequence[float],
    schema: Schema,
    n: int,
) -> list[ResidualMeasurement]:
    """The measurements whose contrasts stand one after the other in one array."""
    measured, start = [], 0
    for marginal, sigma in zip(marginals, map(float, sigmas), strict=True):
        shape = _contrast_shape(marginal, schema)
        part = contrasts[start : (start := start + math.prod(shape))].reshape(shape)
        measured.append(ResidualMeasurement(marginal, part, sigma, n))
    return measured


def _contrast_shape(marginal: Threshold, schema: Schema) -> tuple[int, ...]:
    return tuple(size - 1 for size in marginal.shape(schema))
