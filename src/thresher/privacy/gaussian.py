"""Gaussian accounting: what discrete Gaussian noise promises, if nothing but noise is asked for.

ρ-zCDP is a bound that every mechanism of that ρ keeps. A mechanism that only adds Gaussian noise
keeps more: it is μ-GDP with μ = √(2ρ) (Gaussian differential privacy; Dong, Roth and Su 2022). That
is, to tell two neighbours apart by its output is at least as hard as to tell N(0, 1) from N(μ, 1).
The exact (ε, δ) of that are in `gaussian_curve`. For the same (ε, δ), noise is 4 to 8 % smaller.

Our noise is discrete. This is the proof that noise N_ℤ(0, σ²) on a count that moves by v is
(|v|/τ)-GDP if

    σ² = τ² + 1/9  and  τ² ≥ 1/3.                                                               (1)

*The noise of one count.* Let X be of N_ℤ(0, σ²), p(k) = P(X = k), and h(k) = Φ⁻¹(P(X < k)). The
best tests of X against X + v, for v > 0, reject where the output is at least some k, for the ratio
of their probabilities rises. Such a test errs with probability α = P(X ≥ k) = 1 - Φ(h(k)) on the
one side and P(X + v < k) = Φ(h(k - v)) on the other. For N(0, 1) against N(μ, 1) and the same α it
is Φ(h(k) - μ), which is convex in α. So X against X + v is no easier than that if
h(k) - h(k - v) ≤ μ for all k: all other best tests mix those of k and k + 1, and their errors lie
on a chord. It is enough to show that

    h(k + 1) - h(k) ≤ c = 1/τ  for all k,                                                       (2)

and to add up v such steps. By symmetry, the same holds for X + v against X, and for v < 0.

*Cells of a normal distribution.* For a fixed a, let M_j = Φ(a + (j+1)c) - Φ(a + jc). It is f(x) at
the middle x of the cell, where f(x) is the integral of φ(x + u) over |u| ≤ c/2. There
(ln f)″ = -1 + V, where V is the variance of u of the density ∝ exp(-xu - u²/2) on that interval.
V ≤ c²/12: let t fall from 1 to 0 in the density ∝ exp(-yu - tu²/2), and choose y for every t so
that the mean stays the same. The derivative of the variance by t is then -1/2 times the part of the
variance of u² that u does not explain by regression, so it is not positive. At t = 0 the density is
exponential, and its variance is (c²/4)·(1/s² - 1/sinh² s) ≤ c²/12 with s = yc/2; for
(3 - s²)·sinh² s ≤ 3s², because sinh² s = Σ 2^(2j-1) s^(2j)/(2j)!, in which each coefficient from
s⁴ on is at most a third of the one before. So (ln f)″ ≤ -(1 - c²/12), and

    2 ln M_j - ln M_(j-1) - ln M_(j+1) ≥ c²·(1 - c²/12) ≥ 1/σ².                                 (3)

The last inequality is (1): with c = 1/τ it says (τ² + 1/9)(12τ² - 1) ≥ 12τ⁴, that is, τ² ≥ 1/3.

*Proof of (2).* Suppose h(k + 1) > h(k) + c. Let a = h(k), and w_j = p(k + j)/M_j for all whole j.
Then w_0 > 1. The second differences of ln p are -1/σ², so by (3) those of ln w_j are not negative:
ln w_j is convex. The M_j with j ≥ 0 add up to 1 - Φ(a) = P(X ≥ k), as the p(k + j) do. So some
w_i < 1 with i > 0, and ln w falls from 0 to i. It is convex, so it falls everywhere to the left of
0, and w_j > w_0 > 1 for all j < 0. But the M_j with j < 0 add up to Φ(a) = P(X < k), as the
p(k + j) do. Their ratios cannot all exceed 1. ∎

*All counts of an account.* Let neighbours move the counts of a call by v_i, and their noise have
τ_i. What the wall knows of the call is Σ v_i²/τ_i² ≤ 2ρ_j, where ρ_j is its price. Let B be a
Brownian motion with drift b·t, and b = 0 for one neighbour and 1 for the other. An increment of B
over a time s, divided by √s, is N(b√s, 1). By (2) and Blackwell's theorem, there is a random
function of N(b·|v_i|/τ_i, 1) that has the distribution of the noisy count of that neighbour. So let
each count take an increment over the time v_i²/τ_i². Calls may depend on results of earlier calls,
in what they ask and in what they pay: an increment is independent of those before it. As all calls
together pay at most ρ, their results follow from B up to the time 2ρ, and the two B up to then are
told apart by their end alone, N(b·2ρ, 2ρ). That is √(2ρ)-GDP. (For such filters in general, see
Smith and Thakurta 2022, and Koskela, Tobaben and Honkela 2023.) ∎

Selections are not Gaussian noise. A Curator whose budget or ledger has this accounting refuses them
before they are paid for. All that it answers is also ρ-zCDP: (1) is more noise than ρ asks for.
`tests/audit/test_gaussian.py` compares the promised δ with the exact one of small vectors.
"""

from fractions import Fraction

LEAST_VARIANCE = Fraction(1, 3)
"""τ² of (1), at least. Where ρ asks for less noise, the noise is that of this τ²."""

ADDED_VARIANCE = Fraction(1, 9)
"""What whole numbers cost: σ² - τ² of (1). With 1/12, (2) would fail by a little."""


def rho_of_noise(rho: Fraction, least: Fraction) -> Fraction:
    """Find the ρ whose noise a call that pays ρ gets, so that (1) holds for all of its counts.

    All of its variances are larger by one factor, which the smallest of them needs.

    Args:
        rho: What is paid.
        least: The smallest variance of the noise that ρ buys by zCDP.

    Returns:
        A smaller ρ.

    Example:
        >>> rho_of_noise(Fraction(1, 50), least=Fraction(25)) / Fraction(1, 50)
        Fraction(225, 226)
    """
    return rho * least / (max(least, LEAST_VARIANCE) + ADDED_VARIANCE)
