"""Amounts of privacy budget as exact rationals.

A float is taken for the binary fraction it is. So `Fraction(1, 11)` or `"1/11"` can be spent eleven
times, while the float `1 / 11` is another, slightly different, number.
"""

import numbers
from fractions import Fraction

from thresher.errors import BudgetError, ThresherError

Amount = Fraction | int | float | str


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
            f"{name} must be a finite number above 0, not {amount!r}; try {name}=Fraction(1, 10)"
        )
    return fraction


def _read(amount: object) -> Fraction | None:
    if isinstance(amount, bool):
        return None
    try:
        if isinstance(amount, Fraction | str):
            return Fraction(amount)
        if isinstance(amount, numbers.Integral):
            return Fraction(int(amount))
        if isinstance(amount, numbers.Real):
            return Fraction(float(amount))
    except (ValueError, OverflowError, ZeroDivisionError):
        pass
    return None
