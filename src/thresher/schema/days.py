"""Days, months, quarters and years, as texts write them.

| text | what it says |
|---|---|
| `2019-03-01`, `20190301` | a day |
| `2019-03-01T12:30`, `2019-03-01 12:30:00.25` | the day, whatever the time of day |
| `2019-03-01T00:30+02:00`, `… Z`, `… UTC` | the day of that instant in UTC, here 2019-02-28 |
| `2019-03`, `2019-Q1` or `2019Q1`, `2019` | a month, a quarter, a year |

Everything else is no date. A day is a number: the days since 1970-01-01. A year after 9999 counts
as 10000, and one before 1 as -4: both lie outside every domain, and both are leap years, so that
each day of another year has one there.
"""

import math
import re
from datetime import date
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

STEPS = ("day", "month", "quarter", "year")
"""How fine dates can be told apart, the finest first."""

MONTHS = {"month": 1, "quarter": 3, "year": 12}

_CLOCK = r"[T ](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,18})?)?"
_EAST = r"[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?"
_STAMP = rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}{_CLOCK}"

USUAL = rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(?:{_CLOCK}(?: ?(?:Z|UTC|{_EAST}))?)?"
"""A text of this form writes the day, or what is none, in its first ten characters."""

SHIFTED = rf"{_STAMP} ?{_EAST}"
"""A text of the usual form with a zone other than UTC."""

_INSTANT = re.compile(
    r"(-[0-9]{3,17}|[0-9]{4,18})-([0-9]{2})-([0-9]{2})"
    rf"(?:({_CLOCK})(?: ?(?:Z|UTC|({_EAST})))?)?"
)
_COMPACT = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})")
_LONGER = re.compile(r"([0-9]{4})(?:-([0-9]{2})|-?Q([1-4]))?")
_EPOCH = date(1970, 1, 1).toordinal()
_DAYS_IN_400_YEARS = 146_097


class Period(NamedTuple):
    """A day, month, quarter or year: its step, and its first and last day."""

    step: str
    first: int
    last: int


def period_of(text: str) -> Period | None:
    """The day, month, quarter or year that a text says, or None.

    Example:
        >>> period_of("1970-01-02"), period_of("1970-Q1"), period_of("soon")
        (Period(step='day', first=1, last=1), Period(step='quarter', first=0, last=89), None)
    """
    text = text.strip()
    if said := _INSTANT.fullmatch(text) or _COMPACT.fullmatch(text):
        day = _day(*map(int, said.groups()[:3]))
        if day is None:
            return None
        day += _days_shifted(*said.groups()[3:]) if said.re is _INSTANT else 0
        return Period("day", day, day)
    if not (said := _LONGER.fullmatch(text)):
        return None
    step = "month" if said[2] else "quarter" if said[3] else "year"
    month = int(said[2]) if said[2] else 3 * int(said[3] or 1) - 2
    if not 1 <= month <= 12:
        return None
    first, later = int(said[1]) * 12 + month - 1, MONTHS[step]
    return Period(step, _first_day(first), _first_day(first + later) - 1)


def day_of(text: str, step: str) -> float:
    """The day that a text says, or a day of the period that it says if that is one step; or NaN.

    Example:
        >>> day_of("1970-02", "month"), day_of("1970-02", "day"), day_of("soon", "year")
        (31.0, nan, nan)
    """
    period = period_of(text)
    if period is None or STEPS.index(period.step) > STEPS.index(step):
        return math.nan
    return float(period.first)


def minutes_east(zone: str) -> int:
    """By how many minutes the clocks of a zone are ahead of UTC.

    Example:
        >>> minutes_east("+02:00"), minutes_east("-0930"), minutes_east("+01")
        (120, -570, 60)
    """
    minutes = int(zone[1:3]) * 60 + int(zone[3:].lstrip(":") or 0)
    return -minutes if zone[0] == "-" else minutes


def first_days(first: int, last: int, step: str) -> npt.NDArray[np.int64]:
    """The first day of each step from that of one day to that of another, and the day after all.

    Example:
        >>> first_days(3, 40, "month").tolist()
        [0, 31, 59]
    """
    if step == "day":
        return np.arange(first, last + 2)
    ends = np.array([first, last]).astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    low, high = (ends // MONTHS[step]).tolist()
    months = np.arange(low, high + 2) * MONTHS[step]
    return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)


def step_labels(days: npt.NDArray[np.int64], step: str) -> tuple[str, ...]:
    """The label of each step, given by its first day.

    Example:
        >>> [step_labels(np.array([0]), step) for step in STEPS]
        [('1970-01-01',), ('1970-01',), ('1970-Q1',), ('1970',)]
    """
    written = days.astype("datetime64[D]").astype(str).tolist()
    if step == "quarter":
        return tuple(f"{day[:4]}-Q{(int(day[5:7]) + 2) // 3}" for day in written)
    return tuple(day[: {"day": 10, "month": 7, "year": 4}[step]] for day in written)


def _first_day(month: int) -> int:
    """The first day of a month, given as months since the year 0."""
    day = _day(month // 12, month % 12 + 1, 1)
    assert day is not None
    return day


def _day(year: int, month: int, day: int) -> int | None:
    cycles = 0
    if year > 9999:
        year, cycles = 2000, 20
    elif year < 1:
        year, cycles = 1996, -5
    try:
        return date(year, month, day).toordinal() - _EPOCH + cycles * _DAYS_IN_400_YEARS
    except ValueError:
        return None


def _days_shifted(clock: str | None, zone: str | None) -> int:
    """By how many days an instant's day in UTC differs from the day that is written."""
    if clock is None or zone is None:
        return 0
    return (int(clock[1:3]) * 60 + int(clock[4:6]) - minutes_east(zone)) // 1440
