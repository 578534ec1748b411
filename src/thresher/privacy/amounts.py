"""Amounts of privacy budget as exact rationals.

A float is taken for the binary fraction it is. So `Fraction(1, 11)` or `"1/11"` can be spent eleven
times, while the float `1 / 11` is another, slightly different, number.
"""

import numbers
import operator
import re
from fractions import Fraction

from thresher.errors import BudgetError, ThresherError

Amount = Fraction | int | float | str

MOST_BITS = 8192
"""Bits of the numerator and of the denominator: exact arithmetic with these takes microseconds."""
LARGEST_AMOUNT = 10**300
"""Any larger amount would not be a float, which messages and estimates need."""
LONGEST_TEXT = 6000
"""Enough for any fraction of numbers of `MOST_BITS`, written out."""
LONGEST_SHOWN = 60

_EXPONENT = re.compile(r"[eE]([-+]?[\d_]+)\s*$")


def exact(amount: Amount, name: str, error: type[ThresherError] = BudgetError) -> Fraction:
    """Read a positive amount as the exact rational that it is.

    Args:
        amount: A fraction, an integer, a float (taken for the binary fraction it is) or a string
            such as `"1/11"` or `"0.05"`.
        name: What the amount is, for the error message.
        error: The kind of mistake that a wrong amount is.

    Returns:
        The amount, unrounded.

    Raises:
        ThresherError: Of the kind `error`; the amount is not a finite number above zero.

    Example:
        >>> exact("1/11", "rho")
        Fraction(1, 11)
    """
    fraction = _read(amount)
    if fraction is None or fraction <= 0:
        raise error(
            f"{name} must be a finite number above 0, not {_shown(amount)}; "
            f"try {name}=Fraction(1, 10)"
        )
    if fraction > LARGEST_AMOUNT or _bits(fraction) > MOST_BITS:
        raise error(
            f"{name} must be at most 1e300, and a fraction of numbers below 2^{MOST_BITS}, not "
            f"{_shown(amount)}; try {name}=Fraction(1, 10)"
        )
    return fraction


def _read(amount: object) -> Fraction | None:
    if isinstance(amount, bool):
        return None
    try:
        if isinstance(amount, str):
            return _of_text(amount)
        if isinstance(amount, Fraction):  # a subclass could compare and add as it likes
            return Fraction(operator.index(amount.numerator), operator.index(amount.denominator))
        if isinstance(amount, numbers.Integral):
            return Fraction(int(amount))
        if isinstance(amount, numbers.Real):
            return Fraction(float(amount))
    except (ValueError, OverflowError, ZeroDivisionError):
        pass
    return None


def _of_text(text: str) -> Fraction | None:
    """The number that a text states; None if reading it would take for ever: "1e-30000000"."""
    exponent = _EXPONENT.search(text[-LONGEST_TEXT:])
    if len(text) > LONGEST_TEXT or (exponent and abs(int(exponent[1])) > MOST_BITS):
        return None
    return Fraction(text)


def _bits(fraction: Fraction) -> int:
    return max(fraction.numerator.bit_length(), fraction.denominator.bit_length())


def _shown(amount: object) -> str:
    """An amount, as an error message can show it."""
    try:
        shown = repr(amount)
    except ValueError:  # Python does not print integers of more than 4300 digits
        return "a number of thousands of digits"
    return shown if len(shown) <= LONGEST_SHOWN else shown[:LONGEST_SHOWN] + "…"
