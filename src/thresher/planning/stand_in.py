"""Made-up people of a public schema, on whom a mechanism is tried before real ones are paid for.

Nothing here comes from private records. What is assumed about them: a few hidden traits drive all
features, each feature follows one of them with some noise, shares are unequal (unless they are
publicly known), and some values and combinations never occur. The constants were chosen so that
counts of cells and errors of fits are like those of 14 public tables (`benchmarks/forecast.py`).
"""

from collections.abc import Mapping, Sequence
from math import ceil

import numpy as np
import numpy.typing as npt

from thresher.data.private import FeatureSet, PrivateData, Progress
from thresher.data.records import Records
from thresher.data.wrapped import WrappedData
from thresher.schema import Schema
from thresher.schema.features import Categorical, Feature
from thresher.tables.sparse import SparseTable

MOST_DRAWN = 500_000
"""The most people that are made up. For a larger n, each of them counts several times."""

TRAITS = 4
"""How many hidden traits there are. Each feature follows one of them."""

LEAST_NOISE, MOST_NOISE = 0.1, 0.8
"""The noise of a feature, as a part of its trait; both are uniform."""

LARGEST_POWER = 1.6
"""The i-th commonest value is as frequent as 1/i to a power from 0 to this."""

DOMINATED, LEAST_EXTRA, MOST_EXTRA = 0.25, 0.5, 4.0
"""The part of features of which one value has most people, and by how much it outweighs others."""

UNUSED, LEAST_VALUES = 0.3, 6
"""The part of the values that nobody has, for features of so many values and more."""


def stand_in(
    schema: Schema,
    n: int,
    seed: int,
    shares: Mapping[str, npt.NDArray[np.float64]] | None = None,
) -> PrivateData:
    """Made-up people of a schema.

    A feature's column depends on the seed, its place, its kind and its number of values alone. So
    without some feature, or with a coarser one, the others stay as they are.

    Args:
        schema: Their features.
        n: How many. Beyond 500,000, the number is rounded up to a multiple.
        seed: Another seed gives other people.
        shares: How frequent each value is, for features of which that is publicly known. Those of
            another length than the feature are not used.

    Example:
        >>> from thresher.data.datasets import adult_schema
        >>> stand_in(adult_schema(), 1000, seed=0)
        Records(1000 records, 14 features, 588 one-hot columns)
    """
    known = shares or {}
    times = ceil(n / MOST_DRAWN)
    drawn = ceil(n / times)
    traits = np.random.default_rng([seed]).random((drawn, TRAITS))
    columns = [
        _column(feature, traits, np.random.default_rng([seed, place]), known.get(feature.name))
        for place, feature in enumerate(schema, start=1)
    ]
    people = Records(schema, columns)
    return people if times == 1 else Repeated(people, times)


def _column(
    feature: Feature,
    traits: npt.NDArray[np.float64],
    rng: np.random.Generator,
    shares: npt.NDArray[np.float64] | None,
) -> npt.NDArray[np.uint64]:
    """One feature of everybody, in the order of the traits that it follows."""
    followed = traits[:, rng.integers(TRAITS)]
    score = followed + rng.uniform(LEAST_NOISE, MOST_NOISE) * rng.random(len(traits))
    ranks = np.empty(len(score), dtype=np.int64)
    ranks[np.argsort(score)] = np.arange(len(score))
    weights, order = _weights(feature.size, rng), np.arange(feature.size)
    if isinstance(feature, Categorical) and not feature.ordered:
        order = rng.permutation(feature.size)
    if shares is not None and len(shares) == feature.size:
        weights = shares[order]
    cumulative = np.cumsum(weights)
    places = (ranks + 0.5) * (cumulative[-1] / len(ranks))
    codes = np.minimum(np.searchsorted(cumulative, places, side="right"), feature.size - 1)
    return np.asarray(order[codes], dtype=np.uint64)


def _weights(size: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """How frequent each value of a feature is."""
    weights = np.arange(1, size + 1, dtype=float) ** -rng.uniform(0.0, LARGEST_POWER)
    if size > 2 and rng.random() < DOMINATED:
        weights[0] += rng.uniform(LEAST_EXTRA, MOST_EXTRA) * weights.sum()
    if size >= LEAST_VALUES:
        weights[1:][rng.random(size - 1) < UNUSED] = 0.0
    rng.shuffle(weights)
    return weights


class Repeated(WrappedData):
    """Records that each count several times.

    Args:
        data: The records.
        times: How many times each counts.

    Example:
        >>> from thresher.data import datasets
        >>> Repeated(datasets.adult(), 100).n
        4884200
    """

    def __init__(self, data: PrivateData, times: int) -> None:
        super().__init__(data)
        self._times = times

    @property
    def n(self) -> int:
        """The number of records, each as often as it counts."""
        return self._times * self._data.n

    def counts(
        self, feature_sets: Sequence[FeatureSet], progress: Progress | None = None
    ) -> list[SparseTable]:
        """The counts of the records, times so many."""
        return [
            SparseTable(table.shape, table.cells, self._times * table.counts)
            for table in self._data.counts(feature_sets, progress)
        ]
