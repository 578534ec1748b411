"""Private records: reading them, coding them by a schema, and counting them exactly."""

from typing import TYPE_CHECKING

from thresher.lazy import attach

if TYPE_CHECKING:
    from thresher.data import datasets
    from thresher.data.engines.connecting import connect
    from thresher.data.files import RecordFiles
    from thresher.data.reading import read
    from thresher.data.records import Records
else:
    __getattr__, __dir__ = attach(
        __name__,
        {
            "thresher.data.datasets": "datasets",
            "thresher.data.engines.connecting": "connect",
            "thresher.data.files": "RecordFiles",
            "thresher.data.reading": "read",
            "thresher.data.records": "Records",
        },
    )

__all__ = ["RecordFiles", "Records", "connect", "datasets", "read"]
