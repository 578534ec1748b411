"""The exact (ε, δ) curve of Gaussian noise: N(0, 1) against N(μ, 1), with μ = √(2ρ).

For every ε ≥ 0, with a = ε/μ - μ/2 and b = ε/μ + μ/2 (Balle and Wang 2018; Dong, Roth and Su 2022),

    δ(ε, μ) = Φ(-a) - e^ε·Φ(-b)

is the least δ. It is computed to more than 30 digits, by 1/2 - Φ(-x) = φ(x)·S(x) with the series
S(x) = Σ x^(2j+1)/(2j+1)!! of positive terms, and φ(a) = e^ε·φ(b):

    δ(ε, μ) = φ(a)·(S(b) - S(a)) - (e^ε - 1)/2.

What cancels there is known beforehand, and as many digits more are used. μ and ε are found by
Newton's method for ln δ, from the side on which the promise is kept: the tight conversion holds for
every mechanism of ρ-zCDP. It stays on that side, because ln δ is concave in ln μ and in ε. (δ is
the integral of s·φ(ε/s - s/2) over ln s up to ln μ, and minus the logarithm of this is convex in
ln s. And δ is the convolution, at ε, of a normal density with t ↦ max(0, 1 - e^-t), which are both
log-concave.) So rounding aside, stopping early costs tightness, never safety.
"""

from decimal import Context, Decimal
from typing import NamedTuple

MOST_STEPS = 100
CLOSE = Decimal("1e-20")
_SPARE = 60
_LOG10_E = 0.4343


class Point(NamedTuple):
    """The curve of one μ at one ε, with its derivatives by ln μ and by ε."""

    delta: Decimal
    by_log_mu: Decimal
    by_epsilon: Decimal


def point(epsilon: Decimal, mu: Decimal) -> Point:
    """Find δ of the curve, to 30 digits.

    Args:
        epsilon: ε of at least 0.
        mu: μ above 0.

    Example:
        >>> f"{point(Decimal(1), Decimal(1)).delta:.10f}"
        '0.1269367375'
    """
    rough = float(epsilon) / float(mu) + float(mu) / 2
    digits = _SPARE + int(_LOG10_E * (rough**2 / 2 + float(epsilon))) + 2 * len(str(int(rough)))
    c = Context(prec=digits + max(0, -mu.adjusted()))
    ratio, half = c.divide(epsilon, mu), c.divide(mu, 2)
    a, b = c.subtract(ratio, half), c.add(ratio, half)
    squared = c.divide(c.multiply(a, a), -2)
    density = c.divide(c.exp(squared), c.sqrt(c.multiply(2, _pi(c))))
    odds, above = c.exp(epsilon), _series(b, c)
    difference = c.multiply(density, c.subtract(above, _series(a, c)))
    delta = c.subtract(difference, c.divide(c.subtract(odds, 1), 2))
    tail = c.subtract(c.divide(odds, 2), c.multiply(density, above))
    return Point(delta, c.multiply(mu, density), c.minus(tail))


def largest_mu(epsilon: Decimal, delta: Decimal, start: Decimal) -> Decimal:
    """Find the largest μ with δ(ε, μ) ≤ δ, from a smaller one."""
    c, mu = Context(prec=_SPARE), start
    for _ in range(MOST_STEPS):
        at = point(epsilon, mu)
        short = c.ln(c.divide(delta, at.delta))
        step = c.divide(c.multiply(short, at.delta), at.by_log_mu)
        if step < CLOSE:
            break
        mu = c.multiply(mu, c.exp(step))
    return mu


def smallest_epsilon(mu: Decimal, delta: Decimal, start: Decimal) -> Decimal:
    """Find the smallest ε ≥ 0 with δ(ε, μ) ≤ δ, from a larger one."""
    c, epsilon = Context(prec=_SPARE), start
    if point(Decimal(0), mu).delta <= delta:
        return Decimal(0)
    for _ in range(MOST_STEPS):
        at = point(epsilon, mu)
        short = c.ln(c.divide(delta, at.delta))
        step = c.divide(c.multiply(short, at.delta), at.by_epsilon)
        if c.minus(step) < c.multiply(CLOSE, epsilon):
            break
        epsilon = c.add(epsilon, step)
    return epsilon


def _series(x: Decimal, c: Context) -> Decimal:
    """S(x): each term is the one before times x²/(2j + 1)."""
    squared, term, total, odd = c.multiply(x, x), x, x, 1
    falling = c.multiply(2, squared)
    # Once a term is below half of the one before, all that are left are below it.
    while odd < falling or total.adjusted() - term.adjusted() <= c.prec:
        odd += 2
        term = c.divide(c.multiply(term, squared), odd)
        total = c.add(total, term)
        if not term:
            break
    return total


def _pi(c: Context) -> Decimal:
    """π, by the arithmetic-geometric mean: every step doubles the digits."""
    mean, other, spread, weight = Decimal(1), c.sqrt(Decimal("0.5")), Decimal("0.25"), 1
    for _ in range(c.prec.bit_length()):
        before = mean
        mean = c.divide(c.add(mean, other), 2)
        other = c.sqrt(c.multiply(before, other))
        gap = c.subtract(before, mean)
        spread = c.subtract(spread, c.multiply(weight, c.multiply(gap, gap)))
        weight *= 2
    both = c.add(mean, other)
    return c.divide(c.multiply(both, both), c.multiply(4, spread))
