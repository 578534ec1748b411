"""One column of the table, described in public: its values, and where odd cells go.

A feature turns the cells of a column into codes 0 … size-1. It never rejects a cell: a null, a
blank, or text where a number should be goes where `nulls` says, a value outside the domain where
`outside` says, both fixed before any record was seen. So no private value can raise, and none can
appear in a message.
"""

import dataclasses
import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from thresher.errors import SchemaError
from thresher.schema.cells import (
    LARGEST_INTEGER,
    bare,
    is_blank,
    is_text,
    label_text,
    number_of,
    numbers_of,
)

Codes = npt.NDArray[np.unsignedinteger[Any]]

CLIP = "clip"
LARGEST_FLOAT = sys.float_info.max
LARGEST_DOMAIN = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Feature(ABC):
    """What the public knows about one column.

    Attributes:
        name: The column's name.
        nulls: The value of the domain that stands for a missing cell.
        outside: Where a cell outside the domain goes: `"clip"` (to the nearest end, for numbers)
            or a value of the domain.
        extra: Labels beyond the numbers of a numeric domain, such as `"missing"`.
        review: A guess that a person must still look at; empty once they have.
    """

    kind: ClassVar[str]

    name: str
    nulls: str | float
    outside: str = CLIP
    extra: tuple[str, ...] = ()
    review: str = ""

    def __post_init__(self) -> None:
        if not is_label(self.name):
            raise SchemaError(
                f"a feature's name must be text without blanks at its ends, not {self.name!r}"
            )
        for field in dataclasses.fields(self):
            object.__setattr__(self, field.name, _plain(getattr(self, field.name)))
        for entry in ("extra", "categories", "edges"):
            if not isinstance(getattr(self, entry, ()), tuple):
                raise SchemaError(f"feature {self.name!r}: {entry!r} must be a list")
        for entry in ("outside", "review"):
            if not isinstance(getattr(self, entry), str):
                raise SchemaError(f"feature {self.name!r}: {entry!r} must be text")
        self._check_domain()
        for label in self.extra:
            if not is_label(label) or not math.isnan(number_of(label)):
                raise SchemaError(
                    f"feature {self.name!r}: the extra label {label!r} must be text without blanks "
                    "at its ends, and not a number"
                )
        if len(set(self.labels)) < self.size:
            raise SchemaError(f"feature {self.name!r} lists a value twice: name each value once")
        self._policy_code("nulls", self.nulls)
        if self.outside != CLIP:
            self._policy_code("outside", self.outside)
        elif self.kind == Categorical.kind:
            raise SchemaError(
                f"feature {self.name!r}: categories cannot be clipped; "
                "set 'outside' to the category that stands for all others"
            )

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """The name of every code, in order."""

    @property
    def size(self) -> int:
        """How many values the feature can take: t_i in the paper."""
        return len(self.labels)

    @cached_property
    def dtype(self) -> np.dtype[np.unsignedinteger[Any]]:
        """The smallest unsigned type that holds every code."""
        return np.min_scalar_type(self.size - 1)

    @abstractmethod
    def code_of(self, value: object) -> int | None:
        """The code of a value of the domain, or None where there is none."""

    @abstractmethod
    def codes_between(self, low: float, high: float) -> range | None:
        """The codes from one number to another, both included; None for categories."""

    @abstractmethod
    def encode(self, column: pa.Array) -> Codes:
        """The codes of a column's cells; odd cells go where the policies say."""

    @abstractmethod
    def decode(self, codes: Codes, rng: np.random.Generator) -> npt.NDArray[Any]:
        """Values for codes: for a bin, a number inside it, drawn uniformly."""

    @abstractmethod
    def _check_domain(self) -> None: ...

    def as_json(self) -> dict[str, Any]:
        """The feature as plain JSON values."""
        fields = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if getattr(self, field.name) not in ((), "")
        }
        listed = {key: list(v) if isinstance(v, tuple) else v for key, v in fields.items()}
        return {"name": listed.pop("name"), "kind": self.kind, **listed}

    def _policy_code(self, policy: str, value: object) -> int:
        code = self.code_of(value)
        if code is None:
            raise SchemaError(
                f"feature {self.name!r}: {policy!r} is {value!r}, which is not a value of the "
                "feature; declare it as a category, or under 'extra'"
            )
        return code


@dataclass(frozen=True, kw_only=True)
class Categorical(Feature):
    """A column of named categories.

    Example:
        >>> sex = Categorical(name="sex", categories=("F", "M"), outside="M", nulls="M")
        >>> sex.encode(pa.array(["M", "F", None, "?"])).tolist()
        [1, 0, 1, 1]
    """

    kind: ClassVar[str] = "categorical"

    categories: tuple[str, ...]

    def _check_domain(self) -> None:
        if self.extra:
            raise SchemaError(f"feature {self.name!r}: list extra values among its categories")
        if not self.categories:
            raise SchemaError(f"feature {self.name!r} has no categories: list at least one")
        for category in self.categories:
            if not is_label(category):
                raise SchemaError(
                    f"feature {self.name!r}: the category {category!r} must be text "
                    "without blanks at its ends"
                )
        if not isinstance(self.nulls, str):
            raise SchemaError(f"feature {self.name!r}: 'nulls' must name a category")

    @property
    def labels(self) -> tuple[str, ...]:
        return self.categories

    def code_of(self, value: object) -> int | None:
        return self._codes.get(value if isinstance(value, str) else str(value))

    def codes_between(self, low: float, high: float) -> range | None:
        return None

    def encode(self, column: pa.Array) -> Codes:
        column = bare(column)
        text = label_text(self.name, column)
        if pa.types.is_boolean(column.type) and {"True", "False"} & set(self.categories):
            text = pc.utf8_capitalize(text)  # as Python and pandas write them, not as Arrow does
        found = pc.index_in(text, value_set=pa.array(self.categories))
        outside = pa.scalar(self._codes[self.outside], pa.int32())
        nulls = pa.scalar(self._codes[str(self.nulls)], pa.int32())
        blank = pc.or_(pc.is_null(column, nan_is_null=True), is_blank(text))
        codes = pc.if_else(blank, nulls, pc.fill_null(found, outside))
        return np.asarray(codes).astype(self.dtype)

    def decode(self, codes: Codes, rng: np.random.Generator) -> npt.NDArray[Any]:
        return np.array(self.categories, dtype=object)[codes]

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {category: code for code, category in enumerate(self.categories)}


@dataclass(frozen=True, kw_only=True)
class _Numbered(Feature):
    """What integer ranges and bins share: numbers first, then the extra labels."""

    def encode(self, column: pa.Array) -> Codes:
        numbers = numbers_of(self.name, column)
        missing = np.isnan(numbers)
        numbers[missing] = self._low
        codes = self._clipped_codes(numbers)
        if self.outside != CLIP:
            codes[(numbers < self._low) | self._beyond(numbers)] = self._policy_code(
                "outside", self.outside
            )
        codes[missing] = self._policy_code("nulls", self.nulls)
        if self.extra and missing.any() and is_text(column):
            named = pc.index_in(label_text(self.name, column), value_set=pa.array(self.extra))
            extra = np.asarray(pc.fill_null(named, -1))
            codes = np.where(extra >= 0, self._numbers + extra, codes)
        return codes.astype(self.dtype)

    def code_of(self, value: object) -> int | None:
        if isinstance(value, str):
            if value in self.extra:
                return self._numbers + self.extra.index(value)
            value = number_of(value)
        value = _plain(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        if not -LARGEST_FLOAT <= value <= LARGEST_FLOAT:  # nor NaN
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
class IntegerRange(_Numbered):
    """A column of whole numbers from `low` to `high`, both included.

    Example:
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
                raise SchemaError(
                    f"feature {self.name!r}: 'low' and 'high' must be whole numbers, not {end!r}"
                )
        if self.low > self.high:
            raise SchemaError(
                f"feature {self.name!r}: 'low' {self.low} is above 'high' {self.high}"
            )
        if self.high - self.low >= LARGEST_DOMAIN:
            raise SchemaError(
                f"feature {self.name!r} has more than {LARGEST_DOMAIN:,} values: "
                "describe it as numeric with bins"
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
class Bins(_Numbered):
    """A column of numbers in public bins: bin i holds edges[i] ≤ x < edges[i+1].

    A number stands for the bin that holds it, here and in the query language.

    Example:
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
        """Bins of equal width over [low, high)."""
        edges = (*(low + (high - low) * i / bins for i in range(bins)), float(high))
        return cls(name=name, edges=edges, nulls=nulls, **policies)

    def _check_domain(self) -> None:
        numeric = all(
            isinstance(edge, int | float)
            and not isinstance(edge, bool)
            and -LARGEST_FLOAT <= edge <= LARGEST_FLOAT
            for edge in self.edges
        )
        if not numeric or len(self.edges) < 2:
            raise SchemaError(f"feature {self.name!r}: 'edges' must be two or more finite numbers")
        if (np.diff(self.edges) <= 0).any():
            raise SchemaError(f"feature {self.name!r}: 'edges' must rise from each to the next")
        object.__setattr__(self, "edges", tuple(float(edge) for edge in self.edges))

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


KINDS: Mapping[str, type[Feature]] = {kind.kind: kind for kind in (Categorical, IntegerRange, Bins)}


def feature_from_json(value: object) -> Feature:
    """Read one feature back from plain JSON values."""
    if not isinstance(value, dict):
        raise SchemaError(f"a feature must be a JSON object, not {type(value).__name__}")
    fields = dict(value)
    name, kind = fields.get("name", "?"), fields.pop("kind", None)
    if not isinstance(kind, str) or kind not in KINDS:
        raise SchemaError(
            f"feature {name!r}: 'kind' must be one of {', '.join(KINDS)}, not {kind!r}"
        )
    declared = dataclasses.fields(KINDS[kind])
    _refuse(name, "has unknown entries", set(fields) - {field.name for field in declared})
    required = {f.name for f in declared if f.default is dataclasses.MISSING}
    _refuse(name, "lacks", required - set(fields))
    return KINDS[kind](**fields)


def _refuse(name: object, fault: str, entries: set[str]) -> None:
    if entries:
        raise SchemaError(f"feature {name!r} {fault}: {', '.join(sorted(entries))}")


def is_label(value: object) -> bool:
    """Whether a value can name a feature or one of its values: text without blanks at its ends."""
    if not isinstance(value, str) or not value or value != value.strip():
        return False
    return not any("\ud800" <= letter <= "\udfff" for letter in value)  # half a character


def _plain(value: Any) -> Any:
    """A field as Python's own types, so that it can be written as JSON and compared."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    elif isinstance(value, tuple):
        value = [entry.tolist() if isinstance(entry, np.generic) else entry for entry in value]
    return tuple(value) if isinstance(value, list) else value


def has_words(feature: Feature, column: pa.Array) -> bool:
    """Whether text stands in a column that is neither blank nor one of the extra labels."""
    if not is_text(column):
        return False
    text = label_text(feature.name, column)
    known = pc.is_in(text, value_set=pa.array(feature.extra, pa.string()))
    return bool(pc.any(pc.invert(pc.or_(known, is_blank(text)))).as_py())
