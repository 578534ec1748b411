"""Errors in three norms, against all cells written out."""

import numpy as np
import pytest

from thresher import RAP, All0, Auto, GaussianPerQuery, Workload
from thresher.data.exact import exact_answers
from thresher.evaluation import errors_of
from thresher.privacy.randomness import InsecureSeededRandomness
from thresher.reproduction import data
from thresher.reproduction.norms import norms_of
from thresher.tables import slabs_of

MECHANISMS = [
    RAP(epsilon=1.0, rounds=2, queries_per_round=4, synthetic_rows=40),
    Auto(epsilon=1.0, rounds=2, synthetic_rows=40),
    GaussianPerQuery(epsilon=1.0),
    All0(epsilon=1.0),
]


@pytest.mark.parametrize("r", [1, 2, 3])
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.name)
def test_they_are_those_of_all_cells(mechanism, r):
    records = data.records_of("adult-small", {})
    work = Workload.random(records.schema, k=3, r=r, size=3, seed=1)
    release = mechanism.fit(records, work, randomness=InsecureSeededRandomness(5))
    gaps = []
    for threshold in work:
        answers = release.source.table(threshold)
        shape = threshold.shape(records.schema)
        told = np.concatenate([np.asarray(answers(slab)).reshape(-1) for slab in slabs_of(shape)])
        truth = exact_answers(records, threshold).reshape(-1) / records.n
        gaps.append(np.abs(truth - told.astype(float)))
    every = np.concatenate(gaps)
    found = norms_of(release.source, records, work)
    assert found.mean == pytest.approx(every.mean(), rel=1e-4)
    assert found.root_mean_square == pytest.approx(np.sqrt((every**2).mean()), rel=1e-3)
    by_definition = errors_of(release.source.table, records, work)
    # A searched and a walked answer can differ in the last digit of float32.
    assert found.by_threshold == pytest.approx(by_definition.by_threshold, abs=1e-7)
    assert found.largest == pytest.approx(by_definition.max, abs=1e-7)
