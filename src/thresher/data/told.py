"""Private data that say when they are counted: where records are read, that can take minutes."""

from collections.abc import Callable, Sequence

from thresher.data.private import FeatureSet, PrivateData, Progress
from thresher.data.records import Records
from thresher.data.wrapped import WrappedData
from thresher.tables.sparse import SparseTable


def telling(data: PrivateData, tell: Callable[[str], None], *, n_is_public: bool) -> PrivateData:
    """The same data, which tell when they are counted, and how far that has come.

    Args:
        data: The private data. Those in memory are counted in no time, and stay as they are.
        tell: Is given a few words.
        n_is_public: Whether the words may say how many records there are.
    """
    return data if isinstance(data, Records) else _ToldData(data, tell, n_is_public)


class _ToldData(WrappedData):
    def __init__(self, data: PrivateData, tell: Callable[[str], None], n_is_public: bool) -> None:
        super().__init__(data)
        self._tell, self._n_is_public = tell, n_is_public

    def counts(
        self, feature_sets: Sequence[FeatureSet], progress: Progress | None = None
    ) -> list[SparseTable]:
        """Count marginal tables, and say so. Not private."""
        self._tell("counting the records")

        def told(rows: int) -> None:
            if self._n_is_public:
                self._tell(f"counted {rows:,} of {self.n:,} records")
            if progress is not None:
                progress(rows)

        return self._data.counts(feature_sets, told)
