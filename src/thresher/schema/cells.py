"""How a cell reads: every kind of value has one spelling.

The code of a cell is the code of its spelling. The spelling depends on the cell alone: not on
other records, on the type that a library chose for the column, on the chunk or on the file format.
So replacing one record changes the codes of that record and of no other.

| cell | spelling |
|---|---|
| missing: None, NaN, NaT, NA | none |
| truth value | `true`, `false` |
| number of any type | the nearest double: `5`, `-2`, `0.1`, `1e+300`, `inf` |
| date | `2020-03-01` |
| time stamp without a zone | `2020-03-01T12:30:00.25`; at midnight `2020-03-01`, as the date |
| time stamp with a zone | the same instant in UTC: `2020-03-01T12:30:00Z`, at midnight too |
| time of day | `12:30:00.25` |
| duration | in seconds: `PT5400S` |
| text | the text without blanks at its ends |
| interval of pandas | its ends: `(0, 2.5]` |
| bytes, lists, records | `UNREADABLE`, which is no label |
| anything else, such as a UUID | the text that `str` gives |

Numbers are doubles because pandas turns a column of whole numbers into floats when one of them is
missing. Above 2^53 that loses the last digits, so keep long identifiers as text.
"""

import math
import re
from collections.abc import Collection, Iterable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from thresher.schema.labels import is_storable

LARGEST_INTEGER = 2**53
"""Whole numbers up to here are exact as doubles."""

LONGEST_INTEGER = 2**64
"""Whole doubles below this are spelled with all their digits."""

BLANKS = "".join(letter for letter in map(chr, range(0x3001)) if letter.isspace())
"""What Python's `str.strip` takes off the ends of a text."""

UNREADABLE = "\x00"
"""The spelling of a cell that says nothing: outside every list of categories, and no number."""

TRUTH = {True: "true", False: "false"}
OTHER_TRUTH = {"true": "True", "True": "true", "false": "False", "False": "false"}
MISSING_TYPES = ("NAType", "NaTType")  # of pandas, which need not be imported to know them
SECONDS = {"W": 604_800, "D": 86_400, "h": 3600, "m": 60, "s": 1}
FRACTIONS = {"s": 0, "ms": 3, "us": 6, "ns": 9, "ps": 12, "fs": 15, "as": 18}
INSTANT = re.compile(
    r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d)(:\d\d(?:\.\d{1,9})?)?(?:(Z)|([+-]\d\d):?(\d\d))?", re.ASCII
)


def spelling(cell: Any) -> str | None:
    """The one spelling of a cell, or None if the cell is missing.

    Example:
        >>> import datetime
        >>> [spelling(cell) for cell in (True, 5.0, 0.5, datetime.date(2020, 3, 1), " x ", None)]
        ['true', '5', '0.5', '2020-03-01', 'x', None]
    """
    try:
        return _value_spelling(cell)
    except Exception:  # a cell can be any object, and its methods may raise anything
        return UNREADABLE


def text_spelling(text: str) -> str:
    """A text without blanks at its ends, and without half characters.

    Example:
        >>> text_spelling("  F ")
        'F'
    """
    return whole_characters(text).strip()


def whole_characters(text: str) -> str:
    r"""A text with each half of a character (a lone surrogate) replaced.

    Example:
        >>> whole_characters("a\ud800") == "a\ufffd\ufffd\ufffd"
        True
    """
    if is_storable(text):
        return text
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def number_spelling(number: float) -> str | None:
    """The one spelling of a number; None for NaN.

    Example:
        >>> [number_spelling(x) for x in (1.0, -0.0, 0.1, 1e300, float("nan"))]
        ['1', '0', '0.1', '1e+300', None]
    """
    if math.isnan(number):
        return None
    if math.isfinite(number) and number.is_integer() and abs(number) < LONGEST_INTEGER:
        return str(int(number))
    return repr(float(number))


def instant_spelling(instant: "np.datetime64", *, zoned: bool) -> str | None:
    """The one spelling of a date or a time stamp; a zoned one is given in UTC.

    Example:
        >>> instant_spelling(np.datetime64("2020-03-01T12:30:00.250"), zoned=False)
        '2020-03-01T12:30:00.25'
        >>> noon, midnight = np.datetime64("2020-03-01T12"), np.datetime64("2020-03-01T00")
        >>> instant_spelling(noon, zoned=True), instant_spelling(midnight, zoned=False)
        ('2020-03-01T12:00:00Z', '2020-03-01')
    """
    if np.isnat(instant):
        return None
    unit = np.datetime_data(instant.dtype)[0]
    if unit in ("Y", "M", "W"):
        instant = instant.astype("datetime64[D]")
    elif unit in ("h", "m"):
        instant = instant.astype("datetime64[s]")
    day, _, clock = str(instant).partition("T")
    clock = _without_zeros(clock)
    if zoned:
        return f"{day}T{clock or '00:00:00'}Z"
    return day if clock in ("", "00:00:00") else f"{day}T{clock}"


def clock_spelling(ticks: int, unit: str) -> str:
    """The one spelling of a time of day, given as ticks since midnight.

    Example:
        >>> clock_spelling(45_000_250, "ms")
        '12:30:00.25'
    """
    seconds, rest = divmod(ticks, 10 ** FRACTIONS[unit])
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour:02}:{minute:02}:{second:02}{_fraction(rest, FRACTIONS[unit])}"


def duration_spelling(ticks: int, unit: str) -> str:
    """The one spelling of a duration, in seconds.

    Example:
        >>> duration_spelling(90, "m"), duration_spelling(-1500, "ms")
        ('PT5400S', '-PT1.5S')
    """
    digits = FRACTIONS.get(unit, 0)
    whole, rest = divmod(abs(ticks) * SECONDS.get(unit, 1), 10**digits)
    return f"{'-' * (ticks < 0)}PT{whole}{_fraction(rest, digits)}S"


def number_of(text: str | None) -> float:
    """The number that a text says, or NaN.

    Example:
        >>> number_of(" 1e3 "), number_of("1_000"), number_of("many")
        (1000.0, nan, nan)
    """
    try:
        return float(text) if text and "_" not in text else math.nan
    except ValueError:
        return math.nan


def codes_by_spelling(
    labels: Iterable[str], first: int = 0, synonyms: Mapping[str, str] | None = None
) -> dict[str, int]:
    """The code of every spelling that stands for one of the labels.

    A label stands for its text, and for the value that it writes in another way: `True` for a
    truth value, `1.50` for the number 1.5, `2020-03-01 00:00:00` for that date. Where two labels
    claim a spelling, a label's text comes first, then the order of the labels. Synonyms are
    labels after the others, with the codes of those that they stand for.

    Example:
        >>> codes_by_spelling(["True", "1.50"])
        {'True': 0, '1.50': 1, 'true': 0, '1.5': 1}
        >>> codes_by_spelling(["F", "M"], synonyms={"male": "M"})
        {'F': 0, 'M': 1, 'male': 1}
    """
    codes = {label: code for code, label in enumerate(labels, first)}
    codes |= {said: codes[label] for said, label in (synonyms or {}).items()}
    for label, code in tuple(codes.items()):
        value = OTHER_TRUTH.get(label) or number_spelling(number_of(label)) or _instant_said(label)
        if value is not None:
            codes.setdefault(value, code)
    return codes


def _value_spelling(cell: Any) -> str | None:
    if isinstance(cell, str):
        return text_spelling(str.__str__(cell))
    if cell is None or type(cell).__name__ in MISSING_TYPES:
        return None
    if isinstance(cell, bool | np.bool_):
        return TRUTH[bool(cell)]
    if isinstance(cell, np.datetime64):
        return instant_spelling(cell, zoned=False)
    if isinstance(cell, np.timedelta64 | timedelta):
        return _duration(cell)
    if isinstance(cell, int | float | np.integer | np.floating | Decimal | Fraction):
        return number_spelling(_double(cell))
    if isinstance(cell, datetime):
        return _time_stamp(cell)
    if isinstance(cell, date):
        return cell.isoformat()
    if isinstance(cell, time):
        clock = _without_zeros(cell.replace(tzinfo=None).isoformat())
        return clock + ("" if cell.utcoffset() is None else cell.strftime("%z"))
    if isinstance(cell, complex | np.complexfloating):
        return UNREADABLE if cell.imag else number_spelling(float(cell.real))
    if isinstance(cell, memoryview | Collection):
        return UNREADABLE
    if type(cell).__name__ == "Interval":  # of pandas, which may turn its whole ends into floats
        opening, closing = "[" if cell.closed_left else "(", "]" if cell.closed_right else ")"
        return f"{opening}{spelling(cell.left)}, {spelling(cell.right)}{closing}"
    methods: Any = type(cell)
    if methods.__str__ is object.__str__ and methods.__repr__ is object.__repr__:
        return UNREADABLE  # its text would be an address in memory
    return text_spelling(str.__str__(str(cell)))


def _double(cell: Any) -> float:
    if isinstance(cell, Decimal) and cell.is_nan():
        return math.nan
    try:
        return float(cell)
    except OverflowError:
        return math.inf if cell > 0 else -math.inf


def _time_stamp(cell: Any) -> str | None:
    if hasattr(cell, "to_datetime64"):  # of pandas: with nanoseconds, and in UTC if it has a zone
        return instant_spelling(cell.to_datetime64(), zoned=cell.tzinfo is not None)
    offset = cell.utcoffset()
    instant: Any = np.datetime64(cell.replace(tzinfo=None), "us")
    if offset is None:
        return instant_spelling(instant, zoned=False)
    return instant_spelling(instant - np.timedelta64(offset, "us"), zoned=True)


def _duration(cell: Any) -> str | None:
    if hasattr(cell, "to_timedelta64"):
        cell = cell.to_timedelta64()
    if isinstance(cell, timedelta):
        return duration_spelling(cell // timedelta(microseconds=1), "us")
    if np.isnat(cell):
        return None
    unit, count = np.datetime_data(cell.dtype)
    if unit not in SECONDS and unit not in FRACTIONS:  # months and years have no fixed length
        return UNREADABLE
    return duration_spelling(int(cell.astype(np.int64)) * count, unit)


def _fraction(ticks: int, digits: int) -> str:
    return _without_zeros(f".{ticks:0{digits}}") if digits else ""


def _without_zeros(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def _instant_said(label: str) -> str | None:
    """The spelling of the time stamp that a label writes, if it does."""
    said = INSTANT.fullmatch(label)
    if not said:
        return None
    day, clock, seconds, utc, hours, minutes = said.groups()
    try:
        instant = np.datetime64(f"{day}T{clock}{seconds or ':00'}")
    except ValueError:
        return None
    if hours:
        shift = int(hours) * 60 + int(f"{hours[0]}{minutes}")
        instant = instant - np.timedelta64(shift, "m")
    return instant_spelling(instant, zoned=bool(utc or hours))
