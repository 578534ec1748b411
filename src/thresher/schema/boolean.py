"""A column of truth values."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from thresher.schema.cells import codes_by_spelling, number_of, spelling
from thresher.schema.feature import CLIP, Between, Codes, Feature

if TYPE_CHECKING:
    import pyarrow as pa

TRUTHS = {
    "false": False, "no": False, "n": False, "f": False,
    "true": True, "yes": True, "y": True, "t": True,
}  # fmt: skip
"""The words for truth values, in any case; the numbers 0 and 1 say them, too."""


def truth_of(text: str) -> bool | None:
    """The truth value that a text says, or None.

    Example:
        >>> truth_of("Yes"), truth_of("F"), truth_of("1.0"), truth_of("maybe")
        (True, False, True, None)
    """
    said = TRUTHS.get(text.strip().lower())
    return {0.0: False, 1.0: True}.get(number_of(text)) if said is None else said


@dataclass(frozen=True, kw_only=True)
class Boolean(Feature):
    """A column of truth values: `false`, `true`, then the labels in `extra`.

    A cell is a truth value, the number 0 or 1, or one of the words true and false, yes and no, y
    and n, t and f, in any case. Any other cell goes where `outside` says.

    Attributes:
        outside: Where a cell goes that says neither; if it is not given, where `nulls` says.

    Example:
        >>> import pyarrow as pa
        >>> smoker = Boolean(name="smoker", nulls="unknown", extra=("unknown",))
        >>> [smoker.labels[code] for code in smoker.encode(pa.array(["Yes", "n", "0", None, "?"]))]
        ['true', 'false', 'false', 'unknown', 'unknown']
    """

    kind: ClassVar[str] = "boolean"

    outside: str = ""

    def _check_domain(self) -> None:
        if self.outside == CLIP:
            raise self._fault(
                "truth values cannot be clipped; set 'outside' to the value that stands for all "
                "other cells, or leave it out"
            )
        nulls = self.code_of(self.nulls)
        if nulls is not None:
            object.__setattr__(self, "nulls", self.labels[nulls])
            object.__setattr__(self, "outside", self.outside or self.labels[nulls])

    @property
    def labels(self) -> tuple[str, ...]:
        return ("false", "true", *self.extra)

    @property
    def has_order(self) -> bool:
        return False

    def code_of(self, value: object) -> int | None:
        if isinstance(value, str) and value in self.extra:
            return 2 + self.extra.index(value)
        said = spelling(value)
        truth = None if said is None else truth_of(said)
        return None if truth is None else int(truth)

    def between(
        self, low: object, high: object, *, after: bool = False, before: bool = False
    ) -> Between | None:
        return None

    def encode(self, column: "pa.Array") -> Codes:
        # Imported here, since Arrow takes long to load and most commands read no column.
        from thresher.schema.coding import codes_of_texts

        nulls = self._policy_code("nulls", self.nulls)
        return codes_of_texts(self.name, column, self._code_said, nulls).astype(self.dtype)

    def _code_said(self, text: str) -> int:
        truth = truth_of(text)
        other = self._policy_code("outside", self.outside)
        return int(self._by_spelling.get(text, other) if truth is None else truth)

    def _values(self, codes: Codes, rng: np.random.Generator) -> npt.NDArray[Any]:
        return np.asarray(codes == 1)

    def _pandas_type(self) -> Any:
        return "boolean" if self.extra else None

    def _says_value(self, text: str) -> bool:
        return super()._says_value(text) or truth_of(text) is not None

    @cached_property
    def _by_spelling(self) -> Mapping[str, int]:
        return codes_by_spelling(self.extra, 2)
