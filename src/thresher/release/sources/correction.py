"""Answers of D' that are corrected by a noisy table of the same marginal.

What is best for one cell depends on how many people D' has in it. Where it has next to none, D' is
nearly always right, and the noise of so many cells is what would show: only a noisy cell that is
far off is believed. Where D' has many, it errs about as much as its noise, or more: D' and the
noisy cell are averaged. Let u be what D' has in a cell, in standard deviations σ of its noise.

    noisy cell's weight     (u - 1)/(u + 15) for u > 1, otherwise 0
    most that the answer may differ from it     (l + (t - l)/(1 + u))·σ, with a tolerance t

where t follows from how many cells there are, and from how many of them D' is wrong in
(`tolerance_for`), and l is 1, but falls to 0 as the root of the mean square difference of D' and
cells with u > 1 rises from 1 to 2 standard deviations: then D' says nothing that the noisy cells do
not say. (On 30 fits at ε = 10, where this happens, the largest error was 0.85 to 1.00 times that
with 1.)

Last, one number is taken off all cells so that they add up to 1, and none is below 0: of all such
tables that is the nearest.

The answers to an r-of-k threshold whose residuals were all measured are corrected in a simpler way:
nearly all have many people. The weight of the noisy answers is one number for the threshold, by how
far D' is off beyond noise, and D' may differ from them by t standard deviations. Where D' is wrong
in many of these answers, t follows from how many. It is then 1 or more, but never above that of
tables where these are corrected.

On 75 fits of 10 tables (16 and 64 3-way marginals and 64 pairs, ε = 0.1 and 1), against the same
tolerance for all cells: largest error 0.97, total variation 0.73 (ε = 0.1) and 0.47 (ε = 1) times
as large. Neither depends much on the two constants.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thresher.tables import Slab, Table
from thresher.tables.listing import Cells, Listable, ListedAnswers

FEW = 1.0
"""Up to so many standard deviations of its noise, a cell of D' is not averaged."""

HALF_WAY = 16.0
"""So many standard deviations above that, they are averaged with equal weights."""

LEAST_TOLERANCE = 1.0
"""Where D' has many people, it may differ by so many standard deviations from the noisy cell,
unless it is off by more than noise there."""

NEVER_CLAMPED = 1e6
"""The tolerance that no answer ever exceeds."""

MOVED_BY_NOISE = 2.5
"""The most standard deviations by which noise moves a cell in which D' has nobody.

With 2 and 3, the largest error of 75 fits was 0.5 % larger; with 2, total variation was 5 % less.
"""

FAR_OFF = (2.5, 3.0, 3.5, 4.0, 4.5, 5.0)
"""So many standard deviations from the noisy cell, D' may be wrong in a cell (`wrong_cells`)."""


@dataclass(frozen=True)
class Correction:
    """How one table of D' is corrected.

    Attributes:
        sigma: The standard deviation of the noise of a cell.
        tolerance: How many of these D' may differ from a noisy cell; where `averages`, in a cell in
            which it has nobody.
        averages: Whether D' and the noisy cell are averaged where D' has many people.
        surplus: What is taken off every cell, so that they add up to 1.
        least: The tolerance where `averages` and D' has many people.
        weight: The weight of every noisy cell, unless it depends on how many people D' has there.

    Example:
        >>> correction = Correction(sigma=0.01, tolerance=3.0, averages=True)
        >>> correction(np.array([0.0, 0.0, 0.17]), np.array([0.02, 0.04, 0.19])).round(3).tolist()
        [0.0, 0.01, 0.18]
    """

    sigma: float
    tolerance: float
    averages: bool
    surplus: float = 0.0
    least: float = LEAST_TOLERANCE
    weight: float = 0.0

    def __call__(self, answers: Any, noisy: Any) -> Any:
        """The corrected answers to some cells.

        Args:
            answers: Those of D'.
            noisy: The noisy shares.
        """
        return np.clip(self.whole(answers, noisy) - self.surplus, 0.0, 1.0)

    def whole(self, answers: Any, noisy: Any) -> Any:
        """The same, with the surplus still in them."""
        weight: Any = self.weight
        tolerance: Any = self.tolerance
        if self.averages:
            people = np.maximum(answers / self.sigma, 0.0)
            many = np.maximum(people - FEW, 0.0)
            weight = many / (many + HALF_WAY)
            tolerance = self.least + (self.tolerance - self.least) / (1.0 + people)
        answers = answers + weight * (noisy - answers)
        most = tolerance * self.sigma
        return np.clip(np.clip(answers, noisy - most, noisy + most), 0.0, 1.0)


def surplus_of(tables: Iterable[npt.NDArray[np.floating[Any]]], cells: int) -> float:
    """What to take off every cell of a table, so that they add up to 1 and none is below 0.

    Args:
        tables: The cells of the table, none below 0, in parts.
        cells: How many there are.

    Example:
        >>> round(surplus_of([np.array([0.9, 0.3]), np.array([0.05, 0.0])], 4), 3)
        0.1
        >>> surplus_of([np.array([0.25, 0.25])], 2)
        -0.25
    """
    parts = [np.asarray(part, dtype=np.float64).reshape(-1) for part in tables]
    filled = np.sort(np.concatenate([part[part > 0] for part in parts] or [np.zeros(0)]))[::-1]
    totals = np.cumsum(filled)
    if not len(filled) or totals[-1] <= 1:
        return float((totals[-1:].sum() - 1) / cells)
    # The largest cells that stay above 0 share the surplus.
    shared = (totals - 1) / np.arange(1, len(filled) + 1)
    return float(shared[np.flatnonzero(filled > shared)[-1]])


def least_tolerance(square: float) -> float:
    """The tolerance where D' has many people.

    Args:
        square: The mean square difference of D' and the noisy cells there, in variances of noise.

    Example:
        >>> least_tolerance(0.5), least_tolerance(2.25), least_tolerance(9.0)
        (1.0, 0.5, 0.0)
    """
    return float(min(LEAST_TOLERANCE, max(0.0, 2.0 - square**0.5)))


def count_far_off(off: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """How many cells are off by more than each of `FAR_OFF`.

    Args:
        off: How far each is off, in standard deviations of its noise.

    Example:
        >>> count_far_off(np.array([0.5, 2.7, 3.2, 9.0])).tolist()
        [3, 2, 1, 1, 1, 1]
    """
    far = off[off > FAR_OFF[0]]
    return np.array([np.count_nonzero(far > limit) for limit in FAR_OFF])


def wrong_cells(far_off: npt.ArrayLike, cells: int) -> float:
    """In how many cells D' is wrong, at least: more are far off than noise explains.

    Noise moves N·p(x) of N cells by more than x standard deviations, give or take about the root of
    that. What is above it by more than two roots and one cell is counted, for the x with the most.
    r-of-k answers share noise, so there the number may be above 0 where D' is right. Then noisy
    answers are believed sooner.

    Args:
        far_off: In how many cells D' and the noisy cell differ by more than each of `FAR_OFF`.
        cells: How many cells there are.

    Example:
        >>> wrong_cells([124, 27, 5, 1, 0, 0], 10_000)
        0.0
        >>> round(wrong_cells([150, 60, 45, 40, 38, 35], 10_000), 1)
        36.8
    """
    by_chance = cells * np.array([math.erfc(limit / math.sqrt(2)) for limit in FAR_OFF])
    return max(0.0, float(np.max(np.asarray(far_off) - by_chance - 2 * np.sqrt(by_chance) - 1)))


def tolerance_for(cells: int, wrong: float) -> float:
    """How many standard deviations D' may differ from a noisy cell in which it has nobody.

    The largest noise of N cells is about m = √(2 ln N) standard deviations. If D' is right, and
    believed up to this less a few, noise moves no such cell by more than these few. If D' is wrong
    in W cells, the noise of these, up to √(2 ln W), and the tolerance add up: half of what lies
    between m and √(2 ln W) is best.

    On 20 fits at ε = 10 (16 and 64 3-way marginals and 64 pairs of four tables), where D' is often
    wrong, this made the largest error 0.98 times as large (0.90 to 1.03), and 0.96 times on six
    fits with 64 1-of-3 thresholds. At ε = 1, 26 fits of eight tables did not change: W was 0.

    Args:
        cells: N.
        wrong: W.

    Example:
        >>> [round(tolerance_for(10_000, wrong), 2) for wrong in (0, 1, 10, 1000)]
        [1.79, 1.79, 1.07, 0.29]
    """
    most = math.sqrt(2 * math.log(max(2, cells)))
    usual = max(LEAST_TOLERANCE, most - MOVED_BY_NOISE)
    if wrong < 1:
        return usual
    return min(usual, max(0.0, most - math.sqrt(2 * math.log(wrong))) / 2)


def tolerance_for_r_of_k(answers: int, wrong: float) -> float:
    """How many standard deviations D' may differ from the noisy answers to r-of-k thresholds.

    These have many people, so it is at least what it is in such cells of a table. On 64 1-of-3
    thresholds of a census at ε = 1, where D' was off by up to 13 standard deviations, this made the
    largest error 0.81 times as large, on churn at ε = 10 0.93 times; on 17 other fits of twelve
    tables W was 0, or the tolerance of tables smaller, and nothing changed.

    Args:
        answers: How many there are.
        wrong: In how many of them D' is wrong.

    Example:
        >>> [round(tolerance_for_r_of_k(10_000, wrong), 2) for wrong in (0, 10, 1000)]
        [1.79, 1.07, 1.0]
    """
    return max(LEAST_TOLERANCE, tolerance_for(answers, wrong))


def weight_of(square: float, sigma: float) -> float:
    """The weight of the noisy answers to an r-of-k threshold against those of D'.

    Args:
        square: The mean square difference of the two.
        sigma: The standard deviation of the noise.

    Example:
        >>> weight_of(square=1.0, sigma=1.0), weight_of(square=4.0, sigma=1.0)
        (0.0, 0.75)
    """
    misfit = max(0.0, square - sigma**2)
    # Without noise the answers are known: some feature has a single value.
    return misfit / (misfit + sigma**2) if sigma else 1.0


class CorrectedMarginal:
    """The answers of D' to a marginal, corrected by its noisy table.

    Args:
        answers: The answers of D', which can be listed.
        noisy: The noisy shares, with axes in the same order.
        correction: How they are corrected.
    """

    def __init__(
        self, answers: Listable, noisy: npt.NDArray[np.float64], correction: Correction
    ) -> None:
        self._answers, self._noisy, self._correction = answers, noisy, correction

    def __call__(self, slab: Slab) -> Table:
        """The corrected answers to the cells of a slab."""
        return np.asarray(self._correction(self._answers(slab), self._noisy[slab.index]))

    def listed(self, least: float) -> ListedAnswers:
        """The cells where D' or the noisy table is so large that the answer may be, too."""
        before = least + self._correction.surplus
        if before <= 0:
            cells = np.arange(self._noisy.size)
        else:
            # What is corrected lies between D' and the noisy cell.
            large = np.flatnonzero(self._noisy >= before)
            cells = np.union1d(self._answers.listed(before).cells, large)
        return ListedAnswers(cells, self.at(cells))

    def at(self, cells: Cells) -> npt.NDArray[np.floating[Any]]:
        """The corrected answers to some cells."""
        noisy = self._noisy[np.unravel_index(cells, self._noisy.shape)]
        return np.asarray(self._correction(self._answers.at(cells), noisy))
