"""How wrong answers to future queries are: future error (Section 5.2 of the paper).

It touches private data. Nothing computed here is private, and nothing of it is for publication.

Future error is an expectation over the mechanism's randomness and over the future thresholds: the
mean of the maximum error of a threshold. Its estimate is a mean over repetitions (releases) and
over thresholds that were drawn for the purpose, and the interval around it accounts for both:

- several repetitions, each with future thresholds of its own (`FutureError.pooled`): their means
  are independent, so it is Student's t interval over the means, with R - 1 degrees of freedom;
- several repetitions with the same S thresholds: releases and thresholds are two crossed random
  effects. The mean's variance is (A + B - C) / RS, with A, B and C the mean squares between
  releases, between thresholds and of what is left, and never less than A/RS or B/RS; the degrees
  of freedom are Satterthwaite's, rounded down;
- one repetition: Student's t interval over its thresholds. It says nothing about other releases.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thresher.data.known import counted_ahead
from thresher.data.private import PrivateData
from thresher.errors import ParameterError
from thresher.evaluation.errors import as_counted, errors_of
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.release import Release

CONFIDENCE = 0.95
MOST_DEGREES = 1000
"""Student's t with more degrees of freedom than this is taken for this: it is hardly wider."""


@dataclass(frozen=True)
class FutureError:
    """An estimate of future error, with an interval.

    Attributes:
        by_repetition: For each release the maximum error of each future threshold, in order.
        shared: Whether all repetitions were asked the same future thresholds.

    Example:
        >>> estimate = FutureError(((0.1, 0.3), (0.2, 0.4)), shared=True)
        >>> round(estimate.mean, 3)
        0.25
    """

    by_repetition: tuple[tuple[float, ...], ...]
    shared: bool

    def __post_init__(self) -> None:
        if not self.by_repetition or not all(self.by_repetition):
            raise ParameterError("future error needs at least one release and one threshold")
        if self.shared and len(set(map(len, self.by_repetition))) > 1:
            raise ParameterError("repetitions that share thresholds have equally many errors")

    @classmethod
    def pooled(cls, estimates: Iterable["FutureError"]) -> "FutureError":
        """Put independent repetitions together, each with future thresholds of its own.

        Example:
            >>> one, other = FutureError(((0.1, 0.3),), True), FutureError(((0.2, 0.6),), True)
            >>> low, high = FutureError.pooled([one, other]).interval
            >>> f"{low:.2f} to {high:.2f}"
            '-0.97 to 1.57'
        """
        listed = list(estimates)
        if any(len(estimate.by_repetition) > 1 and estimate.shared for estimate in listed):
            raise ParameterError(
                "repetitions that share future thresholds are not independent: draw new thresholds "
                "for each release, and pool estimates of one release each"
            )
        return cls(tuple(errors for e in listed for errors in e.by_repetition), shared=False)

    @property
    def mean(self) -> float:
        """The estimate: every repetition counts alike."""
        return float(np.mean([np.mean(errors) for errors in self.by_repetition]))

    @property
    def interval(self) -> tuple[float, float]:
        """The ends of the 95 % confidence interval; infinite where there is one error only."""
        variance, degrees = self._variance()
        if degrees < 1:
            return -math.inf, math.inf
        margin = student_t(degrees) * math.sqrt(variance)
        return self.mean - margin, self.mean + margin

    def _variance(self) -> tuple[float, int]:
        """The variance of the mean, and its degrees of freedom."""
        repetitions = len(self.by_repetition)
        if repetitions == 1:
            return _variance_of_mean(self.by_repetition[0])
        if not self.shared:
            return _variance_of_mean([float(np.mean(errors)) for errors in self.by_repetition])
        return _crossed_variance(np.array(self.by_repetition))


def future_error(
    releases: Release | Sequence[Release],
    records: PrivateData,
    thresholds: Workload | Sequence[Threshold],
) -> FutureError:
    """Estimate future error: the mean over future thresholds of the maximum error.

    Not for publication. A threshold that was drawn several times counts as often, and is looked at
    once.

    Args:
        releases: A release, or independent repetitions of one.
        records: The private records that they were made from.
        thresholds: The future thresholds, drawn independently (`draw_thresholds`) of the history.

    Returns:
        The estimate; its `mean` and `interval` are what the paper plots.

    Example:
        >>> import thresher as th
        >>> from thresher.mechanisms import All0
        >>> from thresher.queries import FeatureDistribution, draw_thresholds
        >>> data = th.datasets.adult()
        >>> past = th.Workload.random(data.schema, k=2, size=3, seed=0)
        >>> release = All0(epsilon=1.0).fit(data, past)
        >>> future = draw_thresholds(FeatureDistribution.uniform(data.schema), 2, size=9, seed=1)
        >>> estimate = future_error(release, data, future)
        >>> low, high = estimate.interval
        >>> 0 < low < estimate.mean < high < 1
        True
    """
    several = [releases] if isinstance(releases, Release) else list(releases)
    drawn = list(thresholds)
    if not drawn or not several:
        raise ParameterError("future error needs at least one release and one threshold")
    schema = several[0].schema
    distinct = Workload(schema, dict.fromkeys(drawn))
    records = counted_ahead(records, (schema.bases(threshold.features) for threshold in distinct))
    place = {threshold: i for i, threshold in enumerate(distinct)}
    by_repetition = []
    for release in several:
        errors = errors_of(
            release.source.table, as_counted(release, records), distinct
        ).by_threshold
        by_repetition.append(tuple(errors[place[threshold]] for threshold in drawn))
    return FutureError(tuple(by_repetition), shared=True)


def _variance_of_mean(values: Sequence[float]) -> tuple[float, int]:
    count = len(values)
    return (float(np.var(values, ddof=1)) / count if count > 1 else math.inf), count - 1


def _crossed_variance(errors: npt.NDArray[np.float64]) -> tuple[float, int]:
    """The variance of the mean of a table with two random effects; see the module."""
    releases, thresholds = errors.shape
    if thresholds == 1:
        return _variance_of_mean(errors[:, 0].tolist())
    by_release, by_threshold = errors.mean(axis=1), errors.mean(axis=0)
    left = errors - by_release[:, None] - by_threshold + errors.mean()
    degrees = (releases - 1, thresholds - 1, (releases - 1) * (thresholds - 1))
    squares = (
        thresholds * float(np.var(by_release, ddof=1)),
        releases * float(np.var(by_threshold, ddof=1)),
        float((left**2).sum()) / degrees[2],
    )
    between, across, rest = squares
    total = between + across - rest
    if total <= max(between, across):
        # One of the effects is not to be seen: the other's interval is the wider one.
        larger = 0 if between >= across else 1
        return squares[larger] / errors.size, degrees[larger]
    spread = sum(square**2 / free for square, free in zip(squares, degrees, strict=True))
    return total / errors.size, max(1, math.floor(total**2 / spread))


def student_t(degrees: int) -> float:
    """The number that Student's t exceeds, in absolute value, with probability 5 %.

    By bisection on the closed form of the distribution for whole degrees of freedom (Abramowitz
    and Stegun, 26.7.3 and 26.7.4).

    Example:
        >>> round(student_t(1), 3), round(student_t(10), 3)
        (12.706, 2.228)
    """
    low, high = 0.0, 20.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, degrees) < CONFIDENCE else (low, middle)
    return (low + high) / 2


def _within(t: float, degrees: int) -> float:
    """The probability that Student's t lies between -t and t."""
    degrees = min(degrees, MOST_DEGREES)
    angle = math.atan(t / math.sqrt(degrees))
    square = math.cos(angle) ** 2
    odd = degrees % 2
    term, total = (math.cos(angle) if odd else 1.0), 0.0
    for j in range(1 + odd, degrees, 2):
        total += term
        term *= square * j / (j + 1)
    total *= math.sin(angle)
    return 2 / math.pi * (angle + total) if odd else total
