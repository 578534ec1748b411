"""Element-wise passes over D' that optimisers take, each fused into one sweep through memory."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.relaxed.compilation import njit

Array = NDArray[Any]


@njit()
def descend(point: Array, gradient: Array, size: float, into: Array) -> None:
    """Write point - size · gradient to `into`."""
    step = np.float32(size)
    for column in range(point.shape[0]):
        for row in range(point.shape[1]):
            into[column, row] = point[column, row] - step * gradient[column, row]


@njit()
def descend_sparsely(
    point: Array, gradient: Array, size: float, offsets: Array, toll: float, into: Array
) -> None:
    """As `descend`, but of the zero values of a feature in a row only the most wanted may grow.

    The most wanted is that with the least derivative, and `toll` is taken off it. The others are
    set to -∞, so that Sparsemax leaves them at zero.
    """
    step, taken_off = np.float32(size), np.float32(toll)
    rows = point.shape[1]
    for feature in range(offsets.shape[0] - 1):
        least = np.full(rows, np.inf, np.float32)
        for column in range(offsets[feature], offsets[feature + 1]):
            for row in range(rows):
                slope = gradient[column, row] if point[column, row] == 0.0 else np.float32(np.inf)
                least[row] = min(least[row], slope)
        for column in range(offsets[feature], offsets[feature + 1]):
            for row in range(rows):
                moved = point[column, row] - step * gradient[column, row]
                if point[column, row] == 0.0:
                    is_most_wanted = gradient[column, row] <= least[row]
                    moved = moved - taken_off if is_most_wanted else np.float32(-np.inf)
                into[column, row] = moved


@njit()
def extrapolate(latest: Array, previous: Array, momentum: float, into: Array) -> None:
    """Write latest + momentum · (latest - previous) to `into`."""
    share = np.float32(momentum)
    for column in range(latest.shape[0]):
        for row in range(latest.shape[1]):
            ahead = latest[column, row] - previous[column, row]
            into[column, row] = latest[column, row] + share * ahead


@njit()
def _slope_and_square(gradient: Array, start: Array, end: Array, partial: Array) -> None:
    for column in range(start.shape[0]):
        slope = np.float32(0.0)
        square = np.float32(0.0)
        for row in range(start.shape[1]):
            move = end[column, row] - start[column, row]
            slope += gradient[column, row] * move
            square += move * move
        partial[0, column] = slope
        partial[1, column] = square


def slope_and_square(gradient: Array, start: Array, end: Array) -> tuple[float, float]:
    """⟨gradient, end - start⟩ and |end - start|².

    Example:
        >>> point = np.zeros((1, 2), np.float32)
        >>> slope_and_square(np.full_like(point, 3.0), point, np.ones_like(point))
        (6.0, 2.0)
    """
    partial = np.empty((2, len(start)))
    _slope_and_square(gradient, start, end, partial)
    slope, square = partial.sum(axis=1)
    return float(slope), float(square)


@njit()
def adam_step(
    point: Array, gradient: Array, mean: Array, spread: Array, step: int, size: float
) -> None:
    """One step of Adam (Kingma & Ba 2015, with their constants), in place."""
    mean_scale = np.float32(size / (1.0 - 0.9**step))
    spread_scale = np.float32(1.0 / (1.0 - 0.999**step))
    for column in range(point.shape[0]):
        for row in range(point.shape[1]):
            slope = gradient[column, row]
            mean[column, row] += np.float32(0.1) * (slope - mean[column, row])
            spread[column, row] += np.float32(0.001) * (slope * slope - spread[column, row])
            root = np.sqrt(spread[column, row] * spread_scale) + np.float32(1e-8)
            point[column, row] -= mean[column, row] * mean_scale / root
