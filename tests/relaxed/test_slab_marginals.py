"""Slabs filled from few numbers of each row of D', against matrix products."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thresher.relaxed.slab_kernels as kernels
import thresher.relaxed.slab_marginals as module
from thresher.queries import Threshold
from thresher.relaxed.heavy_cells import SparseRows
from thresher.relaxed.row_answers import row_table
from thresher.relaxed.rows import RelaxedRows
from thresher.relaxed.slab_marginals import (
    FilledAnswers,
    FilledTable,
    filling_takes_less,
    has_few_sets,
)
from thresher.relaxed.tables import threshold_table
from thresher.schema import IntegerRange, Schema
from thresher.tables import slabs_of


def schema_of(*sizes):
    return Schema(
        IntegerRange(name=name, low=0, high=size - 1, nulls=0)
        for name, size in zip("abcdef", sizes, strict=False)
    )


@st.composite
def relaxed(draw):
    """Rows with many zeros, many equal numbers or neither, and a threshold over their features."""
    sizes = tuple(draw(st.lists(st.integers(1, 6), min_size=1, max_size=5)))
    source = np.random.default_rng(draw(st.integers(0, 1000)))
    rows = RelaxedRows.uniform(sizes, draw(st.integers(1, 9)), source)
    if draw(st.booleans()):
        rows = RelaxedRows.from_codes(
            sizes, np.array([[source.integers(size) for size in sizes] for _ in range(4)])
        )
    if draw(st.booleans()):
        # Half of the mass is spread evenly, as a projection does with values that nobody asked for.
        even = np.concatenate([np.full((size, rows.count), 1.0 / size) for size in sizes])
        rows = RelaxedRows((0.5 * rows.columns + 0.5 * even).astype(np.float32), sizes)
    axes = draw(st.permutations(range(len(sizes))))[: draw(st.integers(1, len(sizes)))]
    return rows, axes


@given(relaxed(), st.integers(1, 40), st.sampled_from([1, 4, 10**6]))
def test_slabs_of_any_size_are_those_of_the_matrix_product(drawn, cells, long):
    rows, axes = drawn
    schema = schema_of(*rows.sizes)
    whole = threshold_table(rows, schema, Threshold([schema.names[axis] for axis in axes]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LONG", long)
        columns = [SparseRows(rows).columns(axis) for axis in axes]
        table = FilledTable(columns, np.full(rows.count, 1.0 / rows.count, np.float32))
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
        slabs = [*slabs_of(whole.shape, cells), *slabs_of(whole.shape, 2 * cells)]
        for slab in data.draw(st.permutations(slabs)) if len(slabs) < 20 else slabs:
            assert table(slab) == pytest.approx(whole[slab.index], abs=5e-6)


def test_nonzero_numbers_are_used_where_they_are_few():
    schema = schema_of(50, 50, 50)
    few = RelaxedRows.from_codes(schema.sizes, np.zeros((9, 3), dtype=int))
    source = np.random.default_rng(0)
    drawn = source.dirichlet(np.full(50, 10.0), (3, 9)).transpose(0, 2, 1).reshape(150, 9)
    many = RelaxedRows(drawn.astype(np.float32), schema.sizes)
    assert math.prod(schema.sizes) >= module.SMALLEST_FILLED
    for rows, is_filled in ((few, True), (many, False)):
        assert filling_takes_less(SparseRows(rows), (0, 1, 2)) is is_filled
        table = row_table(rows, schema, Threshold(schema.names, 1))
        assert isinstance(table, FilledAnswers) is is_filled
    assert not filling_takes_less(SparseRows(few), (0, 1))


def test_a_share_that_most_values_have_is_not_filled_in():
    """As after a projection: no number of D' is 0, and most values of a row have the same."""
    schema = schema_of(60, 60, 60)
    columns = np.full((180, 9), 0.01, np.float32)
    columns[::60] = 0.41
    rows = RelaxedRows(columns, schema.sizes)
    assert filling_takes_less(SparseRows(rows), (0, 1, 2))
    for r in (1, 2):
        threshold = Threshold(schema.names, r)
        table = row_table(rows, schema, threshold)
        assert isinstance(table, FilledAnswers)
        whole = threshold_table(rows, schema, threshold)
        for slab in slabs_of(whole.shape, 70_000):
            assert table(slab) == pytest.approx(whole[slab.index], abs=1e-6)


def test_rows_without_numbers_of_one_axis_take_no_room_of_others():
    """A feature whose values all have the same share deviates nowhere."""
    schema = schema_of(40, 40, 50)
    columns = np.full((130, 3), 0.0, np.float32)
    columns[:80] = 1 / 40
    columns[0:30] = np.linspace(0.01, 0.04, 30, dtype=np.float32)[:, None]
    columns[80:] = 1 / 50
    rows = RelaxedRows(columns, schema.sizes)
    for order in ((0, 1, 2), (1, 0, 2), (1, 2, 0)):
        threshold = Threshold([schema.names[axis] for axis in order], 1)
        table = row_table(rows, schema, threshold)
        assert isinstance(table, FilledAnswers)
        whole = threshold_table(rows, schema, threshold)
        for slab in slabs_of(whole.shape, 3_000):
            assert table(slab) == pytest.approx(whole[slab.index], abs=1e-6)


def based(*sizes, rows=9):
    """D' in which most values of a row have the same share, and a threshold over all features."""
    schema = schema_of(*sizes)
    source = np.random.default_rng(3)
    blocks = []
    for size in sizes:
        block = np.full((size, rows), 0.5 / size)
        block[source.integers(size, size=rows), np.arange(rows)] += 0.5
        blocks.append(block)
    return schema, RelaxedRows(np.concatenate(blocks).astype(np.float32), sizes)


def test_an_interrupted_call_leaves_nothing_behind(monkeypatch):
    schema, rows = based(50, 40, 40)
    threshold = Threshold(schema.names, 2)
    whole = threshold_table(rows, schema, threshold)
    table = row_table(rows, schema, threshold)
    assert isinstance(table, FilledAnswers)
    first, second, *_ = slabs_of(whole.shape, 3_000)
    table(first)
    fill = kernels.fill_below

    def interrupted(*arguments):
        fill(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(kernels, "fill_below", interrupted)
    with pytest.raises(KeyboardInterrupt):
        table(second)
    monkeypatch.setattr(kernels, "fill_below", fill)
    assert table(first) == pytest.approx(whole[first.index], abs=1e-6)


def test_several_threads_may_share_it():
    schema, rows = based(50, 40, 40)
    threshold = Threshold(schema.names, 1)
    whole = threshold_table(rows, schema, threshold)
    table = row_table(rows, schema, threshold)
    slabs = [*slabs_of(whole.shape, 1_500)] * 4
    with ThreadPoolExecutor(4) as pool:
        for slab, found in zip(slabs, pool.map(table, slabs), strict=True):
            assert found == pytest.approx(whole[slab.index], abs=1e-6)


def test_what_all_cells_share_is_added_up_with_all_digits():
    schema, rows = based(9, 90, 90, rows=20_000)
    threshold = Threshold(schema.names, 1)
    table = row_table(rows, schema, threshold)
    assert isinstance(table, FilledAnswers)
    [slab] = slabs_of(threshold.shape(schema))
    none = [1.0 - rows.block(axis).astype(np.float64) for axis in range(3)]
    exact = 1.0 - np.einsum("ar,br,cr->abc", *none, optimize=True) / rows.count
    assert np.abs(table(slab) - exact).max() < 4e-6  # 1e-5 if float32 is added up one by one


@pytest.mark.parametrize(
    ("size", "k", "r", "is_based", "few"),
    [(2, 20, 19, False, True), (4, 12, 11, False, True), (7, 6, 1, True, True),
     (8, 7, 6, True, False)],
)  # fmt: skip
def test_only_sets_of_axes_that_count_are_kept(size, k, r, is_based, few):
    """Without bases, those of fewer than r axes do not; with bases, all 2^k do."""
    sizes = (size,) * k
    schema = Schema(IntegerRange(name=f"f{i}", low=0, high=size - 1, nulls=0) for i in range(k))
    columns = np.zeros((k * size, 3), np.float32)
    columns[::size] = 1.0
    if is_based:
        columns[:] = 0.1 / size
        columns[::size] += 0.9
    rows = RelaxedRows(columns, sizes)
    threshold = Threshold(schema.names, r)
    assert has_few_sets(SparseRows(rows), schema, threshold) is few
    table = row_table(rows, schema, threshold)
    assert isinstance(table, FilledAnswers) is few
    assert table(next(iter(slabs_of(threshold.shape(schema))))).max() <= 1.0 + 1e-5
