"""Answers of D' that are corrected by noisy tables: the formula, sums, lists, and folders."""

import json
from dataclasses import replace

import numpy as np
import pytest

import thresher as th
from thresher.evaluation.errors import errors_of
from thresher.relaxed.rows import RelaxedRows
from thresher.release.document import seal_of
from thresher.release.sources import SyntheticRows
from thresher.release.sources.correction import (
    FAR_OFF,
    LEAST_TOLERANCE,
    Correction,
    count_far_off,
    surplus_of,
    tolerance_for,
    tolerance_for_r_of_k,
    wrong_cells,
)
from thresher.tables import slabs_of

SIGMA = 0.01
FEATURES = ("age", "education-num", "occupation")


@pytest.fixture(scope="module", params=[1, 0.01], ids=["all tables", "rounds"])
def release(request):
    adult = th.datasets.adult()
    thresholds = [th.Threshold(FEATURES), th.Threshold(("sex", "race", "marital-status"))]
    if request.param < 1:
        thresholds += th.Workload.random(adult.schema, 3, size=64, seed=0)
    mechanism = th.AdaptiveTables(epsilon=request.param, synthetic_rows=100)
    work = th.Workload(adult.schema, thresholds)
    return mechanism.fit(adult, work, randomness=th.InsecureSeededRandomness(0), progress=False)


def table_of(source, threshold):
    [whole] = slabs_of(threshold.shape(source.schema), 1 << 30)
    return source.table(threshold)(whole)


def test_an_empty_cell_is_believed_up_to_the_tolerance():
    correction = Correction(SIGMA, tolerance=3.0, averages=True)
    noisy = SIGMA * np.array([-5.0, -1.0, 2.9, 3.5])
    assert correction(np.zeros(4), noisy) == pytest.approx([0, 0, 0, 0.5 * SIGMA])


def test_the_more_people_the_more_the_noisy_cell_counts():
    correction = Correction(SIGMA, tolerance=3.0, averages=True)
    people = SIGMA * np.array([0.5, 1.0, 5.0, 17.0, 80.0])
    weights = (correction(people, people + 0.5 * SIGMA) - people) / (0.5 * SIGMA)
    assert weights[:2] == pytest.approx([0, 0], abs=1e-9)
    assert weights[3] == pytest.approx(0.5)
    assert np.all(np.diff(weights)[1:] > 0)
    assert weights[-1] < 1


def test_where_d_is_far_off_the_noisy_cells_answer():
    correction = Correction(SIGMA, 3.0, averages=True, least=0.0)
    people = np.array([20.0, 50.0, 80.0])
    found = correction(SIGMA * people, SIGMA * (people + 5))
    assert np.all(people + 5 - found / SIGMA <= 3 / (people + 1) + 1e-9)


def test_the_least_tolerance_follows_from_the_misfit(release):
    source = release.source
    if not source.averages:
        assert not source.leasts
        return
    assert min(source.leasts.values()) > 0.8, "D' follows the noise"
    rows = RelaxedRows.uniform(source.schema.sizes, 50, np.random.default_rng(0))
    far_off = replace(source, rows=rows).averaging()
    assert min(far_off.leasts.values()) == 0.0
    assert far_off.tolerance < source.tolerance - 1, "D' is wrong in cells with nobody, too"


@pytest.mark.parametrize("wrong", [0, 40])
def test_wrong_cells_are_told_from_noise(wrong):
    off = np.abs(
        np.random.default_rng(wrong).normal(0, 1, 10_000) + 6 * (np.arange(10_000) < wrong)
    )
    found = wrong_cells([int((off > limit).sum()) for limit in FAR_OFF], off.size)
    assert 0.8 * wrong <= found <= wrong


def test_the_tolerance_falls_as_more_cells_are_wrong():
    found = [tolerance_for(10**6, wrong) for wrong in (0, 0.9, 2, 30, 10**4, 10**6, 10**7)]
    assert found[0] == found[1] > found[2] > found[3] > found[4] > found[5] == found[6] == 0.0


@pytest.mark.parametrize("averages", [False, True])
def test_an_answer_lies_between_d_and_the_noisy_cell_and_near_the_latter(averages):
    rng = np.random.default_rng(0)
    answers, noisy = rng.exponential(0.05, 10_000), rng.normal(0.03, 0.05, 10_000)
    found = Correction(SIGMA, 2.0, averages)(answers, noisy)
    low, high = np.minimum(answers, noisy), np.maximum(answers, noisy)
    assert np.all((np.maximum(low, 0) <= found + 1e-12) & (found <= np.maximum(high, 0) + 1e-12))
    assert np.all(np.abs(found - np.maximum(noisy, 0)) <= 2.0 * SIGMA + 1e-12)


@pytest.mark.parametrize("total", [0.0, 0.4, 1.0, 3.0])
def test_what_is_left_adds_up_to_one(total):
    cells = np.random.default_rng(1).exponential(1.0, 1000) ** 3
    cells *= total / cells.sum()
    surplus = surplus_of(np.split(cells, 4), 1000)
    left = np.maximum(cells - surplus, 0)
    assert left.sum() == pytest.approx(1)
    assert np.sign(round(surplus, 9)) == np.sign(total - 1)


def test_every_measured_table_adds_up_to_one(release):
    source = release.source
    assert source.averages == bool(release.settings["workload_tables"])
    assert source.tables
    for noisy in source.tables.values():
        table = table_of(source, th.Threshold(noisy.features))
        assert table.min() >= 0
        assert table.sum(dtype=np.float64) == pytest.approx(1, abs=1e-5)


def test_without_the_surplus_it_would_not(release):
    source = release.source
    sums = [
        (table_of(source, th.Threshold(noisy.features)) > 0).sum() * source.surpluses[key]
        for key, noisy in source.tables.items()
    ]
    assert max(map(abs, sums)) > 0.01


@pytest.mark.parametrize("least", [1e-3, 1e-5])
def test_the_list_has_all_large_answers(release, least):
    source = release.source
    for noisy in source.tables.values():
        threshold = th.Threshold(noisy.features[::-1])
        table = table_of(source, threshold).reshape(-1)
        listed = source.table(threshold).listed(least)
        assert np.isin(np.flatnonzero(table >= least * 1.001), listed.cells).all()
        assert listed.answers == pytest.approx(table[listed.cells], abs=1e-6)


def test_a_query_gets_the_answer_of_its_cell(release):
    source = release.source
    for noisy in source.tables.values():
        threshold = th.Threshold(noisy.features)
        table = table_of(source, threshold)
        places = np.argwhere(table > 1e-4)[:20]
        queries = [
            th.Query(
                [th.Condition(f, [int(c)]) for f, c in zip(threshold.features, place, strict=True)]
            )
            for place in places
        ]
        found = list(source.queries(queries))
        assert found == pytest.approx([table[tuple(place)] for place in places], abs=1e-6)


def test_it_is_the_same_after_loading(release, tmp_path):
    release.save(tmp_path / "saved")
    loaded = th.load(tmp_path / "saved")
    for noisy in release.source.tables.values():
        threshold = th.Threshold(noisy.features)
        assert np.array_equal(
            table_of(loaded.source, threshold), table_of(release.source, threshold)
        )


def test_a_release_of_nothing_but_noise_can_be_loaded(tmp_path):
    adult = th.datasets.adult()
    work = th.Workload(adult.schema, [th.Threshold(("race", "sex"))])
    release = th.AdaptiveTables(rho="1e-12", synthetic_rows=20, workload_tables=True).fit(
        adult, work, randomness=th.InsecureSeededRandomness(0), progress=False
    )
    assert abs(release.source.tables[frozenset(work[0].features)].shares).max() > 2
    release.save(tmp_path / "saved")
    table = table_of(th.load(tmp_path / "saved").source, work[0])
    assert table.sum() == pytest.approx(1, abs=1e-5)


@pytest.fixture(scope="module")
def any_of():
    """A release whose r-of-k answers follow from residuals, and its records."""
    adult = th.datasets.adult()
    thresholds = [
        th.Threshold(("sex", "race", "marital-status"), 1),
        th.Threshold(("occupation", "sex", "income", "race"), 2),
        th.Threshold(("age", "income"), 1),
    ]
    mechanism = th.AdaptiveTables(epsilon=5, synthetic_rows=30)
    work = th.Workload(adult.schema, thresholds)
    randomness = th.InsecureSeededRandomness(1)
    return mechanism.fit(adult, work, randomness=randomness, progress=False), adult


def test_answers_to_thresholds_are_near_those_of_residuals(any_of):
    source = any_of[0].source
    assert set(source.weights) == set(any_of[0].workload)
    assert any(weight > 0 for weight in source.weights.values())
    for threshold in source.weights:
        [whole] = slabs_of(threshold.shape(source.schema), 1 << 30)
        noisy = source.residuals.table(threshold)(whole)
        found = table_of(source, threshold)
        most = source.tolerance_of_r_of_k * source.residuals.noise(threshold)
        assert np.abs(found - noisy).max() <= most + 1e-6


def test_where_d_prime_is_wrong_answers_to_thresholds_may_differ_less(any_of):
    release = any_of[0]
    believing = replace(release.source, tolerance=4.0)
    assert believing.answering(release.workload).tolerance_of_r_of_k == LEAST_TOLERANCE
    # With 100 times the noise, D' is as good as noise allows.
    noisy = [replace(m, sigma=100 * m.sigma) for m in release.measurements]
    source = replace(believing, residuals=type(release.source.residuals).of(noisy, release.schema))
    answers = sum(threshold.query_count(release.schema) for threshold in release.workload)
    found = source.answering(release.workload).tolerance_of_r_of_k
    assert found == tolerance_for_r_of_k(answers, 0) > LEAST_TOLERANCE


def test_answers_to_thresholds_are_believed_by_how_often_d_prime_is_wrong():
    found = [tolerance_for_r_of_k(10**6, wrong) for wrong in (0, 10, 100, 10**5)]
    assert found == sorted(found, reverse=True)
    assert found[0] == tolerance_for(10**6, 0)
    assert found[-1] == LEAST_TOLERANCE


def test_far_off_cells_are_counted_for_each_limit():
    off = np.random.default_rng(0).normal(0, 3, (20, 30))
    assert count_far_off(off).tolist() == [int((off > limit).sum()) for limit in FAR_OFF]


def test_they_are_better_than_those_of_few_rows(any_of):
    release, adult = any_of
    errors = errors_of(release.source.table, adult, release.workload)
    rows = SyntheticRows(release.source.rows, release.schema)
    of_rows = errors_of(rows.table, adult, release.workload)
    noise = max(map(release.source.residuals.noise, release.workload))
    assert errors.max < 6 * noise
    assert errors.max < of_rows.max / 2


def test_a_query_about_any_gets_the_answer_of_its_cell(any_of, tmp_path):
    release = any_of[0]
    release.save(tmp_path / "saved")
    loaded = th.load(tmp_path / "saved")
    assert loaded.source.weights == release.source.weights
    assert loaded.source.tolerance_of_r_of_k == release.source.tolerance_of_r_of_k
    rng = np.random.default_rng(0)
    for threshold in release.workload:
        table = table_of(loaded.source, threshold)
        places = [tuple(int(rng.integers(size)) for size in table.shape) for _ in range(30)]
        queries = [
            th.Query(
                [th.Condition(f, [c]) for f, c in zip(threshold.features, place, strict=True)],
                threshold.r,
            )
            for place in places
        ]
        expected = [table[place] for place in places]
        for source in (release.source, loaded.source):
            assert list(source.queries(queries)) == pytest.approx(expected, abs=1e-6)
        margins = [release.answer(query).error_bar for query in queries]
        assert max(margins) <= 1.96 * 1.25**0.5 * release.source.residuals.noise(threshold) * 1.001


@pytest.mark.parametrize("epsilon", [0.1, 10])
@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
@pytest.mark.parametrize(
    "asked", [("one", "sex"), ("one", "age", "sex"), ("one", "also"), ("age", "sex", "also")]
)
def test_features_with_a_single_value_can_be_asked_for(asked, neighbours, epsilon, tmp_path):
    sizes = {"one": 1, "age": 9, "sex": 2, "also": 1}
    schema = th.Schema(
        th.IntegerRange(name=name, low=1, high=size, nulls=1) for name, size in sizes.items()
    )
    rng = np.random.default_rng(0)
    people = th.Records(schema, [rng.integers(0, size, 500) for size in sizes.values()])
    work = th.Workload(schema, [th.Threshold(asked, r) for r in range(1, len(asked) + 1)])
    mechanism = th.AdaptiveTables(epsilon=epsilon, delta=1e-6, synthetic_rows=20)
    unit = th.Unit(neighbours)
    release = mechanism.fit(
        people, work, unit=unit, randomness=th.InsecureSeededRandomness(0), progress=False
    )
    release.save(tmp_path / "saved")
    loaded = th.load(tmp_path / "saved")
    query = th.Query([th.Condition(name, [0]) for name in asked], 1)
    answer, again = release.answer(query), loaded.answer(query)
    assert (float(again), again.error_bar) == (float(answer), answer.error_bar)
    known = "one" in asked or "also" in asked  # everybody has the single value
    assert not known or answer == pytest.approx(1)
    assert not known or neighbours == "add-remove" or answer.error_bar == 0


def test_best_on_average_come_from_d_prime_alone_but_for_r_of_k_answers(any_of):
    release, adult = any_of
    mechanism = th.AdaptiveTables(epsilon=1, synthetic_rows=30, optimise="mean")
    source = mechanism.fit(adult, release.workload, progress=False).source
    assert set(source.weights) == set(release.workload)
    marginal = th.Threshold(("race", "sex", "marital-status"))
    assert frozenset(marginal.features) in source.tables
    of_rows = table_of(SyntheticRows(source.rows, source.schema), marginal)
    assert np.array_equal(table_of(source, marginal), of_rows)
    rows = SyntheticRows(source.rows, source.schema)
    moved = [
        t for t in source.weights if not np.array_equal(table_of(source, t), table_of(rows, t))
    ]
    assert moved
    for threshold in moved:
        [whole] = slabs_of(threshold.shape(source.schema), 1 << 30)
        noisy = source.residuals.table(threshold)(whole)
        most = source.tolerance_of_r_of_k * source.residuals.noise(threshold)
        assert np.abs(table_of(source, threshold) - noisy).max() <= most + 1e-6 < 1


def test_weights_need_their_residuals(any_of, tmp_path):
    any_of[0].save(tmp_path / "saved")
    path = tmp_path / "saved" / "release.json"
    about = json.loads(path.read_text("utf-8"))
    about["weights"][0]["features"] = ["age", "fnlwgt"]
    path.write_text(json.dumps({**about, "checksum": seal_of(about)}), "utf-8")
    with pytest.raises(th.ReleaseError, match="residuals that it has not"):
        th.load(tmp_path / "saved")
