"""Slabs filled from the nonzero numbers of D', against matrix products."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thresher.relaxed.slab_marginals as module
from thresher.queries import Threshold
from thresher.relaxed.heavy_cells import SparseRows
from thresher.relaxed.row_answers import row_table
from thresher.relaxed.rows import RelaxedRows
from thresher.relaxed.slab_marginals import FilledTable, filling_takes_less
from thresher.relaxed.tables import threshold_table
from thresher.schema import IntegerRange, Schema
from thresher.tables import ThresholdTable, slabs_of


def schema_of(*sizes):
    return Schema(
        IntegerRange(name=name, low=0, high=size - 1, nulls=0)
        for name, size in zip("abcdef", sizes, strict=False)
    )


@st.composite
def relaxed(draw):
    """Rows with many zeros or none, and a threshold over some of their features."""
    sizes = tuple(draw(st.lists(st.integers(1, 6), min_size=1, max_size=5)))
    source = np.random.default_rng(draw(st.integers(0, 1000)))
    rows = RelaxedRows.uniform(sizes, draw(st.integers(1, 9)), source)
    if draw(st.booleans()):
        rows = RelaxedRows.from_codes(
            sizes, np.array([[source.integers(size) for size in sizes] for _ in range(4)])
        )
    axes = draw(st.permutations(range(len(sizes))))[: draw(st.integers(1, len(sizes)))]
    return rows, axes


@given(relaxed(), st.integers(1, 40), st.sampled_from([1, 4, 10**6]))
def test_slabs_of_any_size_are_those_of_the_matrix_product(drawn, cells, long):
    rows, axes = drawn
    schema = schema_of(*rows.sizes)
    whole = threshold_table(rows, schema, Threshold([schema.names[axis] for axis in axes]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LONG", long)
        table = FilledTable(SparseRows(rows), axes)
        for slab in slabs_of(whole.shape, cells):
            found = table(slab)
            assert found.dtype == np.float32
            assert found == pytest.approx(whole[slab.index], abs=1e-6)


@given(relaxed(), st.integers(1, 40), st.data())
def test_thresholds_made_from_them_are_those_of_the_matrix_product(drawn, cells, data):
    rows, axes = drawn
    schema = schema_of(*rows.sizes)
    threshold = Threshold(
        [schema.names[axis] for axis in axes], data.draw(st.integers(1, len(axes)))
    )
    whole = threshold_table(rows, schema, threshold)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SMALLEST_FILLED", 1)
        patch.setattr(module, "ADD_TO_CELL", 1e-3)
        table = row_table(rows, schema, threshold)
        for slab in slabs_of(whole.shape, cells):
            assert table(slab) == pytest.approx(whole[slab.index], abs=5e-6)


def test_nonzero_numbers_are_used_where_they_are_few():
    schema = schema_of(50, 50, 50)
    few = RelaxedRows.from_codes(schema.sizes, np.zeros((9, 3), dtype=int))
    many = RelaxedRows(np.full((150, 9), 0.02, np.float32), schema.sizes)
    assert math.prod(schema.sizes) >= module.SMALLEST_FILLED
    for rows, is_filled in ((few, True), (many, False)):
        assert filling_takes_less(SparseRows(rows), (0, 1, 2)) is is_filled
        table = row_table(rows, schema, Threshold(schema.names, 1))
        assert isinstance(table, ThresholdTable) is is_filled
    assert not filling_takes_less(SparseRows(few), (0, 1))
