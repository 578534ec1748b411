"""Gaussian accounting: what discrete Gaussian noise promises, and what choices beside it cost.

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

*Choices.* A choice by the exponential mechanism with the rate η is c-zCDP, c = η²/2, and not GDP
with μ = √(2c). But noise that is still to come blurs what it tells. If a choice pays ρ, and R > 0
is what is left of the budget after it, all results of the account together are as hard to tell
apart as above if

    1/c = 1/ρ + 1/R.                                                                            (4)

Let X be the ratio of the probabilities of the choice under the two neighbours. The mean of X is 1
under the neighbour in the denominator, which all means here are under, and ln X lies in an interval
of length 2η: one unit moves a score by at most 1 (Durfee and Rogers 2019). Let L(s) be log-normal
of mean 1, where ln L(s) has the variance s. It is the ratio for N(0, 1) against N(√s, 1).

*Lemma.* With (4), and L(2R) independent of X, E φ(X·L(2R)) ≤ E φ(L(2R + 2ρ)) for every convex φ
that grows at most linearly, as all below do. Proof: let g and f be the densities of the logarithms
of both. Then (ln g)″ = -1/(2R) + V/(2R)², where V is the variance of ln X given ln X + ln L(2R). V
≤ η² = 2c, for no variable in an interval of length 2η varies more. And (ln f)″ = -1/(2R + 2ρ). So
(ln g/f)″ ≤ 0 if c/(2R²) ≤ ρ/(2R(R + ρ)), which is (4). So g/f is below 1, then above it, then below
it again, at most. Both variables have the mean 1. So if g ≠ f, there are two changes, as with fewer
of them one mean would be larger. Let the line l agree with φ at these two places. E φ(L(2R + 2ρ)) -
E φ(X·L(2R)) is the integral of (φ - l)(f - g), and the two factors have the same sign everywhere. ∎

*The account with choices.* Let x be the ratio of the probabilities of all results so far, and S
what is left of the budget, which depends on these results alone. For every convex φ, the mean of
φ(x·L(2S)) never rises from one call to the next. For noise this is Blackwell's theorem, applied to
r ↦ E φ(x·r·L(2S)) with S after the call, and for a choice it is the lemma, applied to r ↦ φ(x·r).
At first it is E φ(L(2ρ)) for the whole budget ρ. At last it is at least E φ(x), by Jensen's
inequality. So E φ(x) ≤ E φ(L(2ρ)) for all convex φ, which is √(2ρ)-GDP (Blackwell again). What is
left at the end counts as spent: the promise is that of the whole budget. ∎

A call of K choices, one after the other, pays ρ/K for each, and at least R is left after each. So
1/c = 1/ρ + 1/(K·R) for all of them together. Between the payment for a choice and its result nobody
else may pay, or less would be left when it is drawn; a Curator sees to that.

Where a budget is a part of a larger one, R is what is left of the part. A ledger cannot know what
is left of the fits that share it, and two fits may pay at the same time. So a ledger of this
accounting pays for noisy counts alone, and a Curator refuses choices on it before they are paid
for. Everything that is answered is also ρ-zCDP: (1) is more noise, and (4) a smaller rate, than ρ
asks for. `tests/audit/test_gaussian.py` compares the promised δ with the exact one of small
vectors, and `tests/audit/test_choices.py` does so for choices among them.
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


def rho_of_choices(rho: Fraction, left: Fraction, count: int) -> Fraction:
    """Find the ρ of zCDP at which a call of choices that pays ρ is drawn, by (4).

    Args:
        rho: What is paid for all of them.
        left: What is left of the budget after that, above 0.
        count: How many choices there are.

    Returns:
        A smaller ρ.

    Example:
        >>> rho_of_choices(Fraction(1, 3), left=Fraction(2, 3), count=1)
        Fraction(2, 9)
    """
    return rho * count * left / (rho + count * left)
