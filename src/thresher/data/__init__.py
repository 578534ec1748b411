"""Private records come in."""

from thresher.data.reading import read
from thresher.data.records import Records

__all__ = ["Records", "read"]
