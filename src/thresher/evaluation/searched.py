"""The largest error in a marginal table, without walking its cells. Not for publication."""

import numpy as np
import numpy.typing as npt

from thresher.tables import SparseTable
from thresher.tables.listing import Cells, Listable

COARSE = 1e-3
"""The smallest answers that are listed at first. Most largest errors are larger than this."""

REFINED = 8.0
"""By what factor smaller answers are listed, where no listed cell has as large an error."""

NEGLIGIBLE = 1e-18
"""No error above this goes unnoticed: less than the rounding of a single answer."""


def largest_error(table: SparseTable, answers: Listable, n: int) -> float:
    """The largest gap between a share of the records and the answer, over all cells.

    All cells with an answer of at least `least` are listed. A cell without records that is not
    listed has an error below `least`; one with records has an error of at most its share. So the
    answers to a few such cells are enough to be sure of the maximum.

    Args:
        table: The counts of the records.
        answers: The answers to the same threshold.
        n: The number of records.

    Example:
        >>> from thresher.tables.listing import Zero
        >>> largest_error(SparseTable.of_cells((10**6, 10**6), np.array([7, 7, 8])), Zero(), n=3)
        0.6666666666666666
    """
    least = COARSE
    while True:
        worst = _largest_listed(table, answers, least, n)
        if worst >= least or least < NEGLIGIBLE:
            return worst
        # The answers are better than that: look at smaller ones.
        least /= REFINED


def _largest_listed(table: SparseTable, answers: Listable, least: float, n: int) -> float:
    """The largest error among the listed cells and all cells with records."""
    listed = answers.listed(least)
    known = _matches(table.cells, listed.cells)
    shares = np.zeros(len(listed.cells))
    shares[_matches(listed.cells, table.cells)] = table.counts[known] / n
    worst = float(np.abs(shares - listed.answers).max(initial=0.0))
    # From the largest share down, until no share is larger than the largest error so far.
    others, left = table.cells[~known], table.counts[~known] / n
    order = np.argsort(-left)
    for start in range(0, len(order), 64):
        some = order[start : start + 64]
        if left[some[0]] <= worst:
            break
        gaps = np.abs(left[some] - answers.at(others[some]))
        worst = max(worst, float(gaps.max()))
    return worst


def _matches(cells: Cells, others: Cells) -> npt.NDArray[np.bool_]:
    """Which of some ascending cells are among some other ascending cells."""
    if not len(others):
        return np.zeros(len(cells), dtype=np.bool_)
    at = np.minimum(np.searchsorted(others, cells), len(others) - 1)
    return np.asarray(others[at] == cells)
