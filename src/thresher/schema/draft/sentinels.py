"""Numbers and days that stand for no value, such as 999 or 9999-12-31.

Only numbers of a public list are suspected. One of them is taken for such a code where it lies far
from all other values: the gap is wider than their range and than a fifth of the number itself, or
it is negative where no other value is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

import numpy as np

_EPOCH = date(1970, 1, 1).toordinal()
_REPEATED = [int(digit * length) for digit in "789" for length in range(2, 10)]
_SURVEY = [10**length - end for length in range(2, 5) for end in (2, 3, 4)]  # 98, 97, 96, 998, …
NUMBERS = np.array(
    sorted({*_REPEATED, *_SURVEY, *(-number for number in _REPEATED), *range(-9, 0)}), dtype=float
)
"""Numbers that code books use for answers that are missing, refused or not known."""

DAYS = np.array(
    sorted(
        date.fromisoformat(day).toordinal() - _EPOCH
        for day in (
            "0001-01-01", "1753-01-01", "1800-01-01", "1900-01-01", "1901-01-01", "1970-01-01",
            "2099-12-31", "2999-12-31", "9999-01-01", "9999-12-30", "9999-12-31",
        )
    ),
    dtype=float,
)  # fmt: skip
"""Days that data bases use for no date, as days since 1970-01-01."""

TEN_YEARS = 3653


@dataclass(frozen=True)
class Range:
    """The range of a column's values, and the values beyond it that seem to be codes.

    Example:
        >>> Range(0, 90, codes=(999,)).codes
        (999,)
    """

    low: float
    high: float
    codes: tuple[float, ...] = ()


def without_codes(low: float, high: float, suspects: Mapping[float, int], gap: float = 0) -> Range:
    """The range of values, with suspects inside it unless they are far from the others.

    Args:
        low: The lowest value that is no suspect; infinite if there is none.
        high: The highest value that is no suspect.
        suspects: The suspects that occur, and how often.
        gap: The least distance that is far, whatever the range.

    Example:
        >>> without_codes(17, 90, {999: 12, 99: 1, -1: 3})
        Range(low=17, high=99, codes=(-1, 999))
    """
    if not low <= high:
        return Range(min(suspects), max(suspects))
    codes = []
    for value in sorted(suspects, key=abs):
        width = max(high - low, gap)
        far = max(width, abs(value) / 5 if not gap else 0)
        if (value < 0 <= low and not gap) or value - high > far or low - value > far:
            codes.append(value)
        else:
            low, high = min(low, value), max(high, value)
    return Range(low, high, tuple(sorted(codes)))
