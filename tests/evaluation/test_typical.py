"""The typical error is the median over the cells with 1 % of the people or more."""

import numpy as np
import pytest

import thresher as th
from thresher.data.exact import exact_answers
from thresher.data.records import Records
from thresher.evaluation import typical
from thresher.evaluation.typical import typical_cell, typical_error


def people_of(sizes, n):
    schema = th.Schema(
        th.IntegerRange(name=name, low=0, high=size - 1, nulls=0) for name, size in sizes.items()
    )
    rng = np.random.default_rng(0)
    columns = [(size * rng.random(n) ** 2).astype(np.uint64) for size in sizes.values()]
    return Records(schema, columns)


@pytest.fixture(scope="module")
def people():
    return people_of({"a": 5, "b": 7, "c": 3}, 900)


def median_above(release, people, work, least):
    gaps = []
    for threshold in work:
        counts = exact_answers(people, threshold)
        answers = release.answer_all(work)[threshold]
        gaps += np.abs(answers - counts / people.n)[counts >= least].tolist()
    return float(np.median(gaps))


@pytest.mark.parametrize("r", [1, 2, 3])
def test_it_is_the_median_by_brute_force(people, r):
    work = th.Workload(people.schema, [th.Threshold(("a", "b", "c"), r), th.Threshold(("b",))])
    release = th.GaussianJoint(rho="1/50").fit(people, work)
    found = typical_error(release.source.table, people, work)
    assert found == pytest.approx(median_above(release, people, work, 9), abs=1e-6)


def test_cells_of_few_people_do_not_count(people):
    work = th.Workload(people.schema, [th.Threshold(("a", "b", "c"))])
    zeros = th.All0(epsilon=1.0).fit(people, work)
    found = typical_error(zeros.source.table, people, work)
    assert found == pytest.approx(median_above(zeros, people, work, 9))
    assert found > 1.2 * median_above(zeros, people, work, 1)


@pytest.mark.parametrize("r", [2, 3])
def test_where_no_cell_has_so_many_the_largest_count(r):
    people = people_of({"a": 40, "b": 50, "c": 30}, 900)
    work = th.Workload(people.schema, [th.Threshold(("a", "b", "c"), r)])
    release = th.All0(epsilon=1).fit(people, work)
    largest = exact_answers(people, work[0]).max()
    assert (largest < 9) == (r == 3)
    expected = median_above(release, people, work, min(9, largest / 2))
    assert typical_error(release.source.table, people, work) == pytest.approx(expected, abs=1e-6)


def test_slabs_at_equal_distances_stand_for_the_others(people, monkeypatch):
    work = th.Workload(people.schema, [th.Threshold(("a", "b", "c"), 2)])
    zeros = th.All0(epsilon=1.0).fit(people, work)
    whole = typical_error(zeros.source.table, people, work)
    monkeypatch.setattr(typical, "MOST_SLABS", 1)
    assert typical_error(zeros.source.table, people, work) == pytest.approx(whole, rel=0.2)


def test_a_typical_cell_has_the_middle_one_of_the_large_counts():
    counts = np.array([1, 1, 1, 30, 1, 20, 90])
    assert counts[typical_cell(counts, 100)] == 1  # all have 1 %
    assert counts[typical_cell(counts, 1000)] == 30
    assert counts[typical_cell(counts, 10**6)] == 90
