"""What the holder of the records says about a column, so that it need not be paid for."""

import math
from dataclasses import dataclass
from typing import Literal, get_args

from thresher.errors import ParameterError
from thresher.wording import shown

Kind = Literal["categories", "numbers", "dates", "boolean"]

LARGEST = 1e15
"""The largest number that can be the end of a range: finer edges would not be exact."""


NARROWEST, SMALLEST = 1e-12, 1e-200
"""A range must be wider than this part of its ends. If both are 0 or almost, they count as this."""


@dataclass(frozen=True)
class Declared:
    """The kind of a column, and the range of its numbers or dates, if they are publicly known.

    Attributes:
        kind: What the column holds.
        low: The lowest number, or the first year.
        high: The number that all are below, or the last year.

    Example:
        >>> Declared("numbers", 0, 120).has_range, Declared("categories").has_range
        (True, False)
    """

    kind: Kind
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ParameterError(
                f"the kind of a column is one of {', '.join(get_args(Kind))}, not "
                f"{shown(self.kind)}"
            )
        ends = (self.low, self.high)
        if ends == (None, None):
            return
        if self.kind not in ("numbers", "dates"):
            raise ParameterError(f"only numbers and dates have a range, not {self.kind}")
        if not all(type(end) in (int, float) and math.isfinite(end) for end in ends):  # type: ignore[arg-type]
            raise ParameterError(
                f"a range has two finite ends, such as 0:120, not {shown(self.low)} and "
                f"{shown(self.high)}"
            )
        self._check_ends(float(self.low or 0), float(self.high or 0))

    def _check_ends(self, low: float, high: float) -> None:
        if self.kind == "dates":
            if not (low.is_integer() and high.is_integer() and 1 <= low <= high <= 9999):
                raise ParameterError("the range of dates has two years, such as 1900:2025")
        elif not -LARGEST <= low < high <= LARGEST:
            raise ParameterError(
                f"the range of numbers must rise, and lie between -1e15 and 1e15: {low:g}:{high:g}"
            )
        elif high - low <= NARROWEST * max(abs(low), abs(high), SMALLEST):
            raise ParameterError(
                f"the range {low!r}:{high!r} is too narrow to be divided: give a wider one"
            )

    @property
    def has_range(self) -> bool:
        """Whether it says from where to where the values go."""
        return self.low is not None
