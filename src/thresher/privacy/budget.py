"""The privacy budget: zCDP in exact rationals, and its price in (ε, δ).

Zero-concentrated differential privacy (zCDP) adds up: two releases at ρ₁ and ρ₂ cost ρ₁ + ρ₂
(Bun and Steinke 2016). Kept as fractions, the parts of a budget sum back to it exactly. A float
is taken for the binary fraction it is, so `Fraction(1, 11)` or `"1/11"` can be spent eleven
times, while the float `1 / 11` is another, slightly different, number.

(ε, δ) buys ρ by one of two conversions. Both are one-sided here: a ρ is rounded down and an ε
up, by about one part in 10¹², so whoever recomputes them finds the promise kept.

- `"tight"` (the default): Canonne, Kamath and Steinke 2020, section 2.3.
- `"paper"`: line 1 of Algorithm 1 of Avent and Korolova, after Bun and Steinke 2016.
"""

import math
import numbers
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Literal, get_args

from thresher.errors import BudgetError, ParameterError, ThresherError

Accounting = Literal["tight", "paper"]
Amount = Fraction | int | float | str

PROMISES_LITTLE = 10
"""The ε above which a promise is worth a warning: e¹⁰ is odds of 22,000 to one."""

LARGEST_RHO = 10**9
"""A ρ beyond which noise is a small fraction of one record: no privacy, and no safe floats."""

# Wider than the rounding of any double-precision implementation, OpenDP's included. The margin
# of ρ exceeds that of ε, so that ε → ρ → ε never comes back larger than it went.
_RHO_FACTOR = Decimal("0.999999999996")
_EPSILON_FACTOR = Decimal("1.000000000001")
# Arithmetic goes through these contexts, never through operators, which would obey whatever
# precision the caller's thread happens to have set.
_WORKING = Context(prec=60)
_DOWN = Context(prec=20, rounding=ROUND_FLOOR)
_UP = Context(prec=20, rounding=ROUND_CEILING)
_CONVERTIBLE = (Fraction(1, 10**100), Fraction(10**100))


class PrivacyWarning(UserWarning):
    """What was asked for is possible, and protects people less than its name suggests."""


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


def rho_of(epsilon: Amount, delta: Amount, accounting: Accounting = "tight") -> Fraction:
    """Find the largest ρ whose zCDP implies (ε, δ)-DP, rounded down.

    Args:
        epsilon: ε above zero.
        delta: δ strictly between 0 and 1.
        accounting: `"tight"` or `"paper"`.

    Returns:
        ρ, a fraction that prints as a decimal of at most 20 digits.

    Raises:
        BudgetError: ε or δ is out of range.
        ParameterError: There is no such accounting.

    Example:
        >>> f"{float(rho_of(1, '1e-9')):.6f}", f"{float(rho_of(1, '1e-9', 'paper')):.6f}"
        ('0.014973', '0.011781')
    """
    _check_accounting(accounting)
    goal, log = _convertible(epsilon, "epsilon"), _log_inverse(delta)
    c = _WORKING
    root = c.divide(goal, c.add(c.sqrt(c.add(goal, log)), c.sqrt(log)))
    rho = c.multiply(root, root)
    if accounting == "tight":
        order = _minimise(lambda u: -(float(goal) - _price(u, float(log))) / (1 + u))
        rho = max(rho, c.divide(c.subtract(goal, _exact_price(order, log)), c.add(1, order)))
    return Fraction(_DOWN.multiply(rho, _RHO_FACTOR))


def epsilon_of(rho: Amount, delta: Amount, accounting: Accounting = "tight") -> float:
    """Find the smallest ε such that ρ-zCDP implies (ε, δ)-DP, rounded up.

    Args:
        rho: ρ above zero.
        delta: δ strictly between 0 and 1.
        accounting: `"tight"` or `"paper"`.

    Returns:
        ε; zero where δ alone already covers so small a ρ.

    Raises:
        BudgetError: ρ or δ is out of range.
        ParameterError: There is no such accounting.

    Example:
        >>> epsilon_of(rho_of(1, "1e-9"), "1e-9") <= 1
        True
    """
    _check_accounting(accounting)
    cost, log = _convertible(rho, "rho"), _log_inverse(delta)
    c = _WORKING
    epsilon = c.add(cost, c.multiply(2, c.sqrt(c.multiply(cost, log))))
    if accounting == "tight":
        order = _minimise(lambda u: (1 + u) * float(cost) + _price(u, float(log)))
        tight = c.add(c.multiply(c.add(1, order), cost), _exact_price(order, log))
        epsilon = max(Decimal(0), min(epsilon, tight))
    if epsilon == 0:
        return 0.0
    return math.nextafter(float(_UP.multiply(epsilon, _EPSILON_FACTOR)), math.inf)


# The tight conversion. ρ-zCDP bounds the Rényi divergence of every order α by αρ, and a bound at
# order α gives (ε, δ) with
#     δ = exp((α−1)(αρ−ε)) / (α−1) · (1 − 1/α)^α,
# that is, ε = αρ + price with price = ln(1 − 1/α) + (ln(1/δ) − ln α)/(α−1). *Every* α > 1 is a
# valid proof, so a merely approximate search for the best one costs tightness, never safety; only
# the last evaluation, at the order found, has to be right, and it is done to 60 digits.
# Written in u = α − 1, which floats can hold close to zero.


def _price(u: float, log: float) -> float:
    return math.log(u) - math.log1p(u) + (log - math.log1p(u)) / u


def _exact_price(u: Decimal, log: Decimal) -> Decimal:
    c = _WORKING
    log_order = c.ln(c.add(1, u))
    return c.add(c.subtract(c.ln(u), log_order), c.divide(c.subtract(log, log_order), u))


def _minimise(objective: Callable[[float], float]) -> Decimal:
    """Search u = e^x by golden sections; ln δ is convex in α, so there is one valley."""
    shrink = (math.sqrt(5) - 1) / 2
    low, high = -300.0, 300.0
    for _ in range(90):
        step = shrink * (high - low)
        if objective(math.exp(high - step)) <= objective(math.exp(low + step)):
            high = low + step
        else:
            low = high - step
    return Decimal(math.exp((low + high) / 2))


def _convertible(amount: Amount, name: str) -> Decimal:
    fraction = exact(amount, name)
    if not _CONVERTIBLE[0] <= fraction <= _CONVERTIBLE[1]:
        raise BudgetError(f"{name} must lie between 1e-100 and 1e100; try {name}=1")
    return _decimal(fraction)


def _log_inverse(delta: Amount) -> Decimal:
    fraction = exact(delta, "delta")
    if fraction >= 1:
        raise BudgetError(f"delta must lie between 0 and 1, not {delta!r}; try delta=1/n**2")
    return _WORKING.minus(_WORKING.ln(_decimal(fraction)))


def _decimal(fraction: Fraction) -> Decimal:
    return _WORKING.divide(Decimal(fraction.numerator), Decimal(fraction.denominator))


def _check_accounting(accounting: str) -> None:
    if accounting not in get_args(Accounting):
        raise ParameterError(f"accounting must be 'tight' or 'paper', not {accounting!r}")


@dataclass(frozen=True)
class Budget:
    """What may be spent on one data set: ρ of zCDP, and the (ε, δ) it was bought with.

    Attributes:
        rho: The whole budget.
        epsilon: The ε it came from, if it did.
        delta: The δ it came from, if it did.
        accounting: The conversion that turned them into ρ.

    Example:
        >>> budget = Budget.from_rho("1/10")
        >>> sum(budget.split(3)) == budget.rho
        True
    """

    rho: Fraction
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    accounting: Accounting | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", exact(self.rho, "rho"))
        if self.rho > LARGEST_RHO:
            raise BudgetError(
                f"rho={float(self.rho):.3g} promises nothing at all; try rho=Fraction(1, 10)"
            )

    @classmethod
    def from_epsilon(
        cls, epsilon: Amount, delta: Amount, accounting: Accounting = "tight"
    ) -> "Budget":
        """Buy the largest ρ that (ε, δ) allows.

        Args:
            epsilon: ε above zero; above 10 it draws a `PrivacyWarning`.
            delta: δ strictly between 0 and 1.
            accounting: `"tight"` or `"paper"`.

        Returns:
            The budget.

        Example:
            >>> Budget.from_epsilon(1, "1e-9").accounting
            'tight'
        """
        rho = rho_of(epsilon, delta, accounting)
        promised = exact(epsilon, "epsilon")
        if promised > PROMISES_LITTLE:
            warnings.warn(
                f"epsilon={float(promised):g} promises little: what is released may shift the odds "
                f"of a guess about one person by a factor of e^{float(promised):g}. Choose epsilon "
                f"of {PROMISES_LITTLE} or less, better around 1, unless you can justify this to "
                "the people in the data.",
                PrivacyWarning,
                stacklevel=2,
            )
        return cls(rho, promised, exact(delta, "delta"), accounting)

    @classmethod
    def from_rho(cls, rho: Amount) -> "Budget":
        """Set ρ directly.

        Args:
            rho: ρ above zero.

        Returns:
            The budget, with no ε and δ of its own.

        Example:
            >>> Budget.from_rho(0.5).rho
            Fraction(1, 2)
        """
        return cls(exact(rho, "rho"))

    def split(self, parts: int) -> tuple[Fraction, ...]:
        """Divide the budget into equal parts that sum back to it exactly.

        Args:
            parts: How many, at least one.

        Returns:
            The parts.

        Example:
            >>> Budget.from_rho(1).split(2)
            (Fraction(1, 2), Fraction(1, 2))
        """
        if isinstance(parts, bool) or not hasattr(parts, "__index__") or parts < 1:
            raise ParameterError(f"parts must be a whole number of at least 1, not {parts!r}")
        return (self.rho / int(parts),) * int(parts)


class Account:
    """A budget being spent: the one mutable value here, safe to share between threads.

    Example:
        >>> account = Account(Budget.from_rho("1/10"))
        >>> account.spend("1/20")
        >>> account.remaining
        Fraction(1, 20)
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._spent = Fraction(0)
        self._lock = threading.Lock()

    @property
    def budget(self) -> Budget:
        """The whole budget, spent or not."""
        return self._budget

    @property
    def spent(self) -> Fraction:
        """What has been spent so far."""
        return self._spent

    @property
    def remaining(self) -> Fraction:
        """What can still be spent."""
        return self._budget.rho - self._spent

    def spend(self, rho: Amount) -> None:
        """Take ρ off the budget, or refuse and leave it as it was.

        Args:
            rho: What to spend, above zero.

        Raises:
            BudgetError: There is not as much left.
        """
        requested = exact(rho, "rho")
        with self._lock:
            remaining = self.remaining
            if requested > remaining:
                raise BudgetError(
                    f"budget exceeded: requested rho={float(requested):.6g}, "
                    f"remaining {float(remaining):.6g}, "
                    f"difference {float(requested - remaining):.6g}; "
                    "ask for less, or start from a larger budget"
                )
            self._spent += requested

    def __repr__(self) -> str:
        return f"Account(rho={float(self._budget.rho):.6g}, remaining={float(self.remaining):.6g})"
