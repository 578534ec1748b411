"""Relaxed Projection (Algorithm 3): move D' until it agrees with the noisy answers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from thresher.errors import ParameterError
from thresher.parallel import products_on_one_core
from thresher.relaxed.compilation import cores_for
from thresher.relaxed.optimisers import AcceleratedProjection, Iterate, Optimiser, PaperAdam
from thresher.relaxed.rows import RelaxedRows
from thresher.relaxed.softmax import SoftmaxAdam, softmax_rows
from thresher.relaxed.standardised import BEYOND_CHANCE, Residuals, largest_by_noise
from thresher.relaxed.targets import Misfit, Target

OPTIMISERS: dict[str, Optimiser] = {
    "accelerated": AcceleratedProjection(),
    "sparse": AcceleratedProjection(toll=0.003),
    "adam": PaperAdam(),
    "softmax": SoftmaxAdam(),
}

Record = Callable[[int, float, RelaxedRows], None]


@dataclass(frozen=True)
class Stopping:
    """When D' is good enough.

    If D' were the true data set, its misfit would be about 1, and with N answers no residual would
    be much above √(2 ln N) standard deviations. A fit as good as that is as good as the noise
    allows (the discrepancy principle of inverse problems, in both norms). Fitting more closely was
    tried on ADULT with two seeds a case. A misfit of 0.5 or 0.1 took 1.3 to 40 times the
    iterations. Errors moved both ways, about as much as between seeds, but mostly rose at 0.1 for
    r < k. Many very noisy targets can be fitted this well by a random D'. The projection then
    still goes on, as long as a step brings much of the fall in misfit so far (`last_gain`).

    Attributes:
        misfit: The mean squared standardised residual that is good enough.
        largest: How far above √(2 ln N) the largest standardised residual may be.
        last_gain: A good fit is final only if the last step brought no more than this share of the
            fall in misfit so far.
        at_once: Whether a D' that is good before the first iteration stays as it is.
        least: A good fit is final only after this many iterations.
        progress: Stop when `window` iterations brought less than this share of the misfit, or of
            its fall so far where that is less.
        window: Number of iterations over which progress is judged.
        iterations: Stop after this many in any case.
    """

    misfit: float = 1.0
    largest: float = BEYOND_CHANCE
    last_gain: float = 0.1
    at_once: bool = False
    least: int = 0
    progress: float = 0.01
    window: int = 50
    iterations: int = 2000

    def __post_init__(self) -> None:
        if min(self.misfit, self.last_gain, self.progress) < 0.0:
            raise ParameterError("misfit, last_gain and progress must not be negative")
        if self.window < 1 or min(self.least, self.iterations) < 0:
            raise ParameterError("window must be at least 1; least and iterations, at least 0")

    def is_good(self, latest: Residuals) -> bool:
        """Whether D' agrees with the answers as well as their noise allows."""
        largest = largest_by_noise(latest.count, self.largest)
        return bool(latest.misfit <= self.misfit and latest.largest <= largest)

    def reason(self, misfits: Sequence[float], latest: Residuals) -> str | None:
        """Why to stop, or None to go on.

        Args:
            misfits: The misfit at the start and after every iteration.
            latest: The residuals now.

        Example:
            >>> near, far = Residuals(16, 0.8, largest=2.5), Residuals(16, 0.8, largest=3.9)
            >>> Stopping().reason([9.0, 1.0, 0.8], near)
            'noise'
            >>> Stopping().reason([9.0, 1.0, 0.8], far) is None
            True
            >>> Stopping().reason([0.8], near) is None, Stopping(at_once=True).reason([0.8], near)
            (True, 'noise')
        """
        fall = misfits[0] - misfits[-1]
        gain = misfits[-2] - misfits[-1] if len(misfits) > 1 else np.inf
        good = self.is_good(latest) and len(misfits) > self.least
        if good and (gain <= self.last_gain * fall or (self.at_once and len(misfits) == 1)):
            return "noise"
        if len(misfits) > self.iterations:
            return "iterations"
        if len(misfits) > self.window:
            gained = min(misfits[: -self.window]) - min(misfits[-self.window :])
            if gained < self.progress * min(misfits[-1], max(fall, 0.0)):
                return "progress"
        return None


@dataclass(frozen=True, eq=False)
class Projection:
    """The result of Relaxed Projection.

    Attributes:
        rows: The new D'.
        misfits: The misfit before the first iteration, and after each.
        reason: Why it stopped: "noise" (the fit is as good as the noise allows), "progress"
            (it hardly improved any more), "iterations" (all used), or "optimum".
    """

    rows: RelaxedRows
    misfits: tuple[float, ...] = field(repr=False)
    reason: str


def project(
    rows: RelaxedRows,
    targets: Sequence[Target],
    optimiser: str | Optimiser = "accelerated",
    stopping: Stopping | None = None,
    record: Record | None = None,
) -> Projection:
    """Find relaxed rows, near the given ones, that agree with noisy answers.

    Args:
        rows: D' to start from; left as it is.
        targets: Noisy answers, each with its noise.
        optimiser: "accelerated", "sparse" (the same, but D' is kept sparse), "adam" (the paper's),
            "softmax" (Adam on the logits of Softmax rows), or any other `Optimiser`.
        stopping: When to stop.
        record: Called with the iteration, misfit and D' after each iteration (0: before the
            first). The D' it is given is only valid during the call.

    Returns:
        The new D', and the misfit after every iteration.

    Example:
        >>> from thresher.relaxed.selected import SelectedQueries
        >>> from thresher.relaxed.targets import QueryTargets
        >>> start = RelaxedRows.uniform((2, 3), rows=20, rng=np.random.default_rng(0))
        >>> queries = SelectedQueries.of([[0, 2], [1, 4]], r=[2, 1])
        >>> target = QueryTargets(queries, np.array([0.4, 0.5]), sigma=0.01)
        >>> project(start, [target]).reason
        'noise'
    """
    chosen = _optimiser(optimiser)
    rule = stopping or Stopping()
    sizes, views = rows.feature_sizes, rows.views
    misfit = Misfit(tuple(targets), sizes, views)
    misfits: list[float] = []
    reason: str | None = None
    latest = Iterate(rows.feature_columns, Residuals(1, np.inf, np.inf))
    with cores_for(rows.columns.size), products_on_one_core():
        for latest in chosen.iterates(misfit, rows.feature_columns):
            misfits.append(latest.residuals.misfit)
            if record is not None:
                here = RelaxedRows.extended(latest.columns, sizes, views)
                record(len(misfits) - 1, misfits[-1], here)
            reason = rule.reason(misfits, latest.residuals)
            if reason is not None:
                break
    final = RelaxedRows.extended(latest.columns.copy(), sizes, views)
    return Projection(final, tuple(misfits), reason or "optimum")


def first_rows(
    optimiser: str, sizes: tuple[int, ...], rows: int, rng: np.random.Generator
) -> RelaxedRows:
    """The random D' that an optimiser starts from.

    Softmax rows need a start without zeros: a share of zero would hardly ever grow.

    Args:
        optimiser: One of `OPTIMISERS`.
        sizes: How many values each feature has.
        rows: n', the number of synthetic rows.
        rng: Source of (public) randomness.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> bool(first_rows("softmax", (2, 30), rows=5, rng=rng).columns.all())
        True
        >>> bool(first_rows("adam", (2, 30), rows=5, rng=rng).columns.all())
        False
    """
    start = softmax_rows if optimiser == "softmax" else RelaxedRows.uniform
    return start(sizes, rows, rng)


def _optimiser(optimiser: str | Optimiser) -> Optimiser:
    if not isinstance(optimiser, str):
        return optimiser
    if optimiser not in OPTIMISERS:
        known = ", ".join(f'"{name}"' for name in OPTIMISERS)
        raise ParameterError(f'optimiser="{optimiser}" is not known; choose one of {known}')
    return OPTIMISERS[optimiser]
