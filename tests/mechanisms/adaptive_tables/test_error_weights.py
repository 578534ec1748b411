"""The weights of errors, against their definition."""

from itertools import combinations

import numpy as np
import pytest

import thresher as th
from thresher.mechanisms.adaptive_tables.candidates import candidates_of
from thresher.mechanisms.adaptive_tables.error_weights import LARGEST_WEIGHED, ErrorWeights
from thresher.relaxed.rows import RelaxedRows
from thresher.tables import slabs_of


@pytest.fixture
def schema():
    sizes = {"a": 2, "b": 3, "c": 4, "d": 2}
    return th.Schema(
        th.IntegerRange(name=name, low=0, high=size - 1, nulls=0) for name, size in sizes.items()
    )


@pytest.fixture
def rows(schema):
    return RelaxedRows.uniform(schema.sizes, rows=40, rng=np.random.default_rng(1))


def weights_on(schema, rows, thresholds):
    work = th.Workload(schema, [th.Threshold(tuple(f), r) for f, r in thresholds])
    tables = candidates_of(work, largest=1000)
    weights_of = ErrorWeights(work, tables).on(rows)
    return {
        "".join(table.features): weights_of(table)(next(slabs_of(table.shape(schema))))
        for table in tables
    }


def shares_of(schema, rows, names):
    blocks = [rows.block(schema.index(name)) for name in names]
    letters = "wxyz"[: len(names)]
    terms = ",".join(f"{letter}n" for letter in letters)
    return np.einsum(f"{terms}->{letters}", *blocks) / rows.count


def largest_share(schema, rows, names):
    """The weight of an error in the first two of three features, by definition."""
    shares = shares_of(schema, rows, names)
    among_all = shares.sum(axis=(0, 1)).max()
    return (shares.max(axis=2) + among_all / 40) / (shares.sum(axis=2) + 1 / 40)


def test_a_margin_has_the_largest_share_of_the_values_it_leaves_open(schema, rows):
    found = weights_on(schema, rows, [("abc", 3)])
    assert np.allclose(found["ab"], largest_share(schema, rows, "abc"))
    assert np.allclose(found["ac"], largest_share(schema, rows, "acb"))
    assert np.all(found["abc"] == 1)


@pytest.mark.parametrize("r", [1, 2])
def test_r_values_are_enough(schema, rows, r):
    found = weights_on(schema, rows, [("abcd", r)])
    assert len(found) == 6 + 4 + 1
    assert all(np.all(weights == 1) for weights in found.values())


def test_fewer_than_r_values_need_others(schema, rows):
    found = weights_on(schema, rows, [("abcd", 3)])
    for pair in combinations("abcd", 2):
        most = 0.0
        for third in set("abcd") - set(pair):
            most = np.maximum(most, largest_share(schema, rows, (*pair, third)))
        assert np.allclose(found["".join(pair)], most)
        assert np.all(found["".join(pair)] < 1)


def test_the_threshold_with_the_largest_weight_counts(schema, rows):
    alone = weights_on(schema, rows, [("abc", 3)])["ab"]
    other = weights_on(schema, rows, [("abd", 3)])["ab"]
    both = weights_on(schema, rows, [("abc", 3), ("abd", 3)])["ab"]
    assert np.allclose(both, np.maximum(alone, other))
    asked_itself = weights_on(schema, rows, [("abc", 3), ("ab", 2)])["ab"]
    assert np.all(asked_itself == 1)


def test_what_is_too_large_to_weigh_has_weight_one():
    schema = th.Schema(th.IntegerRange(name=name, low=0, high=199, nulls=0) for name in "abc")
    assert LARGEST_WEIGHED < 200**3
    rows = RelaxedRows.uniform(schema.sizes, rows=2, rng=np.random.default_rng(1))
    found = {**weights_on(schema, rows, [("abc", 3)])}
    assert found == {}, "nor is it a candidate here"
    work = th.Workload(schema, [th.Threshold(("a", "b", "c"))])
    pair = th.Threshold(("a", "b"))
    weights = ErrorWeights(work, [pair]).on(rows)(pair)
    assert np.all(weights(next(slabs_of((200, 200)))) == 1)
