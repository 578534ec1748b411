"""Columns whose values lie on a line: numbers and dates."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from thresher.schema.cells import codes_by_spelling
from thresher.schema.feature import CLIP, Between, Codes, Feature

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

    def between(
        self, low: object, high: object, *, after: bool = False, before: bool = False
    ) -> Between | None:
        first, last = self._ends(low, high, after, before)
        if np.isnan(first) or np.isnan(last):
            return None
        edges = self._line
        if first >= last or last <= edges[0] or first >= edges[-1]:
            return Between(range(0), is_exact=True)
        ends = np.clip([first, last], edges[0], edges[-1]).tolist()
        begin, end = (_nearest(edges, place) for place in ends)
        is_exact = [edges[begin], edges[end]] == ends
        if begin == end and low is not None and high is not None:
            middle = ends[0] / 2 + ends[1] / 2
            begin = int(np.clip(np.searchsorted(edges, middle, "right") - 1, 0, self._steps - 1))
            end = begin + 1
        return Between(range(begin, end), is_exact)

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
    def _ends(self, low: object, high: object, after: bool, before: bool) -> tuple[float, float]:
        """Where a range begins, and the first place behind it; NaN where a value is none."""

    @property
    @abstractmethod
    def _line(self) -> npt.NDArray[np.float64]:
        """The place at which each code begins, and the place behind all."""

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


def _nearest(edges: npt.NDArray[np.float64], place: float) -> int:
    """The edge that is nearest to a place between the first and the last of them."""
    above = int(np.searchsorted(edges, place))
    if float(edges[above]) == place:
        return above
    is_nearer = float(edges[above]) - place < place - float(edges[above - 1])
    return above if is_nearer else above - 1
