"""`Curator.choose`: what it can cost, over all neighbours of tiny universes, and what it draws.

The choice is the exponential mechanism on minus the worst error, so its chances can be written
down; MARGIN is a thousand times what rounding in double precision contributes at these sizes.
"""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from universe import (
    all_thresholds,
    answers_from,
    count,
    data_sets,
    neighbours_of,
    records_of,
    schema_of,
    scores_of,
)

import thresher.privacy.scores
from thresher.data.records import Records
from thresher.errors import BudgetError, ParameterError, QueryError
from thresher.privacy import Budget, Curator, InsecureSeededRandomness, Ledger
from thresher.privacy.ladder import selection_rate
from thresher.queries import Threshold, Workload

FALSE_ALARM = 1e-7
MARGIN = 1e-9
ORDERS = (1.01, 1.1, 1.5, 2, 3, 5, 8, 20, 64, 200)
RHOS = (Fraction(1, 1000), Fraction(1, 11), Fraction(1, 2), Fraction(3), Fraction(50))

SCHEMA = schema_of(2, 3)
N = 2
WORKLOADS = {
    "coin": Workload(SCHEMA, [Threshold(("a",))]),
    "1 of 2": Workload(SCHEMA, [Threshold(("a", "b"), 1)]),
    "all": Workload(SCHEMA, all_thresholds(SCHEMA)),
}


def public_answers(workload, n, seed=5):
    """What several candidates say: zeros, everyone, the truth about other people, and chance."""
    schema, size = workload.schema, workload.query_count
    others = data_sets(schema, n)[1::7][:3]
    truths = [[count(people, workload.query(i), schema) for i in range(size)] for people in others]
    drawn = np.random.default_rng(seed).integers(0, n + 1, (2, size)).tolist()
    return [[0] * size, [n] * size, *truths, *drawn]


def worst_of(people, workload, public):
    """The worst errors of all candidates on one data set, by definition."""
    return tuple(max(scores_of(people, workload, counts)) for counts in public)


def curator_of(records, rho=Fraction(10**7), seed=1, **options):
    randomness = InsecureSeededRandomness(seed)
    return Curator(records, Budget.from_rho(rho), randomness=randomness, **options)


@pytest.mark.parametrize(("sizes", "n"), [((2, 3), 3), ((2, 2, 2), 2)])
def test_a_person_moves_a_worst_error_by_at_most_one(sizes, n):
    schema = schema_of(*sizes)
    workload = Workload(schema, all_thresholds(schema))
    public = public_answers(workload, n)
    worst = {people: worst_of(people, workload, public) for people in data_sets(schema, n)}
    moves = {
        abs(a - b)
        for people, mine in worst.items()
        for other in neighbours_of(schema, people)
        for a, b in zip(mine, worst[other], strict=True)
    }
    assert moves == {0, 1}


def log_chances(worst, rate):
    weights = -rate * np.array(worst, dtype=float)
    return weights - weights.max() - np.log(np.exp(weights - weights.max()).sum())


def worst_share(name, candidates, rho, rate):
    """The largest D_α/(αρ) over neighbours, orders and choices of so many candidates."""
    workload = WORKLOADS[name]
    public = public_answers(workload, N)
    worst = {people: worst_of(people, workload, public) for people in data_sets(SCHEMA, N)}
    pairs = {
        (tuple(worst[people][i] for i in chosen), tuple(worst[other][i] for i in chosen))
        for people in worst
        for other in neighbours_of(SCHEMA, people)
        for chosen in combinations(range(len(public)), candidates)
    }
    share = 0.0
    for one, other in pairs:
        p, q = log_chances(one, rate), log_chances(other, rate)
        for order in ORDERS:
            terms = order * p + (1 - order) * q
            divergence = (terms.max() + math.log(np.exp(terms - terms.max()).sum())) / (order - 1)
            share = max(share, divergence / (order * float(rho)))
    return share


@pytest.mark.parametrize("rho", RHOS, ids=str)
@pytest.mark.parametrize("candidates", [2, 3, 5])
@pytest.mark.parametrize("name", WORKLOADS)
def test_a_choice_costs_no_more_than_it_pays(name, candidates, rho):
    share = worst_share(name, candidates, rho, float(selection_rate(rho)))
    assert share <= 1 + MARGIN / float(rho)


def test_the_bound_is_reached_and_a_larger_rate_breaks_it():
    # Two candidates that one person moves apart: 0 and everyone, for the two sides of a coin.
    rho = Fraction(1, 1000)
    assert worst_share("coin", 2, rho, float(selection_rate(rho))) > 0.99
    assert worst_share("coin", 2, rho, float(selection_rate(2 * rho))) > 1.98


@pytest.mark.parametrize("name", ["coin", "all"])
def test_the_curator_draws_from_the_distribution_that_was_audited(name):
    workload, rho, draws = WORKLOADS[name], Fraction(1, 2), 2000
    people = ((0, 0), (0, 2))
    public = public_answers(workload, N)
    records = records_of(SCHEMA, people)
    candidates = [answers_from(workload, counts, N) for counts in public]
    worst = worst_of(people, workload, public)
    assert len(set(worst)) > 1
    chances = np.exp(log_chances(worst, float(selection_rate(rho))))
    assert chances.min() * draws > 20
    randomness = InsecureSeededRandomness(11)
    seen = np.zeros(len(public))
    for _ in range(draws):
        curator = Curator(records, Budget.from_rho(rho), randomness=randomness)
        seen[curator.choose(workload, candidates, rho=rho)] += 1
    assert stats.chisquare(seen, chances * draws).pvalue > FALSE_ALARM
    # The same draws are not those of four times the budget: the test can fail.
    dear = np.exp(log_chances(worst, float(selection_rate(4 * rho))))
    assert stats.chisquare(seen, dear * draws).pvalue < FALSE_ALARM


def test_with_a_large_budget_the_best_is_chosen_by_the_errors_of_the_definition():
    workload = WORKLOADS["all"]
    public = public_answers(workload, N)
    candidates = [answers_from(workload, counts, N) for counts in public]
    for people in data_sets(SCHEMA, N):
        worst = worst_of(people, workload, public)
        chosen = curator_of(records_of(SCHEMA, people)).choose(workload, candidates, rho=10**7)
        assert worst[chosen] == min(worst)


def test_slabs_make_no_difference(monkeypatch):
    workload, records = WORKLOADS["all"], records_of(SCHEMA, ((0, 0), (0, 2)))
    public = public_answers(workload, N)
    candidates = [answers_from(workload, counts, N) for counts in public]
    whole = [curator_of(records, 1, seed).choose(workload, candidates, rho=1) for seed in range(30)]
    honest = thresher.privacy.scores.slabs_of
    monkeypatch.setattr(thresher.privacy.scores, "slabs_of", lambda shape: honest(shape, 1))
    cut = [curator_of(records, 1, seed).choose(workload, candidates, rho=1) for seed in range(30)]
    assert cut == whole
    assert len(set(whole)) > 1


class Watched(Records):
    """Records that note what `on_look` says whenever somebody looks."""

    def __getattribute__(self, name):
        noted = object.__getattribute__(self, "__dict__")
        if name in ("codes", "columns") and "on_look" in noted:
            noted["looks"].append(noted["on_look"]())
        return super().__getattribute__(name)


def watched(on_look=lambda: None):
    plain = records_of(SCHEMA, ((0, 0), (0, 2)))
    records = Watched(SCHEMA, [plain.codes(name) for name in SCHEMA.names])
    object.__setattr__(records, "looks", [])
    object.__setattr__(records, "on_look", on_look)
    return records


def zeros(_):
    return lambda slab: np.zeros(slab.shape)


def test_it_pays_in_the_ledger_before_it_looks(tmp_path):
    path = tmp_path / "l"
    Ledger.create(path, Fraction(1))
    records = watched(lambda: Ledger.open(path).spent)
    curator = curator_of(records, 1, ledger=Ledger.open(path))
    records.looks.clear()  # at n, which is public, and for the fingerprint that the ledger keeps
    curator.choose(WORKLOADS["coin"], [zeros, zeros], rho="1/3")
    assert set(records.looks) == {Fraction(1, 3)}
    assert curator.spent == Fraction(1, 3)


OTHER = Workload(schema_of(2), [Threshold(("a",))])
WRONG = {
    "too dear": (lambda c: c.choose(WORKLOADS["coin"], [zeros], rho=2), BudgetError),
    "free": (lambda c: c.choose(WORKLOADS["coin"], [zeros], rho=0), BudgetError),
    "nothing": (lambda c: c.choose(WORKLOADS["coin"], [], rho=1), ParameterError),
    "another schema": (lambda c: c.choose(OTHER, [zeros], rho=1), QueryError),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_request_is_refused_before_it_is_paid(wrong):
    request, error = WRONG[wrong]
    records = watched()
    curator = curator_of(records, 1)
    records.looks.clear()  # at n, which is public
    with pytest.raises(error):
        request(curator)
    assert curator.spent == 0
    assert records.looks == []


def test_answers_that_are_no_answers_fail_alike_whatever_the_records():
    said = set()
    for people in data_sets(SCHEMA, N):
        for wrong in (np.array([np.nan, 0.5]), np.array([0.5]), np.zeros(3)):
            curator = curator_of(records_of(SCHEMA, people), 1)
            with pytest.raises(ParameterError, match="a number for each query") as caught:
                curator.choose(
                    WORKLOADS["coin"], [zeros, lambda _, a=wrong: lambda slab: a], rho="1/2"
                )
            said.add(str(caught.value))
            assert curator.spent == Fraction(1, 2)
    assert len(said) == 1


def test_wild_answers_are_held_to_fractions():
    # Held to [0, 1], both candidates err by at most n, so the choice stays one of two equals.
    records = records_of(SCHEMA, ((0, 0), (0, 2)))
    wild = [lambda _, v=v: lambda slab: np.full(slab.shape, v) for v in (-np.inf, 0.0)]
    chosen = {
        curator_of(records, 10**7, seed).choose(WORKLOADS["coin"], wild, rho=10**7)
        for seed in range(40)
    }
    assert chosen == {0, 1}
