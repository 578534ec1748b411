"""Amounts of money and percentages, as texts write them.

| written | texts | numbers |
|---|---|---|
| `plain` | `2300`, `-1.5e3` | as Python reads them |
| `money` | `$2,300.00`, `-€5`, `£-5`, `(5.00)`, `$(5)`, `1,200 SEK` | 2300, -5, 1200 |
| `percent` | `9.07%`, `1,200 %`, `-3%`, `(3%)` | 9.07, 1200, -3 |

In every style a plain number is read as one, so that a cell means the same as a number and as text.
A point is always the decimal point. Commas may only separate groups of three digits. Parentheses
make an amount negative.
"""

import math
import re

from thresher.schema.cells import number_of

PLAIN = "plain"

_SIGNS = "$¢-¥฿﷼\u20a0-\u20c0"  # the currency signs of Unicode that are in use
_CURRENCY = rf"(?:[A-Z]{{3}}|[A-Z]{{0,2}}[{_SIGNS}])"
_BLANK = "[ \u00a0\u202f]?"
_MINUS = "[-+\u2212]"
_DIGITS = r"(?:(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?|\.[0-9]+)"


def _signed(before: str, after: str) -> str:
    """A pattern of an amount with what may stand before and after its digits, and its sign."""
    amount = rf"{before}{_BLANK}{_DIGITS}{_BLANK}{after}"
    return (
        rf"(?:{_MINUS}{_BLANK}{amount}|{before}{_BLANK}{_MINUS}?{_BLANK}{_DIGITS}{_BLANK}{after}"
        rf"|{before}{_BLANK}\({_BLANK}{amount}{_BLANK}\){_BLANK}{after})"
    )


PATTERNS = {
    "money": _signed(f"{_CURRENCY}?", f"{_CURRENCY}?"),
    "percent": _signed("", "%?"),
}
"""The texts of each style, in a syntax that Python and Arrow read alike."""

NEGATIVE = "[-(\u2212]"
"""What a text of these styles holds if its amount is negative."""

NO_DIGIT = "[^0-9.]+"
"""What is taken out of a text of these styles to leave the number."""

STYLES = (PLAIN, *PATTERNS)

_COMPILED = {style: re.compile(pattern) for style, pattern in PATTERNS.items()}


def amount_of(text: str | None, written: str) -> float:
    """The number that a text says in a style, or NaN.

    Example:
        >>> amount_of("$2,300.00", "money"), amount_of("(9.07%)", "percent")
        (2300.0, -9.07)
        >>> amount_of("12,34", "money"), amount_of("1e3", "money"), amount_of("$5", "plain")
        (nan, 1000.0, nan)
    """
    number = number_of(text)
    if not text or written == PLAIN or not math.isnan(number):
        return number
    text = text.strip()
    if not _COMPILED[written].fullmatch(text):
        return math.nan
    number = float(re.sub(NO_DIGIT, "", text))
    return -number if re.search(NEGATIVE, text) else number
