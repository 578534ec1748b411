"""The typical error is the median over the cells with people in them."""

import numpy as np
import pytest

import thresher as th
from thresher.data.exact import exact_answers
from thresher.data.records import Records
from thresher.evaluation import typical
from thresher.evaluation.typical import typical_error


@pytest.fixture(scope="module")
def people():
    sizes = {"a": 5, "b": 7, "c": 3}
    schema = th.Schema(
        th.IntegerRange(name=name, low=0, high=size - 1, nulls=0) for name, size in sizes.items()
    )
    rng = np.random.default_rng(0)
    return Records(schema, [rng.integers(0, size, 40) for size in sizes.values()])


@pytest.mark.parametrize("r", [1, 2, 3])
def test_it_is_the_median_by_brute_force(people, r):
    work = th.Workload(people.schema, [th.Threshold(("a", "b", "c"), r), th.Threshold(("b",))])
    release = th.GaussianJoint(rho=1).fit(people, work)
    gaps = []
    for threshold in work:
        counts = exact_answers(people, threshold)
        answers = release.answer_all(work)[threshold]
        gaps += np.abs(answers - counts / people.n)[counts > 0].tolist()
    assert typical_error(release.source.table, people, work) == pytest.approx(
        float(np.median(gaps)), abs=1e-6
    )


def test_cells_at_equal_distances_stand_for_the_others(people, monkeypatch):
    work = th.Workload(people.schema, [th.Threshold(("a", "b", "c"))])
    zeros = th.All0(epsilon=1.0).fit(people, work)
    whole = typical_error(zeros.source.table, people, work)
    monkeypatch.setattr(typical, "MOST_CELLS", 10)
    assert typical_error(zeros.source.table, people, work) == pytest.approx(whole, abs=1 / 40)
