"""Private records: reading them, coding them by a schema, and counting them exactly."""

from thresher.data import datasets
from thresher.data.reading import read
from thresher.data.records import Records

__all__ = ["Records", "datasets", "read"]
