"""The adversary by experiment: it never refutes the wall, and it catches faults planted in it.

Neighbours are chosen so that one person moves what is measured as far as it can move. Seeds and
numbers of trials are fixed; without fixed seeds a correct wall would fail one of these audits with
probability at most `distinguisher.FALSE_ALARM`.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from distinguisher import (
    FALSE_ALARM,
    at_least,
    audit,
    clopper_pearson,
    learned_events,
    rho_of_coins,
)
from scipy import stats
from universe import answers_from, records_of, schema_of

import thresher.privacy.curator
import thresher.privacy.histogram
import thresher.privacy.requests
from thresher.data.records import Records
from thresher.privacy import Budget, Curator, InsecureSeededRandomness, Randomness
from thresher.queries import Query, Threshold, Workload

HALF = Fraction(1, 2)
TRIALS = 2000

SCHEMA = schema_of(2, 3)
# Person (0, 0) is replaced by (1, 2).
NEIGHBOURS = (
    records_of(SCHEMA, ((0, 0), (0, 1), (1, 1))),
    records_of(SCHEMA, ((1, 2), (0, 1), (1, 1))),
)
COIN = Workload(SCHEMA, [Threshold(("a",))])
SEVERAL = Workload(SCHEMA, [Threshold(("a",)), Threshold(("b",))])
IS_A0, IS_A1 = (Query.where(SCHEMA, {"a": value}) for value in ("a0", "a1"))


def curator_of(records: Records, randomness: Randomness, rho: Fraction) -> Curator:
    return Curator(records, Budget.from_rho(rho), randomness=randomness)


def measure_a_query(records: Records, randomness: Randomness) -> int:
    [measured] = curator_of(records, randomness, HALF).measure([IS_A0], rho=HALF)
    return measured.count


def measure_a_table(records: Records, randomness: Randomness) -> int:
    table = Threshold(("a", "b"))
    [measured] = curator_of(records, randomness, HALF).measure([table], rho=HALF)
    # All that a record moves is one cell down and another up.
    return int(measured.counts[0, 0] - measured.counts[1, 2])


def measure_both_sides(records: Records, randomness: Randomness) -> int:
    both = curator_of(records, randomness, HALF).measure([IS_A0, IS_A1], rho=HALF)
    return both[0].count - both[1].count


def select_one(records: Records, randomness: Randomness) -> int:
    # The public answers are 0 and 0, so the scores are the counts: (2, 1) against (1, 2).
    answers = answers_from(COIN, [0, 0], 3)
    [chosen] = curator_of(records, randomness, HALF).select(COIN, answers, 1, rho=HALF)
    return COIN.id_of(chosen)


def select_two(records: Records, randomness: Randomness) -> tuple[int, ...]:
    answers = answers_from(SEVERAL, [0] * 5, 3)
    chosen = curator_of(records, randomness, HALF).select(SEVERAL, answers, 2, rho=HALF)
    return tuple(SEVERAL.id_of(query) for query in chosen)


def select_then_measure(records: Records, randomness: Randomness) -> tuple[int, int]:
    curator = curator_of(records, randomness, HALF)
    [chosen] = curator.select(COIN, answers_from(COIN, [0, 0], 3), 1, rho=HALF / 2)
    [measured] = curator.measure([chosen], rho=HALF / 2)
    assert curator.remaining == 0
    return COIN.id_of(chosen), measured.count


COUNTS = at_least(int, range(-3, 7))
IS_FIRST = [lambda chosen: chosen == 0, lambda chosen: chosen == 1]


@pytest.mark.parametrize(
    ("mechanism", "events"),
    [
        (measure_a_query, COUNTS),
        (measure_a_table, COUNTS),
        (measure_both_sides, COUNTS),
        (select_one, IS_FIRST),
        (select_two, None),
        (select_then_measure, None),
    ],
)
def test_the_wall_keeps_its_promise(mechanism, events):
    if events is None:
        events = learned_events(mechanism, NEIGHBOURS, TRIALS // 2, seed=1)
    verdict = audit(mechanism, NEIGHBOURS, events, TRIALS, rho=HALF, seed=2)
    assert not verdict.violated
    # The audit looks where there is something to see: it is not far below the claim.
    assert verdict.rho > 0.15 * verdict.rho_claimed
    assert verdict.epsilon > 0.15 * verdict.epsilon_claimed


def test_noise_of_half_the_scale_is_caught(monkeypatch):
    honest = thresher.privacy.requests.add_noise

    def halved(counts, rho, sensitivity, randomness):
        noisy, sigma = honest(counts, 4 * rho, sensitivity, randomness)
        return noisy, 2 * sigma

    monkeypatch.setattr(thresher.privacy.requests, "add_noise", halved)
    for mechanism in (measure_a_query, measure_a_table, measure_both_sides):
        assert audit(mechanism, NEIGHBOURS, COUNTS, TRIALS, rho=HALF, seed=2).violated


def test_a_table_measured_with_the_sensitivity_of_a_query_is_caught(monkeypatch):
    monkeypatch.setattr(thresher.privacy.requests, "squared_sensitivity", lambda *_: 1)
    # Twice what was paid: the nearest of the planted faults to the truth, so it takes more trials.
    assert audit(measure_a_table, NEIGHBOURS, COUNTS, 6 * TRIALS, rho=HALF, seed=2).violated


def test_the_printed_scale_of_algorithm_4_is_caught(monkeypatch):
    honest = thresher.privacy.histogram.selection_rate
    monkeypatch.setattr(
        thresher.privacy.histogram,
        "selection_rate",
        lambda rho, sensitivity=1: honest(2 * rho, sensitivity),
    )
    assert audit(select_one, NEIGHBOURS, IS_FIRST, 2 * TRIALS, rho=HALF, seed=2).violated


def test_a_seed_that_is_used_in_two_rounds_is_caught():
    def two_rounds(records: Records, first: Randomness, second: Randomness) -> int:
        [one] = curator_of(records, first, HALF / 2).measure([IS_A0], rho=HALF / 2)
        [other] = curator_of(records, second, HALF / 2).measure([IS_A1], rho=HALF / 2)
        return one.count - other.count

    def fresh(records: Records, randomness: Randomness) -> int:
        return two_rounds(records, randomness, randomness)

    def replayed(records: Records, randomness: Randomness) -> int:
        seed = randomness.bits(64)
        return two_rounds(records, *(InsecureSeededRandomness(seed) for _ in range(2)))

    assert not audit(fresh, NEIGHBOURS, COUNTS, TRIALS, rho=HALF, seed=2).violated
    # The noise cancels, so the difference gives the record away.
    verdict = audit(replayed, NEIGHBOURS, COUNTS, TRIALS, rho=HALF, seed=2)
    assert verdict.violated
    assert verdict.rho > 4 * verdict.rho_claimed


def test_a_curator_that_measures_without_paying_is_caught(monkeypatch):
    rounds, spent = 4, set()

    def average(records: Records, randomness: Randomness) -> int:
        curator = curator_of(records, randomness, rounds * HALF)
        total = sum(curator.measure([IS_A0], rho=HALF)[0].count for _ in range(rounds))
        spent.add(curator.spent)
        return total

    events = at_least(int, range(-12, 25, 2))
    assert not audit(average, NEIGHBOURS, events, TRIALS, rho=rounds * HALF, seed=2).violated
    assert spent == {rounds * HALF}

    honest = Curator._pay

    def pay_once(self, amount, sets):
        counted = thresher.privacy.curator._counted[self]
        return counted if self.spent else honest(self, amount, sets)

    monkeypatch.setattr(Curator, "_pay", pay_once)
    spent.clear()
    average(NEIGHBOURS[0], InsecureSeededRandomness(0))
    [claimed] = spent
    assert audit(average, NEIGHBOURS, events, TRIALS, rho=claimed, seed=2).violated


def test_the_harness_bounds_chances_and_costs_from_below():
    hits = np.array([0, 1, 40, 99, 100])
    lower, upper = clopper_pearson(hits, 100, miss=0.025)
    for hit, low, high in zip(hits, lower, upper, strict=True):
        interval = stats.binomtest(int(hit), 100).proportion_ci(0.95, "exact")
        assert (low, high) == pytest.approx((interval.low, interval.high))
    # A coin that comes up heads with chances p and 1 − p under neighbours; its order 1 is KL.
    assert rho_of_coins(0.3, 0.3) == rho_of_coins(0.2, 0.3) == 0
    assert rho_of_coins(0.75, 0.25) >= 0.5 * math.log(3) * (1 - 1e-3)
    assert rho_of_coins(1.0, 0.5) == pytest.approx(math.log(2), rel=2e-3)


def test_the_harness_clears_randomised_response_and_refutes_a_smaller_claim():
    # Truth with chance 3/4: pure DP with ε = ln 3, and ρ-zCDP with no less than (ln 3)/2 ≈ 0.549
    # and no more than ε²/2 ≈ 0.603 (Bun & Steinke 2016).
    def response(records: Records, randomness: Randomness) -> bool:
        return (int(records.codes("a")[0]) == 0) == (randomness.below(4) > 0)

    events = [bool, lambda outcome: not outcome]
    for rho, violated in ((Fraction(61, 100), False), (Fraction(2, 5), True)):
        verdict = audit(response, NEIGHBOURS, events, 4 * TRIALS, rho, seed=3)
        assert verdict.violated is violated
        assert verdict.epsilon < math.log(3)


def test_the_stated_false_alarm_rate_is_small_enough():
    assert FALSE_ALARM < 1e-6
