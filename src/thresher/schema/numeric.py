"""Columns of numbers: whole numbers in a range, and numbers in bins."""

import math
import sys
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from thresher.schema.amounts import PLAIN, STYLES, amount_of
from thresher.schema.cells import LARGEST_INTEGER
from thresher.schema.feature import Codes, without_numpy
from thresher.schema.scale import LARGEST_DOMAIN, Scale
from thresher.wording import shown

if TYPE_CHECKING:
    import pyarrow as pa

LARGEST_FLOAT = sys.float_info.max


@dataclass(frozen=True, kw_only=True)
class Numeric(Scale):
    """What whole numbers and bins share.

    Attributes:
        written: How texts write the numbers: `"plain"`, `"money"` (`$2,300.00`) or `"percent"`
            (`9.07%` is 9.07). See `thresher.schema.amounts`. Cells that are numbers are taken as
            they are.

    Example:
        >>> isinstance(IntegerRange(name="age", low=16, high=100, nulls=16), Numeric)
        True
    """

    written: str = PLAIN

    def _check_domain(self) -> None:
        if self.written not in STYLES:
            raise self._fault(
                f"'written' must be one of {', '.join(STYLES)}, not {shown(self.written)}"
            )

    def _places(self, column: "pa.Array") -> npt.NDArray[np.float64]:
        from thresher.schema.coding import numbers_of

        return numbers_of(self.name, column, self.written)

    def _place(self, value: object) -> float:
        if isinstance(value, str):
            value = amount_of(value, self.written)
        number: Any = without_numpy(value)
        return float(number) if is_number(number) else math.nan

    def _ends(self, low: object, high: object, after: bool, before: bool) -> tuple[float, float]:
        return (
            -math.inf if low is None else self._end(low),
            math.inf if high is None else self._end(high),
        )

    def _end(self, value: object) -> float:
        if isinstance(value, str):
            return amount_of(value, self.written)
        number = without_numpy(value)
        return float(number) if isinstance(number, int | float) else math.nan

    def _says_value(self, text: str) -> bool:
        return not math.isnan(amount_of(text, self.written))


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
        super()._check_domain()
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
    def _steps(self) -> int:
        return self.high - self.low + 1

    def _beyond(self, places: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        return np.floor(places) > self.high

    def _clipped_codes(self, places: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        whole = np.clip(np.floor(places) - self.low, 0, self._steps - 1)
        return np.asarray(whole, dtype=np.int64)

    def _values(self, codes: Codes, rng: np.random.Generator) -> npt.NDArray[Any]:
        return codes.astype(np.int64) + self.low

    def _place(self, value: object) -> float:
        place = super()._place(value)
        return place if place == np.floor(place) else math.nan

    def _ends(self, low: object, high: object, after: bool, before: bool) -> tuple[float, float]:
        first, last = super()._ends(low, high, after, before)
        return (
            float(np.floor(first) + 1 if after else np.ceil(first)),
            float(np.ceil(last) if before else np.floor(last) + 1),
        )

    @cached_property
    def _line(self) -> npt.NDArray[np.float64]:
        return np.arange(self.low, self.high + 2, dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class Bins(Numeric):
    """A column of numbers in public bins: bin i holds edges[i] ≤ x < edges[i+1].

    A number stands for the bin that holds it, here and in the query language. Bins of equal width
    are declared in short by `low`, `high` and `bins` instead of `edges`: see `equal_edges`. Both
    ways to declare the same edges give equal features and the same fingerprint of the schema; the
    short way is kept only for writing the feature as JSON.

    Attributes:
        edges: The ends of the bins, ascending.
        low: The first edge, if the bins were declared in short.
        high: The last edge, likewise.
        bins: How many bins there are, likewise.

    Example:
        >>> import pyarrow as pa
        >>> gain = Bins.equal("gain", low=0, high=100, bins=10, nulls=0)
        >>> gain.encode(pa.array([0.0, 9.99, 10.0, 1e9])).tolist()
        [0, 0, 1, 9]
        >>> gain == Bins(name="gain", edges=tuple(range(0, 101, 10)), nulls=0)
        True
    """

    kind: ClassVar[str] = "numeric"

    edges: tuple[float, ...] = ()
    low: float | None = field(default=None, compare=False)
    high: float | None = field(default=None, compare=False)
    bins: int | None = field(default=None, compare=False)

    @classmethod
    def equal(
        cls, name: str, *, low: float, high: float, bins: int, nulls: str | float, **policies: Any
    ) -> "Bins":
        """Bins of equal width over [low, high).

        Example:
            >>> Bins.equal("gain", low=0, high=1, bins=4, nulls=0).edges
            (0.0, 0.25, 0.5, 0.75, 1.0)
        """
        return cls(name=name, low=low, high=high, bins=bins, nulls=nulls, **policies)

    def as_json(self) -> dict[str, Any]:
        described = super().as_json()
        if self.bins is not None:
            del described["edges"]
        return described

    def meaning(self) -> dict[str, Any]:
        described = super().as_json()
        for entry in ("low", "high", "bins"):
            described.pop(entry, None)
        return described

    def _check_domain(self) -> None:
        super()._check_domain()
        if (self.low, self.high, self.bins) != (None, None, None):
            self._declare_equal()
        if len(self.edges) < 2 or not all(map(is_number, self.edges)):
            raise self._fault(
                "'edges' must be two or more finite numbers; or give 'low', 'high' and 'bins'"
            )
        object.__setattr__(self, "edges", tuple(float(edge) for edge in self.edges))
        if any(low >= high for low, high in pairwise(self.edges)):
            raise self._fault("'edges' must rise from each to the next")

    def _declare_equal(self) -> None:
        low, high, bins = self.low, self.high, self.bins
        if not isinstance(bins, int) or isinstance(bins, bool) or not 1 <= bins <= LARGEST_DOMAIN:
            raise self._fault(
                f"'bins' must be a whole number from 1 to {LARGEST_DOMAIN:,}, not {shown(bins)}"
            )
        if low is None or high is None or not is_number(low) or not is_number(high):
            raise self._fault("'low' and 'high' must be finite numbers")
        edges = equal_edges(low, high, bins)
        if self.edges not in ((), edges):
            raise self._fault("give 'edges', or 'low', 'high' and 'bins', but not both")
        object.__setattr__(self, "edges", edges)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        return (*(repr(edge).removesuffix(".0") for edge in self.edges[:-1]), *self.extra)

    @property
    def _low(self) -> float:
        return self.edges[0]

    @property
    def _steps(self) -> int:
        return len(self.edges) - 1

    @cached_property
    def _line(self) -> npt.NDArray[np.float64]:
        return np.asarray(self.edges)

    def _beyond(self, places: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        return places >= self.edges[-1]

    def _clipped_codes(self, places: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        found = np.searchsorted(np.asarray(self.edges), places, side="right") - 1
        return np.clip(found, 0, self._steps - 1)

    def _values(self, codes: Codes, rng: np.random.Generator) -> npt.NDArray[Any]:
        edges, places = np.asarray(self.edges), codes.astype(np.int64)
        low, high = edges[places], edges[places + 1]
        # The upper edge belongs to the next bin, so rounding must not reach it.
        drawn = np.minimum(low + (high - low) * rng.random(len(codes)), np.nextafter(high, low))
        return np.asarray(drawn)


def equal_edges(low: float, high: float, bins: int) -> tuple[float, ...]:
    """The edges of bins of equal width: edge i is low + (high - low) · i / bins, the last is high.

    All of it in doubles, each operation rounded, from left to right.

    Example:
        >>> equal_edges(0, 1, 10)[3]
        0.3
    """
    first, last = float(low), float(high)
    return (*(first + (last - first) * i / bins for i in range(bins)), last)


def is_number(value: object) -> bool:
    """Whether a value is a finite number of Python's types, and no truth value.

    Example:
        >>> is_number(1.5), is_number(True), is_number(10**400), is_number("1")
        (True, False, False, False)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return -LARGEST_FLOAT <= value <= LARGEST_FLOAT  # nor NaN
