"""Numbers for people."""

import math

UNIT = "\N{NO-BREAK SPACE}%"


def percent(share: float) -> str:
    """A share as a percentage with about three digits.

    Example:
        >>> [percent(share).replace(UNIT, " %") for share in (0.12345, 0.00012, 0, 1)]
        ['12.3 %', '0.012 %', '0 %', '100 %']
    """
    if share == 0:
        return f"0{UNIT}"
    digits = max(0, 2 - math.floor(math.log10(abs(100 * share))))
    written = f"{100 * share:.{min(digits, 4)}f}"
    return (written.rstrip("0").rstrip(".") if "." in written else written) + UNIT


def count(number: float) -> str:
    """A number of people with separators, and four digits where it is not whole.

    Example:
        >>> count(1234567), count(7.01234)
        ('1,234,567', '7.012')
    """
    return f"{number:,}" if isinstance(number, int) else f"{number:,.4g}"
