"""Adaptive tables on ADULT: budgets, large tables, error bars, and accuracy on few tables."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import thresher as th
from thresher.data.records import Records
from thresher.evaluation.errors import errors_of
from thresher.release.sources import SyntheticRows


@pytest.mark.parametrize("rho", [Fraction(1, 10**12), Fraction(10**9)])
def test_any_budget_is_spent(adult, rho):
    work = th.Workload(adult.schema, [th.Threshold(("race", "sex"))])
    release = th.AdaptiveTables(rho=rho, synthetic_rows=20).fit(adult, work)
    assert release.spent == rho


@pytest.mark.parametrize("setting", ["rounds", "synthetic_rows", "largest_table", "seed"])
@pytest.mark.parametrize("value", [-1, 0.5, "4", True])
def test_settings_that_make_no_sense(adult, setting, value):
    work = th.Workload(adult.schema, [th.Threshold(("race", "sex"))])
    with pytest.raises(th.ParameterError, match=f"{setting} must be a whole number"):
        th.AdaptiveTables(rho=1, **{setting: value}).fit(adult, work)


def test_whether_workload_tables_are_measured_is_a_yes_or_no(adult):
    work = th.Workload(adult.schema, [th.Threshold(("race", "sex"))])
    with pytest.raises(th.ParameterError, match="workload_tables must be True, False or None"):
        th.AdaptiveTables(rho=1, workload_tables="all").fit(adult, work)


def test_a_procedure_can_be_run_again(adult):
    work = th.Workload(adult.schema, [th.Threshold(("race", "sex")), th.Threshold(("age", "sex"))])
    procedure = th.AdaptiveTables(rounds=2, synthetic_rows=20).resolve(adult.n, Fraction(1), work)
    one, same = (
        procedure.run(
            th.Curator(adult, th.Budget.from_rho(1), randomness=th.InsecureSeededRandomness(0)),
            lambda *_: None,
        )
        for _ in range(2)
    )
    assert np.array_equal(one.source.rows.columns, same.source.rows.columns)


def test_answers_are_clamped_to_a_table_that_is_too_large_to_fit(adult):
    work = th.Workload(adult.schema, [th.Threshold(("age", "education-num", "occupation"))])
    mechanism = th.AdaptiveTables(epsilon=1, synthetic_rows=20, largest_table=200)
    release = mechanism.fit(adult, work, randomness=th.InsecureSeededRandomness(0))
    table = release.source.tables[frozenset(work[0].features)]
    noisy = table.ordered(work[0].features)
    says = dict(release.answer_all())[work[0]]
    correction = release.source.correction(frozenset(work[0].features))
    before = says + correction.surplus * (says > 0)
    tolerance = correction.tolerance * table.sigma
    within = np.abs(before - np.clip(noisy, 0, 1)) <= tolerance * (1 + 1e-6)
    assert within[says > 0].all()
    empty = (says > 0) & (before < 0.1 * table.sigma + noisy - 0.9 * tolerance)
    assert empty.sum() > 10, "D' was fitted to it after all"


def test_bars_hold_where_a_table_was_too_large_to_fit(adult):
    work = th.Workload(adult.schema, [th.Threshold(("age", "hours-per-week", "native-country"))])
    release = th.AdaptiveTables(epsilon=1, synthetic_rows=200).fit(
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
        errors = [abs(a - truth[tuple(cell)]) for a, cell in zip(answers, cells, strict=True)]
        inside = [error <= a.error_bar for a, error in zip(answers, errors, strict=True)]
        assert np.mean(inside) > 0.85  # some of these tables have 39 such cells


@pytest.mark.parametrize("size", [1, 4])
def test_not_worse_than_the_joint_gaussian_on_few_tables(adult, size):
    """Fixed seeds; with few tables, answers stay within the tolerance of the noisy cells.

    Without the rules for few tables, 4 marginals had 1.2 times the error of the joint Gaussian
    (docs/accuracy.md).
    """
    found = {th.AdaptiveTables: [], th.GaussianJoint: []}
    for seed in range(4):
        work = th.Workload.random(adult.schema, 3, size=size, seed=seed)
        for kind, errors in found.items():
            rows = {"synthetic_rows": 200} if kind is th.AdaptiveTables else {}
            noise = th.InsecureSeededRandomness(seed)
            release = kind(epsilon=1, **rows).fit(adult, work, randomness=noise)
            errors.append(errors_of(release.source.table, adult, work).max)
    ours, joint = map(np.mean, found.values())
    assert ours <= 1.1 * joint


class Asked:
    """Records that note what was counted of them."""

    def __init__(self, records):
        self._records, self.asked = records, []

    def __getattr__(self, name):
        return getattr(self._records, name)

    def counts(self, feature_sets, progress=None):
        self.asked.append([*feature_sets])
        return self._records.counts(feature_sets, progress)


def fit_asking(adult, work):
    data = Asked(adult)
    th.AdaptiveTables(epsilon=0.1, rounds=1, synthetic_rows=20).fit(
        data, work, randomness=th.InsecureSeededRandomness(0)
    )
    [asked] = data.asked  # once
    return {tuple(sorted(features)) for features in asked}


def test_of_many_large_tables_only_what_may_be_measured_is_counted(adult):
    work = th.Workload.all(adult.schema, 5)[:60]
    asked = fit_asking(adult, work)
    procedure = th.AdaptiveTables(rounds=1).resolve(adult.n, Fraction(1, 5000), work)
    candidates = {tuple(sorted(table.features)) for table in procedure.plan.candidates}
    alone = {(name,) for name in adult.schema.names}
    assert asked <= candidates | alone
    assert all(any({*c} <= {*a} for a in asked) for c in candidates)
    assert max(th.Threshold(features).query_count(adult.schema) for features in asked) <= 50_000


def test_the_tables_of_few_thresholds_are_counted_as_they_are(adult):
    work = th.Workload.random(adult.schema, 8, size=2, seed=0)
    asked = fit_asking(adult, work)
    assert {tuple(sorted(threshold.features)) for threshold in work} <= asked


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_features_of_no_candidate_are_counted_in_the_same_pass(neighbours):
    """Their one-way tables were counted in a second pass, with nothing to compare it with."""
    schema = th.Schema(
        th.IntegerRange(name=f"f{i}", low=0, high=1 if i < 4 else 4000, nulls=0) for i in range(8)
    )
    columns = [np.arange(3000, dtype=np.uint16) // (i + 1) % 2 for i in range(8)]
    records, passes = Records(schema, columns), []

    class Counted:
        n = records.n

        def __init__(self):
            self.schema = schema

        def counts(self, feature_sets, progress=None):
            passes.append(feature_sets)
            return records.counts(feature_sets)

    workload = th.Workload(
        schema, [th.Threshold(("f0", "f1")), th.Threshold(("f4", "f5", "f6", "f7"))]
    )
    th.AdaptiveTables(rho=1, rounds=1, synthetic_rows=50).fit(
        Counted(), workload, unit=th.Unit(neighbours=neighbours), progress=False
    )
    assert len(passes) == 1


def test_what_is_too_large_is_refused_before_anything_is_paid():
    """One-way tables of other features were paid for before the workload's table was refused."""
    sizes = {"a": 400, "b": 400, "c": 400, "d": 2}
    schema = th.Schema(
        th.IntegerRange(name=name, low=0, high=size - 1, nulls=0) for name, size in sizes.items()
    )
    records = Records(schema, [np.zeros(1000, np.uint16) for _ in sizes])
    curator = th.Curator(records, th.Budget.from_rho(1))
    mechanism = th.AdaptiveTables(rho=1, largest_table=10**8, workload_tables=True)
    with pytest.raises(th.ResourceError):
        mechanism.fit(curator, th.Workload(schema, [th.Threshold(("a", "b", "c"))]), progress=False)
    assert curator.spent == 0


@pytest.mark.parametrize(("epsilon", "alone"), [(0.1, True), (10, False)])
def test_answers_that_are_best_on_average_come_from_d_prime_if_it_is_good(adult, epsilon, alone):
    """Twenty rows cannot hold what a table with hardly any noise tells."""
    work = th.Workload(adult.schema, [th.Threshold(("age", "education-num", "occupation"))])
    mechanism = th.AdaptiveTables(epsilon=epsilon, synthetic_rows=20, optimise="mean")
    release = mechanism.fit(adult, work, randomness=th.InsecureSeededRandomness(0))
    says = dict(release.answer_all())[work[0]]
    assert says.sum() == pytest.approx(1.0, abs=1e-4)
    assert release.settings["optimise"] == "mean"
    of_rows = dict(replace(release, source=release.source.alone()).answer_all())[work[0]]
    assert np.array_equal(says, of_rows) == alone
    truth = th.exact_answers(adult, work[0]) / adult.n
    assert alone or np.abs(says - truth).sum() < np.abs(of_rows - truth).sum() / 2


@pytest.mark.parametrize(("epsilon", "most"), [(0.1, 0.85), (1.0, 0.97)])
def test_mean_errors_are_smaller_where_they_are_to_be(adult, epsilon, most):
    """Total variation was 0.72 to 0.76 and 0.87 to 0.91 times as large in four fits each."""
    work = th.Workload.random(adult.schema, 3, size=16, seed=0, max_queries=20_000)
    found = {}
    for optimise in ("max", "mean"):
        mechanism = th.AdaptiveTables(epsilon=epsilon, synthetic_rows=300, optimise=optimise)
        release = mechanism.fit(adult, work, randomness=th.InsecureSeededRandomness(0))
        found[optimise] = sum(
            np.abs(says - th.exact_answers(adult, threshold) / adult.n).sum()
            for threshold, says in release.answer_all()
        )
    assert found["mean"] < most * found["max"]


def test_what_can_be_optimised(adult):
    work = th.Workload(adult.schema, [th.Threshold(("race", "sex"))])
    with pytest.raises(th.ParameterError, match="optimise must be 'max' or 'mean', not 'min'"):
        th.AdaptiveTables(rho=1, optimise="min").fit(adult, work)


def test_rows_answer_nearly_as_well_as_corrected_tables(adult):
    """D' was fitted to the corrected tables at last, so records that are drawn are as good."""
    work = th.Workload.random(adult.schema, 3, size=8, seed=0, max_queries=20_000)
    release = th.AdaptiveTables(epsilon=1, synthetic_rows=500).fit(
        adult, work, randomness=th.InsecureSeededRandomness(0)
    )
    rows = SyntheticRows(release.source.rows, adult.schema)
    corrected = errors_of(release.source.table, adult, work).max
    assert errors_of(rows.table, adult, work).max < 1.4 * corrected


@pytest.mark.parametrize(("size", "most"), [(16, 0.085), (64, 0.105)])
def test_pairs_alone_where_noise_hides_the_rest(adult, size, most):
    """Four seeds had 0.051 to 0.068 and 0.057 to 0.082, the joint Gaussian 0.09 and 0.19."""
    work = th.Workload.random(adult.schema, 3, size=size, seed=0)
    release = th.AdaptiveTables(epsilon=0.03, synthetic_rows=300).fit(
        adult, work, randomness=th.InsecureSeededRandomness(0)
    )
    assert max(m.threshold.k for m in release.measurements) == 2
    assert errors_of(release.source.table, adult, work).max < most


def test_synthetic_rows_err_little_more_than_answers_where_there_is_little_noise(adult):
    """With 40 iterations at last, they erred 2.5 to 3 times as much."""
    data = Records(adult.schema, [np.tile(codes, 10) for codes in adult.columns])
    names = ("workclass", "education-num", "marital-status", "relationship", "race", "sex")
    work = th.Workload(data.schema, [th.Threshold(three, r=1) for three in combinations(names, 3)])
    ratios = []
    for seed in range(3):
        release = th.AdaptiveTables(epsilon=1, synthetic_rows=300).fit(
            data, work, randomness=th.InsecureSeededRandomness(seed)
        )
        of_rows = SyntheticRows(release.source.rows, data.schema).table
        answers = errors_of(release.source.table, data, work)
        ratios.append(errors_of(of_rows, data, work).max / answers.max)
    assert np.mean(ratios) < 2, ratios
