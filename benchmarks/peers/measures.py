"""How good a fit is. Everything here looks at the records, and nothing of it is private."""

import math
from collections.abc import Mapping

import numpy as np

import thresher as th
from benchmarks.peers.fitted import Fitted, Task
from thresher.data.exact import exact_slabs
from thresher.evaluation.errors import errors_of

MOST_CELLS = 2_000_000
"""Total variation is measured on marginals of at most so many cells."""


def measured(fitted: Fitted, task: Task) -> Mapping[str, float | None]:
    """The largest error, the mean of largest errors and total variation."""
    errors = errors_of(fitted.answers, task.data, task.asked)
    return {
        "max": errors.max,
        "mean_max": errors.mean_max,
        "total_variation": total_variation(fitted, task),
    }


def total_variation(fitted: Fitted, task: Task) -> float | None:
    """The mean over the thresholds' marginals of ½ Σ |answer - share|; None if not answered."""
    found = []
    for features in dict.fromkeys(t.features for t in task.asked):
        marginal = th.Threshold(features)
        if math.prod(marginal.shape(task.data.schema)) > MOST_CELLS:
            continue
        try:
            answers = fitted.answers(marginal)
        except th.QueryError:
            return None
        slabs = exact_slabs(task.data, marginal)
        gaps = (np.abs(counts / task.data.n - answers(slab)).sum() for slab, counts in slabs)
        found.append(sum(map(float, gaps)) / 2)
    return float(np.mean(found)) if found else None
