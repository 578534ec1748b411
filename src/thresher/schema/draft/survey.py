"""What a cell seems to be, on a public scale: blank, a truth value, a date, a number, or text.

A private draft knows nothing of a column but its name. So each cell is coded by a scale that was
fixed before any record was seen: numbers by round numbers, dates by decades. The code depends on
the cell alone. How many cells have each code is then measured, with noise, and tells what kind of
column it is and which range most of its numbers or dates have.
"""

import math
from bisect import bisect_right
from datetime import date
from typing import Final

from thresher.schema.cells import number_of
from thresher.schema.days import period_of
from thresher.schema.draft.guess import PAIRS
from thresher.schema.draft.readings import BLANK_WORDS
from thresher.schema.features import Categorical
from thresher.schema.labels import is_label

LONGEST_LABEL: Final = 200
"""Characters of a text that can become a category."""

_EPOCH = date(1970, 1, 1).toordinal()
_TRUTH_WORDS = frozenset().union(*PAIRS)


def _round_numbers() -> tuple[float, ...]:
    small = {*range(21), 25, 30, 35, *range(40, 101, 10), 110, 120, 150}
    years = set(range(1800, 2101, 10))
    powers = {float(f"{digit}e{power}") for power in range(2, 13) for digit in (1, 1.5, 2, 3, 5, 7)}
    parts = {float(f"{digit}e{power}") for power in range(-4, 0) for digit in (1, 2, 5)}
    below = {-float(f"{digit}e{power}") for power in range(-4, 13) for digit in (1, 2, 5)}
    return tuple(sorted(float(x) for x in small | years | powers | parts | below))


NUMBERS: Final = _round_numbers()
"""Where a cell of the scale of numbers ends and the next begins."""

DECADES: Final = tuple(date(year, 1, 1).toordinal() - _EPOCH for year in range(1800, 2101, 10))
"""The first days of decades, as days since 1970."""

BLANK, TRUTH, TEXT = 0, 1, 2
FIRST_DATE: Final = 3
FIRST_WHOLE: Final = FIRST_DATE + len(DECADES) + 1
FIRST_OTHER: Final = FIRST_WHOLE + len(NUMBERS) + 1
SIZE: Final = FIRST_OTHER + len(NUMBERS) + 1


def survey_feature(name: str) -> Categorical:
    """The public scale as a feature of a column.

    Example:
        >>> survey_feature("age").labels[:3]
        ('blank', 'truth value', 'text')
    """
    dates = (f"date {i}" for i in range(len(DECADES) + 1))
    whole = (f"whole number {i}" for i in range(len(NUMBERS) + 1))
    other = (f"other number {i}" for i in range(len(NUMBERS) + 1))
    labels = ("blank", "truth value", "text", *dates, *whole, *other)
    return Categorical(name=name, categories=labels, outside="text", nulls="blank")


def survey_code(text: str) -> int:
    """The code of a spelled cell; a missing one is spelled as an empty text.

    Example:
        >>> [survey_code(text) for text in ("", "NA", "yes", "Rome")]
        [0, 0, 1, 2]
        >>> survey_code("1951-03-02") == survey_code("1959-12")
        True
        >>> survey_code("41") == survey_code("49"), survey_code("41") == survey_code("41.5")
        (True, False)
    """
    said = text.casefold()
    if not text or said in BLANK_WORDS:
        return BLANK
    if said in _TRUTH_WORDS:
        return TRUTH
    number = number_of(text)
    if math.isfinite(number):
        first = FIRST_WHOLE if number.is_integer() else FIRST_OTHER
        return first + bisect_right(NUMBERS, number)
    period = period_of(text) if math.isnan(number) else None
    return TEXT if period is None else FIRST_DATE + bisect_right(DECADES, period.first)


def can_be_category(text: str) -> bool:
    r"""Whether a spelled cell can become a category; a blank one can, as *unknown*.

    Example:
        >>> can_be_category("Rome"), can_be_category(""), can_be_category("a\nb")
        (True, True, False)
    """
    if not text:
        return True
    return len(text) <= LONGEST_LABEL and is_label(text) and not set(text) & {"\t", "\n", "\r"}
