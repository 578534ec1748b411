"""Answers of D' that are corrected by noisy tables: the formula, sums, lists, and folders."""

import numpy as np
import pytest

import thresher as th
from thresher.release.sources.correction import Correction, surplus_of
from thresher.tables import slabs_of

SIGMA = 0.01
FEATURES = ("age", "education-num", "occupation")


@pytest.fixture(scope="module", params=[1, 0.05], ids=["all tables", "rounds"])
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
