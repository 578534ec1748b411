"""Tables of D' for a selection: the same answers, whichever way they are computed."""

import numpy as np
import pytest

import thresher as th
from thresher.mechanisms.adaptive_tables.candidate_answers import CandidateAnswers
from thresher.relaxed.rows import RelaxedRows
from thresher.release.sources import SyntheticRows
from thresher.tables import slabs_of
from thresher.tables.listing import Listable

SCHEMA = th.Schema(
    th.IntegerRange(name=name, low=0, high=size - 1, nulls=0)
    for name, size in {"a": 40, "b": 50, "c": 700, "d": 3}.items()
)


def rows(nonzero):
    """Rows with so many nonzero values of each feature."""
    rng = np.random.default_rng(0)
    blocks = []
    for size in SCHEMA.sizes:
        block = np.zeros((size, 30), np.float32)
        for row in range(30):
            some = rng.choice(size, min(nonzero, size), replace=False)
            block[some, row] = rng.dirichlet(np.ones(len(some)))
        blocks.append(block)
    return RelaxedRows(np.concatenate(blocks), SCHEMA.sizes)


@pytest.mark.parametrize("nonzero", [1, 3, 1000])
@pytest.mark.parametrize("features", [("a", "b"), ("d", "a"), ("b", "c"), ("c", "b", "a")])
def test_the_answers_are_those_of_d_prime(nonzero, features):
    d_prime, threshold = rows(nonzero), th.Threshold(features)
    ours = CandidateAnswers(d_prime, SCHEMA).table(threshold)
    theirs = SyntheticRows(d_prime, SCHEMA).table(threshold)
    for slab in slabs_of(threshold.shape(SCHEMA)):
        assert ours(slab).shape == slab.shape
        assert np.allclose(ours(slab), theirs(slab), atol=1e-6)


def test_the_answers_of_a_large_table_can_be_listed():
    large = th.Threshold(("a", "b", "c"))
    assert large.query_count(SCHEMA) > 1 << 20
    assert isinstance(CandidateAnswers(rows(2), SCHEMA).table(large), Listable)
