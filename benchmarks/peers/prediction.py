"""Downstream accuracy: train on synthetic records, test on real ones that were not fitted."""

from collections.abc import Mapping

import numpy as np

from benchmarks.peers.fitted import Columns, Fitted
from thresher.data.records import Records

LEFT_OUT = 0.2
"""The share of the records that no mechanism sees."""
MOST_RECORDS = 20_000
"""A classifier is trained on so many records, and tested on so many others."""


def split(data: Records, seed: int) -> tuple[Records, Records]:
    """The records to fit, and those to test on; by seed."""
    order = np.random.default_rng(seed).permutation(data.n)
    tested = round(LEFT_OUT * data.n)
    return _some(data, order[tested:]), _some(data, order[:tested])


def predicted(
    fitted: Fitted, fit: Records, test: Records, target: str
) -> Mapping[str, float | None]:
    """The share of right predictions for records that were left out.

    `accuracy` is that of a classifier trained on synthetic records, `real_accuracy` that of the
    same classifier trained on as many of the real ones that were fitted, and `majority` that of
    always saying what is most frequent among those. Nothing of it is private.
    """
    tested = _columns(_some(test, np.arange(min(test.n, MOST_RECORDS))))
    real = _columns(_some(fit, np.arange(min(fit.n, MOST_RECORDS))))
    most_frequent = np.bincount(real[target]).argmax()
    return {
        "accuracy": _of_synthetic(fitted, len(real[target]), tested, target),
        "real_accuracy": _accuracy(real, tested, target),
        "majority": float((tested[target] == most_frequent).mean()),
    }


def _of_synthetic(fitted: Fitted, count: int, tested: Columns, target: str) -> float | None:
    synthetic = None if fitted.sample is None else fitted.sample(count, 0)
    if synthetic is None or target not in synthetic:
        return None
    return _accuracy(synthetic, tested, target)


def _accuracy(trained_on: Columns, tested: Columns, target: str) -> float:
    from sklearn.ensemble import HistGradientBoostingClassifier

    values, codes = np.unique(trained_on[target], return_inverse=True)
    names = [name for name in trained_on if name != target]
    found = np.zeros(len(tested[target]), np.int64)
    if len(values) > 1 and names:
        classifier = HistGradientBoostingClassifier(
            max_iter=30, early_stopping=False, random_state=0
        )
        classifier.fit(np.column_stack([trained_on[name] for name in names]), codes)
        found = classifier.predict(np.column_stack([tested[name] for name in names]))
    return float((values[found] == tested[target]).mean())


def _some(data: Records, chosen: np.ndarray) -> Records:
    return Records(data.schema, [column[chosen] for column in data.columns])


def _columns(data: Records) -> Columns:
    return {name: data.codes(name) for name in data.schema.names}
