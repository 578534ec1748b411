"""The sampler draws the discrete Gaussian and nothing else, and integers keep their secrets.

Statistical tests use a fixed number of draws. Each would raise a false alarm on one seed in 1e8, so
that all of them together stay below 1e-6; where the seed is fixed, the outcome is fixed too.
"""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import erfinv
from scipy.stats import chi2_contingency, chisquare

from thresher.errors import BudgetError, ParameterError
from thresher.privacy import noise
from thresher.privacy.noise import add_noise, discrete_gaussian, variance_for
from thresher.privacy.randomness import InsecureSeededRandomness, Randomness, SystemRandomness

FALSE_ALARM = 1e-8
SIGMAS = [0.3, 0.5, 1, 2.5, 10, 100, 1e3, 1e4]
DRAWS = 400_000


def squared(sigma: float) -> Fraction:
    return Fraction(str(sigma)) ** 2


def probabilities(sigma: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Every integer of probability above 1e-38 and its probability, in extended precision."""
    reach = int(13.2 * sigma) + 2
    support = np.arange(-reach, reach + 1)
    weights = np.exp(-((support / np.longdouble(str(sigma))) ** 2) / 2)
    return support, (weights / weights.sum()).astype(np.float64)


def bins(values: NDArray[np.int64], sigma: float) -> NDArray[np.int64]:
    """Number the bins, each a tenth of σ wide (at least one integer), the far tails at the ends."""
    width = max(1, int(sigma / 10))
    reach = int(13.2 * sigma / width) + 2
    return np.clip((values + width // 2) // width, -reach, reach) + reach


def pooled(expected: NDArray[np.float64], least: float = 20) -> NDArray[np.int64]:
    """Join neighbouring bins until each expects enough draws; returns where each one starts."""
    starts, mass = [0], 0.0
    for i, count in enumerate(expected):
        if mass >= least and expected[i:].sum() >= least:
            starts.append(i)
            mass = 0.0
        mass += count
    return np.array(starts)


def fit_to_exact(draws: NDArray[np.int64], sigma: float) -> float:
    """The p-value of Pearson's chi-square test of the draws against N_ℤ(0, σ²)."""
    support, probability = probabilities(sigma)
    expected = np.bincount(bins(support, sigma), weights=probability) * len(draws)
    observed = np.bincount(bins(draws, sigma), minlength=len(expected))
    starts = pooled(expected)
    assert len(starts) >= 3
    expected = np.add.reduceat(expected, starts)
    # scipy wants equal sums to the last bits.
    return float(
        chisquare(
            np.add.reduceat(observed, starts), expected * (len(draws) / expected.sum())
        ).pvalue
    )


@pytest.mark.parametrize("sigma", SIGMAS)
def test_draws_have_the_exact_probabilities(sigma: float) -> None:
    draws = discrete_gaussian(squared(sigma), DRAWS, InsecureSeededRandomness(1))
    assert fit_to_exact(draws, sigma) > FALSE_ALARM


@pytest.mark.parametrize("sigma", SIGMAS)
def test_the_same_test_catches_a_sigma_two_percent_off(sigma: float) -> None:
    draws = discrete_gaussian(squared(1.02 * sigma), DRAWS, InsecureSeededRandomness(1))
    assert fit_to_exact(draws, sigma) < FALSE_ALARM


@pytest.mark.parametrize("sigma", [0.5, 30])
def test_draws_from_the_operating_system_have_them_too(sigma: float) -> None:
    assert fit_to_exact(discrete_gaussian(squared(sigma), DRAWS, SystemRandomness()), sigma) > (
        FALSE_ALARM
    )


@pytest.mark.parametrize("sigma", [1e3, 1e4, 1e6])
@pytest.mark.parametrize("modulus", [2, 7, 64])
def test_a_wide_noise_has_no_texture(sigma: float, modulus: int) -> None:
    draws = discrete_gaussian(squared(sigma), DRAWS, InsecureSeededRandomness(2))
    assert chisquare(np.bincount(draws % modulus)).pvalue > FALSE_ALARM


@pytest.mark.parametrize("sigma", [0.5, 2.5, 100])
def test_draws_agree_with_opendp(sigma: float) -> None:
    dp.enable_features("contrib")
    count = 50_000
    oracle = dp.m.make_gaussian(
        dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float), scale=sigma
    )
    theirs = bins(np.array(oracle([0] * count)), sigma)
    ours = bins(discrete_gaussian(squared(sigma), count, InsecureSeededRandomness(3)), sigma)
    length = max(theirs.max(), ours.max()) + 1
    table = np.array([np.bincount(each, minlength=length) for each in (theirs, ours)])
    starts = pooled(table.sum(axis=0), least=40)
    assert chi2_contingency(np.add.reduceat(table, starts, axis=1)).pvalue > FALSE_ALARM


@given(
    variance=st.fractions(min_value=Fraction(1, 1000), max_value=10**12),
    seed=st.integers(0, 2**32),
    band=st.sampled_from([1.0, 0.01]),
)
@settings(max_examples=40, deadline=None)
def test_the_fast_path_draws_what_exact_arithmetic_draws(
    variance: Fraction, seed: int, band: float
) -> None:
    fast = discrete_gaussian(variance, 40, InsecureSeededRandomness(seed))
    slow = discrete_gaussian(variance, 40, InsecureSeededRandomness(seed), band=band)
    assert np.array_equal(fast, slow)


@given(
    variance=st.fractions(min_value=Fraction(1, 1000), max_value=10**6),
    multiples=st.lists(st.integers(1, 10**12), min_size=40, max_size=40),
    seed=st.integers(0, 2**32),
    band=st.sampled_from([1.0, 0.01]),
)
@settings(max_examples=40, deadline=None)
def test_multiples_of_a_variance_are_drawn_as_exact_arithmetic_draws_them(
    variance: Fraction, multiples: list[int], seed: int, band: float
) -> None:
    times = np.array(multiples)
    fast = discrete_gaussian(variance, 40, InsecureSeededRandomness(seed), multiples=times)
    slow = discrete_gaussian(variance, 40, InsecureSeededRandomness(seed), band, times)
    assert np.array_equal(fast, slow)


def test_each_multiple_of_a_variance_has_the_exact_probabilities() -> None:
    sigmas = np.array([1, 2, 10])
    times = np.tile(sigmas**2, 100_000)
    draws = discrete_gaussian(
        squared(0.5), len(times), InsecureSeededRandomness(6), multiples=times
    )
    for sigma, some in zip(sigmas, draws.reshape(-1, 3).T, strict=True):
        assert fit_to_exact(some, 0.5 * sigma) > FALSE_ALARM


def test_exact_arithmetic_alone_has_the_exact_probabilities() -> None:
    draws = discrete_gaussian(Fraction(9, 4), 5_000, InsecureSeededRandomness(4), band=1.0)
    assert fit_to_exact(draws, 1.5) > FALSE_ALARM


def test_the_number_of_draws_does_not_depend_on_how_the_words_arrive() -> None:
    for size in (0, 1, 5, 100, 20_000):
        draws = discrete_gaussian(Fraction(5), size, InsecureSeededRandomness(size))
        assert draws.shape == (size,)


def threshold(gamma: Fraction, bits: int) -> int:
    """The first `bits` bits of exp(−γ), to well beyond the precision of anything under test."""
    with localcontext(prec=200):
        power = (Decimal(-gamma.numerator) / Decimal(gamma.denominator)).exp()
        return int(power * 2**bits)


class Scripted(Randomness):
    """A source that plays back given words, to put a decision where one wants it."""

    def __init__(self, words: list[int]) -> None:
        self._left = words

    def words(self, count: int) -> NDArray[np.uint64]:
        played, self._left = self._left[:count], self._left[count:]
        assert len(played) == count
        return np.array(played, dtype=np.uint64)


@pytest.mark.parametrize("gamma", [Fraction(1), Fraction(1, 3), Fraction(10**6 + 1, 10**6)])
def test_a_word_on_the_threshold_is_decided_by_the_bits_that_follow(gamma: Fraction) -> None:
    digits = threshold(gamma, 192)
    first, second, third = digits >> 128, (digits >> 64) % 2**64, digits % 2**64
    for script, expected in [
        ([first, second, third - 1], True),
        ([first, second, third + 1], False),
        ([first, second - 1], True),
        ([first, second + 1], False),
        ([first - 1], True),
        ([first + 1], False),
    ]:
        bits = noise._Bits(np.empty(0, dtype=np.uint64), Scripted(script))
        assert bits.below_exp(gamma) is expected


@pytest.mark.parametrize("gamma", [Fraction(10**9), Fraction(1, 10**300), Fraction(0)])
def test_extreme_thresholds_are_decided(gamma: Fraction) -> None:
    bits = noise._Bits(np.empty(0, dtype=np.uint64), Scripted([0, 0, 5]))
    assert bits.below_exp(gamma) is (gamma < 1)


@given(
    sigma=st.floats(0.1, 1e6),
    along=st.floats(0, 6),
    nudge=st.sampled_from([-1.0, 1.0]),
)
@settings(max_examples=300, deadline=None)
def test_what_the_kernel_decides_just_outside_its_band_is_right(
    sigma: float, along: float, nudge: float
) -> None:
    """Two bands off the true threshold, the decision must be taken, and taken correctly.

    Its double-precision threshold may therefore be wrong by no more than one band.
    """
    variance = Fraction(sigma) ** 2
    scale = int(sigma) + 1
    size = int(along * sigma)
    gamma = (size - variance / scale) ** 2 / (2 * variance)
    assume(gamma < 30)
    laps, offset = divmod(size, scale)
    word = int(threshold(gamma, 64) * (1 + nudge * 2**-31)) + int(4 * nudge)
    assume(0 <= word < 2**64)
    script = [2 * offset, *([0] if offset else []), *([0] * laps), 2**64 - 1, word, 0, 0, 0]
    outcome, drawn, _ = noise._attempt(
        np.array(script, dtype=np.uint64), 0, float(variance), scale, noise.BAND
    )
    assert outcome == (noise._ACCEPTED if nudge < 0 else noise._REJECTED)
    assert drawn == size


def test_a_variance_below_the_range_of_doubles_still_works() -> None:
    draws = discrete_gaussian(Fraction(1, 10**400), 20, InsecureSeededRandomness(5))
    assert not draws.any()


@given(rho=st.fractions(min_value="1/1000000", max_value=100), squared=st.integers(1, 9))
def test_the_variance_costs_exactly_what_was_asked(rho: Fraction, squared: int) -> None:
    assert squared / (2 * variance_for(rho, squared)) == rho


def test_noise_is_added_in_place_of_nothing_else() -> None:
    counts = np.arange(6, dtype=np.int32).reshape(2, 3)
    noisy, sigma = add_noise(counts, "1/50", 2, InsecureSeededRandomness(6))
    alone = discrete_gaussian(Fraction(50), 6, InsecureSeededRandomness(6))
    assert np.array_equal(noisy, counts + alone.reshape(2, 3))
    assert noisy.dtype == np.int64
    assert sigma == pytest.approx(50**0.5)
    assert counts.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_mistakes_are_refused_by_name() -> None:
    source = SystemRandomness()
    with pytest.raises(ParameterError, match="counts must be integers, not float64"):
        add_noise(np.zeros(3), 1, 1, source)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"would not fit into 64-bit.*larger rho"):
        add_noise(np.zeros(3, dtype=np.int64), 1e-30, 1, source)
    with pytest.raises(ParameterError, match="sensitivity_squared must be"):
        variance_for(1, 0)
    with pytest.raises(BudgetError, match="rho must be"):
        variance_for(-1)
    with pytest.raises(ParameterError, match="variance must be"):
        discrete_gaussian(Fraction(0), 1, source)
    with pytest.raises(ParameterError, match="size must be at least 0"):
        discrete_gaussian(Fraction(1), -1, source)
    with pytest.raises(ParameterError, match="band at least"):
        discrete_gaussian(Fraction(1), 1, source, band=0.0)


# The precision attack (after Mironov 2012). Normal noise in float32 is made from 23 uniform bits,
# as JAX makes it: only 2²³ values can occur. Added to a true answer in float32, they reach only
# part of the floats nearby, and another part from another answer. Whoever sees an output that one
# candidate cannot have produced knows that it was the other.

RECORDS, COUNT, ANSWERS, TRIALS = 1000, 300, 64, 50


def float32_noise() -> NDArray[np.float32]:
    """All values, in rising order, that 23 bits can become through the inverse normal."""
    uniform = np.arange(2**23, dtype=np.float32) * np.float32(2**-22) + np.nextafter(
        np.float32(-1), np.float32(0)
    )
    return np.float32(np.sqrt(2)) * erfinv(uniform)


def reaches(support: NDArray[np.generic], outputs: NDArray[np.generic]) -> NDArray[np.bool_]:
    at = np.searchsorted(support, outputs).clip(max=len(support) - 1)
    return support[at] == outputs


def test_float32_noise_gives_the_true_answer_away() -> None:
    values = float32_noise()
    generator = np.random.default_rng(7)
    sigma = np.float32(0.25)
    answers = [np.float32(c) / np.float32(RECORDS) for c in (COUNT, COUNT + 1)]
    supports = [answer + sigma * values for answer in answers]
    assert supports[0].dtype == np.float32
    right = 0
    for trial in range(TRIALS):
        truth = trial % 2
        seen = answers[truth] + sigma * generator.choice(values, ANSWERS)
        possible = [bool(reaches(support, seen).all()) for support in supports]
        assert possible[truth]
        right += not possible[1 - truth]
    assert right == TRIALS


def test_integer_noise_does_not() -> None:
    sigma = 25.0
    many = discrete_gaussian(squared(sigma), 1_000_000, InsecureSeededRandomness(8))
    values = np.unique(many)
    # Three σ on either side, an integer missing after a million draws has probability below e^-170.
    middle = np.arange(-75, 76)
    assert reaches(values, middle).all()
    supports = [count + values for count in (COUNT, COUNT + 1)]
    ruled_out = 0
    for trial in range(TRIALS):
        counts = np.full(ANSWERS, COUNT + trial % 2)
        seen, _ = add_noise(counts, Fraction(1, 1250), 1, InsecureSeededRandomness(100 + trial))
        telling = seen[np.abs(seen - COUNT) < 74]
        ruled_out += sum(not reaches(support, telling).all() for support in supports)
    assert ruled_out == 0
