"""Sparse tables against whole ones: summing out, slabs, r-of-k tables."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.errors import ResourceError
from thresher.tables import SparseTable, slabs_of, threshold_counts
from thresher.tables.sparse import MOST_CELLS, SparseMarginals, check_countable


@st.composite
def tables(draw):
    """A whole table with few or many zeros, and the same as pairs in any order, some repeated."""
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    cells = draw(st.lists(st.integers(0, math.prod(shape) - 1), max_size=30))
    counts = draw(st.lists(st.integers(1, 2**40), min_size=len(cells), max_size=len(cells)))
    whole = np.zeros(math.prod(shape), dtype=np.int64)
    np.add.at(whole, cells, counts)
    given_cells, given_counts = np.array(cells, dtype=np.int64), np.array(counts, dtype=np.int64)
    return whole.reshape(shape), SparseTable.of_cells(shape, given_cells, given_counts)


def whole_of(table):
    [slab] = slabs_of(table.shape, math.prod(table.shape))
    return table.within(slab)


def check_sound(table):
    assert table.cells.dtype == table.counts.dtype == np.int64
    assert (np.diff(table.cells) > 0).all()
    assert (table.counts > 0).all()


@given(tables())
def test_pairs_and_whole_tables_are_the_same(both):
    whole, table = both
    check_sound(table)
    assert (whole_of(table) == whole).all()
    assert table.total == whole.sum()
    again = SparseTable.of_counts(whole)
    assert again.cells.tolist() == table.cells.tolist()
    assert again.counts.tolist() == table.counts.tolist()
    for axis in range(whole.ndim):
        places = np.unravel_index(table.cells, whole.shape)[axis]
        assert table.axis_codes(axis).tolist() == places.tolist()


@given(tables(), st.integers(0, 100))
def test_few_cells_are_sorted_and_many_are_added_up_alike(both, spread):
    """A table with many cells for each pair is not made whole on the way."""
    whole, table = both
    cells = np.repeat(table.cells, 2)
    wide = SparseTable.of_cells((*table.shape, 10**9), cells * 10**9 + spread)
    check_sound(wide)
    assert wide.cells.tolist() == (table.cells * 10**9 + spread).tolist()
    assert set(wide.counts.tolist()) <= {2}
    assert wide.onto(tuple(range(whole.ndim))).counts.tolist() == wide.counts.tolist()


@given(tables(), st.data())
def test_axes_are_summed_out_in_any_order(both, data):
    whole, table = both
    axes = tuple(data.draw(st.permutations(range(whole.ndim))))
    kept = axes[: data.draw(st.integers(1, len(axes)))]
    summed = whole.sum(axis=tuple(set(range(whole.ndim)) - set(kept)))
    expected = summed.transpose([sorted(kept).index(axis) for axis in kept])
    found = table.onto(kept)
    check_sound(found)
    assert found.shape == expected.shape
    assert (whole_of(found) == expected).all()


@given(tables(), st.integers(1, 9))
def test_slabs_are_parts_of_the_whole(both, cells):
    whole, table = both
    flat = np.concatenate([table.within(s).reshape(-1) for s in slabs_of(table.shape, cells)])
    assert (flat == whole.reshape(-1)).all()


@given(tables(), st.data(), st.integers(1, 9))
def test_an_r_of_k_table_counts_who_meets_r_of_the_values(both, data, cells):
    whole, table = both
    r = data.draw(st.integers(1, whole.ndim))
    expected = np.zeros_like(whole)
    for asked in np.ndindex(*whole.shape):
        for place, count in np.ndenumerate(whole):
            expected[asked] += count * (sum(np.equal(asked, place)) >= r)
    answers = threshold_counts(table, r)
    flat = np.concatenate([answers(s).reshape(-1) for s in slabs_of(table.shape, cells)])
    assert (flat == expected.reshape(-1)).all()


def test_counts_of_billions_stay_whole_numbers():
    """2^40 records in a cell: partial sums of a 1-of-3 table leave 32 bits."""
    table = SparseTable.of_cells((2, 2, 2), np.array([0, 7]), np.array([2**40, 3]))
    [slab] = slabs_of((2, 2, 2), 8)
    answers = threshold_counts(table, 1)(slab)
    assert answers.dtype == np.int64
    assert answers[0, 0, 0] == 2**40
    assert answers[0, 1, 1] == 2**40 + 3


def test_marginals_are_kept():
    table = SparseTable.of_cells((2, 3, 2), np.array([0, 5, 11]))
    marginals = SparseMarginals(table)
    [slab] = slabs_of((2,), 2)
    assert marginals.marginal((0,), slab).tolist() == [2, 1]
    assert marginals._over((0,)) is marginals._over((0,))


def test_an_empty_table_stays_empty():
    table = SparseTable.of_cells((3, 4), np.empty(0, dtype=np.int64))
    assert (len(table), table.total, len(table.onto((1,)))) == (0, 0, 0)
    assert whole_of(table).tolist() == np.zeros((3, 4)).tolist()


def test_more_than_2_to_the_63_cells_are_refused():
    check_countable((2**31, 2**31), "this table")
    assert MOST_CELLS == 2**63 - 1
    with pytest.raises(ResourceError, match=r"this table has more than 2\^63 cells: name fewer"):
        check_countable((2**31, 2**32), "this table")


def test_its_repr_tells_no_count():
    assert repr(SparseTable.of_cells((2,), np.array([1, 1]))) == "SparseTable(shape (2,))"
