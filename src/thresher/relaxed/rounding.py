"""Randomised rounding: records drawn from relaxed rows."""

import numpy as np
import numpy.typing as npt

from thresher.relaxed.rows import RelaxedRows


def round_rows(rows: RelaxedRows, count: int, rng: np.random.Generator) -> npt.NDArray[np.uint32]:
    """Draw records: each from one relaxed row, each value by that row's probabilities.

    The relaxed rows take turns in random order, so the numbers of records drawn from any two of
    them differ by at most one. The expected answer to a query on the records is the answer of its
    surrogate on the rows.

    Args:
        rows: D'.
        count: How many records.
        rng: Public randomness.

    Returns:
        Codes (count × d), with those of views at the end.

    Example:
        >>> rows = RelaxedRows.from_codes((2, 3), np.array([[1, 0], [0, 2]]))
        >>> sorted(round_rows(rows, 4, np.random.default_rng(0)).tolist())
        [[0, 2], [0, 2], [1, 0], [1, 0]]
    """
    turns = -(-count // rows.count)
    chosen = np.concatenate([rng.permutation(rows.count) for _ in range(turns)])[:count]
    codes = np.empty((count, len(rows.sizes)), dtype=np.uint32)
    for feature, size in enumerate(rows.feature_sizes):
        cumulative = np.cumsum(rows.block(feature), axis=0, dtype=np.float64)
        drawn = rng.random(count) * cumulative[-1, chosen]
        picked = np.zeros(count, dtype=np.uint32)
        for value in range(size - 1):
            picked += drawn >= cumulative[value, chosen]
        codes[:, feature] = picked
    for place, view in enumerate(rows.views, start=len(rows.feature_sizes)):
        codes[:, place] = view.groups[codes[:, view.feature]]
    return codes
