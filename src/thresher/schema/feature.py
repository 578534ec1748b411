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
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from thresher.errors import SchemaError
from thresher.schema.cells import number_of
from thresher.schema.labels import is_label, is_storable
from thresher.wording import shown

if TYPE_CHECKING:
    import pyarrow as pa

Codes = npt.NDArray[np.unsignedinteger[Any]]

CLIP = "clip"
LABEL_RULE = "text without blanks at its ends and without control characters"


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

    Example:
        >>> from thresher.schema import Categorical
        >>> sex = Categorical(name="sex", categories=("F", "M"), outside="M", nulls="M")
        >>> isinstance(sex, Feature), sex.size, sex.code_of("F")
        (True, 2, 0)
    """

    kind: ClassVar[str]

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
            if not is_label(label) or not math.isnan(number_of(label)):
                raise self._fault(
                    f"the extra label {shown(label)} must be {LABEL_RULE}, and not a number"
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

    @abstractmethod
    def code_of(self, value: object) -> int | None:
        """The code of a value of the domain, or None where there is none."""

    @abstractmethod
    def codes_between(self, low: float, high: float) -> range | None:
        """The codes from one number to another, both included; None for categories."""

    @abstractmethod
    def encode(self, column: "pa.Array") -> Codes:
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
