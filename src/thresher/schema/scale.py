"""Columns whose values lie on a line: numbers and dates."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from thresher.schema.cells import codes_by_spelling
from thresher.schema.feature import CLIP, Codes, Feature

if TYPE_CHECKING:
    import pyarrow as pa

LARGEST_DOMAIN = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Scale(Feature):
    """What numbers and dates share: places on a line first, then the extra labels.

    Example:
        >>> from thresher.schema import IntegerRange
        >>> isinstance(IntegerRange(name="age", low=16, high=100, nulls=16), Scale)
        True
    """

    @property
    def has_order(self) -> bool:
        return True

    def encode(self, column: "pa.Array") -> Codes:
        # Imported here, since Arrow takes long to load and most commands read no column.
        from thresher.schema.coding import bare, is_text, label_codes

        column = bare(self.name, column)
        places = self._places(column)
        missing = np.isnan(places)
        places[missing] = self._low
        codes = self._clipped_codes(places)
        if self.outside != CLIP:
            beyond = (places < self._low) | self._beyond(places)
            codes[beyond] = self._policy_code("outside", self.outside)
        codes[missing] = self._policy_code("nulls", self.nulls)
        if self.extra and missing.any() and is_text(column):
            named = label_codes(self.name, column, self._by_spelling, missing=-1, other=-1)
            codes = np.where(missing & (named >= 0), named, codes)
        return codes.astype(self.dtype)

    def code_of(self, value: object) -> int | None:
        if isinstance(value, str) and value in self.extra:
            return self._steps + self.extra.index(value)
        place = np.array([self._place(value)])
        if np.isnan(place[0]) or place[0] < self._low or self._beyond(place)[0]:
            return None
        return int(self._clipped_codes(place)[0])

    def codes_between(self, low: object, high: object) -> range | None:
        first, last = self._ends(low, high)
        if np.isnan(first) or np.isnan(last):
            return None
        ends = np.array([first, last], dtype=float)
        if last < self._low or self._beyond(ends)[0] or last < first:
            return range(0)
        begin, end = self._clipped_codes(ends)
        return range(int(begin), int(end) + 1)

    @cached_property
    def _by_spelling(self) -> Mapping[str, int]:
        return codes_by_spelling(self.extra, self._steps)

    @abstractmethod
    def _places(self, column: "pa.Array") -> npt.NDArray[np.float64]:
        """The place of each cell of a bare column; NaN where it says none."""

    @abstractmethod
    def _place(self, value: object) -> float:
        """The place of a value that a schema or a query names, or NaN."""

    @abstractmethod
    def _ends(self, low: object, high: object) -> tuple[float, float]:
        """The ends of a range, NaN where a value is none; None stands for an open end."""

    @property
    @abstractmethod
    def _low(self) -> float: ...

    @property
    @abstractmethod
    def _steps(self) -> int:
        """How many codes come before the extra labels."""

    @abstractmethod
    def _beyond(self, places: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]: ...

    @abstractmethod
    def _clipped_codes(self, places: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]: ...
