"""What adaptive tables measure, as public facts decide."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import pytest

import thresher as th
from thresher.data.datasets import adult_schema
from thresher.mechanisms.adaptive_tables.plan import make_plan
from thresher.mechanisms.adaptive_tables.workload_tables import (
    AFFORDABLE,
    AFFORDABLE_OF_TWO,
    AFFORDABLE_POWER,
    WorkloadTables,
)

N, RHO = 48842, Fraction(1, 70)
SCHEMA = adult_schema()


def plan_for(*features, rho=RHO, r=None, **given):
    work = th.Workload(SCHEMA, [th.Threshold(tuple(some), r) for some in features])
    return make_plan(N, rho, work, **given)


def plan_for_marginals(size, rho=RHO, **given):
    return make_plan(N, rho, th.Workload.random(SCHEMA, 3, size=size, seed=0), **given)


@pytest.mark.parametrize("size", [1, 4, 16, 64])
def test_marginals_that_are_all_measured_get_nearly_everything(size):
    plan = plan_for_marginals(size)
    assert len(plan.workload_tables) == size
    assert plan.workload_rho >= RHO * 99 / 101
    assert (plan.one_way, plan.rounds) == ((), 0), "one-way tables are among the residuals"
    assert {frozenset(t.features) for t in plan.workload_tables} <= {
        frozenset(residual.features) for residual in plan.residuals.marginals
    }


def test_r_of_k_thresholds_get_residuals_of_few_features_and_no_rounds():
    """A hundredth is for the feature that no threshold names."""
    work = th.Workload.random(SCHEMA, 3, 1, size=64, seed=0)
    plan = make_plan(N, RHO, th.Workload(SCHEMA, [t for t in work if "income" not in t.features]))
    assert {table.k for table in plan.workload_tables} == {2}
    assert {marginal.k for marginal in plan.residuals.marginals} == {1, 2}
    assert [table.features for table in plan.other_one_way] == [("income",)]
    assert plan.workload_rho == RHO * 100 / 101
    assert (plan.one_way, plan.rounds) == ((), 0)


@pytest.mark.parametrize(("r", "rho", "rounds"), [(2, RHO, 15), (2, RHO / 80, 0), (1, RHO, 0)])
def test_rounds_follow_tables_of_few_features_if_there_is_little_noise(r, rho, rounds):
    """And if answers count what more features have in common more than once."""
    plan = make_plan(N, rho, th.Workload.random(SCHEMA, 4, r, size=64, seed=0))
    assert {table.k for table in plan.workload_tables} == {2}
    assert plan.rounds == rounds
    assert plan.rounds_rho * len(plan.workload_tables) == plan.workload_rho * rounds


def test_tables_of_many_features_are_measured_one_by_one():
    binary = th.Schema(th.IntegerRange(name=f"f{i}", low=0, high=1, nulls=0) for i in range(16))
    plan = make_plan(N, Fraction(1), th.Workload(binary, [th.Threshold(binary.names)]))
    assert len(plan.workload_tables) == 1
    assert plan.residuals is None


def test_tables_whose_residuals_take_too_much_memory_are_measured_one_by_one():
    """12 features with 2 values and one with 4,000: few cells, but 130 times as many in margins."""
    sizes = [2] * 12 + [4000]
    wide = th.Schema(
        th.IntegerRange(name=f"f{i}", low=0, high=size - 1, nulls=0) for i, size in enumerate(sizes)
    )
    plan = make_plan(200_000, Fraction(1), th.Workload(wide, [th.Threshold(wide.names)]))
    assert len(plan.workload_tables) == 1
    assert plan.residuals is None


def test_a_feature_that_only_too_large_tables_have_gets_a_one_way_table():
    plan = plan_for(("race", "sex", "income"), SCHEMA.names[:7])
    assert {table.features[0] for table in plan.one_way} == {*SCHEMA.names[:7]} - {"race", "sex"}
    assert plan.one_way_rho > 0


@pytest.mark.parametrize("size", [1, 64])
@pytest.mark.parametrize("rho", [Fraction(1, 10**12), Fraction(1, 7000), RHO, Fraction(10**9)])
def test_the_parts_add_up_to_the_budget(size, rho):
    plan = plan_for_marginals(size, rho)
    parts = plan.one_way_rho, plan.other_one_way_rho, plan.workload_rho, plan.rounds_rho
    assert sum(parts) == rho
    assert min(parts) >= 0


def test_what_is_too_large_to_measure_gets_rounds():
    plan = plan_for(("race", "sex", "income"), SCHEMA.names[:7])
    assert [set(table.features) for table in plan.workload_tables] == [{"race", "sex", "income"}]
    assert plan.rounds == 1
    assert plan.rounds_rho == plan.workload_rho, "as much as the table that is measured"


def test_no_rounds_without_candidates():
    assert plan_for(("sex",), rounds=5).rounds == 0


def test_too_many_are_not_all_measured():
    plan = plan_for_marginals(64, RHO / 20_000)
    assert plan.workload_tables == ()
    assert 0 < plan.one_way_rho < plan.rounds_rho
    assert plan.rounds == math.ceil(math.sqrt(N * math.sqrt(RHO / 20_000)))
    assert plan.anneals


@pytest.mark.parametrize(("size", "given"), [(64, None), (16, None), (64, 0), (64, 3)])
def test_where_noise_hides_what_three_features_share_pairs_are_measured(size, given):
    """16 marginals could all be measured at this budget. Rounds are made only if they are given."""
    plan = plan_for_marginals(size, RHO / 1000, rounds=given)
    assert {marginal.k for marginal in plan.residuals.marginals} == {1, 2}
    assert plan.rounds == (given or 0)
    assert plan.rounds_rho * len(plan.workload_tables) == plan.workload_rho * plan.rounds
    precisions = zip(plan.residuals.marginals, plan.residuals.precisions, strict=True)
    assert len({(marginal.k, precision) for marginal, precision in precisions}) == 2


@pytest.mark.parametrize(("precision", "pairs_alone"), [(176, True), (60, False)])
def test_many_pairs_are_measured_until_their_noise_is_half_of_the_people(precision, pairs_alone):
    """47 features: 182 pairs, whose noise is above ten times what rounds leave at both budgets."""
    schema = th.Schema(th.IntegerRange(name=f"f{i}", low=0, high=5, nulls=0) for i in range(47))
    n, rho = 11_598, Fraction(precision, 11_598) ** 2
    plan = make_plan(n, rho, th.Workload.random(schema, 3, size=64, seed=0))
    assert (plan.rounds == 0, plan.residuals is not None) == (pairs_alone, pairs_alone)


def test_where_noise_hides_little_all_marginals_are_measured():
    assert {table.k for table in plan_for_marginals(16, RHO / 50).workload_tables} == {3}


def test_pairs_take_the_place_of_larger_marginals_only():
    plan = make_plan(N, RHO / 1000, th.Workload.random(SCHEMA, 2, size=16, seed=0))
    assert len(plan.workload_tables) == 16
    assert len(set(plan.residuals.precisions)) > 2, "the best for the largest error"


def test_pairs_and_rounds_take_the_place_of_marginals_that_cannot_be_afforded():
    plan = plan_for_marginals(64, RHO / 80)
    assert {table.k for table in plan.workload_tables} == {2}
    pairs = {frozenset(table.features) for table in plan.workload_tables}
    work = th.Workload.random(SCHEMA, 3, size=64, seed=0)
    assert pairs == {frozenset(pair) for t in work for pair in combinations(t.features, 2)}
    assert {m.k for m in plan.residuals.marginals} == {1, 2}
    assert plan.one_way == ()
    assert plan.rounds == math.ceil(math.sqrt(N * math.sqrt(RHO / 80)) / 2)
    assert plan.rounds_rho == plan.workload_rho
    assert any(table.k == 3 for table in plan.candidates), "rounds find what pairs do not show"


@pytest.mark.parametrize(("epsilon", "features"), [(0.01, 3), (0.0015, 2)])
def test_pairs_take_the_place_of_marginals_that_have_much_more_noise(epsilon, features):
    """Of few features, all pairs are much less than all tables of three."""
    wide = th.Schema(th.IntegerRange(name=f"f{i}", low=1, high=40, nulls=1) for i in range(7))
    plan = make_plan(10**6, Fraction(epsilon) ** 2, th.Workload.all(wide, 3))
    assert {table.k for table in plan.workload_tables} == {features}
    assert (plan.rounds > 0) == (features == 2)


def test_pairs_leave_no_feature_without_budget():
    """A threshold over a feature with a single value has no table that says anything."""
    sizes = {**{f"f{i}": 40 for i in range(7)}, "one": 1}
    wide = th.Schema(
        th.IntegerRange(name=name, low=1, high=size, nulls=1) for name, size in sizes.items()
    )
    several = (t for t in th.Workload.all(wide, 3) if "one" not in t.features)
    plan = make_plan(
        10**6, Fraction(15, 10**4) ** 2, th.Workload(wide, [*several, th.Threshold(("one",))])
    )
    assert {table.k for table in plan.workload_tables} == {2}
    assert [table.features for table in plan.one_way] == [("one",)]
    assert plan.one_way_rho > 0


def test_rounds_that_are_given_share_half_of_the_budget_with_pairs():
    plan = plan_for_marginals(64, RHO / 80, rounds=3)
    assert {table.k for table in plan.workload_tables} == {2}
    assert (plan.rounds, plan.rounds_rho) == (3, plan.workload_rho)
    without = plan_for_marginals(64, RHO / 80, rounds=0)
    assert without.workload_tables == (), "without rounds, pairs would leave something out"


@pytest.mark.parametrize(("part", "features"), [(1, 3), (10, 2), (80, 2), (10**5, 2)])
def test_for_the_mean_error_pairs_alone_take_the_place_of_all_that_noise_hides(part, features):
    plan = plan_for_marginals(64, RHO / part, optimise="mean")
    assert {table.k for table in plan.workload_tables} == {features}
    assert plan.rounds == 0


def test_for_the_mean_error_tables_and_rounds_that_are_given_are_made():
    assert {
        table.k
        for table in plan_for_marginals(
            64, RHO / 80, optimise="mean", workload_tables=True
        ).workload_tables
    } == {3}
    assert plan_for_marginals(64, RHO / 80, optimise="mean", rounds=3).rounds == 3


def test_marginals_that_are_wanted_are_measured_in_any_case():
    plan = plan_for_marginals(64, RHO / 100, workload_tables=True)
    assert {table.k for table in plan.workload_tables} == {3}


@pytest.mark.parametrize(("k", "r", "size"), [(3, 1, 2), (3, 2, 2), (4, 3, 3)])
def test_r_of_k_needs_tables_of_r_features_and_of_two_at_least(k, r, size):
    features = ("race", "sex", "income", "relationship")[:k]
    work = th.Workload(SCHEMA, [th.Threshold(features, r), th.Threshold(("age", "sex"))])
    tables = WorkloadTables.of(N, work, jointly=False)
    needed = {frozenset(some) for some in combinations(features, size)}
    assert {frozenset(table.features) for table in tables.cells} == needed | {
        frozenset({"age", "sex"})
    }
    residuals = {frozenset(marginal.features) for marginal in tables.residuals.marginals}
    assert residuals == {
        frozenset(part)
        for table in [*needed, {"age", "sex"}]
        for j in range(1, len(table) + 1)
        for part in combinations(table, j)
    }


@pytest.mark.parametrize("r", [1, 2, 3])
def test_r_of_k_answers_are_measured_jointly_if_their_noise_is_small(r):
    features = ("race", "sex", "income", "relationship")
    plan = plan_for(features, ("age", "sex"), r=1 if r > 2 else r)
    assert {frozenset(t.features) for t in plan.workload_tables} == {
        frozenset(features),
        frozenset({"age", "sex"}),
    }
    assert {m.k for m in plan.residuals.marginals} == {1, 2, 3, 4}
    assert plan.rounds == 0


def test_r_of_k_answers_get_residuals_of_all_features_if_the_budget_is_large():
    work = th.Workload.random(SCHEMA, 3, r=1, size=64, seed=0)
    for rho, most in ((RHO, 2), (100 * RHO, 3)):
        plan = make_plan(N, rho, work)
        assert {table.k for table in plan.workload_tables} == {most}
        assert max(marginal.k for marginal in plan.residuals.marginals) == most


def test_what_is_asked_for_takes_part_in_what_is_precise():
    """Of a disjunction, the single features; of a marginal, all of them together."""
    any_, all_ = (plan_for(("race", "education-num", "age"), r=r) for r in (1, 3))
    assert _part_of_single_features(any_.residuals) > 1.5 * _part_of_single_features(all_.residuals)


def _part_of_single_features(plan):
    by_size = dict.fromkeys((1, 2, 3), 0)
    for marginal, precision in zip(plan.marginals, plan.precisions, strict=True):
        by_size[marginal.k] += precision
    return by_size[1] / sum(by_size.values())


def test_one_way_tables_get_more_where_any_feature_is_asked_for():
    some, any_ = (
        make_plan(N, RHO / 10**5, th.Workload.random(SCHEMA, 3, r=r, size=64, seed=0))
        for r in (2, 1)
    )
    assert any_.workload_tables == some.workload_tables == (), "rounds only"
    assert any_.one_way_rho > some.one_way_rho


def test_rounds_and_workload_tables_may_be_given():
    plan = plan_for_marginals(64, rounds=9)
    assert (plan.rounds, plan.anneals) == (9, False)
    assert plan_for_marginals(4, workload_tables=False).workload_tables == ()
    assert len(plan_for_marginals(64, RHO / 100, workload_tables=True).workload_tables) == 64


@pytest.mark.parametrize("r", [1, 3])
def test_the_load_is_the_square_of_the_largest_noise(r):
    work = th.Workload.random(SCHEMA, 3, r, size=64, seed=0)
    tables = WorkloadTables.of(N, work, jointly=r == 3)
    load = tables.load(N, RHO)
    # Four times as many records halve (n√ρ)^(-1/3) to the power of 2/3 twice: 4^(-2/3).
    assert tables.load(4 * N, RHO) == pytest.approx(load * 4 ** (-2 / 3))
    few = replace(tables, cells=dict([*tables.cells.items()][:16]), asked=tables.asked[:16])
    assert few.load(N, RHO) < load / 2


def test_more_noise_is_borne_where_nothing_but_pairs_is_asked_for():
    """All pairs of ADULT at ε = 0.1, where J is 4.4 times what rounds leave."""
    rho, pairs = th.Budget.from_epsilon(0.1, Fraction(1, N**2)).rho, th.Workload.all(SCHEMA, 2)
    tables = WorkloadTables.of(N, pairs, jointly=True)
    left = (N * math.sqrt(rho)) ** -AFFORDABLE_POWER
    assert AFFORDABLE * left < tables.largest_noise(N, rho) < AFFORDABLE_OF_TWO * left
    assert len(make_plan(N, rho, pairs).workload_tables) == len(pairs)
    [large] = [t for t in th.Workload.all(SCHEMA, 3) if t.features == SCHEMA.names[:3]]
    mixed = th.Workload(SCHEMA, [*pairs, large])
    assert not WorkloadTables.of(N, mixed, jointly=True).are_affordable(N, rho)


def test_tables_that_share_residuals_are_less_of_a_load():
    binary = th.Schema(th.IntegerRange(name=f"f{i}", low=0, high=1, nulls=0) for i in range(8))
    work = th.Workload.all(binary, 3)
    tables = WorkloadTables.of(N, work, jointly=True)
    one_by_one = math.sqrt(len(tables.cells)) / (N * math.sqrt(RHO))
    one_by_one *= math.sqrt(2 * math.log(sum(tables.cells.values())))
    unit = AFFORDABLE * (N * math.sqrt(RHO)) ** -AFFORDABLE_POWER
    assert tables.load(N, RHO) < (one_by_one / unit) ** 2 / 2


def test_a_pair_of_more_than_n_cells_is_a_candidate_if_its_threshold_has_no_other():
    work = th.Workload.random(SCHEMA, 3, size=64, seed=0)
    usual = make_plan(100_000, Fraction(1, 10**5), work)
    assert max(usual.candidates.values()) <= 100_000
    wide = th.Schema(th.IntegerRange(name=f"f{i}", low=0, high=999, nulls=0) for i in range(4))
    work = th.Workload.all(wide, 3)
    few = make_plan(1000, Fraction(1, 10**4), work, workload_tables=False)
    larger = {table: cells for table, cells in few.candidates.items() if cells > 50_000}
    assert larger
    assert all(table.k == 2 for table in larger)
    assert few.largest_fitted >= max(larger.values()), "D' is fitted to what is measured"
    for threshold in work:
        pairs = combinations(threshold.features, 2)
        assert any(th.Threshold(pair) in few.candidates for pair in pairs)
    limited = make_plan(1000, Fraction(1, 10**4), work, largest_table=1000)
    assert not limited.candidates, "whoever gives a limit gets it"
