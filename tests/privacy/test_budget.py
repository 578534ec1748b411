"""The arithmetic of the budget is exact, and its conversions err on the safe side only."""

import decimal
import itertools
import math
import threading
import warnings
from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate

from thresher.errors import BudgetError, ParameterError
from thresher.privacy.budget import Account, Budget, PrivacyWarning, epsilon_of, exact, rho_of

EPSILONS = [float(e) for e in np.geomspace(1e-3, 20, 12)]
DELTAS = [float(d) for d in np.geomspace(1e-15, 1e-2, 8)]
PI = decimal.Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640629")
epsilons = st.floats(1e-3, 20)
deltas = st.floats(1e-15, 1e-2)
accountings = st.sampled_from(["tight", "paper", "gaussian"])


def opendp_epsilon(rho: float, delta: float) -> float:
    """ε by OpenDP's own conversion of a measurement that is declared to be ρ-zCDP."""
    dp.enable_features("contrib", "honest-but-curious")
    declared = dp.m.make_user_measurement(
        dp.atom_domain(T=int),
        dp.absolute_distance(T=int),
        dp.zero_concentrated_divergence(),
        lambda _: 0,
        lambda _: rho,
    )
    return float(dp.c.make_zCDP_to_approxDP(declared).map(1).epsilon(delta))


def log_delta(order: float, rho: float, epsilon: float) -> float:
    """The logarithm of the δ that Rényi divergence of one order proves, as the paper prints it."""
    return (
        (order - 1) * (order * rho - epsilon) - math.log(order - 1) + order * math.log1p(-1 / order)
    )


@pytest.mark.parametrize("delta", DELTAS)
def test_the_tight_conversion_agrees_with_opendp_and_is_never_less_safe(delta: float) -> None:
    for epsilon in EPSILONS:
        rho = rho_of(epsilon, delta)
        theirs = opendp_epsilon(float(rho), delta)
        assert theirs <= epsilon
        assert theirs == pytest.approx(epsilon, rel=1e-9)
        ours = epsilon_of(float(rho), delta)
        assert theirs <= ours
        assert ours == pytest.approx(theirs, rel=1e-9)


@given(epsilon=epsilons, delta=deltas)
@settings(max_examples=50, deadline=None)
def test_a_little_more_rho_than_the_tight_one_would_break_the_promise(
    epsilon: float, delta: float
) -> None:
    rho = float(rho_of(epsilon, delta)) * (1 + 1e-9)
    orders = 1 + np.exp(np.linspace(-12, 20, 2000))
    assert min(log_delta(float(a), rho, epsilon) for a in orders) > math.log(delta)


def log_delta_of_noise(epsilon: float, mu: float) -> float:
    """ln δ of N(0, 1) against N(μ, 1), by an integral that shares nothing with the package.

    δ(ε, μ) is the integral of φ(ε/s - s/2) over s from 0 to μ.
    """
    top = -((epsilon / mu - mu / 2) ** 2) / 2
    least = max(0.0, mu * (1 - 60 / max(1.0, (epsilon / mu) ** 2 - mu**2 / 4)))
    value, _ = integrate.quad(
        lambda s: math.exp(-((epsilon / s - s / 2) ** 2) / 2 - top) if s else 0.0,
        least, mu, epsabs=0, epsrel=1e-12, limit=500,
    )  # fmt: skip
    return top + math.log(value / math.sqrt(2 * math.pi))


@given(epsilon=epsilons, delta=deltas)
@settings(max_examples=100, deadline=None)
def test_the_gaussian_conversion_is_the_exact_curve_and_never_less_safe(
    epsilon: float, delta: float
) -> None:
    rho = rho_of(epsilon, delta, "gaussian")
    assert rho > rho_of(epsilon, delta)
    mu = math.sqrt(2 * rho)
    # ln δ grows by a²/2 or more for each factor of e in ρ; quad has 12 digits, the margin 4e-12.
    assert log_delta_of_noise(epsilon, mu) <= math.log(delta) + 3e-11
    assert log_delta_of_noise(epsilon, mu * (1 + 1e-8)) > math.log(delta)


def test_the_gaussian_conversion_to_many_digits() -> None:
    # With 80 digits, from the definition with the error function by its series.
    with decimal.localcontext(decimal.Context(prec=80)):
        half, root = decimal.Decimal("0.5"), decimal.Decimal(2).sqrt()

        def below(x: decimal.Decimal) -> decimal.Decimal:
            """Φ(x), by the Taylor series of erf(x/√2)."""
            y, total, term, j = x / root, decimal.Decimal(0), x / root, 0
            while abs(term) > decimal.Decimal("1e-75"):
                total += term / (2 * j + 1)
                j += 1
                term *= -y * y / j
            return half + total / PI.sqrt()

        for epsilon, delta in itertools.product(
            ("0.01", "0.1", "1", "5"), ("1e-12", "1e-6", "0.1")
        ):
            e, rho = decimal.Decimal(epsilon), rho_of(epsilon, delta, "gaussian")
            mu = (2 * decimal.Decimal(rho.numerator) / decimal.Decimal(rho.denominator)).sqrt()
            found = below(mu / 2 - e / mu) - e.exp() * below(-mu / 2 - e / mu)
            assert decimal.Decimal(delta) * (1 - decimal.Decimal("1e-9")) < found
            assert found < decimal.Decimal(delta)


@pytest.mark.parametrize("delta", ["1e-9", "0.01"])
def test_the_gaussian_conversion_rises_with_epsilon_and_delta(delta: str) -> None:
    rhos = [rho_of(e, delta, "gaussian") for e in np.geomspace(1e-4, 90, 40)]
    assert rhos == sorted(set(rhos))
    more = Fraction(delta) * Fraction(101, 100)
    assert all(rho_of(e, more, "gaussian") > rho_of(e, delta, "gaussian") for e in (0.01, 1, 30))
    epsilons = [epsilon_of(rho, delta, "gaussian") for rho in rhos]
    assert epsilons == sorted(epsilons)


def test_the_gaussian_conversion_far_out() -> None:
    assert epsilon_of("1e-30", "1e-6", "gaussian") == 0.0
    for epsilon, delta in (("1e-40", "1e-100"), ("1e-6", "0.9"), (90, "1e-300"), (99, "0.999")):
        rho = rho_of(epsilon, delta, "gaussian")
        assert rho_of(epsilon, delta) < rho
        assert epsilon_of(rho, delta, "gaussian") <= float(Fraction(epsilon))
    # Beyond the curve, the tight conversion holds, too.
    for epsilon, delta in ((10**4, "1e-6"), (1, "1e-310")):
        assert rho_of(epsilon, delta, "gaussian") == rho_of(epsilon, delta)


def test_the_gaussian_conversion_whatever_the_caller_has_set() -> None:
    usual = rho_of(1, "1e-9", "gaussian"), epsilon_of("1/50", "1e-9", "gaussian")
    with decimal.localcontext(decimal.Context(prec=2, rounding=decimal.ROUND_UP)):
        assert (rho_of(1, "1e-9", "gaussian"), epsilon_of("1/50", "1e-9", "gaussian")) == usual


@given(epsilon=epsilons, delta=deltas, accounting=accountings)
@settings(max_examples=100, deadline=None)
def test_there_and_back_never_costs_more(epsilon: float, delta: float, accounting: str) -> None:
    back = epsilon_of(rho_of(epsilon, delta, accounting), delta, accounting)
    assert epsilon * (1 - 1e-10) <= back <= epsilon


@given(epsilon=epsilons, delta=deltas)
@settings(max_examples=100, deadline=None)
def test_the_papers_formula_is_rounded_down_and_is_below_the_tight_one(
    epsilon: float, delta: float
) -> None:
    with decimal.localcontext(prec=80):
        e, log = decimal.Decimal(epsilon), -decimal.Decimal(delta).ln()
        printed = Fraction(e + 2 * (log - (log * (e + log)).sqrt()))
    paper = rho_of(epsilon, delta, "paper")
    assert printed * (1 - Fraction(1, 10**11)) < paper < printed
    assert paper < rho_of(epsilon, delta)


@pytest.mark.parametrize("delta", ["1e-400", 1e-15, 0.5, 0.999999])
@pytest.mark.parametrize("epsilon", [1e-40, 1e-6, 1e5, 1e90])
def test_extreme_promises_convert_without_failing(epsilon: float, delta: float | str) -> None:
    rho = rho_of(epsilon, delta)
    assert 0 < rho_of(epsilon, delta, "paper") <= rho
    # One unit of the search's own rounding is all that may be lost where ε is next to nothing.
    assert epsilon_of(rho, delta) <= max(epsilon, 1e-15)


def test_where_delta_pays_for_everything_epsilon_is_zero() -> None:
    assert epsilon_of("1e-9", 0.5) == 0.0


def test_the_callers_decimal_precision_does_not_matter() -> None:
    expected = rho_of(1, "1e-9"), epsilon_of("1/10", "1e-9"), epsilon_of(1, "1e-9", "paper")
    with decimal.localcontext(prec=2, rounding=decimal.ROUND_UP):
        assert (rho_of(1, "1e-9"), epsilon_of("1/10", "1e-9"), epsilon_of(1, "1e-9", "paper")) == (
            expected
        )


def test_an_eleventh_can_be_spent_eleven_times_and_not_twelve() -> None:
    account = Account(Budget.from_rho(1))
    for _ in range(11):
        account.spend(Fraction(1, 11))
    assert account.remaining == 0
    with pytest.raises(BudgetError, match=r"requested rho=0.0909091, remaining 0, difference 0.09"):
        account.spend("1/11")
    assert account.spent == account.budget.rho == 1


def test_a_refusal_states_its_figures_and_spends_nothing() -> None:
    account = Account(Budget.from_rho("0.5"))
    account.spend("0.2")
    with pytest.raises(BudgetError, match=r"requested rho=0.4, remaining 0.3, difference 0.1"):
        account.spend("0.4")
    assert account.remaining == Fraction(3, 10)
    assert repr(account) == "Account(rho=0.5, remaining=0.3)"


@given(rho=st.fractions(min_value="1/1000000", max_value=10), rounds=st.integers(1, 64))
def test_parts_sum_back_to_the_whole(rho: Fraction, rounds: int) -> None:
    budget = Budget.from_rho(rho)
    account = Account(budget)
    for part in budget.split(2 * rounds):
        account.spend(part)
    assert account.remaining == 0


def test_threads_cannot_overspend_together() -> None:
    account = Account(Budget.from_rho(1))
    refusals: list[BudgetError] = []

    def spender() -> None:
        for _ in range(100):
            try:
                account.spend("1/300")
            except BudgetError as refusal:
                refusals.append(refusal)

    threads = [threading.Thread(target=spender) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert account.remaining == 0
    assert len(refusals) == 100


@pytest.mark.parametrize(
    ("amount", "expected"),
    [
        ("1/11", Fraction(1, 11)),
        ("0.1", Fraction(1, 10)),
        (0.1, Fraction(0.1)),
        (3, Fraction(3)),
        (np.int64(3), Fraction(3)),
        (np.float32(0.5), Fraction(1, 2)),
    ],
)
def test_amounts_are_read_exactly(amount: float, expected: Fraction) -> None:
    fraction = exact(amount, "rho")
    assert fraction == expected
    assert type(fraction.numerator) is int


@pytest.mark.parametrize(
    "amount", [0, -1, math.nan, math.inf, -math.inf, True, "", "much", "1/0", None, 1j]
)
def test_what_is_no_amount_is_refused_by_name(amount: object) -> None:
    with pytest.raises(BudgetError, match=r"rho must be a finite number above 0.*try rho="):
        Budget.from_rho(amount)  # type: ignore[arg-type]
    with pytest.raises(BudgetError, match="rho must be"):
        Account(Budget.from_rho(1)).spend(amount)  # type: ignore[arg-type]
    with pytest.raises(BudgetError, match="epsilon must be"):
        Budget.from_epsilon(amount, 1e-6)  # type: ignore[arg-type]
    with pytest.raises(BudgetError, match="delta must be"):
        rho_of(1, amount)  # type: ignore[arg-type]


def test_other_mistakes_name_their_argument() -> None:
    with pytest.raises(BudgetError, match="delta must lie between 0 and 1, not 1"):
        rho_of(1, 1)
    with pytest.raises(BudgetError, match="epsilon must lie between 1e-100 and 1e100"):
        rho_of("1e101", 0.1)
    with pytest.raises(ParameterError, match="'tight', 'paper' or 'gaussian', not 'loose'"):
        rho_of(1, 1e-6, "loose")  # type: ignore[arg-type]
    for parts in (0, -1, 1.5, True, "2"):
        with pytest.raises(ParameterError, match="parts must be a whole number of at least 1"):
            Budget.from_rho(1).split(parts)  # type: ignore[arg-type]


def test_a_budget_that_promises_little_is_accepted_with_a_warning() -> None:
    with pytest.warns(PrivacyWarning, match="epsilon=11 promises little.*Choose epsilon"):
        budget = Budget.from_epsilon(11, "1e-9")
    assert budget.rho == rho_of(11, "1e-9")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Budget.from_epsilon(10, "1e-9")


def test_a_budget_remembers_where_it_came_from() -> None:
    budget = Budget.from_epsilon("0.5", "1e-6", "paper")
    assert (budget.epsilon, budget.delta, budget.accounting) == (
        Fraction(1, 2),
        Fraction(1, 10**6),
        "paper",
    )
    assert Budget.from_rho(1) == Budget(Fraction(1))
