"""Answers of D' that are limited by a noisy table of the same marginal."""

from typing import Any

import numpy as np
import numpy.typing as npt

from thresher.tables import Slab, Table
from thresher.tables.listing import Cells, Listable, ListedAnswers


class ClampedMarginal:
    """The answers of D' to a marginal, each moved to within a tolerance of a noisy cell.

    Args:
        answers: The answers of D', which can be listed.
        noisy: The noisy shares, with axes in the same order.
        most: How far an answer may be from the noisy share.
    """

    def __init__(self, answers: Listable, noisy: npt.NDArray[np.float64], most: float) -> None:
        self._answers, self._noisy, self._most = answers, noisy, most

    def __call__(self, slab: Slab) -> Table:
        """The limited answers to the cells of a slab."""
        return np.asarray(self._clamped(self._answers(slab), self._noisy[slab.index]))

    def listed(self, least: float) -> ListedAnswers:
        """The cells where D' or the lower limit is at least so large."""
        of_rows = self._answers.listed(least)
        large = np.flatnonzero(self._noisy >= least + self._most)
        cells = np.union1d(of_rows.cells, large)
        # Where D' is below `least` and the lower limit is not, the answer is the limit.
        answers = np.zeros(len(cells), dtype=np.float32)
        answers[np.searchsorted(cells, of_rows.cells)] = of_rows.answers
        return ListedAnswers(cells, self._clamped(answers, self._noisy_at(cells)))

    def at(self, cells: Cells) -> npt.NDArray[np.floating[Any]]:
        """The limited answers to some cells."""
        return np.asarray(self._clamped(self._answers.at(cells), self._noisy_at(cells)))

    def _noisy_at(self, cells: Cells) -> Any:
        return self._noisy[np.unravel_index(cells, self._noisy.shape)]

    def _clamped(self, answers: Any, noisy: Any) -> Any:
        within = np.clip(answers, noisy - self._most, noisy + self._most)
        return np.clip(within, 0.0, 1.0)
