"""Private data around other private data, which they ask to count."""

from thresher.data.private import PrivateData
from thresher.schema import Schema


class WrappedData:
    """What private data that add something to others have in common.

    Args:
        data: The others.
    """

    def __init__(self, data: PrivateData) -> None:
        self._data = data

    @property
    def schema(self) -> Schema:
        """The description of the columns, which is public."""
        return self._data.schema

    @property
    def n(self) -> int:
        """The number of records."""
        return self._data.n
