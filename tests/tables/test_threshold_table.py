"""Sums of tables that lack an axis: the kernel against numpy, and what is remembered."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thresher.tables.threshold_table as module
from thresher.tables import SparseTable, slabs_of, threshold_counts
from thresher.tables.broadcast_kernels import add_lacking


@st.composite
def lacking(draw):
    """A shape of up to ten axes, and some of its axes in any order, repetitions included."""
    shape = draw(st.lists(st.integers(1, 3), min_size=1, max_size=10))
    return tuple(shape), tuple(draw(st.lists(st.sampled_from(range(len(shape))), max_size=12)))


@given(lacking(), st.sampled_from([np.int32, np.float32]), st.integers(1, 50), st.integers(0, 9))
def test_the_kernel_adds_as_numpy_does_to_the_last_bit(chosen, kind, chunk, seed):
    shape, axes = chosen
    source = np.random.default_rng(seed)
    total = (source.random(shape) * 1000).astype(kind)
    tables = tuple(
        (source.random(shape[:axis] + shape[axis + 1 :]) * 1000).astype(kind) for axis in axes
    )
    expected = total.copy()
    for table, axis in zip(tables, axes, strict=True):
        expected += np.expand_dims(table, axis)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("thresher.tables.broadcast_kernels.CHUNK", chunk)
        add_lacking(total, tables, axes)
    assert np.array_equal(total, expected)


@pytest.mark.parametrize("small", [0, 1 << 16])
@pytest.mark.parametrize("most", [0, 270, 1_000, 10**6])
@pytest.mark.parametrize("r", [1, 2, 3])
def test_what_is_remembered_changes_no_cell_in_whatever_order_slabs_are_asked_for(
    r, most, small, monkeypatch
):
    shape = (3, 2, 4, 2)
    source = np.random.default_rng(r)
    sparse = SparseTable.of_cells(shape, source.integers(0, math.prod(shape), 30))
    [whole] = slabs_of(shape)
    expected = threshold_counts(sparse, r)(whole).reshape(-1)
    monkeypatch.setattr(module, "MOST_REMEMBERED", most)
    monkeypatch.setattr(module, "SMALL", small)
    monkeypatch.setattr(module, "WORTH_COMPILING", 1)
    counts = threshold_counts(sparse, r)
    slabs = [*slabs_of(shape, 6)]
    for slab in source.permutation(np.arange(len(slabs)).repeat(3)):
        here = slabs[slab]
        found = counts(here).reshape(-1)
        assert np.array_equal(found, expected[here.first : here.first + here.size])


def test_sums_are_kept_within_bounds_however_small_they_are():
    sums = module.RememberedSums(most=10 * module.OVERHEAD)
    for name in range(1_000):
        sums.keep(name, np.zeros(1))
    assert sum(sums.get(name) is not None for name in range(1_000)) == 9
    sums.keep("large", np.zeros(10 * module.OVERHEAD))
    assert sums.get("large") is None
    assert sums.get(999) is not None


def test_an_interruption_makes_room_smaller_at_most_until_it_is_empty():
    sums = module.RememberedSums(most=3 * module.OVERHEAD)
    sums._cells = 10**9  # as if many sums had been forgotten and not taken off
    for name in "abc":
        sums.keep(name, np.zeros(1))
    assert sums.get("c") is not None
    sums.keep("d", np.zeros(1))
    assert sums.get("c") is not None
    assert sums.get("d") is not None
