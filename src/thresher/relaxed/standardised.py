"""How far D' is from noisy answers, in units of their noise. Needs no compiled kernels."""

from dataclasses import dataclass
from math import log, sqrt

BEYOND_CHANCE = 0.5
"""The largest of N residuals is explained by noise up to √(2 ln N) + 0.5 standard deviations."""


def largest_by_noise(count: int, beyond: float = BEYOND_CHANCE) -> float:
    """How far the largest of some residuals may be off before noise no longer explains it.

    Args:
        count: How many residuals there are.
        beyond: How far above √(2 ln N).

    Example:
        >>> round(largest_by_noise(1000), 2)
        4.22
    """
    return sqrt(2 * log(max(2, count))) + beyond


@dataclass(frozen=True)
class Residuals:
    """How far D' is from some noisy answers, in units of their noise.

    Attributes:
        count: How many answers.
        misfit: Sum of squared standardised residuals; over all targets together, their mean.
        largest: The largest of their absolute values.
    """

    count: int
    misfit: float
    largest: float
