"""Without sampling: the Rényi divergence between neighbours is at most αρ, for every order tried.

Selection is the exponential mechanism peeled K times, so the chance of every ordered choice can be
written down; noise is a known distribution on the integers. The sums are taken in logarithms, in
double precision: MARGIN is a thousand times what rounding can contribute at these sizes, and the
tightest cases are repeated with 60 digits. That the Curator does draw from these distributions is
shown at the end, and in tests/privacy.
"""

import math
from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import permutations

import numpy as np
import pytest
from scipy import stats
from universe import answers_from, data_sets, neighbours_of, records_of, schema_of, scores_of

from thresher.privacy import Budget, Curator, InsecureSeededRandomness
from thresher.privacy.ladder import selection_rate
from thresher.privacy.noise import variance_for
from thresher.queries import Threshold, Workload

FALSE_ALARM = 1e-7
MARGIN = 1e-9
ORDERS = (1.01, 1.05, 1.1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 8, 12, 20, 32, 64, 100, 200)
RHOS = (Fraction(1, 1000), Fraction(1, 11), Fraction(1, 2), Fraction(3), Fraction(50))

SCHEMA = schema_of(2, 3)
N = 2
WORKLOADS = {
    "coin": Workload(SCHEMA, [Threshold(("a",))]),
    "2 of 2": Workload(SCHEMA, [Threshold(("a", "b"), 2)]),
    "1 of 2": Workload(SCHEMA, [Threshold(("a", "b"), 1)]),
    "1-way": Workload(SCHEMA, [Threshold(("a",)), Threshold(("b",))]),
}


@cache
def score_pairs(name: str) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """All different pairs of score vectors that neighbours can have, for some public answers."""
    workload, source = WORKLOADS[name], np.random.default_rng(5)
    pairs = set()
    zeros, full = [0] * workload.query_count, [N] * workload.query_count
    for public in (zeros, full, *source.integers(0, N + 1, (4, workload.query_count)).tolist()):
        scores = {people: scores_of(people, workload, public) for people in data_sets(SCHEMA, N)}
        for people in scores:
            pairs |= {(scores[people], scores[other]) for other in neighbours_of(SCHEMA, people)}
    return sorted(pairs)


def log_sum(terms: np.ndarray) -> np.ndarray:
    """The logarithm of the sum of exponentials along the last axis."""
    top = terms.max(axis=-1, keepdims=True)
    return top[..., 0] + np.log(np.exp(terms - top).sum(axis=-1))


def log_chances(scores: Sequence[int], order: np.ndarray, rate: float) -> np.ndarray:
    """The logarithm of the chance of every ordered choice (row of `order`)."""
    weight = rate * np.asarray(scores, dtype=float)
    result = np.zeros(len(order))
    left = np.ones((len(order), len(scores)), dtype=bool)
    for choice in order.T:
        result += weight[choice] - log_sum(np.where(left, weight, -np.inf))
        left[np.arange(len(order)), choice] = False
    return result


def worst_share(name: str, count: int, rho: Fraction, rate: float) -> tuple[float, tuple]:
    """The largest D_α/(αρ) over neighbours and orders, and where it is reached."""
    choices = np.array(list(permutations(range(WORKLOADS[name].query_count), count)))
    pairs = score_pairs(name)
    chances = {one: log_chances(one, choices, rate) for one, _ in pairs}
    p = np.array([chances[one] for one, _ in pairs])
    q = np.array([chances[other] for _, other in pairs])
    assert np.abs(log_sum(p)).max() < 1e-12
    worst = (0.0, ())
    for order in ORDERS:
        shares = log_sum(order * p + (1 - order) * q) / (order - 1) / (order * float(rho))
        at = int(shares.argmax())
        worst = max(worst, (float(shares[at]), (*pairs[at], order)))
    return worst


@pytest.mark.parametrize("rho", RHOS, ids=str)
@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("coin", 1),
        *((name, count) for name in ("2 of 2", "1 of 2", "1-way") for count in (1, 2, 3)),
    ],
)
def test_selections_cost_no_more_than_they_pay(name, count, rho):
    share, where = worst_share(name, count, rho, float(selection_rate(rho / count)))
    assert share <= 1 + MARGIN / float(rho), where


@pytest.mark.parametrize(("name", "count"), [("coin", 1), ("1-way", 1), ("1-way", 2), ("1-way", 3)])
def test_the_printed_scale_of_algorithm_4_costs_twice_what_it_pays(name, count):
    # Its Gumbel scale is smaller by √2, so everything costs twice as much. With a coin (two queries
    # that one person moves apart) the honest scale spends all it paid, and the printed one double.
    rho = Fraction(1, 1000)
    honest, _ = worst_share(name, count, rho, float(selection_rate(rho / count)))
    printed, _ = worst_share(name, count, rho, float(selection_rate(2 * rho / count)))
    assert 0.7 < honest <= 1
    assert 1.4 < printed <= 2
    if name == "coin":
        assert honest > 0.99
        assert printed > 1.99


def test_the_tightest_selection_with_sixty_digits():
    rho = Fraction(1, 1000)
    rate = selection_rate(rho)
    _, (one, other, order) = worst_share("coin", 1, rho, float(rate))
    with localcontext() as context:
        context.prec = 60
        eta = Decimal(rate.numerator) / Decimal(rate.denominator)
        p, q = ([(eta * score).exp() for score in scores] for scores in (one, other))
        for exponent in {Decimal(order), *map(Decimal, ORDERS)}:
            total = sum(
                (a / sum(p)) ** exponent * (b / sum(q)) ** (1 - exponent)
                for a, b in zip(p, q, strict=True)
            )
            bound = exponent * Decimal(rho.numerator) / Decimal(rho.denominator)
            assert total.ln() / (exponent - 1) <= bound


def noise_divergence(variance: Fraction, shift: int, order: float) -> float:
    """D_α between N_ℤ(0, σ²) and the same moved by `shift`, summed over all integers that matter.

    p^α·q^(1−α) is a bell of width σ around (1−α)·shift; what lies 14σ or more from its middle is
    less than 10⁻⁴⁰ of it.
    """
    sigma, middle = math.sqrt(variance), (1 - order) * shift
    reach = math.ceil(14 * sigma) + 3
    x = np.arange(math.floor(middle) - reach, math.ceil(middle) + reach + 1)
    around = np.arange(-reach, reach + 1)
    log_total = log_sum(-(around**2) / (2 * float(variance)))
    # α·x² + (1−α)·(x−s)² = (x − (1−α)s)² + α(1−α)s², which keeps the sum free of cancellation.
    log_share = log_sum(-((x - middle) ** 2) / (2 * float(variance))) - log_total
    return float(log_share) / (order - 1) + order * shift**2 / (2 * float(variance))


@pytest.mark.parametrize("rho", [*RHOS, Fraction(1, 10**6)], ids=str)
@pytest.mark.parametrize("queries", [1, 7])
def test_noise_on_queries_costs_no_more_than_it_pays(queries, rho):
    # In the worst case one person moves each of the queries by 1.
    variance = variance_for(rho, queries)
    for order in ORDERS:
        cost = queries * noise_divergence(variance, 1, order)
        assert cost <= order * float(rho) + MARGIN
        if order == int(order):
            assert cost == pytest.approx(order * float(rho), rel=1e-9)  # nothing is wasted either


@pytest.mark.parametrize("rho", RHOS, ids=str)
@pytest.mark.parametrize("tables", [1, 4])
def test_noise_on_whole_tables_costs_no_more_than_it_pays(tables, rho):
    # One person leaves one cell of each table and enters another.
    variance = variance_for(rho, 2 * tables)
    for order in ORDERS:
        cost = sum(noise_divergence(variance, shift, order) for shift in (-1, 1)) * tables
        assert cost <= order * float(rho) + MARGIN


def test_noise_that_is_too_small_breaks_the_bound():
    rho = Fraction(1, 2)
    assert noise_divergence(variance_for(rho) / 4, 1, 2) > 2 * float(rho) * 3.9
    # An r-of-k table, had it been measured with the sensitivity of a marginal.
    variance = variance_for(rho, 2)
    moved = [1, 1, -1, -1]
    assert sum(noise_divergence(variance, shift, 2) for shift in moved) > 2 * float(rho) * 1.9


@pytest.mark.parametrize(("name", "count"), [("1-way", 1), ("1-way", 2), ("1 of 2", 2)])
def test_the_curator_draws_from_the_distribution_that_was_audited(name, count):
    workload, rho, draws = WORKLOADS[name], Fraction(1, 2), 4000
    people = ((0, 0), (0, 2))
    public = [1, 0, 2, 0, 1, 1][: workload.query_count]
    randomness = InsecureSeededRandomness(11)
    records, answers_of = records_of(SCHEMA, people), answers_from(workload, public, N)
    choices = np.array(list(permutations(range(workload.query_count), count)))
    scores = scores_of(people, workload, public)
    assert len(set(scores)) > 1
    chances = np.exp(log_chances(scores, choices, float(selection_rate(rho / count))))
    assert chances.min() * draws > 20
    seen = dict.fromkeys(map(tuple, choices.tolist()), 0)
    for _ in range(draws):
        curator = Curator(records, Budget.from_rho(rho), randomness=randomness)
        chosen = curator.select(workload, answers_of, count, rho=rho)
        seen[tuple(workload.id_of(query) for query in chosen)] += 1
    assert stats.chisquare(list(seen.values()), chances * draws).pvalue > FALSE_ALARM
    # The same draws are not those of the printed scale: the test can fail.
    printed = np.exp(log_chances(scores, choices, float(selection_rate(2 * rho / count))))
    assert stats.chisquare(list(seen.values()), printed * draws).pvalue < FALSE_ALARM
