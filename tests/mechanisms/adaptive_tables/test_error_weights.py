"""The weights of errors, against their definition."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

import thresher as th
from thresher.mechanisms.adaptive_tables import error_weights
from thresher.mechanisms.adaptive_tables import people as people_module
from thresher.mechanisms.adaptive_tables.candidates import candidates_of
from thresher.mechanisms.adaptive_tables.error_weights import ErrorWeights
from thresher.mechanisms.adaptive_tables.people_kernels import largest_cells
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


def people(schema, count, seed=0):
    """Rows that are records, some of them alike."""
    rng = np.random.default_rng(seed)
    codes = [np.minimum(rng.geometric(0.3, count) - 1, size - 1) for size in schema.sizes]
    return np.stack(codes, axis=1)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("asked", [[("abcd", 4)], [("abcd", 3), ("abc", 3)], [("bcd", 3)]])
def test_both_ways_give_equal_weights_where_rows_are_records(schema, asked, seed, monkeypatch):
    rows = RelaxedRows.from_codes(schema.sizes, people(schema, 50, seed))
    whole = weights_on(schema, rows, asked)
    monkeypatch.setattr(error_weights, "MOST_STEPS", -1)
    drawn = weights_on(schema, rows, asked)
    assert whole.keys() == drawn.keys()
    for table, weights in whole.items():
        assert np.allclose(weights, drawn[table], rtol=1e-5), table
    assert any(np.any(weights < 0.9) for weights in whole.values())


def test_both_ways_agree_on_a_relaxed_d_prime(schema, rows, monkeypatch):
    """Records drawn from D' are a sample of it: most weights are near, whatever is drawn."""
    whole = weights_on(schema, rows, [("abcd", 4)])
    monkeypatch.setattr(error_weights, "MOST_STEPS", -1)
    monkeypatch.setattr(people_module, "PEOPLE", 400_000)
    drawn = weights_on(schema, rows, [("abcd", 4)])
    for table, weights in whole.items():
        assert np.allclose(weights, drawn[table], atol=0.02), table


@pytest.mark.parametrize(("names", "size"), [("abcdefgh", 139), ("abcdefghijklmnopqrst", 16)])
def test_weights_in_a_table_of_10_to_the_17_cells_or_more(names, size):
    """By definition. 16^20 cells have no numbers of 64 bits: a plain product would lose some."""
    assert size ** len(names) > 10**17
    schema = th.Schema(th.IntegerRange(name=n, low=0, high=size - 1, nulls=0) for n in names)
    codes = people(schema, 60)
    codes[:, 0] = np.arange(60) // 4 % size
    rows = RelaxedRows.from_codes(schema.sizes, codes)
    pair, everything = th.Threshold(("b", "g")), th.Threshold(tuple(names))
    found = ErrorWeights(th.Workload(schema, [everything]), [pair]).on(rows)(pair)
    weights = found(next(slabs_of((size, size))))
    rest = [i for i in range(len(names)) if i not in (1, 6)]
    among_all = max(Counter(map(tuple, codes[:, rest])).values()) / 60
    expected = np.full((size, size), among_all)
    for b, g in {*map(tuple, codes[:, [1, 6]])}:
        inside = codes[(codes[:, 1] == b) & (codes[:, 6] == g)]
        most = max(Counter(map(tuple, inside[:, rest])).values())
        expected[b, g] = (most / 60 + among_all / 60) / (len(inside) / 60 + 1 / 60)
    assert np.allclose(weights, expected, rtol=1e-5)
    assert expected.min() < 0.2, "not all weights are 1"


def test_cells_with_equal_hashes_are_told_apart():
    """So many records in so small a hash table that nearly all of them share a slot with others."""
    rng = np.random.default_rng(3)
    codes = np.ascontiguousarray(rng.integers(0, 2**20, (2, 5000)) // 400)
    strides = np.array([2**20, 1])
    starts, features = np.array([0, 2]), np.array([0, 1])
    [largest] = largest_cells(codes, starts, features, strides)
    _, counts = np.unique(codes, axis=1, return_counts=True)
    assert largest == pytest.approx(counts.max() / 5000)
    assert 1 < counts.max() < 5000


def test_the_weights_of_a_workload_multiply_those_of_its_tables():
    schema = th.Schema(th.IntegerRange(name=x, low=0, high=1, nulls=0) for x in "abc")
    asked = [th.Threshold(("a", "b", "c")), th.Threshold(("a", "b"))]
    tables = [th.Threshold(("a", "b")), th.Threshold(("b", "c"))]
    rows = RelaxedRows.from_codes(schema.sizes, np.array([[0, 0, 0], [0, 0, 0], [0, 1, 1]]))
    plain = ErrorWeights(th.Workload(schema, asked), tables).on(rows)
    weighed = ErrorWeights(th.Workload(schema, asked, [1, 4]), tables).on(rows)
    slab = next(slabs_of((2, 2)))
    assert np.allclose(weighed(tables[0])(slab), plain(tables[0])(slab))
    assert np.allclose(weighed(tables[1])(slab), plain(tables[1])(slab) / 4)
