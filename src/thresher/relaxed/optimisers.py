"""Optimisers for Relaxed Projection: the paper's, and the default, which converges.

An optimiser yields one D' after another, each with its misfit, for as long as it is asked.
`project` decides when to stop.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from thresher.relaxed.rows import offsets_of
from thresher.relaxed.sparsemax import sparsemax
from thresher.relaxed.standardised import Residuals
from thresher.relaxed.steps import (
    adam_step,
    descend,
    descend_sparsely,
    extrapolate,
    slope_and_square,
)
from thresher.relaxed.targets import Misfit

NO_STEP = 1e-30
"""A step of this share of the first one moves nothing."""


@dataclass(frozen=True, eq=False)
class Iterate:
    """One D' on the way.

    Attributes:
        columns: D' (d' × n'); valid only until the next iterate is asked for.
        residuals: How far it is from the targets.
    """

    columns: NDArray[np.float32]
    residuals: Residuals


class Optimiser(Protocol):
    """A way to walk downhill among relaxed rows."""

    def iterates(self, misfit: Misfit, start: NDArray[np.float32]) -> Iterator[Iterate]:
        """Yield D' after D', `start` first; ends early only where it cannot improve."""
        ...


@dataclass(frozen=True)
class PaperAdam:
    """The paper's optimiser: Adam on D' itself, then Sparsemax, after every step.

    It need not converge where the targets contradict each other, as noisy ones do: the gradient
    never vanishes there, and Adam keeps taking steps of full size.

    Attributes:
        rate: Step size for each square root of the number of targets.
    """

    rate: float = 1e-4

    def iterates(self, misfit: Misfit, start: NDArray[np.float32]) -> Iterator[Iterate]:
        """Yield D' after D', `start` first."""
        columns = start.copy()
        mean, spread = np.zeros_like(columns), np.zeros_like(columns)
        gradient = np.empty_like(columns)
        size = self.rate * float(np.sqrt(len(misfit)))
        step = 0
        while True:
            yield Iterate(columns, misfit.residuals(columns, gradient))
            step += 1
            adam_step(columns, gradient, mean, spread, step, size)
            sparsemax(columns, offsets_of(misfit.sizes))


@dataclass(frozen=True)
class AcceleratedProjection:
    """Accelerated projected gradient: Nesterov's momentum, with Sparsemax as the projection.

    FISTA (Beck & Teboulle 2009) with a step size found by backtracking and let grow again, and
    momentum dropped whenever the misfit would rise (O'Donoghue & Candès 2015). The misfit never
    rises from one iterate to the next, whether or not the targets can all be met.

    Attributes:
        growth: Factor on the step size from one iteration to the next.
        toll: If given, D' is kept sparse. Without it, a step makes about half of the zero values
            nonzero, most of them tiny. With it, a step may make only the most wanted zero value of
            a feature in a row nonzero, and takes `toll` off it. That is a step on a face of the
            simplex with a linear penalty that is zero where the step begins, so the misfit still
            never rises.
    """

    growth: float = 1.1
    toll: float | None = None

    def iterates(self, misfit: Misfit, start: NDArray[np.float32]) -> Iterator[Iterate]:
        """Yield D' after D', `start` first, with misfits that never rise."""
        offsets = offsets_of(misfit.sizes)
        latest, ahead, trial = start.copy(), start.copy(), np.empty_like(start)
        gradient = np.empty_like(start)
        here = best = misfit.residuals(latest, gradient)
        yield Iterate(latest, best)
        size, momentum = _first_size(gradient), 1.0
        smallest = NO_STEP * size
        while True:
            while True:
                if self.toll is None:
                    descend(ahead, gradient, size, trial)
                else:
                    descend_sparsely(ahead, gradient, size, offsets, self.toll, trial)
                sparsemax(trial, offsets)
                there = misfit.residuals(trial)
                slope, square = slope_and_square(gradient, ahead, trial)
                # Rounding of float32 answers, amplified by 1/σ, must not look like a bad step.
                rise = there.misfit - here.misfit - slope - 1e-6 * here.misfit
                # A move too small for float32 to square is no move: it is as good as accepted. So
                # is one of next to no size, which only a misfit that is not a number leads to.
                if square == 0.0 or size < smallest or rise <= square / (2.0 * size):
                    break
                # The size that the curvature along this step allows, or a tenth if that is less.
                size = max(0.1 * size, min(0.5 * size, square / (2.0 * rise)))
            size *= self.growth
            if there.misfit < best.misfit:
                following = (1.0 + float(np.sqrt(1.0 + 4.0 * momentum**2))) / 2.0
                extrapolate(trial, latest, (momentum - 1.0) / following, ahead)
                latest, trial, best, momentum = trial, latest, there, following
                yield Iterate(latest, best)
            elif momentum > 1.0:
                ahead[...] = latest
                momentum = 1.0
            else:
                return
            here = misfit.residuals(ahead, gradient)


def _first_size(gradient: NDArray[np.float32]) -> float:
    """A first step that moves no entry of D' by more than 1; backtracking corrects it."""
    return 1.0 / max(float(np.abs(gradient).max()), 1e-30)
