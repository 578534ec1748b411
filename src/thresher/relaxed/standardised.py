"""How far D' is from noisy answers, in units of their noise. Needs no compiled kernels."""

from dataclasses import dataclass


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
