"""The precisions are the best for the maximum, and the forecast of the noise is exact."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from thresher.data import datasets
from thresher.mechanisms.residual import ResidualPlan
from thresher.mechanisms.residual.precisions import GAP, _Problem
from thresher.privacy.unit import Unit
from thresher.queries import Threshold, Workload
from thresher.schema import IntegerRange, Schema

ADDED = Unit("add-remove")


def schema_of(*sizes):
    return Schema(
        IntegerRange(name=name, low=1, high=size, nulls=1)
        for name, size in zip("abcdefgh", sizes, strict=False)
    )


@st.composite
def workloads(draw):
    schema = schema_of(*draw(st.lists(st.integers(2, 9), min_size=3, max_size=5)))
    subsets = st.sets(st.sampled_from(schema.names), min_size=1, max_size=3).map(
        lambda names: tuple(sorted(names))
    )
    features = draw(st.lists(subsets, min_size=1, max_size=5))
    return schema, [Threshold(names, draw(st.integers(1, len(names)))) for names in features]


@given(given=workloads())
@settings(max_examples=40)
def test_no_other_precisions_have_a_smaller_maximum(given):
    schema, thresholds = given
    problem = _Problem.of(dict.fromkeys(thresholds, 1.0), schema)
    found = problem.solved()

    def worst(logs):
        precisions = np.exp(logs)
        cost = problem.costs @ precisions
        return math.log((problem.weights * problem.variances(precisions)).max() * cost)

    best = worst(np.log(found))
    search = minimize(worst, np.log(found), method="Nelder-Mead", options={"maxfev": 600})
    assert search.fun > best - 2 * GAP
    rng = np.random.default_rng(0)
    for _ in range(50):
        assert worst(np.log(found) + rng.normal(0, 0.3, len(found))) > best - 2 * GAP


def test_margins_that_may_err_as_much_as_they_like_change_nothing():
    tables = [Threshold(names) for names in (("a", "b", "c"), ("a", "d"))]
    schema = schema_of(2, 30, 9, 4)
    alone = ResidualPlan.of(tables, schema)
    free = ResidualPlan.of(tables, schema, {Threshold((name,)): 1e6 for name in "abcd"})
    of = [plan.sigmas(tables, Fraction(1), Unit()) for plan in (alone, free)]
    assert of[0] == pytest.approx(of[1], rel=1e-3)


def test_residuals_of_as_many_features_are_equally_precise():
    """Three pairs of four features: four residuals of one feature, three of two."""
    schema = schema_of(2, 3, 4, 5, 1)
    tables = [Threshold(list(names)) for names in ("ab", "cb", "cd", "ae", "e")]
    plan = ResidualPlan.by_size(tables, schema)
    assert ["".join(m.features) for m in plan.marginals] == [*"abcd", "ab", "bc", "cd"]
    few, many = plan.precisions[:4], plan.precisions[4:]
    assert (len({*few}), len({*many})) == (1, 1)
    assert few[0] / many[0] == pytest.approx(math.sqrt(3 / 4), rel=1e-5)


def test_there_may_be_nothing_to_measure_by_size():
    assert ResidualPlan.by_size([Threshold(["a"])], schema_of(1)).marginals == ()


def test_one_table_of_two_coins_is_known_in_closed_form():
    """Of 2 x 2 cells, with p = 1/2, 1/2, 1/4: Σ√(a·p) = 1/4 + 1/4 + 1/4, and V = 9/16."""
    schema, table = schema_of(2, 2), Threshold(("a", "b"))
    plan = ResidualPlan.of([table], schema)
    [sigma] = plan.sigmas([table], Fraction(1, 2), ADDED)
    assert sigma == pytest.approx(0.75, rel=1e-9)
    assert plan.precisions == (2**39, 2**39, 2**40)


@pytest.mark.parametrize(("sizes", "most"), [((2,) * 8, 0.5), ((2, 4, 8, 16, 3, 5), 0.85)])
def test_all_triples_share_what_they_have_in_common(sizes, most):
    schema = schema_of(*sizes)
    triples = list(Workload.all(schema, 3))
    sigmas = ResidualPlan.of(triples, schema).sigmas(triples, Fraction(1), ADDED)
    assert max(sigmas) < most * math.sqrt(len(triples) / 2)


def test_a_feature_with_a_single_value_has_no_residual():
    schema = schema_of(1, 3)
    plan = ResidualPlan.of([Threshold(("a", "b"))], schema)
    assert [marginal.features for marginal in plan.marginals] == [("b",)]


def test_a_replaced_record_costs_little_more_than_two_added_ones():
    schema = datasets.adult_schema()
    work = list(Workload.random(schema, k=3, size=64, seed=0))
    plan = ResidualPlan.of(work, schema)
    replaced = np.array(plan.sigmas(work, Fraction(2), Unit()))
    added = np.array(plan.sigmas(work, Fraction(1), ADDED))
    assert np.ptp(replaced / added) < 1e-9
    assert 1 <= (replaced / added)[0] < 1.02


def test_the_last_digits_of_a_machine_make_no_other_plan(monkeypatch):
    """A resumed fit must ask for what was paid, and may go on on another machine."""
    work = Workload.random(datasets.adult_schema(), k=3, size=64, seed=0)
    plan = ResidualPlan.of(work, work.schema)
    honest, rng = _Problem.solved, np.random.default_rng(0)

    def elsewhere(self):
        found = honest(self)
        return found * (1 + 1e-14 * rng.uniform(-1, 1, found.shape))

    monkeypatch.setattr(_Problem, "solved", elsewhere)
    for _ in range(20):
        assert ResidualPlan.of(work, work.schema).precisions == plan.precisions
