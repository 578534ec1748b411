"""What adaptive tables measure, and how much of an error is felt."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import thresher as th
from thresher.evaluation.errors import errors_of
from thresher.mechanisms.candidates import LARGEST_SEEN, Felt, candidates_of
from thresher.relaxed.rows import RelaxedRows
from thresher.release.sources import TOLERANCE
from thresher.tables import slabs_of

N, RHO = 48842, Fraction(1, 70)


@pytest.fixture(scope="module")
def adult():
    return th.datasets.adult()


def marginals(schema, size, seed=0):
    return th.Workload.random(schema, 3, size=size, seed=seed)


class TestPlan:
    @pytest.mark.parametrize("size", [1, 4, 16, 64])
    def test_own_tables_get_at_least_two_thirds(self, adult, size):
        work = marginals(adult.schema, size)
        plan = th.AdaptiveTables(rho=RHO).plan(N, RHO, work)
        asked = {name for threshold in work for name in threshold.features}
        besides = plan.one_way * len(asked) + plan.rounds
        unasked = plan.unasked * (len(adult.schema) - len(asked))
        assert len(plan.own) == size
        assert besides <= size / 2
        assert unasked <= size / 8

    def test_the_fewer_they_are_the_closer_they_hold(self, adult):
        plans = [
            th.AdaptiveTables(rho=RHO).plan(N, RHO, marginals(adult.schema, size))
            for size in (1, 4, 16, 64)
        ]
        reaches = [plan.tolerance for plan in plans]
        assert reaches == sorted(reaches)
        assert 0 < reaches[0] < 1.5
        assert reaches[-1] <= TOLERANCE
        assert [plan.rounds for plan in plans] == sorted(plan.rounds for plan in plans)

    def test_few_cells_hold_closer(self, adult):
        pairs = [("race", "sex"), ("age", "hours-per-week")]
        small, large = (
            th.AdaptiveTables(rho=RHO).plan(N, RHO, th.Workload(adult.schema, [th.Threshold(pair)]))
            for pair in pairs
        )
        assert 0 <= small.tolerance < large.tolerance

    @pytest.mark.parametrize("rho", [Fraction(1, 10**12), Fraction(10**9)])
    def test_any_budget_is_spent(self, adult, rho):
        work = th.Workload(adult.schema, [th.Threshold(("race", "sex"))])
        release = th.AdaptiveTables(rho=rho, synthetic_rows=20).fit(adult, work)
        assert release.spent == rho

    def test_what_is_too_large_to_measure_gets_rounds(self, adult):
        names = [("race", "sex", "income"), adult.schema.names[:7]]
        work = th.Workload(adult.schema, [th.Threshold(tuple(some)) for some in names])
        plan = th.AdaptiveTables(rho=RHO).plan(N, RHO, work)
        assert [set(table.features) for table in plan.own] == [set(names[0])]
        assert (plan.rounds, plan.tolerance, plan.one_way) == (4 + 1, TOLERANCE, Fraction(1, 2))

    def test_no_rounds_without_candidates(self, adult):
        work = th.Workload(adult.schema, [th.Threshold(("sex",))])
        assert th.AdaptiveTables(rho=RHO, rounds=5).resolved(N, RHO, work).rounds == 0

    def test_too_many_are_not_all_measured(self, adult):
        plan = th.AdaptiveTables(rho=RHO).plan(N, RHO / 100, marginals(adult.schema, 64))
        assert (plan.own, plan.tolerance, plan.one_way) == ((), TOLERANCE, Fraction(1, 2))
        assert plan.rounds > 0

    @pytest.mark.parametrize(("k", "r", "size"), [(3, 1, 2), (3, 2, 2), (4, 3, 3)])
    def test_r_of_k_needs_tables_of_r_features_and_of_two_at_least(self, adult, k, r, size):
        features = ("race", "sex", "income", "relationship")[:k]
        work = th.Workload(adult.schema, [th.Threshold(features, r), th.Threshold(("age", "sex"))])
        plan = th.AdaptiveTables(rho=RHO).plan(N, RHO, work)
        needed = {frozenset(some) for some in combinations(features, size)}
        assert {frozenset(table.features) for table in plan.own} == needed | {
            frozenset({"age", "sex"})
        }
        assert (plan.rounds, plan.tolerance) == (4, TOLERANCE)

    def test_rounds_may_be_given(self, adult):
        chosen = th.AdaptiveTables(rho=RHO, rounds=9)
        assert chosen.resolved(N, RHO, marginals(adult.schema, 4)).rounds == 9

    @pytest.mark.parametrize("setting", ["rounds", "synthetic_rows", "largest_table", "seed"])
    @pytest.mark.parametrize("value", [-1, 0.5, "4"])
    def test_settings_that_make_no_sense(self, adult, setting, value):
        with pytest.raises(th.ParameterError, match=f"{setting} must be a whole number"):
            th.AdaptiveTables(rho=RHO, **{setting: value}).fit(adult, marginals(adult.schema, 1))


def test_a_table_too_large_to_fit_is_measured_and_held(adult):
    work = th.Workload(adult.schema, [th.Threshold(("age", "education-num", "occupation"))])
    mechanism = th.AdaptiveTables(epsilon=1, synthetic_rows=20, largest_table=200)
    release = mechanism.fit(adult, work, randomness=th.InsecureSeededRandomness(0))
    [table] = [m for m in release.measurements if m.threshold == work[0]]
    says = dict(release.answer_all())[work[0]]
    held = release.source.tolerance * table.sigma / table.n
    within = np.abs(says - np.clip(table.answers, 0, 1)) <= held * (1 + 1e-6)
    assert within.all()
    assert (np.abs(says - table.answers) > 0.99 * held).sum() > 10, "D' was fitted to it after all"


def test_bars_hold_where_a_table_was_too_large_to_fit(adult):
    work = th.Workload(adult.schema, [th.Threshold(("age", "hours-per-week", "native-country"))])
    release = th.AdaptiveTables(epsilon=1).fit(
        adult, work, randomness=th.InsecureSeededRandomness(0)
    )
    for features in combinations(work[0].features, 2):
        truth = th.exact_answers(adult, th.Threshold(features)) / adult.n
        cells = np.argwhere(truth >= 0.002)
        queries = [
            th.Query([th.Condition(f, [int(c)]) for f, c in zip(features, cell, strict=True)])
            for cell in cells
        ]
        answers = list(release.answer_many(queries))
        misses = [abs(a - truth[tuple(cell)]) for a, cell in zip(answers, cells, strict=True)]
        inside = [miss <= a.error_bar for a, miss in zip(answers, misses, strict=True)]
        assert np.mean(inside) > 0.9


@pytest.mark.parametrize("size", [1, 4])
def test_not_worse_than_the_joint_gaussian_on_few_tables(adult, size):
    found = {th.AdaptiveTables: [], th.GaussianJoint: []}
    for seed in range(4):
        work = marginals(adult.schema, size, seed)
        for kind, errors in found.items():
            release = kind(epsilon=1).fit(adult, work, randomness=th.InsecureSeededRandomness(seed))
            errors.append(errors_of(release.source.table, adult, work).max)
    ours, joint = map(np.mean, found.values())
    assert ours <= 1.1 * joint


class TestFelt:
    @pytest.fixture
    def schema(self):
        sizes = {"a": 2, "b": 3, "c": 4, "d": 2}
        return th.Schema(
            th.IntegerRange(name=name, low=0, high=size - 1, nulls=0)
            for name, size in sizes.items()
        )

    @pytest.fixture
    def rows(self, schema):
        return RelaxedRows.uniform(schema.sizes, rows=40, rng=np.random.default_rng(1))

    def weights(self, schema, rows, thresholds):
        work = th.Workload(schema, [th.Threshold(tuple(f), r) for f, r in thresholds])
        tables = candidates_of(work, largest=1000)
        weights_of = Felt(work, tables).weights(rows)
        return {
            "".join(table.features): weights_of(table)(next(slabs_of(table.shape(schema))))
            for table in tables
        }

    def shares(self, schema, rows, names):
        blocks = [rows.block(schema.index(name)) for name in names]
        letters = "wxyz"[: len(names)]
        terms = ",".join(f"{letter}n" for letter in letters)
        return np.einsum(f"{terms}->{letters}", *blocks) / rows.count

    def felt(self, schema, rows, names):
        """How much of an error in the first two of three features is felt, by definition."""
        shares = self.shares(schema, rows, names)
        among_all = shares.sum(axis=(0, 1)).max()
        return (shares.max(axis=2) + among_all / 40) / (shares.sum(axis=2) + 1 / 40)

    def test_a_marginal_feels_the_largest_share_of_what_it_names_besides(self, schema, rows):
        found = self.weights(schema, rows, [("abc", 3)])
        assert np.allclose(found["ab"], self.felt(schema, rows, "abc"))
        assert np.allclose(found["ac"], self.felt(schema, rows, "acb"))
        assert np.all(found["abc"] == 1)

    @pytest.mark.parametrize("r", [1, 2])
    def test_r_values_are_enough(self, schema, rows, r):
        found = self.weights(schema, rows, [("abcd", r)])
        assert len(found) == 6 + 4 + 1
        assert all(np.all(weights == 1) for weights in found.values())

    def test_fewer_than_r_values_need_others(self, schema, rows):
        found = self.weights(schema, rows, [("abcd", 3)])
        for pair in combinations("abcd", 2):
            most = 0.0
            for third in set("abcd") - set(pair):
                most = np.maximum(most, self.felt(schema, rows, (*pair, third)))
            assert np.allclose(found["".join(pair)], most)
            assert np.all(found["".join(pair)] < 1)

    def test_the_threshold_that_feels_most_counts(self, schema, rows):
        alone = self.weights(schema, rows, [("abc", 3)])["ab"]
        other = self.weights(schema, rows, [("abd", 3)])["ab"]
        both = self.weights(schema, rows, [("abc", 3), ("abd", 3)])["ab"]
        assert np.allclose(both, np.maximum(alone, other))
        asked_itself = self.weights(schema, rows, [("abc", 3), ("ab", 2)])["ab"]
        assert np.all(asked_itself == 1)

    def test_what_is_too_large_to_see_counts_in_full(self):
        schema = th.Schema(th.IntegerRange(name=name, low=0, high=199, nulls=0) for name in "abc")
        assert LARGEST_SEEN < 200**3
        rows = RelaxedRows.uniform(schema.sizes, rows=2, rng=np.random.default_rng(1))
        found = {**self.weights(schema, rows, [("abc", 3)])}
        assert found == {}, "nor is it a candidate here"
        work = th.Workload(schema, [th.Threshold(("a", "b", "c"))])
        pair = th.Threshold(("a", "b"))
        weights = Felt(work, [pair]).weights(rows)(pair)
        assert np.all(weights(next(slabs_of((200, 200)))) == 1)
