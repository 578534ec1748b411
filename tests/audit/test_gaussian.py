"""Gaussian accounting promises no less δ than small vectors of noisy counts really have.

The exact δ is a sum over outputs, in double precision. Planted: noise that is 5 % too small, and
noise without the part that whole numbers cost. Choices beside noise are in `test_choices`.
"""

import math
from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.special import log_ndtr, ndtri_exp
from universe import data_sets, neighbours_of, records_of, schema_of

import thresher.privacy.curator
from thresher.privacy import Budget, Curator, InsecureSeededRandomness, Unit
from thresher.privacy.curator import REQUESTS
from thresher.privacy.gaussian import ADDED_VARIANCE, LEAST_VARIANCE, rho_of_noise
from thresher.privacy.gaussian_curve import point
from thresher.privacy.requests import Measure, MeasureTotal
from thresher.privacy.residuals import MeasureResiduals
from thresher.queries import Query, Threshold
from thresher.tables.contrasts import contrasts_of, squared_norms

MARGIN = 1e-9
EPSILONS = (0.0, 0.1, 0.3, 1.0, 2.0, 4.0)
VARIANCES = (LEAST_VARIANCE, Fraction(1, 2), Fraction(1), Fraction(7, 2), Fraction(16))
SHIFTS = ((1,), (2,), (5,), (1, -1), (3, 1), (1, -1, 1), (1, 2, -2))


def promised(epsilon, mu):
    return float(point(Decimal(epsilon), Decimal(mu)).delta)


def exact_delta(epsilon, variances, shifts):
    """δ of independent discrete Gaussians against themselves, each moved: Σ (P - e^ε Q)⁺.

    Outputs beyond 9σ are left out. All of them together have a probability below 1e-17.
    """
    logs, moved = np.zeros(1), np.zeros(1)
    for variance, shift in zip(map(float, variances), shifts, strict=True):
        far = math.ceil(9 * math.sqrt(variance)) + abs(shift)
        x = np.arange(-far, far + 1)
        total = np.log(np.exp(-(x**2) / (2 * variance)).sum())
        logs = np.add.outer(logs, -(x**2) / (2 * variance) - total).reshape(-1)
        moved = np.add.outer(moved, -((x - shift) ** 2) / (2 * variance) - total).reshape(-1)
    return float(np.maximum(np.exp(logs) - np.exp(epsilon + moved), 0).sum())


def largest_step(variance):
    """The largest h(k + 1) - h(k) of the proof, with h(k) = Φ⁻¹(P(X < k)), up to |k| = 30σ."""
    far = math.ceil(30 * math.sqrt(variance))
    k = np.arange(-far - 200, far + 201)
    logs = -(k**2) / (2 * variance)
    tails = np.logaddexp.accumulate(logs[::-1])[::-1] - np.logaddexp.reduce(logs)
    h = -ndtri_exp(tails[(k >= 1) & (k <= far)])
    return max(2 * h[0], np.diff(h, prepend=h[0]).max())


@pytest.mark.parametrize("variance", [float(v) for v in np.geomspace(1 / 3, 1e4, 40)])
def test_no_step_of_the_noise_is_larger_than_that_of_its_gaussian(variance):
    tau = math.sqrt(variance)
    assert largest_step(variance + float(ADDED_VARIANCE)) * tau <= 1
    # A twelfth in place of a ninth is not enough.
    if variance < 100:
        assert largest_step(variance + 1 / 12) * tau > 1


@pytest.mark.parametrize("width", [0.01, 0.1, 0.5, 1.0, math.sqrt(3)])
def test_cells_of_a_normal_distribution_are_as_log_concave_as_claimed(width):
    edges = np.arange(-1, 3) * width + np.linspace(0, 6, 50)[:, None]
    # Masses of cells right of the middle, by their lower tails, which keep their digits.
    low, high = log_ndtr(-edges[:, 1:]), log_ndtr(-edges[:, :-1])
    logs = high + np.log(-np.expm1(low - high))
    seconds = 2 * logs[:, 1] - logs[:, 0] - logs[:, 2]
    assert (seconds >= width**2 * (1 - width**2 / 12) - 1e-11).all()


@pytest.mark.parametrize("shifts", SHIFTS, ids=str)
@pytest.mark.parametrize("variance", VARIANCES, ids=str)
def test_noise_costs_no_more_than_the_curve_says(variance, shifts):
    mu = math.hypot(*shifts) / math.sqrt(variance)
    noise = [variance + ADDED_VARIANCE] * len(shifts)
    for epsilon in EPSILONS:
        assert exact_delta(epsilon, noise, shifts) <= promised(epsilon, mu) * (1 + MARGIN)


@pytest.mark.parametrize("variances", list(product((LEAST_VARIANCE, 2, 9), repeat=2)), ids=str)
def test_counts_with_different_noise_add_up(variances):
    shifts = (2, -3)
    mu = math.sqrt(sum(s**2 / v for s, v in zip(shifts, variances, strict=True)))
    noise = [v + ADDED_VARIANCE for v in variances]
    for epsilon in EPSILONS:
        assert exact_delta(epsilon, noise, shifts) <= promised(epsilon, mu) * (1 + MARGIN)


@pytest.mark.parametrize("shifts", SHIFTS, ids=str)
@pytest.mark.parametrize("variance", [Fraction(7, 2), Fraction(16)], ids=str)
def test_noise_that_is_five_percent_too_small_is_caught(variance, shifts):
    mu = math.hypot(*shifts) / math.sqrt(variance)
    noise = [(variance + ADDED_VARIANCE) * Fraction(95, 100) ** 2] * len(shifts)
    assert any(exact_delta(e, noise, shifts) > 1.01 * promised(e, mu) for e in EPSILONS)


def test_noise_without_what_whole_numbers_cost_is_caught():
    assert exact_delta(0, [Fraction(1)], [1]) > 1.01 * promised(0, 1)


# The wall, on a tiny universe.

SCHEMA = schema_of(2, 3)
TABLES = [Threshold(("a",)), Threshold(("b",)), Threshold(("a", "b"))]
PEOPLE = data_sets(SCHEMA, 2)
RHOS = (Fraction(1, 50), Fraction(1, 2), Fraction(40))


def curator_of(people, rho, unit=None):
    budget = Budget.from_rho(rho, is_gaussian=True)
    source = InsecureSeededRandomness(1)
    return Curator(records_of(SCHEMA, people), budget, unit=unit, randomness=source)


def table_of(people, features):
    places = [SCHEMA.index(name) for name in features]
    counts = np.zeros([SCHEMA.sizes[i] for i in places], dtype=np.int64)
    for person in people:
        counts[tuple(person[i] for i in places)] += 1
    return counts


def moved_squared(one, other, measured):
    """Σ v²/τ² over all counts that were measured, which must not exceed 2ρ."""
    total = 0.0
    for m in measured:
        v = table_of(one, m.threshold.features) - table_of(other, m.threshold.features)
        noise = np.full(v.shape, m.sigma**2)
        if hasattr(m, "contrasts"):
            v, noise = contrasts_of(v), m.sigma**2 * squared_norms(v.shape)
        total += (v**2 / (noise - float(ADDED_VARIANCE))).sum()
        assert noise.min() >= float(LEAST_VARIANCE + ADDED_VARIANCE) * (1 - 1e-12)
    return total


@pytest.mark.parametrize("rho", RHOS, ids=str)
@pytest.mark.parametrize("verb", ["tables", "residuals"])
def test_no_neighbour_moves_more_than_the_wall_was_paid_for(verb, rho):
    curator, largest = curator_of(PEOPLE[0], rho), 0.0
    if verb == "tables":
        measured = curator.measure(TABLES, rho=rho)
    else:
        measured = curator.measure_residuals(TABLES, [5, 2, 7], rho=rho)
    for people in PEOPLE:
        for other in neighbours_of(SCHEMA, people):
            largest = max(largest, moved_squared(people, other, measured))
    assert largest <= 2 * float(rho) * (1 + MARGIN)
    if rho < 1:
        assert largest > 1.7 * float(rho)  # it is not far from what was paid for


def test_a_count_and_n_get_their_noise_as_well():
    unit, rho = Unit("add-remove"), Fraction(1, 10)
    curator = curator_of(PEOPLE[0], 2 * rho, unit)
    total = curator.measure_total(rho=rho)
    [count] = curator.measure([Query.parse("a=a0", SCHEMA)], rho=rho)
    for sigma in (total.sigma, count.sigma):
        assert sigma**2 == pytest.approx(5 + 1 / 9)


def delta_of_a_coin(curator, epsilon, calls):
    """The exact δ of a table of two cells that is measured in several calls: one cell loses 1."""
    rho = curator.remaining / calls
    measured = [curator.measure(TABLES[:1], rho=rho)[0] for _ in range(calls)]
    [variance] = {round(m.sigma**2, 12) for m in measured}
    # All losses depend on one sum alone, Σ v·x, so its distribution is all that counts.
    far = math.ceil(12 * math.sqrt(variance))
    x = np.arange(-far, far + 1)
    one = np.exp(-(x**2) / (2 * variance))
    one /= one.sum()
    chances = np.ones(1)
    for _ in range(2 * calls):
        chances = np.convolve(chances, one)
    sums = np.arange(len(chances)) - len(chances) // 2
    loss = (2 * calls - 2 * sums) / (2 * variance)
    return float((chances * np.maximum(-np.expm1(epsilon - loss), 0)).sum())


@pytest.mark.parametrize("calls", [1, 2, 5])
@pytest.mark.parametrize(
    ("epsilon", "delta"), [("0.1", "1e-6"), ("1", "1e-9"), ("1", "1e-3"), ("4", "1e-6")]
)
def test_a_promise_of_epsilon_and_delta_is_kept_and_used(epsilon, delta, calls):
    budget = Budget.from_epsilon(epsilon, delta, "gaussian")
    curator = Curator(records_of(SCHEMA, PEOPLE[0]), budget, randomness=InsecureSeededRandomness(1))
    found = delta_of_a_coin(curator, float(epsilon), calls)
    assert 0.5 * float(delta) < found <= float(delta)


@pytest.mark.parametrize("calls", [1, 5])
def test_a_wall_with_noise_that_is_five_percent_too_small_is_caught(monkeypatch, calls):
    monkeypatch.setattr(
        thresher.privacy.curator, "rho_of_noise",
        lambda rho, least: rho_of_noise(rho, least) / Fraction(95, 100) ** 2,
    )  # fmt: skip
    budget = Budget.from_epsilon(1, "1e-6", "gaussian")
    curator = Curator(records_of(SCHEMA, PEOPLE[0]), budget, randomness=InsecureSeededRandomness(1))
    assert delta_of_a_coin(curator, 1.0, calls) > 1.5e-6


@pytest.mark.parametrize("jointly", [True, False])
def test_the_noise_that_is_drawn_is_the_noise_that_is_told(jointly):
    # 100,000 draws: the standard error of a variance is 0.45 %, and 5 % less noise is 10 % less.
    schema = schema_of(50, 50, 40)
    table, rho = Threshold(("a", "b", "c")), Fraction(1, 4) if jointly else Fraction(10**5)
    curator = Curator(
        records_of(schema, [(0, 0, 0)]), Budget.from_rho(rho, is_gaussian=True),
        randomness=InsecureSeededRandomness(3),
    )  # fmt: skip
    [measured] = curator.measure([table], rho=rho, jointly=jointly)
    drawn = measured.counts.reshape(-1)[1:]
    x = np.arange(-200, 201)
    chances = np.exp(-(x**2) / (2 * measured.sigma**2))
    expected = float((x**2 * chances).sum() / chances.sum())
    assert abs((drawn.astype(float) ** 2).mean() / expected - 1) < 5.5 * math.sqrt(2 / drawn.size)


def test_nothing_but_noisy_counts_tells_of_a_variance():
    gaussian = {Measure, MeasureResiduals, MeasureTotal}
    assert {kind for kind in REQUESTS if "least_variance" in vars(kind)} == gaussian
