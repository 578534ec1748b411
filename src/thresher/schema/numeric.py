"""Columns of numbers: whole numbers in a range, and numbers in bins."""

import math
import sys
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from thresher.errors import SchemaError
from thresher.schema.cells import LARGEST_INTEGER, codes_by_spelling, number_of
from thresher.schema.feature import CLIP, Codes, Feature, without_numpy
from thresher.wording import shown

if TYPE_CHECKING:
    import pyarrow as pa

LARGEST_FLOAT = sys.float_info.max
LARGEST_DOMAIN = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Numeric(Feature):
    """What whole numbers and bins share: numbers first, then the extra labels.

    Example:
        >>> isinstance(IntegerRange(name="age", low=16, high=100, nulls=16), Numeric)
        True
    """

    def encode(self, column: "pa.Array") -> Codes:
        # Imported here, since Arrow takes long to load and most commands read no column.
        from thresher.schema.coding import bare, is_text, label_codes, numbers_of

        column = bare(self.name, column)
        numbers = numbers_of(self.name, column)
        missing = np.isnan(numbers)
        numbers[missing] = self._low
        codes = self._clipped_codes(numbers)
        if self.outside != CLIP:
            beyond = (numbers < self._low) | self._beyond(numbers)
            codes[beyond] = self._policy_code("outside", self.outside)
        codes[missing] = self._policy_code("nulls", self.nulls)
        if self.extra and missing.any() and is_text(column):
            named = label_codes(self.name, column, self._by_spelling, missing=-1, other=-1)
            codes = np.where(missing & (named >= 0), named, codes)
        return codes.astype(self.dtype)

    def code_of(self, value: object) -> int | None:
        if isinstance(value, str):
            if value in self.extra:
                return self._numbers + self.extra.index(value)
            value = number_of(value)
        value = without_numpy(value)
        if not is_number(value):
            return None
        number = np.array([value], dtype=float)
        if number[0] < self._low or self._beyond(number)[0]:
            return None
        return int(self._clipped_codes(number)[0])

    def codes_between(self, low: float, high: float) -> range | None:
        ends = np.array([low, high], dtype=float)
        if ends[1] < self._low or self._beyond(ends)[0] or high < low:
            return range(0)
        first, last = self._clipped_codes(ends)
        return range(int(first), int(last) + 1)

    def decode(self, codes: Codes, rng: np.random.Generator) -> npt.NDArray[Any]:
        numbers = self._numbers_of(np.minimum(codes, self._numbers - 1).astype(np.int64), rng)
        if not self.extra:
            return numbers
        labels = np.array(self.labels, dtype=object)[codes]
        return np.where(codes < self._numbers, numbers.astype(object), labels)

    @cached_property
    def _by_spelling(self) -> Mapping[str, int]:
        return codes_by_spelling(self.extra, self._numbers)

    @abstractmethod
    def _numbers_of(
        self, codes: npt.NDArray[np.int64], rng: np.random.Generator
    ) -> npt.NDArray[Any]: ...

    @property
    @abstractmethod
    def _low(self) -> float: ...

    @property
    @abstractmethod
    def _numbers(self) -> int: ...

    @abstractmethod
    def _beyond(self, numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]: ...

    @abstractmethod
    def _clipped_codes(self, numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]: ...


@dataclass(frozen=True, kw_only=True)
class IntegerRange(Numeric):
    """A column of whole numbers from `low` to `high`, both included.

    Example:
        >>> import pyarrow as pa
        >>> age = IntegerRange(name="age", low=16, high=100, nulls=16)
        >>> age.encode(pa.array([16, 17, None, 250])).tolist()
        [0, 1, 0, 84]
    """

    kind: ClassVar[str] = "integer"

    low: int
    high: int

    def _check_domain(self) -> None:
        for end in (self.low, self.high):
            if not isinstance(end, int) or isinstance(end, bool) or abs(end) > LARGEST_INTEGER:
                raise self._fault(
                    f"'low' and 'high' must be whole numbers up to 2^53, not {shown(end)}"
                )
        if self.low > self.high:
            raise self._fault(f"'low' {self.low} is above 'high' {self.high}")
        if self.high - self.low >= LARGEST_DOMAIN:
            raise self._fault(
                f"it has more than {LARGEST_DOMAIN:,} values: describe it as numeric with bins"
            )

    @cached_property
    def labels(self) -> tuple[str, ...]:
        return (*map(str, range(self.low, self.high + 1)), *self.extra)

    @property
    def _low(self) -> float:
        return self.low

    @property
    def _numbers(self) -> int:
        return self.high - self.low + 1

    def _beyond(self, numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        return np.floor(numbers) > self.high

    def _clipped_codes(self, numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        whole = np.clip(np.floor(numbers) - self.low, 0, self._numbers - 1)
        return np.asarray(whole, dtype=np.int64)

    def _numbers_of(
        self, codes: npt.NDArray[np.int64], rng: np.random.Generator
    ) -> npt.NDArray[Any]:
        return codes + self.low

    def code_of(self, value: object) -> int | None:
        code = super().code_of(value)
        if code is not None and code < self._numbers and float(str(value)) != self.low + code:
            return None
        return code

    def codes_between(self, low: float, high: float) -> range | None:
        return super().codes_between(math.ceil(low) if math.isfinite(low) else low, high)


@dataclass(frozen=True, kw_only=True)
class Bins(Numeric):
    """A column of numbers in public bins: bin i holds edges[i] ≤ x < edges[i+1].

    A number stands for the bin that holds it, here and in the query language.

    Example:
        >>> import pyarrow as pa
        >>> gain = Bins.equal("gain", low=0, high=100, bins=10, nulls=0)
        >>> gain.encode(pa.array([0.0, 9.99, 10.0, 1e9])).tolist()
        [0, 0, 1, 9]
    """

    kind: ClassVar[str] = "numeric"

    edges: tuple[float, ...]

    @classmethod
    def equal(
        cls, name: str, *, low: float, high: float, bins: int, nulls: str | float, **policies: Any
    ) -> "Bins":
        """Bins of equal width over [low, high).

        Example:
            >>> Bins.equal("gain", low=0, high=1, bins=4, nulls=0).edges
            (0.0, 0.25, 0.5, 0.75, 1.0)
        """
        bins = without_numpy(bins)
        if not isinstance(bins, int) or isinstance(bins, bool) or not 1 <= bins <= LARGEST_DOMAIN:
            raise SchemaError(
                f"feature {shown(name)}: 'bins' must be a whole number from 1 to "
                f"{LARGEST_DOMAIN:,}, not {shown(bins)}"
            )
        if not is_number(without_numpy(low)) or not is_number(without_numpy(high)):
            raise SchemaError(f"feature {shown(name)}: 'low' and 'high' must be finite numbers")
        edges = (*(low + (high - low) * i / bins for i in range(bins)), float(high))
        return cls(name=name, edges=edges, nulls=nulls, **policies)

    def _check_domain(self) -> None:
        if len(self.edges) < 2 or not all(map(is_number, self.edges)):
            raise self._fault("'edges' must be two or more finite numbers")
        object.__setattr__(self, "edges", tuple(float(edge) for edge in self.edges))
        if any(low >= high for low, high in pairwise(self.edges)):
            raise self._fault("'edges' must rise from each to the next")

    @cached_property
    def labels(self) -> tuple[str, ...]:
        return (*(repr(edge).removesuffix(".0") for edge in self.edges[:-1]), *self.extra)

    @property
    def _low(self) -> float:
        return self.edges[0]

    @property
    def _numbers(self) -> int:
        return len(self.edges) - 1

    def _beyond(self, numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        return numbers >= self.edges[-1]

    def _clipped_codes(self, numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        found = np.searchsorted(np.asarray(self.edges), numbers, side="right") - 1
        return np.clip(found, 0, self._numbers - 1)

    def _numbers_of(
        self, codes: npt.NDArray[np.int64], rng: np.random.Generator
    ) -> npt.NDArray[Any]:
        edges = np.asarray(self.edges)
        low, high = edges[codes], edges[codes + 1]
        # The upper edge belongs to the next bin, so rounding must not reach it.
        drawn = np.minimum(low + (high - low) * rng.random(len(codes)), np.nextafter(high, low))
        return np.asarray(drawn)


def is_number(value: object) -> bool:
    """Whether a value is a finite number of Python's types, and no truth value.

    Example:
        >>> is_number(1.5), is_number(True), is_number(10**400), is_number("1")
        (True, False, False, False)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return -LARGEST_FLOAT <= value <= LARGEST_FLOAT  # nor NaN
