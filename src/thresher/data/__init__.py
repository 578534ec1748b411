"""Private records come in."""

from thresher.data import datasets
from thresher.data.reading import read
from thresher.data.records import Records

__all__ = ["Records", "datasets", "read"]
