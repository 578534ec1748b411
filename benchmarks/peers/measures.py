"""How good a fit is. Everything here looks at the records, and nothing of it is private."""

import math
from collections.abc import Mapping

import numpy as np

import thresher as th
from benchmarks.peers.fitted import Columns, Fitted, Task
from thresher.data.exact import exact_slabs
from thresher.data.records import Records
from thresher.evaluation.errors import errors_of

MOST_CELLS = 2_000_000
"""Total variation is measured on marginals of at most so many cells."""
MOST_RECORDS = 20_000
"""A classifier is trained on so many synthetic records, and tested on so many real ones."""


def measured(fitted: Fitted, task: Task, target: str) -> Mapping[str, float | None]:
    """The largest error, the mean of largest errors, total variation and accuracy."""
    errors = errors_of(fitted.answers, task.data, task.asked)
    return {
        "max": errors.max,
        "mean_max": errors.mean_max,
        "total_variation": total_variation(fitted, task),
        "accuracy": downstream(fitted, task.data, target),
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


def downstream(fitted: Fitted, data: Records, target: str) -> float | None:
    """Train on synthetic records, test on real ones: the share of right predictions."""
    if fitted.sample is None:
        return None
    rows = min(data.n, MOST_RECORDS)
    synthetic = fitted.sample(rows, 0)
    if target not in synthetic:
        return None
    real = np.random.default_rng(0).choice(data.n, rows, replace=False)
    return _accuracy(synthetic, {name: data.codes(name)[real] for name in synthetic}, target)


def _accuracy(synthetic: Columns, real: Columns, target: str) -> float:
    from sklearn.ensemble import HistGradientBoostingClassifier

    values, codes = np.unique(synthetic[target], return_inverse=True)
    names = [name for name in synthetic if name != target]
    predicted = np.zeros(len(real[target]), np.int64)
    if len(values) > 1 and names:
        classifier = HistGradientBoostingClassifier(max_iter=30, early_stopping=False)
        classifier.fit(np.column_stack([synthetic[name] for name in names]), codes)
        predicted = classifier.predict(np.column_stack([real[name] for name in names]))
    return float((values[predicted] == real[target]).mean())
