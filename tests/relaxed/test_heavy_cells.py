"""The search for heavy cells finds what walking the whole table finds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.queries import Threshold
from thresher.relaxed.heavy_cells import SparseColumns, SparseRows
from thresher.relaxed.marginal import MarginalOnRows
from thresher.relaxed.row_answers import row_table
from thresher.relaxed.rows import RelaxedRows
from thresher.schema import IntegerRange, Schema
from thresher.tables import slabs_of
from thresher.tables.listing import Listable

SIZES = (3, 5, 2, 7, 4)
SCHEMA = Schema(
    IntegerRange(name=name, low=0, high=size - 1, nulls=0)
    for name, size in zip("abcde", SIZES, strict=True)
)


def rows_of(kind, seed, count=64):
    """D' as it starts, with every number positive, or fitted so far that rows are records."""
    source = np.random.default_rng(seed)
    if kind == "uniform":
        return RelaxedRows.uniform(SIZES, count, source)
    if kind == "records":
        codes = np.stack([source.integers(0, size, count) for size in SIZES], axis=1)
        return RelaxedRows.from_codes(SIZES, codes)
    blocks = [source.dirichlet(np.full(size, 0.3), count).T for size in SIZES]
    return RelaxedRows(np.ascontiguousarray(np.concatenate(blocks), np.float32), SIZES)


def by_definition(rows, features):
    """The marginal table in double precision: no search, no matrix product."""
    table = np.ones((rows.count, 1))
    for feature in features:
        block = rows.block(feature).astype(np.float64).T
        table = (table[:, :, None] * block[:, None, :]).reshape(rows.count, -1)
    return table.mean(axis=0)


@given(
    st.sampled_from(["uniform", "records", "dense"]),
    st.integers(0, 2**32 - 1),
    st.permutations(range(5)),
    st.integers(1, 5),
    st.floats(1e-5, 0.4),
)
def test_every_heavy_cell_is_found(kind, seed, order, k, least):
    rows, features = rows_of(kind, seed), order[:k]
    expected = by_definition(rows, features)
    cells, masses = SparseRows(rows).heavy_cells(features, least)
    assert (np.diff(cells) > 0).all()
    assert masses == pytest.approx(expected[cells], rel=1e-12)
    assert (masses >= least).all()
    others = np.delete(expected, cells)
    assert (others < least * (1 + 1e-12)).all()
    assert len(cells) <= (1 + 1e-5) / least


@given(st.sampled_from(["uniform", "records", "dense"]), st.integers(0, 2**32 - 1))
def test_single_cells_are_the_same_to_the_last_bit(kind, seed):
    sparse, features = SparseRows(rows_of(kind, seed)), (3, 0, 4, 2)
    cells, masses = sparse.heavy_cells(features, 1e-4)
    assert np.array_equal(sparse.masses_at(features, cells), masses)


def test_it_gives_up_after_so_many_steps():
    """Three features of dense rows take at least one step for each number of the first."""
    sparse, features = SparseRows(rows_of("dense", 0)), (0, 1, 3)
    assert sparse.heavy_cells(features, 1e-3, most_steps=64 * SIZES[0]) is None
    assert sparse.heavy_cells(features, 1e-3, most_steps=1e9) is not None


def test_columns_that_are_no_shares_are_noticed():
    rows = rows_of("uniform", 1)
    assert SparseColumns.of(rows.block(1)).are_shares
    for wrong in (-0.25, 1.5, np.nan):
        columns = rows.columns.copy()
        columns[SIZES[0]] = wrong
        spoiled = RelaxedRows(columns, SIZES)
        assert not SparseColumns.of(spoiled.block(1)).are_shares
        # A search could leave out cells that are heavy. So the table is walked.
        answers = MarginalOnRows(SparseRows(spoiled), SCHEMA, Threshold(("a", "b")))
        [slab] = slabs_of((3, 5))
        walked = answers(slab).reshape(-1)
        assert answers.listed(0.01).cells.tolist() == np.flatnonzero(walked >= 0.01).tolist()


@pytest.mark.parametrize("kind", ["uniform", "records", "dense"])
def test_a_listed_table_is_the_walked_one(kind):
    rows, threshold = rows_of(kind, 3), Threshold(("d", "a", "e"))
    answers = row_table(rows, SCHEMA, threshold)
    assert isinstance(answers, Listable)
    [slab] = slabs_of(threshold.shape(SCHEMA))
    walked = answers(slab).reshape(-1)
    listed = answers.listed(1e-9)
    assert listed.answers.dtype == np.float32
    assert listed.answers == pytest.approx(walked[listed.cells], abs=1e-6)
    assert np.delete(walked, listed.cells) == pytest.approx(0.0, abs=1e-6)
    assert answers.at(listed.cells) == pytest.approx(listed.answers, abs=1e-6)


def test_where_every_sum_is_exact_list_and_walk_are_equal():
    """Shares of 1/8 and 64 rows: all products and sums fit into the 24 bits of float32."""
    source = np.random.default_rng(8)
    blocks = [source.multinomial(8, np.full(size, 1 / size), 64).T / 8 for size in SIZES]
    rows = RelaxedRows(np.ascontiguousarray(np.concatenate(blocks), np.float32), SIZES)
    for features in (("a", "b"), ("d", "b", "a"), ("e", "d", "c", "a")):
        threshold = Threshold(features)
        answers = row_table(rows, SCHEMA, threshold)
        [slab] = slabs_of(threshold.shape(SCHEMA))
        walked = answers(slab).reshape(-1)
        listed = answers.listed(1e-9)
        whole = np.zeros_like(walked)
        whole[listed.cells] = listed.answers
        assert np.array_equal(whole, walked)


def test_only_marginals_are_listed():
    rows = rows_of("uniform", 0)
    for r in (1, 2):
        assert not isinstance(row_table(rows, SCHEMA, Threshold(("a", "b", "c"), r)), Listable)


def test_large_tables_are_searched_and_small_ones_of_dense_rows_walked(monkeypatch):
    walked = []
    monkeypatch.setattr(
        MarginalOnRows, "_listed_by_walking", lambda self, least: walked.append(self._threshold)
    )
    wide = Schema(IntegerRange(name=name, low=0, high=99, nulls=0) for name in "abcde")
    codes = np.random.default_rng(0).integers(0, 100, (50, 5))
    large = row_table(RelaxedRows.from_codes(wide.sizes, codes), wide, Threshold(wide.names))
    assert len(large.listed(1e-6).cells) == 50
    row_table(rows_of("records", 0), SCHEMA, Threshold(SCHEMA.names)).listed(1e-6)
    assert walked == []
    small = Threshold(("a", "b", "d"))
    row_table(rows_of("dense", 0), SCHEMA, small).listed(1e-6)
    assert walked == [small]
