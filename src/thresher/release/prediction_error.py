"""The prediction error of D': how far it was from measurements that it had not been fitted to.

A mechanism that works in rounds knows what D' answers before it measures. The difference to the
noisy measurement, less the noise, estimates the error of D' on what was selected. All of this is
post-processing of public numbers.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from thresher.privacy.ladder import selection_rate
from thresher.privacy.measurements import Measurement, QueryMeasurement
from thresher.release.uncertainty import NORMAL_95

ONE_SIDED_95 = 1.645
"""A normal variable exceeds its mean by more than this many standard deviations in 5 % of cases."""


@dataclass(frozen=True)
class Prediction:
    """How far D' was from one measurement before it was fitted to it.

    Within a table, a cell's weight is the share of people that D' has there. Otherwise the empty
    cells, which are most cells of most tables and easy to predict, would hide errors in the others.

    Attributes:
        mean_square: The weighted mean square of the differences.
        noise_variance: The variance of the noise in each of them.
        concentration: The sum of the squared weights.
    """

    mean_square: float
    noise_variance: float
    concentration: float

    @classmethod
    def of(cls, measured: Measurement, answers: npt.ArrayLike) -> "Prediction":
        """The answers of D' to a query or table, compared with its measurement."""
        says = np.ravel(np.asarray(answers, dtype=np.float64))
        noisy = measured.answer if isinstance(measured, QueryMeasurement) else measured.answers
        people = np.maximum(says, 0.0) if says.size > 1 and says.max() > 0.0 else np.ones(says.size)
        weight = people / people.sum()
        squares = (np.ravel(noisy) - says) ** 2
        return cls(float(weight @ squares), measured.noise**2, float(weight @ weight))


def prediction_error_of(predictions: Sequence[Prediction], detectable: float) -> float | None:
    """The error of predicted answers, at 95 %, with the noise of the measurements taken off.

    Every measurement has the same weight. The estimate is the mean square of the differences less
    the mean square of the noise. It comes from few numbers, so it is never taken to be smaller than
    the noise could hide (at 95 %). It is about what was selected for measurement. Selection is
    private and may leave a larger error undetected, so the result is at least `detectable`.

    Args:
        predictions: What D' said of measurements before it was fitted to them.
        detectable: The smallest error that selection finds reliably; see `detectable_error`.

    Returns:
        1.96 standard deviations of the error; None without measurements.

    Example:
        >>> from thresher.queries import Condition, Query
        >>> query = Query([Condition("sex", [0])])
        >>> measured = QueryMeasurement(query, 600, sigma=10.0, n=1000)
        >>> round(prediction_error_of([Prediction.of(measured, 0.5)] * 50, detectable=0.1), 3)
        0.195
    """
    if not predictions:
        return None
    count = len(predictions)
    noise_variance = sum(p.noise_variance for p in predictions) / count
    variance = sum(p.mean_square for p in predictions) / count - noise_variance
    # The variance of a weighted mean of squares of normal noise is 2·σ⁴·Σ weight².
    concentration = sum(p.concentration for p in predictions) / count**2
    hidden = ONE_SIDED_95 * math.sqrt(2.0 * concentration) * noise_variance
    return max(NORMAL_95 * math.sqrt(max(variance, hidden)), detectable)


def detectable_error(candidates: int, rho: Fraction, n: int) -> float:
    """The error at which selection picks a candidate with even odds against all others.

    The exponential mechanism picks a candidate with a score of s counts exp(η·s) times as often as
    one with score 0. If all others have score 0, the odds are even at s = ln(candidates)/η.

    Args:
        candidates: The number of candidates.
        rho: The ρ that one selection cost.
        n: The number of records.

    Example:
        >>> round(detectable_error(1000, Fraction(1, 1000), n=1000), 3)
        0.154
    """
    return math.log(candidates) / float(selection_rate(rho)) / n
