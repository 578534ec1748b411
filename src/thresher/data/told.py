"""Private data that say when they are counted: where records are read, that can take minutes."""

from collections.abc import Callable, Sequence

from thresher.data.private import FeatureSet, PrivateData, Progress
from thresher.data.records import Records
from thresher.data.wrapped import WrappedData
from thresher.progress import COUNTING, Step
from thresher.tables.sparse import SparseTable


def telling(data: PrivateData, tell: Callable[[Step], None], *, n_is_public: bool) -> PrivateData:
    """The same data, which tell when they are counted, and how far that has come.

    Args:
        data: The private data. Those in memory are counted in no time, and stay as they are.
        tell: Is told when counting begins, how far it has come, and when it ends.
        n_is_public: Whether it may be told how many records there are.
    """
    return data if isinstance(data, Records) else _ToldData(data, tell, n_is_public)


class _ToldData(WrappedData):
    def __init__(self, data: PrivateData, tell: Callable[[Step], None], n_is_public: bool) -> None:
        super().__init__(data)
        self._tell, self._n_is_public = tell, n_is_public

    def counts(
        self, feature_sets: Sequence[FeatureSet], progress: Progress | None = None
    ) -> list[SparseTable]:
        """Count marginal tables, and say so. Not private."""
        self._tell(Step(COUNTING))

        def told(rows: int) -> None:
            if self._n_is_public:
                self._tell(Step(COUNTING, rows, self.n))
            if progress is not None:
                progress(rows)

        tables = self._data.counts(feature_sets, told)
        self._tell(Step(COUNTING, 1, 1))
        return tables
