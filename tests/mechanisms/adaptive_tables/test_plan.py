"""What adaptive tables measure, as public facts decide."""

import math
from fractions import Fraction
from itertools import combinations

import pytest

import thresher as th
from thresher.data.datasets import adult_schema
from thresher.mechanisms.adaptive_tables.plan import make_plan
from thresher.release.sources import TOLERANCE

N, RHO = 48842, Fraction(1, 70)
SCHEMA = adult_schema()


def plan_for(*features, rho=RHO, r=None, **given):
    work = th.Workload(SCHEMA, [th.Threshold(tuple(some), r) for some in features])
    return make_plan(N, rho, work, **given)


def plan_for_marginals(size, rho=RHO, **given):
    return make_plan(N, rho, th.Workload.random(SCHEMA, 3, size=size, seed=0), **given)


@pytest.mark.parametrize("size", [1, 4, 16, 64])
def test_workload_tables_get_at_least_two_thirds(size):
    plan = plan_for_marginals(size)
    assert len(plan.workload_tables) == size
    assert plan.one_way_share * len(plan.one_way) + plan.rounds <= size / 2
    assert plan.other_one_way_share * len(plan.other_one_way) <= size / 8


@pytest.mark.parametrize("size", [1, 64])
@pytest.mark.parametrize("rho", [Fraction(1, 10**12), Fraction(1, 7000), RHO, Fraction(10**9)])
def test_the_parts_add_up_to_the_budget(size, rho):
    plan = plan_for_marginals(size, rho)
    in_rounds = (
        plan.one_way_share * len(plan.one_way)
        + plan.other_one_way_share * len(plan.other_one_way)
        + len(plan.workload_tables)
        + plan.rounds
    )
    assert in_rounds * plan.per_round == rho
    assert plan.per_selection + plan.per_measurement == plan.per_round


def test_the_fewer_workload_tables_the_smaller_the_tolerance():
    plans = [plan_for_marginals(size) for size in (1, 4, 16, 64)]
    tolerances = [plan.tolerance for plan in plans]
    assert tolerances == sorted(tolerances)
    assert 0 < tolerances[0] < 1.5
    assert tolerances[-1] <= TOLERANCE
    assert [plan.rounds for plan in plans] == sorted(plan.rounds for plan in plans)


def test_few_cells_have_a_smaller_tolerance():
    small, large = plan_for(("race", "sex")), plan_for(("age", "hours-per-week"))
    assert 0 <= small.tolerance < large.tolerance


def test_what_is_too_large_to_measure_gets_rounds():
    plan = plan_for(("race", "sex", "income"), SCHEMA.names[:7])
    assert [set(table.features) for table in plan.workload_tables] == [{"race", "sex", "income"}]
    assert (plan.rounds, plan.tolerance, plan.one_way_share) == (4 + 1, TOLERANCE, Fraction(1, 2))


def test_no_rounds_without_candidates():
    assert plan_for(("sex",), rounds=5).rounds == 0


def test_too_many_are_not_all_measured():
    plan = plan_for_marginals(64, RHO / 100)
    assert (plan.workload_tables, plan.tolerance) == ((), TOLERANCE)
    assert plan.one_way_share == Fraction(1, 2)
    assert plan.rounds > 0


@pytest.mark.parametrize(("k", "r", "size"), [(3, 1, 2), (3, 2, 2), (4, 3, 3)])
def test_r_of_k_needs_tables_of_r_features_and_of_two_at_least(k, r, size):
    features = ("race", "sex", "income", "relationship")[:k]
    work = th.Workload(SCHEMA, [th.Threshold(features, r), th.Threshold(("age", "sex"))])
    plan = make_plan(N, RHO, work)
    needed = {frozenset(some) for some in combinations(features, size)}
    assert {frozenset(table.features) for table in plan.workload_tables} == needed | {
        frozenset({"age", "sex"})
    }
    assert (plan.rounds, plan.tolerance) == (4, TOLERANCE)


def test_one_way_tables_get_more_where_any_feature_is_asked_for():
    assert plan_for(("race", "sex"), r=1).one_way_share == 2


def test_rounds_and_workload_tables_may_be_given():
    assert plan_for_marginals(4, rounds=9).rounds == 9
    assert plan_for_marginals(4, workload_tables=False).workload_tables == ()
    assert len(plan_for_marginals(64, RHO / 100, workload_tables=True).workload_tables) == 64


def test_a_candidate_must_exceed_the_noise_to_come():
    plan = plan_for(("race", "sex"), ("age", "sex"), workload_tables=False)
    small, large = plan.noise_to_come
    assert list(plan.candidates.values()) == [10, 170]
    # σ·√(2 ln cells), rounded up, with σ = 1/√ρ counts.
    sigma = float(plan.per_measurement) ** -0.5
    assert small == math.ceil(sigma * math.sqrt(2 * math.log(10)))
    assert large == math.ceil(sigma * math.sqrt(2 * math.log(170))) > small


def test_a_pair_of_more_than_n_cells_is_a_candidate_if_its_threshold_has_no_other():
    work = th.Workload.random(SCHEMA, 3, size=64, seed=0)
    usual = make_plan(N, Fraction(1, 10**4), work)
    assert max(usual.candidates.values()) <= N
    few = make_plan(1000, Fraction(1, 10**4), work)
    larger = {table: cells for table, cells in few.candidates.items() if cells > 1000}
    assert larger
    assert all(table.k == 2 for table in larger)
    assert few.largest_fitted >= max(larger.values()), "D' is fitted to what is measured"
    for threshold in work:
        assert any(th.Threshold(pair) in few.candidates for pair in in_order_pairs(threshold))
    limited = make_plan(1000, Fraction(1, 10**4), work, largest_table=1000)
    assert max(limited.candidates.values()) <= 1000, "whoever gives a limit gets it"


def in_order_pairs(threshold):
    return combinations(sorted(threshold.features, key=SCHEMA.index), 2)
