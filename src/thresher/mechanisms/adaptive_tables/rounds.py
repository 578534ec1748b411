"""How the rounds of adaptive tables anneal: each learns from what the one before has found.

A round is given a part of the budget that is left. If D' was no further from the table that it
measured than noise explains, the noise of a round is too large to show where D' is still wrong.
Then the next rounds get twice as much each, and there are fewer of them. Where rounds still find
errors, they go on with what they have. All of this is public: it follows from noisy tables and D'.

zCDP allows budgets that are chosen while it goes on, within a total that is fixed: a filter that
stops at the total is as private as one call of that cost (Feldman and Zrnic 2021, "Individual
privacy accounting via a Rényi filter"). The Curator's account is that filter.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log, sqrt

import numpy as np
import numpy.typing as npt

from thresher.mechanisms.adaptive_tables.plan import SELECTION_SHARE
from thresher.privacy.measurements import TableMeasurement
from thresher.relaxed.standardised import Residuals, largest_by_noise

GROWTH = 2
"""How many times as much the next round gets after one that found nothing."""

CHANCE_OF_SQUARES = 4.0
"""An error is found if noise does not explain the largest residual, or if their mean square is this
many of its standard deviations above that of noise."""

LAST_PART = Fraction(3, 2)
"""A round that would leave less than half of another takes all that is left."""


@dataclass(frozen=True)
class Round:
    """What one round may spend.

    Attributes:
        rho: All of it.
    """

    rho: Fraction

    @property
    def per_selection(self) -> Fraction:
        """The ρ of selecting a table."""
        return SELECTION_SHARE * self.rho

    @property
    def per_measurement(self) -> Fraction:
        """The ρ of measuring it."""
        return self.rho - self.per_selection

    def noise_to_come(self, cells: Iterable[int]) -> list[int]:
        """About the largest noise of a measurement of each candidate, in counts: σ·√(2 ln cells).

        An error smaller than this is not worth measuring, so selection subtracts it.
        """
        sigma = 1.0 / sqrt(float(self.per_measurement))
        return [ceil(sigma * sqrt(2 * log(size))) for size in cells]


@dataclass
class Annealing:
    """The rounds that are still to come.

    Attributes:
        left: The ρ that is left for them.
        each: What the next one gets, unless it is the last.
        anneals: Whether a round that finds nothing makes the next ones larger.

    Example:
        >>> rounds = Annealing(Fraction(1), Fraction(1, 4), anneals=True)
        >>> rounds.next().rho, rounds.next().rho
        (Fraction(1, 4), Fraction(1, 4))
        >>> rounds.learn(found=False)
        >>> rounds.next().rho, rounds.left
        (Fraction(1, 2), Fraction(0, 1))
    """

    left: Fraction
    each: Fraction
    anneals: bool

    def next(self) -> Round:
        """The next round, which is paid for."""
        rho = self.left if self.left < LAST_PART * self.each else self.each
        self.left -= rho
        return Round(rho)

    def learn(self, found: bool) -> None:
        """Learn whether the round found an error of D'."""
        if self.anneals and not found:
            self.each *= GROWTH

    @property
    def to_come(self) -> int:
        """How many rounds there will be if none makes the next ones larger."""
        return ceil(self.left / self.each)


def finds_an_error(measured: TableMeasurement, predicted: npt.ArrayLike) -> bool:
    """Whether D' was further from a noisy table than noise explains.

    Args:
        measured: The noisy table.
        predicted: What D' said of it before.

    Example:
        >>> from thresher.queries.threshold import Threshold
        >>> table = TableMeasurement(Threshold(("a",)), np.array([40, 60]), sigma=2.0, n=100)
        >>> finds_an_error(table, [0.41, 0.59]), finds_an_error(table, [0.5, 0.5])
        (False, True)
    """
    off = (np.asarray(predicted, dtype=np.float64) - measured.answers) / measured.noise
    found = Residuals(off.size, float((off**2).mean()), float(np.abs(off).max()))
    return not noise_explains(found)


def noise_explains(residuals: Residuals) -> bool:
    """Whether D' is no further from noisy cells than their noise makes likely.

    Example:
        >>> near, far = Residuals(50, misfit=1.2, largest=3.0), Residuals(50, 1.2, largest=3.5)
        >>> noise_explains(near), noise_explains(far)
        (True, False)
    """
    largest = largest_by_noise(residuals.count)
    squares = 1.0 + CHANCE_OF_SQUARES * sqrt(2.0 / residuals.count)
    return bool(residuals.largest <= largest and residuals.misfit <= squares)
