"""Counts that are kept, so that data which have to be read are read once. Not private."""

from collections.abc import Iterable, Sequence

from thresher.data.private import FeatureSet, PrivateData, Progress
from thresher.data.records import Records
from thresher.data.wrapped import WrappedData
from thresher.tables.sparse import SparseTable


class KnownCounts(WrappedData):
    """Private data with the counts of some tables: for evaluation, which asks for them repeatedly.

    Args:
        data: The private data.
        feature_sets: The tables that will be asked for. They are counted at once.

    Example:
        >>> from thresher.data import datasets
        >>> known = KnownCounts(datasets.adult(), [("sex", "race")])
        >>> known.counts([("race", "sex")])[0].shape
        (5, 2)
    """

    def __init__(self, data: PrivateData, feature_sets: Iterable[FeatureSet]) -> None:
        super().__init__(data)
        wanted = list(dict.fromkeys(map(self._in_order, feature_sets)))
        self._tables = dict(zip(wanted, data.counts(wanted), strict=True))

    def counts(
        self, feature_sets: Sequence[FeatureSet], progress: Progress | None = None
    ) -> list[SparseTable]:
        """Count marginal tables; those that are known are not counted again."""
        wanted = [self._in_order(features) for features in feature_sets]
        lacking = [features for features in dict.fromkeys(wanted) if features not in self._tables]
        if lacking:
            self._tables |= zip(lacking, self._data.counts(lacking, progress), strict=True)
        return [
            self._tables[known].onto(tuple(known.index(name) for name in features))
            for known, features in zip(wanted, feature_sets, strict=True)
        ]

    def _in_order(self, features: FeatureSet) -> FeatureSet:
        return tuple(sorted(features, key=self.schema.index))


def counted_ahead(data: PrivateData, feature_sets: Iterable[FeatureSet]) -> PrivateData:
    """Data that count some tables once; records in memory stay as they are.

    Records in memory are counted table by table when one is needed, which takes less memory.
    """
    if isinstance(data, Records | KnownCounts):
        return data
    return KnownCounts(data, feature_sets)
