"""Choices beside Gaussian noise: all results together keep the curve of the whole budget.

The exact δ of a choice between two candidates, whose scores differ by one in opposite directions
for two neighbours, is a sum over its results. Planted: choices that are drawn at the rate that they
pay for, and choices that rely on what somebody else has spent before they are drawn.
"""

import math
import threading
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import log_ndtr
from universe import answers_from, data_sets, records_of, schema_of

import thresher.privacy.requests
from thresher.errors import BudgetError, ParameterError
from thresher.mechanisms import RAP
from thresher.privacy import Budget, Curator, InsecureSeededRandomness, Ledger
from thresher.privacy.curator import REQUESTS
from thresher.privacy.gaussian import rho_of_choices
from thresher.privacy.gaussian_curve import point
from thresher.privacy.journal import Journal, JournaledCurator
from thresher.privacy.request import Choice
from thresher.privacy.requests import Choose, Select, SelectTable
from thresher.queries import Threshold, Workload

MARGIN = 1e-9
SPREADS = (0.0, 0.25, 0.5, 0.8, 1.0, 1.2, 1.5, 2.0, 3.0, 6.0)
"""At which ε to look: in standard deviations of the privacy loss, beyond its mean."""
SCHEMA = schema_of(2, 3)
TABLES = [Threshold(("a",)), Threshold(("b",)), Threshold(("a", "b"))]
WORK = Workload(SCHEMA, TABLES)
PEOPLE = data_sets(SCHEMA, 2)[0]
ANSWERS = answers_from(WORK, [1] * WORK.query_count, 2)


def promised(epsilon, rho):
    return float(point(Decimal(epsilon), Decimal(math.sqrt(2 * rho))).delta)


def epsilons(rho):
    return [float(rho) + spread * math.sqrt(2 * rho) for spread in SPREADS]


def delta_after(loss, epsilon, variance):
    """E (1 - e^(ε - Y))⁺ with Y of N(loss + variance/2, variance): what noise adds to a loss."""
    spread = math.sqrt(variance)
    upper = (loss - epsilon) / spread + spread / 2
    first, second = log_ndtr(upper), epsilon - loss + log_ndtr(upper - spread)
    return np.exp(first) * -np.expm1(np.minimum(second - first, 0.0))


def delta_of(ratios, chances, epsilon, variance):
    """The exact δ of results with these log-ratios and chances, and of noise after them."""
    return float((chances * delta_after(ratios, epsilon, variance)).sum())


def coins(rates):
    """All log-ratios, and their chances, of choices between two candidates at these rates."""
    ratios, chances = np.zeros(1), np.ones(1)
    for rate in rates:
        likely = 1 / (1 + math.exp(-rate))
        ratios = np.add.outer(ratios, [rate, -rate]).reshape(-1)
        chances = np.multiply.outer(chances, [likely, 1 - likely]).reshape(-1)
    return ratios, chances


def uneven(rate, part):
    """A choice whose log-ratios are `part` of 2·rate above 0, and the rest of it below."""
    up, down = 2 * rate * part, -2 * rate * (1 - part)
    likely = -math.expm1(-down) / (math.exp(-up) - math.exp(-down))
    return np.array([up, down]), np.array([likely, 1 - likely])


def rate_of(rho):
    return math.sqrt(2 * rho)


@pytest.mark.parametrize("part", [0.02, 0.2, 0.4, 0.5, 0.55, 0.6, 0.65, 0.8, 0.98])
@pytest.mark.parametrize("left", [0.01, 0.5, 2.0, 100.0])
@pytest.mark.parametrize("rho", [1e-4, 0.05, 2.0])
def test_any_choice_and_the_noise_after_it_keep_the_curve(rho, left, part):
    left = Fraction(left) * Fraction(rho)
    rate = rate_of(rho_of_choices(Fraction(rho), left, 1))
    ratios, chances = uneven(rate, part)
    assert (chances * np.exp(-ratios)).sum() == pytest.approx(1)
    whole = rho + float(left)
    for epsilon in (0.0, *epsilons(whole)):
        found = delta_of(ratios, chances, epsilon, 2 * float(left))
        assert found <= promised(epsilon, whole) * (1 + MARGIN) + 1e-15


def rounds(count, choosing=Fraction(1, 3), growth=1):
    """What rounds pay for a choice and for noise, out of 1, in turn."""
    sizes = [Fraction(growth) ** i for i in range(count)]
    return [(s * choosing / sum(sizes), s * (1 - choosing) / sum(sizes)) for s in sizes]


def losses_of(paid, rho, rule):
    """The exact results of rounds of a coin and noise, of which all the noise comes at last."""
    left, rates, noise = rho, [], 0.0
    for choice, measure in paid:
        left -= choice * rho
        rates.append(rate_of(rule(choice * rho, left, 1)))
        left -= measure * rho
        noise += 2 * measure * rho
    return *coins(rates), float(noise)


@pytest.mark.parametrize("rho", [Fraction(1, 10**4), Fraction(1, 10), Fraction(2)], ids=str)
@pytest.mark.parametrize(
    "paid", [rounds(1), rounds(4), rounds(8), rounds(4, growth=2), rounds(6, Fraction(9, 10))]
)
def test_rounds_of_choices_and_noise_keep_the_curve(paid, rho):
    ratios, chances, noise = losses_of(paid, rho, rho_of_choices)
    for epsilon in (0.0, *epsilons(rho)):
        found = delta_of(ratios, chances, epsilon, noise)
        assert found <= promised(epsilon, float(rho)) * (1 + MARGIN) + 1e-15


@pytest.mark.parametrize(
    ("choosing", "count", "by"),
    [(Fraction(9, 10), 1, 1.15), (Fraction(1, 2), 1, 1.03), (Fraction(1, 3), 1, 1.01)],
)
def test_choices_at_the_rate_that_they_pay_for_are_caught(choosing, count, by):
    rho = Fraction(1, 1000)
    ratios, chances, noise = losses_of(rounds(count, choosing), rho, lambda paid, *_: paid)
    assert any(
        delta_of(ratios, chances, epsilon, noise) > by * promised(epsilon, float(rho))
        for epsilon in (0.0, *epsilons(rho))
    )


def test_several_choices_of_one_call_have_one_price():
    # K choices that pay ρ/K each, with at least R left after each, and all of them in one call.
    rho, left, count = Fraction(1, 7), Fraction(3, 11), 5
    each = rho_of_choices(rho / count, left, 1)
    assert rho_of_choices(rho, left, count) == count * each
    rates = [rate_of(each)] * count
    for epsilon in (0.0, *epsilons(rho + left)):
        found = delta_of(*coins(rates), epsilon, 2 * float(left))
        assert found <= promised(epsilon, float(rho + left)) * (1 + MARGIN)


# The wall.


@pytest.fixture
def drawn(monkeypatch):
    """The ρ at which every choice is drawn."""
    seen, draw = [], thresher.privacy.requests.levelwise_selection

    def watched(scores, count, rho, *others, **named):
        seen.append(rho)
        return draw(scores, count, rho, *others, **named)

    monkeypatch.setattr(thresher.privacy.requests, "levelwise_selection", watched)
    return seen


def curator_of(budget, **given):
    source = InsecureSeededRandomness(1)
    return Curator(records_of(SCHEMA, PEOPLE), budget, randomness=source, **given)


def gaussian(rho=Fraction(1)):
    return Budget.from_rho(rho, is_gaussian=True)


ASKS = {
    "select": lambda curator, answers, rho: curator.select(WORK, answers, 2, rho=rho),
    "select_table": lambda curator, answers, rho: curator.select_table(
        TABLES, answers, [0, 0, 0], rho=rho
    ),
    "choose": lambda curator, answers, rho: curator.choose(WORK, [answers, answers], rho=rho),
}


@pytest.mark.parametrize("verb", ASKS)
def test_a_choice_is_drawn_for_less_than_it_pays(verb, drawn):
    curator, count = curator_of(gaussian()), 2 if verb == "select" else 1
    ASKS[verb](curator, ANSWERS, "1/10")
    curator.measure(TABLES, rho="1/2")
    ASKS[verb](curator, ANSWERS, "1/10")
    tenth = Fraction(1, 10)
    assert drawn == [
        rho_of_choices(tenth, left, count) for left in (Fraction(9, 10), Fraction(3, 10))
    ]
    assert curator.spent == Fraction(7, 10)
    tight = curator_of(Budget.from_rho(1))
    ASKS[verb](tight, ANSWERS, "1/10")
    assert drawn[-1] == tenth


def test_the_wall_keeps_its_promise_to_the_last(drawn):
    """What the wall drew for, in an account of several rounds, compared with its (ε, δ)."""
    budget = Budget.from_epsilon(1, "1e-3", "gaussian")
    curator, noise = curator_of(budget), Fraction(0)
    for choice, measure in rounds(6):
        curator.select_table(TABLES, ANSWERS, [0, 0, 0], rho=choice * budget.rho)
        curator.measure(TABLES[:1], rho=measure * budget.rho)
        noise += measure * budget.rho
    assert curator.remaining == 0
    found = delta_of(*coins([rate_of(rho) for rho in drawn]), 1.0, 2 * float(noise))
    assert 0.7e-3 < found <= 1e-3


@pytest.mark.parametrize("verb", ASKS)
def test_a_choice_leaves_something_behind_it(verb, drawn):
    curator = curator_of(gaussian())
    for rho in ("1", "2"):
        with pytest.raises(BudgetError, match="must leave some of the budget"):
            ASKS[verb](curator, ANSWERS, rho)
    assert (curator.spent, drawn) == (0, [])


@pytest.mark.parametrize("verb", ASKS)
@pytest.mark.parametrize("accounting", ["tight", "gaussian"])
def test_a_ledger_of_this_accounting_pays_for_noisy_counts_alone(verb, accounting, drawn, tmp_path):
    budget = Budget.from_epsilon(1, "1e-6", accounting)
    ledger = Ledger.create(
        tmp_path / "l", Fraction(1), epsilon=1.0, delta=1e-6, accounting=accounting
    )
    for given in (budget, gaussian(budget.rho)):
        curator = curator_of(given, ledger=ledger)
        if accounting == "gaussian":
            with pytest.raises(BudgetError, match="on a ledger, which is noise on counts"):
                ASKS[verb](curator, ANSWERS, budget.rho / 10)
            assert (ledger.spent, curator.spent, drawn) == (0, 0, [])
        else:
            ASKS[verb](curator, ANSWERS, budget.rho / 10)
            assert curator.spent == budget.rho / 10


@pytest.mark.parametrize("verb", ASKS)
def test_nobody_spends_what_a_choice_relies_on_before_it_is_drawn(verb, drawn):
    curator, refused = curator_of(gaussian()), []

    def spend_the_rest(threshold):
        def ask():
            try:
                curator.measure(TABLES, rho=curator.remaining)
            except ParameterError as fault:
                refused.append(str(fault))

        ask()
        elsewhere = threading.Thread(target=ask)
        elsewhere.start()
        elsewhere.join()
        for choose in ASKS.values():
            with pytest.raises(ParameterError, match="one call at a time"):
                choose(curator, ANSWERS, "1/100")
        return ANSWERS(threshold)

    ASKS[verb](curator, spend_the_rest, "1/10")
    assert refused
    assert all("one call at a time" in fault for fault in refused)
    assert curator.spent == Fraction(1, 10)
    assert len(drawn) == 1
    curator.measure(TABLES, rho=curator.remaining)


def test_a_fit_of_a_part_relies_on_what_is_left_of_that_part(drawn):
    curator, part = curator_of(gaussian(Fraction(10))), Fraction(1)
    rap = RAP(rho=part, rounds=2, queries_per_round=1, synthetic_rows=5)
    release = rap.fit(curator, WORK)
    assert (release.spent, release.budget.rho) == (part, part)
    quarter = Fraction(1, 4)
    assert drawn == [rho_of_choices(quarter, left * quarter, 1) for left in (3, 1)]
    assert curator.drawn_for(quarter) == rho_of_choices(quarter, 9 - quarter, 1)
    with curator.part(part):
        assert curator.drawn_for(quarter) == rho_of_choices(quarter, part - quarter, 1)
        with pytest.raises(BudgetError, match="budget exceeded"):
            curator.measure(TABLES, rho=2 * part)
        with pytest.raises(ParameterError, match="one fit at a time"):
            rap.fit(curator, WORK)
    with pytest.raises(BudgetError, match="budget exceeded"), curator.part(Fraction(10)):
        pass
    rest = RAP(rounds=1, queries_per_round=1, synthetic_rows=5).fit(curator, WORK)
    assert (rest.spent, curator.remaining) == (9, 0)


def test_margins_of_error_know_at_what_rate_choices_were_drawn(tmp_path):
    curator, tight = curator_of(gaussian()), curator_of(Budget.from_rho(1))
    assert tight.drawn_for(Fraction(1, 2)) == Fraction(1, 2)
    assert curator.drawn_for(Fraction(1, 2), 3) == rho_of_choices(Fraction(1, 2), Fraction(1, 2), 3)
    with Journal(tmp_path / "j", {}) as journal:
        access = JournaledCurator(curator_of(gaussian(), journal=journal), journal)
        access.measure(TABLES, rho="1/4")
        quarter = Fraction(1, 4)
        assert access.drawn_for(quarter) == rho_of_choices(quarter, 2 * quarter, 1)


def test_after_a_choice_that_failed_others_can_be_asked(drawn):
    curator = curator_of(gaussian())

    def fails(threshold):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        curator.select_table(TABLES, fails, [0, 0, 0], rho="1/10")
    curator.select_table(TABLES, ANSWERS, [0, 0, 0], rho="1/10")
    assert len(drawn) == 1


def test_a_choice_that_relies_on_what_is_spent_would_break_the_promise():
    # If all that was left had been spent on noise before the choice was drawn, it would be the last
    # thing that is told of a budget of what it paid.
    rho = Fraction(1, 100)
    ratios, chances = coins([rate_of(rho_of_choices(rho, Fraction(99, 100), 1))])
    assert float(chances @ np.sign(ratios)) > 1.2 * promised(0.0, float(rho))


def test_what_counts_as_a_choice():
    assert {kind for kind in REQUESTS if issubclass(kind, Choice)} == {Select, SelectTable, Choose}
