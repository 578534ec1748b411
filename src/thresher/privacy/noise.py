"""Discrete Gaussian noise on integer counts, drawn exactly (Canonne, Kamath, Steinke 2020).

N_ℤ(0, σ²) gives an integer x probability ∝ exp(−x²/2σ²). Added to integer counts whose squared L2
sensitivity is Δ², it is Δ²/(2σ²)-zCDP (their section 2), and a sum of integers has no low bits
from which the true count could be read.

Why floating point cannot change what is drawn. The sampler is their Algorithms 2 and 3; where
these flip a coin of bias exp(−γ), γ rational, ours asks of a uniform real number "is U < exp(−γ)?".
A word w says that U lies in [w, w+1)·2⁻⁶⁴, and the double-precision value of exp(−γ) says where
the threshold lies up to a relative error below 2⁻⁴³ (argument at `_decide`). If w is clear of the
threshold by a relative band of 2⁻³², some two thousand times that error, the decision is certain,
and is the one exact arithmetic would take. Otherwise nothing is decided: the whole attempt is taken
again from the same words by `_attempt_exactly`, in rationals, drawing further bits of U as
needed. So the output is the same function of the same random bits as if all had been computed
exactly; the fast path only skips work.
"""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from math import exp, isqrt, sqrt
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from thresher.errors import ParameterError
from thresher.privacy.amounts import Amount, exact
from thresher.privacy.randomness import Randomness

BAND = 2.0**-32
LARGEST_VARIANCE = 2**80
"""Beyond σ = 2⁴⁰ ≈ 10¹² counts, int64 would no longer hold every draw with room to spare."""

_REJECTED, _ACCEPTED, _UNDECIDED, _OUT_OF_WORDS = 0, 1, 2, 3
_TWO_64 = 2.0**64
_LARGEST_WORD = np.uint64(2**64 - 1)


def variance_for(rho: Amount, sensitivity_squared: Amount = 1) -> Fraction:
    """Find σ² such that noise N_ℤ(0, σ²) costs ρ: Δ²/(2ρ), exactly, without rounding.

    Args:
        rho: The zCDP to be spent.
        sensitivity_squared: Δ², the squared L2 distance by which replacing one record can move
            the counts: 1 for one query, 2 for a whole marginal table.

    Returns:
        σ², in counts squared.

    Raises:
        ParameterError: The noise would not fit into 64 bits.

    Example:
        >>> variance_for("1/11", sensitivity_squared=2)
        Fraction(11, 1)
    """
    squared = exact(sensitivity_squared, "sensitivity_squared", ParameterError)
    return _checked(squared / (2 * exact(rho, "rho")))


def _checked(variance: Fraction) -> Fraction:
    if variance > LARGEST_VARIANCE:
        raise ParameterError(
            "the noise would not fit into 64-bit integers: its standard deviation would exceed "
            "2**40 counts; spend a larger rho"
        )
    return variance


def add_noise(
    counts: NDArray[np.integer[Any]],
    rho: Amount,
    sensitivity_squared: Amount,
    randomness: Randomness,
) -> tuple[NDArray[np.int64], float]:
    """Release integer counts at the price of ρ: the discrete Gaussian mechanism.

    Proof: Canonne, Kamath and Steinke 2020, section 2: noise N_ℤ(0, σ²) is Δ²/(2σ²)-zCDP.

    Nothing that can fail here depends on the counts' values. Should a sum pass 2⁶³ it wraps
    around, which is post-processing and gives nothing away; counts of records come nowhere near.

    Args:
        counts: Integers, of any shape.
        rho: The zCDP to be spent on all of them together.
        sensitivity_squared: Their joint squared L2 sensitivity.
        randomness: The source of the noise.

    Returns:
        The noisy counts, in the same shape, and σ.

    Raises:
        ParameterError: The counts are not integers, or the noise would not fit into 64 bits.

    Example:
        >>> from thresher.privacy.randomness import InsecureSeededRandomness
        >>> noisy, sigma = add_noise(np.array([40, 2]), "1/2", 1, InsecureSeededRandomness(0))
        >>> noisy.shape, sigma
        ((2,), 1.0)
    """
    if not np.issubdtype(counts.dtype, np.integer):
        raise ParameterError(f"counts must be integers, not {counts.dtype}; pass whole counts")
    variance = variance_for(rho, sensitivity_squared)
    noise = discrete_gaussian(variance, counts.size, randomness).reshape(counts.shape)
    noise += counts.astype(np.int64, copy=False)  # in its place: a table can be large
    return noise, sqrt(variance)


def discrete_gaussian(
    variance: Fraction,
    size: int,
    randomness: Randomness,
    band: float = BAND,
    multiples: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """Draw integers from N_ℤ(0, σ²), exactly.

    Proof: Canonne, Kamath and Steinke 2020, Algorithms 2 and 3. The top of this module argues that
    double precision decides nothing differently.

    Args:
        variance: σ², a rational above zero and at most 2⁸⁰.
        size: How many draws.
        randomness: The source of the words they are made of.
        band: How close to its threshold a word may come before the decision is taken in exact
            arithmetic; never less than the default. A band of 1 takes all of them so.
        multiples: For each draw, a whole number of at least 1 that σ² is multiplied with; 1 each
            if not given.

    Returns:
        The draws.

    Raises:
        ParameterError: A parameter is out of range.

    Example:
        >>> from thresher.privacy.randomness import SystemRandomness
        >>> discrete_gaussian(Fraction(25, 4), 5, SystemRandomness()).dtype
        dtype('int64')
    """
    variance = _checked(exact(variance, "variance", ParameterError))
    if size < 0 or band < BAND:
        raise ParameterError(f"size must be at least 0 and band at least 2**-32: {size=}, {band=}")
    variances, scales = _scaled(variance, size, multiples)
    draws = np.empty(size, dtype=np.int64)
    words = np.empty(0, dtype=np.uint64)
    filled = 0
    while filled < size:
        # Five to eight words make a draw; what remains of an unfinished attempt comes first.
        wanted = min(8 * (size - filled) + 32, 2**15)
        words = np.concatenate([words, randomness.words(wanted)])
        state = _ACCEPTED
        while filled < size and state != _OUT_OF_WORDS:
            filled, used, state = _fill(draws, filled, words, variances, scales, band)
            words = words[used:]
            if state == _UNDECIDED:
                bits = _Bits(words, randomness)
                times = 1 if multiples is None else int(multiples[filled])
                drawn = _attempt_exactly(bits, variance * times, int(scales[filled % len(scales)]))
                words = words[bits.used :]
                if drawn is not None:
                    draws[filled] = drawn
                    filled += 1
    return draws


def _scaled(
    variance: Fraction, size: int, multiples: NDArray[np.int64] | None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """σ² and the scale of the Laplace proposal in Algorithm 3, of each draw or one for all.

    The scale is the integer part of σ, plus one. Any other gives the same distribution, only more
    slowly, so it does no harm if the integer part of a rounded root is one off.
    """
    if multiples is None:
        scale = isqrt(variance.numerator // variance.denominator) + 1
        return np.array([float(variance)]), np.array([scale])
    if multiples.shape != (size,) or multiples.dtype != np.int64 or (multiples < 1).any():
        raise ParameterError("multiples must be whole numbers of at least 1, one for each draw")
    _checked(variance * int(multiples.max(initial=1)))
    variances = np.float64(variance) * multiples.astype(np.float64)
    return variances, np.sqrt(variances).astype(np.int64) + 1


class _Bits:
    """Uniform words, first those at hand and then fresh ones, and exact decisions about them."""

    def __init__(self, words: NDArray[np.uint64], randomness: Randomness) -> None:
        self._words = words
        self._randomness = randomness
        self.used = 0

    def word(self) -> int:
        self.used += 1
        if self.used <= len(self._words):
            return int(self._words[self.used - 1])
        return self._randomness.bits(64)

    def below_exp(self, gamma: Fraction) -> bool:
        """Decide whether a uniform real is below exp(−γ), reading as many of its bits as it takes.

        It ends with probability one: exp(−γ) is irrational unless γ = 0.
        """
        word, bits = self.word(), 64
        if gamma == 0:
            return True
        while True:
            low, high = exp_between(gamma, digits=bits // 3)
            if word + 1 <= low * 2**bits:
                return True
            if word >= high * 2**bits:
                return False
            word, bits = (word << 64) | self._randomness.bits(64), bits + 64


def exp_between(gamma: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Enclose exp(−γ); `Decimal.exp` is correctly rounded, so its neighbours enclose it."""
    # The least exponent keeps a hopelessly small exp(−γ) from becoming a giant fraction.
    down = Context(digits, ROUND_FLOOR, Emin=-4 * digits)
    up = Context(digits, ROUND_CEILING, Emin=-4 * digits)
    numerator, denominator = Decimal(-gamma.numerator), Decimal(gamma.denominator)
    low = down.next_minus(down.exp(down.divide(numerator, denominator)))
    high = up.next_plus(up.exp(up.divide(numerator, denominator)))
    return Fraction(low), Fraction(high)


def _attempt_exactly(bits: _Bits, variance: Fraction, scale: int) -> int | None:
    """Make one attempt at a draw, in rationals; None is a rejection, after which one tries anew.

    Algorithm 2 of the paper proposes Y from the discrete Laplace distribution of this scale;
    Algorithm 3 accepts it with probability exp(−(|Y| − σ²/scale)² / 2σ²).
    """
    last_fair = 2**64 - 1 - 2**64 % (2 * scale)
    while (word := bits.word()) > last_fair:
        pass
    offset, is_negative = divmod(word % (2 * scale), 2)
    if offset > 0 and not bits.below_exp(Fraction(offset, scale)):
        return None
    laps = 0
    while bits.below_exp(Fraction(1)):
        laps += 1
    size = offset + scale * laps
    if is_negative and size == 0:
        return None
    if not bits.below_exp((size - variance / scale) ** 2 / (2 * variance)):
        return None
    return -size if is_negative else size


@njit(cache=True, error_model="numpy")
def _decide(word: np.uint64, gamma: float, band: float) -> int:
    """Take the decision of `_Bits.below_exp` from a word alone, or leave it undecided.

    Three γ occur. 1 is exact; offset/scale is rounded once; the third is computed from σ² rounded
    up to three times (a fraction, a multiple, their product), in five operations. Its difference
    |Y| − σ²/scale may cancel, which leaves an absolute error of 5·2⁻⁵³·σ²/scale and moves γ by
    5·2⁻⁵³·|difference|/scale: below 60·2⁻⁵³ where γ ≤ 64, as |difference| ≤ 12σ ≤ 12·scale. The
    other roundings move γ by 7·2⁻⁵³·γ ≤ 448·2⁻⁵³; all in all by less than 2⁻⁴⁴. `exp` adds a few
    2⁻⁵³, and the conversion of the word another. Where γ > 64 the threshold is below 2⁻⁹⁰, which
    the two words of slack cover. A γ that is not a number, as σ² below the range of doubles would
    give, leaves the decision open.
    """
    threshold = _TWO_64 * exp(-gamma)
    slack = threshold * band + 2.0
    if float(word) < threshold - slack:
        return _ACCEPTED
    if float(word) > threshold + slack:
        return _REJECTED
    return _UNDECIDED


@njit(cache=True, error_model="numpy")
def _attempt(
    words: NDArray[np.uint64], at: int, variance: float, scale: int, band: float
) -> tuple[int, int | np.int64, int]:
    """Do what `_attempt_exactly` does, word for word; return the outcome, draw and next word."""
    end = len(words) - 3
    sides = np.uint64(2 * scale)
    last_fair = _LARGEST_WORD - (_LARGEST_WORD % sides + np.uint64(1)) % sides
    while at < end and words[at] > last_fair:
        at += 1
    if at >= end:
        return _OUT_OF_WORDS, 0, at
    side = np.int64(words[at] % sides)
    offset, is_negative = side // 2, side % 2 == 1
    at += 1
    if offset > 0:
        outcome = _decide(words[at], offset / scale, band)
        at += 1
        if outcome != _ACCEPTED:
            return outcome, 0, at
    laps = 0
    outcome = _decide(words[at], 1.0, band)
    at += 1
    while outcome == _ACCEPTED:
        if at >= end:
            return _OUT_OF_WORDS, 0, at
        laps += 1
        outcome = _decide(words[at], 1.0, band)
        at += 1
    if outcome == _UNDECIDED:
        return outcome, 0, at
    size = offset + scale * laps
    if is_negative and size == 0:
        return _REJECTED, 0, at
    gamma = (size - variance / scale) ** 2 / (2.0 * variance)
    outcome = _decide(words[at], gamma, band)
    return outcome, -size if is_negative else size, at + 1


@njit(cache=True, error_model="numpy")
def _fill(
    draws: NDArray[np.int64],
    filled: int,
    words: NDArray[np.uint64],
    variances: NDArray[np.float64],
    scales: NDArray[np.int64],
    band: float,
) -> tuple[int, int, int]:
    """Draw until done, out of words or undecided; an unfinished attempt leaves its words unused."""
    used = 0
    while filled < len(draws):
        of = filled % len(scales)
        outcome, draw, after = _attempt(words, used, variances[of], scales[of], band)
        if outcome in (_UNDECIDED, _OUT_OF_WORDS):
            return filled, used, outcome
        used = after
        if outcome == _ACCEPTED:
            draws[filled] = draw
            filled += 1
    return filled, used, _ACCEPTED
