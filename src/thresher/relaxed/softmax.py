"""Softmax rows: D' as the Softmax of free numbers, as Liu, Vietri and Wu (2021) fit RAP.

A logit can be any number, so no step needs a projection. But no value ever has a share of zero, so
D' is never sparse.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thresher.relaxed.optimisers import Iterate
from thresher.relaxed.rows import RelaxedRows, offsets_of
from thresher.relaxed.steps import adam_step
from thresher.relaxed.targets import Misfit

LEAST = 1e-9
"""Smaller shares have the logit of this one, so that a share of zero has a logit, too."""

Columns = NDArray[np.float32]


def softmax(logits: Columns, sizes: tuple[int, ...]) -> Columns:
    """The shares of every feature of every row; they add up to 1.

    Args:
        logits: Free numbers, transposed (d' × n').
        sizes: How many values each feature has.

    Example:
        >>> softmax(np.log(np.array([[3.0], [1.0]], np.float32)), (2,)).ravel().tolist()
        [0.75, 0.25]
    """
    starts = offsets_of(sizes)[:-1]
    tops = np.maximum.reduceat(logits, starts, axis=0)
    weights: Columns = np.exp(logits - np.repeat(tops, sizes, axis=0))
    weights /= np.repeat(np.add.reduceat(weights, starts, axis=0), sizes, axis=0)
    return weights


def softmax_rows(sizes: tuple[int, ...], rows: int, rng: np.random.Generator) -> RelaxedRows:
    """Rows to start from: the Softmax of standard normal numbers.

    Args:
        sizes: How many values each feature has.
        rows: n', the number of synthetic rows.
        rng: Source of (public) randomness.

    Example:
        >>> softmax_rows((2, 3), rows=4, rng=np.random.default_rng(0)).columns.shape
        (5, 4)
    """
    normal = rng.standard_normal((sum(sizes), rows), dtype=np.float32)
    return RelaxedRows(softmax(normal, sizes), tuple(sizes))


@dataclass(frozen=True)
class SoftmaxAdam:
    """Adam on logits.

    Attributes:
        rate: Step size for each square root of the number of targets.
    """

    rate: float = 0.01

    def iterates(self, misfit: Misfit, start: Columns) -> Iterator[Iterate]:
        """Yield D' after D', `start` first."""
        sizes, starts = misfit.sizes, offsets_of(misfit.sizes)[:-1]
        logits = np.log(np.maximum(start, np.float32(LEAST)))
        mean, spread, slopes = (np.zeros_like(logits) for _ in range(3))
        rate, step = self.rate * float(np.sqrt(len(misfit))), 0
        while True:
            shares = softmax(logits, sizes)
            yield Iterate(shares, misfit.residuals(shares, slopes))
            # By the chain rule: with s the shares and g the slopes by them, s·(g - Σ s·g).
            slopes *= shares
            slopes -= shares * np.repeat(np.add.reduceat(slopes, starts, axis=0), sizes, axis=0)
            step += 1
            adam_step(logits, slopes, mean, spread, step, rate)
