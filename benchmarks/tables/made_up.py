"""Made-up tables, where no public package has one of the kind. The seeds are fixed."""

import numpy as np

from benchmarks.tables.coding import records
from thresher.data.records import Records

NETWORK_RECORDS = 1_000_000
NETWORK_FEATURES = 50
INDEPENDENT_RECORDS = 100_000
INDEPENDENT_SIZES = (2, 2, 2, 3, 5, 10, 10, 20, 20, 50, 50, 100, 100, 200, 500, 1000)


def network() -> Records:
    """10⁶ records of 50 binary features, from a Bayesian network.

    Feature i has up to 3 parents among the 6 features before it. The probability that it is 1 is
    drawn for each combination of its parents' values from Beta(½, ½).
    """
    rng = np.random.default_rng(50)
    columns = np.zeros((NETWORK_FEATURES, NETWORK_RECORDS), np.int64)
    for i in range(NETWORK_FEATURES):
        near = np.arange(max(0, i - 6), i)
        parents = rng.choice(near, min(len(near), int(rng.integers(1, 4))), replace=False)
        given = sum((columns[p] << place for place, p in enumerate(parents)), columns[i])
        shares = rng.beta(0.5, 0.5, 2 ** len(parents))
        columns[i] = rng.random(NETWORK_RECORDS) < shares[given]
    return records({f"x{i:02}": column for i, column in enumerate(columns)})


def independent() -> Records:
    """100,000 records of 16 independent features with 2 to 1,000 values.

    The share of value v of a feature is proportional to (v + 1)⁻ˢ, with s from 0 to 1.5.
    """
    rng = np.random.default_rng(16)
    columns = {}
    for i, size in enumerate(INDEPENDENT_SIZES):
        weights = np.arange(1, size + 1) ** -rng.uniform(0, 1.5)
        drawn = rng.choice(size, INDEPENDENT_RECORDS, p=weights / weights.sum())
        columns[f"x{i:02}"] = np.unique(drawn, return_inverse=True)[1]
    return records(columns)
