"""A column of dates, in bins of days, months, quarters or years."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from thresher.schema.cells import spelling
from thresher.schema.days import STEPS, Period, day_of, first_days, period_of, step_labels
from thresher.schema.feature import Codes
from thresher.schema.scale import LARGEST_DOMAIN, Scale
from thresher.wording import shown

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, kw_only=True)
class Dates(Scale):
    """A column of dates, told apart by day, month, quarter or year.

    A cell is a date, a time stamp (the day counts; that of UTC if it has a zone), or text in the
    form of ISO 8601: see `thresher.schema.days`. Text that says no date, or a longer time than
    a step, goes where `nulls` says. Values of a sample are days, drawn uniformly from their step.

    Attributes:
        low: The first day of the domain, as text or as a date. The domain consists of whole steps:
            it begins with the first day of the step that holds `low`.
        high: The last day; the domain ends with the last day of the step that holds it.
        step: `"day"`, `"month"`, `"quarter"` or `"year"`.

    Example:
        >>> import pyarrow as pa
        >>> admitted = Dates(
        ...     name="admitted", low="2019-01-01", high="2019-12-31", step="quarter",
        ...     nulls="2019-Q1",
        ... )
        >>> admitted.labels
        ('2019-Q1', '2019-Q2', '2019-Q3', '2019-Q4')
        >>> admitted.encode(pa.array(["2019-05-17", "2019-12-24 18:00", "9999-12-31"])).tolist()
        [1, 3, 3]
    """

    kind: ClassVar[str] = "dates"

    low: str
    high: str
    step: str

    def _check_domain(self) -> None:
        if not isinstance(self.step, str) or self.step not in STEPS:
            raise self._fault(f"'step' must be one of {', '.join(STEPS)}, not {shown(self.step)}")
        first, last = self._day("low").first, self._day("high").last
        if first > last:
            raise self._fault(f"'low' {shown(self.low)} is after 'high' {shown(self.high)}")
        if self.step == "day" and last - first >= LARGEST_DOMAIN:
            raise self._fault(f"it has more than {LARGEST_DOMAIN:,} days: take a longer 'step'")
        edges = first_days(first, last, self.step)
        low, high = step_labels(np.array([edges[0], edges[-1] - 1]), "day")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        if not isinstance(self.nulls, str):
            object.__setattr__(self, "nulls", spelling(self.nulls))

    def _day(self, entry: str) -> Period:
        said = spelling(getattr(self, entry)) or ""
        period = period_of(said)
        if period is None or said < "0001" or len(said) > 10 or said[4:5].isdigit():
            raise self._fault(
                f"{entry!r} must be a day from 0001-01-01 to 9999-12-31 such as '2019-01-31', not "
                f"{shown(getattr(self, entry))}"
            )
        return period

    @cached_property
    def labels(self) -> tuple[str, ...]:
        return (*step_labels(self._edges[:-1], self.step), *self.extra)

    @cached_property
    def _edges(self) -> npt.NDArray[np.int64]:
        return first_days(self._day("low").first, self._day("high").last, self.step)

    def _places(self, column: "pa.Array") -> npt.NDArray[np.float64]:
        from thresher.schema.day_coding import days_of

        return days_of(self.name, column, self.step)

    def _place(self, value: object) -> float:
        said = spelling(value)
        return math.nan if said is None else day_of(said, self.step)

    def _ends(self, low: object, high: object, after: bool, before: bool) -> tuple[float, float]:
        first, last = (period_of(spelling(end) or "") for end in (low, high))
        begin = math.nan if first is None else first.last + 1.0 if after else float(first.first)
        end = math.nan if last is None else float(last.first) if before else last.last + 1.0
        return -math.inf if low is None else begin, math.inf if high is None else end

    @property
    def _line(self) -> npt.NDArray[np.float64]:
        return self._edges.astype(np.float64)

    def _says_value(self, text: str) -> bool:
        return super()._says_value(text) or period_of(text) is not None

    @property
    def _low(self) -> float:
        return float(self._edges[0])

    @property
    def _steps(self) -> int:
        return len(self._edges) - 1

    def _beyond(self, places: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        return places >= float(self._edges[-1])

    def _clipped_codes(self, places: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        found = np.searchsorted(self._edges.astype(float), places, side="right") - 1
        return np.clip(found, 0, self._steps - 1)

    def _values(self, codes: Codes, rng: np.random.Generator) -> npt.NDArray[Any]:
        places = codes.astype(np.int64)
        return rng.integers(self._edges[places], self._edges[places + 1]).astype("datetime64[D]")
