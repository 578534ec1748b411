"""Whole tables equal their cells asked one by one, and so do their derivatives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.errors import ParameterError
from thresher.relaxed.rows import RelaxedRows
from thresher.relaxed.selected import SelectedQueries, answers, pull_back
from thresher.relaxed.tables import (
    TableOnRows,
    TableQueries,
    marginal,
    threshold_slabs,
    threshold_table,
)

SIZES = (4, 3, 1, 2, 5)

thresholds = st.permutations(range(len(SIZES))).flatmap(
    lambda order: st.integers(1, 5).flatmap(
        lambda k: st.integers(1, k).map(lambda r: TableQueries(tuple(order[:k]), r))
    )
)


def off_the_simplex(rows: int, seed: int) -> RelaxedRows:
    rng = np.random.default_rng(seed)
    return RelaxedRows(rng.random((sum(SIZES), rows), dtype=np.float32), SIZES)


def every_cell(rows: RelaxedRows, table: TableQueries) -> SelectedQueries:
    cells = np.array(list(np.ndindex(*table.shape(rows.sizes))))
    return SelectedQueries.of(cells + rows.offsets[list(table.features)], r=table.r)


@settings(max_examples=40, deadline=None)
@given(thresholds, st.sampled_from([1, 3, 300]), st.integers(0, 2**32 - 1))
def test_table_equals_its_queries(table: TableQueries, rows: int, seed: int) -> None:
    relaxed = off_the_simplex(rows, seed)
    expected = answers(relaxed, every_cell(relaxed, table))
    whole = threshold_table(relaxed, table)
    assert whole.shape == table.shape(SIZES)
    np.testing.assert_allclose(whole.ravel(), expected, atol=2e-6)
    for cells, part in threshold_slabs(relaxed, table, ceiling=40 * rows):
        np.testing.assert_allclose(part, expected[cells.start : cells.stop], atol=2e-6)


@settings(max_examples=40, deadline=None)
@given(thresholds, st.sampled_from([1, 300]), st.integers(0, 2**32 - 1))
def test_derivative_equals_that_of_its_queries(table: TableQueries, rows: int, seed: int) -> None:
    relaxed = off_the_simplex(rows, seed)
    on_rows = TableOnRows(relaxed, table)
    pull = np.random.default_rng(seed).standard_normal(on_rows.cells).astype(np.float32)
    gradient = np.zeros_like(relaxed.columns)
    for leading in on_rows.slabs(40 * rows):
        on_rows.pull_back_slab(leading, pull[leading.start : leading.stop], gradient)
    on_rows.finish_pull_back(gradient)

    expected = np.zeros_like(relaxed.columns)
    pull_back(relaxed, every_cell(relaxed, table), pull.ravel().astype(np.float64), expected)
    np.testing.assert_allclose(gradient, expected, atol=1e-4 / rows)


def test_marginal_sums_to_one_and_sums_out() -> None:
    rows = RelaxedRows.uniform(SIZES, rows=50, rng=np.random.default_rng(0))
    table = marginal(rows, (0, 1, 4))
    assert table.sum() == pytest.approx(1.0, abs=1e-5)
    np.testing.assert_allclose(table.sum(axis=1), marginal(rows, (0, 4)), atol=1e-6)


@pytest.mark.parametrize(("features", "r"), [((0, 0), 1), ((), 1), ((0, 1), 3), ((0,), 0)])
def test_refuses_impossible_thresholds(features: tuple[int, ...], r: int) -> None:
    with pytest.raises(ParameterError):
        TableQueries(features, r)


def test_refuses_features_that_do_not_exist() -> None:
    with pytest.raises(ParameterError, match="features 0 to 4"):
        threshold_table(off_the_simplex(2, 0), TableQueries((0, 7), 1))
