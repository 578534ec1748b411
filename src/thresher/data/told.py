"""Private data that say when they are counted: where records are read, that can take minutes.

What is said follows from n alone. Where one batch of records ends and the next begins is private:
it depends on how long the lines of a file are, or on how many records of a database are equal. So
a step is told at each of some fixed shares of n, and says nothing but that share.
"""

from collections.abc import Callable, Sequence

from thresher.data.persons import PersonData
from thresher.data.private import FeatureSet, PrivateData, Progress
from thresher.data.records import Records
from thresher.data.wrapped import WrappedData
from thresher.progress import COUNTING, Step
from thresher.tables.sparse import SparseTable

STEP = 5
"""Percent of the records from one step to the next."""


def telling(data: PrivateData, tell: Callable[[Step], None], *, n_is_public: bool) -> PrivateData:
    """The same data, which tell when they are counted, and how far that has come.

    Args:
        data: The private data. Those in memory are counted in no time, and stay as they are. So do
            rows with ids of persons, whose number is private.
        tell: Is told when counting begins, how far it has come, and when it ends.
        n_is_public: Whether it may be told how many records there are.
    """
    stay = isinstance(data, Records | PersonData)
    return data if stay else _ToldData(data, tell, n_is_public)


class _ToldData(WrappedData):
    def __init__(self, data: PrivateData, tell: Callable[[Step], None], n_is_public: bool) -> None:
        super().__init__(data)
        self._tell, self._n_is_public = tell, n_is_public

    def counts(
        self, feature_sets: Sequence[FeatureSet], progress: Progress | None = None
    ) -> list[SparseTable]:
        """Count marginal tables, and say so. Not private."""
        self._tell(Step(COUNTING))
        shares = iter(range(STEP, 101, STEP) if self._n_is_public else ())
        share = next(shares, None)

        def told(rows: int) -> None:
            nonlocal share
            while share is not None and 100 * rows >= share * self.n:
                self._tell(Step(COUNTING, share * self.n // 100, self.n))
                share = next(shares, None)
            if progress is not None:
                progress(rows)

        tables = self._data.counts(feature_sets, told)
        self._tell(Step(COUNTING, 1, 1))
        return tables
