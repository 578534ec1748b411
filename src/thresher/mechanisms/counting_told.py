"""Private data that say when they are counted: where records are read, that can take minutes."""

from collections.abc import Sequence

from thresher.data.private import FeatureSet, PrivateData
from thresher.data.private import Progress as Counted
from thresher.data.records import Records
from thresher.mechanisms.procedure import Progress
from thresher.schema import Schema
from thresher.tables import SparseTable


def telling(data: PrivateData, progress: Progress, *, n_is_public: bool) -> PrivateData:
    """The same data, whose counting is a remark before the first round.

    Args:
        data: The private data. Those in memory are counted in no time, and stay as they are.
        progress: Where the remark goes.
        n_is_public: Whether it may say how many records there are.
    """
    return data if isinstance(data, Records) else _Told(data, progress, n_is_public)


class _Told:
    def __init__(self, data: PrivateData, progress: Progress, n_is_public: bool) -> None:
        self._data, self._progress, self._n_is_public = data, progress, n_is_public

    @property
    def schema(self) -> Schema:
        return self._data.schema

    @property
    def n(self) -> int:
        return self._data.n

    def counts(
        self, feature_sets: Sequence[FeatureSet], progress: Counted | None = None
    ) -> list[SparseTable]:
        self._progress(0, 1, "counting the records")

        def tell(rows: int) -> None:
            if self._n_is_public:
                self._progress(0, 1, f"counted {rows:,} of {self._data.n:,} records")
            if progress is not None:
                progress(rows)

        return self._data.counts(feature_sets, tell)
