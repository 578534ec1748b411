"""One column of the table, described in public: its values, and where odd cells go.

A feature turns the cells of a column into codes 0 … size-1. It never rejects a cell. A missing or
blank cell, or text where a number should be, goes where `nulls` says. A value outside the domain
goes where `outside` says. Both are fixed before any record is seen, so no private value can raise
an error or appear in a message.
"""

import dataclasses
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from thresher.errors import SchemaError
from thresher.schema.cells import number_of
from thresher.schema.labels import is_label, is_storable
from thresher.wording import shown

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Codes = npt.NDArray[np.unsignedinteger[Any]]

CLIP = "clip"
LABEL_RULE = "text without blanks at its ends and without control characters"


class Between(NamedTuple):
    """The codes between two ends of a range.

    Attributes:
        codes: The codes.
        is_exact: Whether the codes cover the range and nothing else: its ends are ends of bins.
    """

    codes: range
    is_exact: bool


@dataclass(frozen=True, kw_only=True)
class Feature(ABC):
    """What the public knows about one column.

    Attributes:
        name: The column's name.
        nulls: The value of the domain that stands for a missing cell.
        outside: Where a cell outside the domain goes: `"clip"` (to the nearest end, for numbers)
            or a value of the domain.
        extra: Labels beyond the numbers, the dates or the order of a domain, such as `"missing"`.
            In a sample they are missing values.
        review: A guess that a person must still look at; empty once they have.

    Example:
        >>> from thresher.schema import Categorical
        >>> sex = Categorical(name="sex", categories=("F", "M"), outside="M", nulls="M")
        >>> isinstance(sex, Feature), sex.size, sex.code_of("F")
        (True, 2, 0)
    """

    kind: ClassVar[str]
    unsaid: ClassVar[tuple[str, ...]] = (
        "extra", "review", "written", "edges", "low", "high", "bins", "ordered", "synonyms",
    )  # fmt: skip
    """The fields that JSON leaves out where they have their default."""

    name: str
    nulls: str | float
    outside: str = CLIP
    extra: tuple[str, ...] = ()
    review: str = ""

    def __post_init__(self) -> None:
        if not is_label(self.name):
            raise SchemaError(f"a feature's name must be {LABEL_RULE}, not {shown(self.name)}")
        for field in dataclasses.fields(self):
            object.__setattr__(self, field.name, without_numpy(getattr(self, field.name)))
        self._check_types()
        self._check_domain()
        for label in self.extra:
            if not is_label(label) or self._says_value(label):
                raise self._fault(
                    f"the extra label {shown(label)} must be {LABEL_RULE}, and not a number or "
                    "another value of the feature"
                )
        if len(set(self.labels)) < self.size:
            raise SchemaError(f"feature {self.name!r} lists a value twice: name each value once")
        self._policy_code("nulls", self.nulls)
        if self.outside != CLIP:
            self._policy_code("outside", self.outside)

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

    @property
    @abstractmethod
    def has_order(self) -> bool:
        """Whether the order of the codes means something, as that of numbers does."""

    @abstractmethod
    def code_of(self, value: object) -> int | None:
        """The code of a value of the domain, or None where there is none."""

    @abstractmethod
    def between(
        self, low: object, high: object, *, after: bool = False, before: bool = False
    ) -> Between | None:
        """The codes from one value to another; an end that is None is open.

        Both ends belong to the range, except that numbers in bins are below `high`, as the numbers
        of a bin are below its upper edge. So `..x` and `x..` share no bin. An end inside of a bin
        moves to the nearest edge, the lower one if both are as near. If both ends would move to the
        same edge, the range is the bin that has most of it; a range with an open end is empty then.

        None if the feature has no order, or an end is none of its values. A number or a date
        outside the domain is an end, too.

        Args:
            low: The first value.
            high: The last value.
            after: Whether the range begins after `low` instead.
            before: Whether it ends before `high` instead.
        """

    @abstractmethod
    def encode(self, column: "pa.Array") -> Codes:
        """The codes of a column's cells; odd cells go where the policies say."""

    def decode(self, codes: Codes, rng: np.random.Generator) -> npt.NDArray[Any]:
        """Values for codes: for a bin, a number or a day inside it, drawn uniformly.

        The labels in `extra` become missing values: NaN, NaT or None.
        """
        regular = self.size - len(self.extra)
        values = self._values(np.minimum(codes, regular - 1), rng)
        return with_missing(values, codes >= regular) if self.extra else values

    def column(
        self, codes: Codes, rng: np.random.Generator, *, labels: bool = False
    ) -> "pd.Series[Any]":
        """Values for codes as a column of pandas, as `decode` draws them.

        Args:
            codes: The codes.
            rng: What draws values inside bins.
            labels: Whether the labels in `extra` stand in the column. If there are any, it is one
                of objects then.

        Example:
            >>> from thresher.schema import IntegerRange
            >>> visits = IntegerRange(name="v", low=0, high=9, nulls="?", extra=("?",))
            >>> visits.column(np.array([3, 10]), np.random.default_rng()).tolist()
            [3.0, nan]
            >>> visits.column(np.array([3, 10]), np.random.default_rng(), labels=True).tolist()
            [3, '?']
        """
        import pandas as pd  # half a second, which answers do without

        if not (labels and self.extra):
            values = self.decode(codes, rng)
            return pd.Series(values, dtype=self._pandas_type())  # type: ignore[no-any-return]
        regular = self.size - len(self.extra)
        values = self._values(np.minimum(codes, regular - 1), rng).astype(object)
        named = np.array(self.labels, dtype=object)[codes]
        return pd.Series(np.where(codes < regular, values, named), dtype=object)

    @abstractmethod
    def _check_domain(self) -> None: ...

    @abstractmethod
    def _values(self, codes: Codes, rng: np.random.Generator) -> npt.NDArray[Any]:
        """Values for codes, none of which is that of an extra label."""

    def _pandas_type(self) -> Any:
        """The type of a column of values in pandas; None for the one that pandas gives it."""
        return None

    def _says_value(self, text: str) -> bool:
        """Whether a text says a value, so that it cannot be an extra label."""
        return not math.isnan(number_of(text))

    def as_json(self) -> dict[str, Any]:
        """The feature as plain JSON values."""
        fields = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.name not in self.unsaid or getattr(self, field.name) != _default(field)
        }
        listed = {
            key: list(v) if isinstance(v, tuple) else dict(v) if isinstance(v, dict) else v
            for key, v in fields.items()
        }
        return {"name": listed.pop("name"), "kind": self.kind, **listed}

    def meaning(self) -> dict[str, Any]:
        """The feature as JSON values that are equal for equal features, review notes apart."""
        return self.as_json()

    def _check_types(self) -> None:
        for entry in ("extra", "categories", "edges"):
            if not isinstance(getattr(self, entry, ()), tuple):
                raise self._fault(f"{entry!r} must be a list")
        for entry in ("outside", "review"):
            text = getattr(self, entry)
            if not isinstance(text, str) or not is_storable(text):
                raise self._fault(f"{entry!r} must be text that can be written as UTF-8")

    def _policy_code(self, policy: str, value: object) -> int:
        code = self.code_of(value)
        if code is None:
            raise self._fault(
                f"{policy!r} is {shown(value)}, which is not a value of the feature; "
                "declare it as a category, or under 'extra'"
            )
        return code

    def _fault(self, words: str) -> SchemaError:
        return SchemaError(f"feature {self.name!r}: {words}")


def with_missing(values: npt.NDArray[Any], missing: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
    """Values with some of them missing: NaN among numbers, NaT among dates, None among others.

    Example:
        >>> with_missing(np.array([1, 2]), np.array([False, True])).tolist()
        [1.0, nan]
    """
    absent: Any = {"i": np.nan, "f": np.nan, "M": np.datetime64("NaT")}.get(values.dtype.kind)
    if absent is None:
        values = values.astype(object)
    return np.asarray(np.where(missing, absent, values))


def _default(field: "dataclasses.Field[Any]") -> Any:
    make = field.default_factory
    return field.default if make is dataclasses.MISSING else make()


def without_numpy(value: Any) -> Any:
    """A field with numpy's types replaced by Python's, so that it can be compared and written.

    Example:
        >>> without_numpy(np.arange(3)), without_numpy(np.float64(0.5)), without_numpy(["a"])
        ((0, 1, 2), 0.5, ('a',))
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    elif isinstance(value, tuple):
        value = [entry.tolist() if isinstance(entry, np.generic) else entry for entry in value]
    return tuple(value) if isinstance(value, list) else value
