"""Conversions between ρ and (ε, δ): how much ρ an (ε, δ) buys, and which ε a ρ implies.

Both directions are one-sided: a ρ is rounded down and an ε up, by about one part in 10¹². Whoever
recomputes them finds the promise kept. There are three conversions:

- `"tight"`: Canonne, Kamath and Steinke 2020, section 2.3. It holds for every ρ-zCDP.
- `"paper"`: line 1 of Algorithm 1 of Avent and Korolova, after Bun and Steinke 2016.
- `"gaussian"`: the exact curve of Gaussian noise (see `gaussian_curve`). It holds where nothing is
  asked for but noisy counts and choices, drawn as in `gaussian`; a Curator sees to that.
"""

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Literal, get_args

from thresher.errors import BudgetError, ParameterError
from thresher.privacy.amounts import Amount, exact
from thresher.privacy.gaussian_curve import largest_mu, smallest_epsilon

Accounting = Literal["tight", "paper", "gaussian"]

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
# Beyond these, the exact curve takes too many digits, and the tight conversion is used, which holds
# for Gaussian noise, too. An ε from ρ may be twice as large, so that ε → ρ → ε uses one curve.
_LARGEST_ON_CURVE, _LARGEST_LOG_ON_CURVE = Decimal(100), Decimal(700)


def rho_of(epsilon: Amount, delta: Amount, accounting: Accounting = "tight") -> Fraction:
    """Find the largest ρ that implies (ε, δ)-DP, rounded down.

    Args:
        epsilon: ε above zero.
        delta: δ strictly between 0 and 1.
        accounting: `"tight"`, `"paper"` or `"gaussian"`.

    Returns:
        ρ, a fraction that prints as a decimal of at most 20 digits.

    Raises:
        BudgetError: ε or δ is out of range.
        ParameterError: There is no such accounting.

    Example:
        >>> for accounting in ("paper", "tight", "gaussian"):
        ...     print(f"{float(rho_of(1, '1e-9', accounting)):.6f}")
        0.011781
        0.014973
        0.016557
    """
    _check_accounting(accounting)
    goal, log = _convertible(epsilon, "epsilon"), _log_inverse(delta)
    c = _WORKING
    root = c.divide(goal, c.add(c.sqrt(c.add(goal, log)), c.sqrt(log)))
    rho = c.multiply(root, root)
    if accounting != "paper":
        order = _minimise(lambda u: -(float(goal) - _price(u, float(log))) / (1 + u))
        rho = max(rho, c.divide(c.subtract(goal, _exact_price(order, log)), c.add(1, order)))
    if accounting == "gaussian" and goal <= _LARGEST_ON_CURVE and log <= _LARGEST_LOG_ON_CURVE:
        mu = largest_mu(goal, _exact_delta(delta), c.sqrt(c.multiply(2, rho)))
        rho = c.divide(c.multiply(mu, mu), 2)
    return Fraction(_DOWN.multiply(rho, _RHO_FACTOR))


def epsilon_of(rho: Amount, delta: Amount, accounting: Accounting = "tight") -> float:
    """Find the smallest ε such that ρ implies (ε, δ)-DP, rounded up.

    Args:
        rho: ρ above zero.
        delta: δ strictly between 0 and 1.
        accounting: `"tight"`, `"paper"` or `"gaussian"`.

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
    if accounting != "paper":
        order = _minimise(lambda u: (1 + u) * float(cost) + _price(u, float(log)))
        tight = c.add(c.multiply(c.add(1, order), cost), _exact_price(order, log))
        epsilon = max(Decimal(0), min(epsilon, tight))
    on_curve = c.multiply(2, _LARGEST_ON_CURVE) >= epsilon and log <= _LARGEST_LOG_ON_CURVE
    if accounting == "gaussian" and on_curve:
        mu = c.sqrt(c.multiply(2, cost))
        epsilon = smallest_epsilon(mu, _exact_delta(delta), epsilon)
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


def _exact_delta(delta: Amount) -> Decimal:
    fraction = exact(delta, "delta")
    if fraction >= 1:
        raise BudgetError(f"delta must lie between 0 and 1, not {delta!r}; try delta=1e-9")
    return _decimal(fraction)


def _log_inverse(delta: Amount) -> Decimal:
    return _WORKING.minus(_WORKING.ln(_exact_delta(delta)))


def _decimal(fraction: Fraction) -> Decimal:
    return _WORKING.divide(Decimal(fraction.numerator), Decimal(fraction.denominator))


def _check_accounting(accounting: str) -> None:
    if accounting not in (known := get_args(Accounting)):
        named = ", ".join(map(repr, known[:-1]))
        raise ParameterError(f"accounting must be {named} or {known[-1]!r}, not {accounting!r}")
