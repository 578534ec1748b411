"""The prediction error of D': how far it was from measurements that it had not been fitted to.

A mechanism that works in rounds knows what D' answers before it measures. The difference to the
noisy measurement, less the noise, estimates the error of D' on what was selected. All of this is
post-processing of public numbers.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from thresher.privacy.ladder import selection_rate
from thresher.privacy.measurements import Measurement, QueryMeasurement
from thresher.release.uncertainty import NORMAL_95

ONE_SIDED_95 = 1.645
"""A normal variable exceeds its mean by more than this many standard deviations in 5 % of cases."""


def prediction_error_of(
    predicted: Sequence[tuple[Measurement, npt.ArrayLike]], detectable: float
) -> float | None:
    """The error of predicted answers, at 95 %, with the noise of the measurements taken off.

    Every measurement has the same weight. Within a table, a cell's weight is the share of people
    that D' has there. Otherwise the empty cells, which are most cells of most tables and easy to
    predict, would hide errors in the others.

    The estimate is the mean square of the differences less the mean square of the noise. It comes
    from few numbers, so it is never taken to be smaller than the noise could hide (at 95 %). It is
    about what was selected for measurement. Selection is private and may leave a larger error
    undetected, so the result is at least `detectable`.

    Args:
        predicted: Measurements, each with the answers of D' to the same query or table, from
            before D' was fitted to it.
        detectable: The smallest error that selection finds reliably; see `detectable_error`.

    Returns:
        1.96 standard deviations of the error; None without measurements.

    Example:
        >>> from thresher.queries import Condition, Query
        >>> query = Query([Condition("sex", [0])])
        >>> measured = QueryMeasurement(query, 600, sigma=10.0, n=1000)
        >>> round(prediction_error_of([(measured, 0.5)] * 50, detectable=0.1), 3)
        0.195
    """
    if not predicted:
        return None
    differences, noise, weights = [], [], []
    for m, answers in predicted:
        says = np.ravel(np.asarray(answers, dtype=np.float64))
        measured = m.answer if isinstance(m, QueryMeasurement) else m.answers
        differences.append(np.ravel(measured) - says)
        noise.append(np.full(says.size, m.noise))
        people = np.maximum(says, 0.0) if says.size > 1 and says.max() > 0.0 else np.ones(says.size)
        weights.append(people / people.sum())
    weight = np.concatenate(weights) / len(predicted)
    noise_variance = float(weight @ np.concatenate(noise) ** 2)
    variance = float(weight @ np.concatenate(differences) ** 2) - noise_variance
    # The variance of a weighted mean of squares of normal noise is 2·σ⁴·Σ weight².
    hidden = ONE_SIDED_95 * math.sqrt(2.0 * float(weight @ weight)) * noise_variance
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
