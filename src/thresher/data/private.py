"""What private data is to the rest of the program, wherever the records are.

The privacy wall needs three things of the records: their schema, how many there are, and the counts
of some marginal tables. Records in memory, files, a database and a cluster all offer these.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from thresher.schema import Schema
from thresher.tables.sparse import SparseTable

Progress = Callable[[int], None]
"""Called with the number of records read or counted so far."""

FeatureSet = tuple[str, ...]
"""The names of a table's features, in the order of its axes."""


@runtime_checkable
class PrivateData(Protocol):
    """Private records, in memory or elsewhere.

    Only the schema and the number of records may be told. What `counts` gives is as private as the
    records.
    """

    @property
    def schema(self) -> Schema:
        """The description of the columns, which is public."""
        ...

    @property
    def n(self) -> int:
        """The number of records, which is public."""
        ...

    def counts(
        self, feature_sets: Sequence[FeatureSet], progress: Progress | None = None
    ) -> list[SparseTable]:
        """Count marginal tables, all of them in one pass over the records. Not private.

        Args:
            feature_sets: The features of each table, in the order of its axes.
            progress: Called with the number of records counted so far.

        Returns:
            A table for each feature set, in order. Each adds up to n.
        """
        ...
