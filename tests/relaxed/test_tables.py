"""Whole tables equal their cells asked one by one, and so do their derivatives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.errors import ParameterError, QueryError
from thresher.queries import Threshold
from thresher.relaxed.rows import RelaxedRows
from thresher.relaxed.selected import SelectedQueries, answers, pull_back
from thresher.relaxed.tables import TableOnRows, threshold_table
from thresher.schema import IntegerRange, Schema

SIZES = (4, 3, 1, 2, 5)
NAMES = "abcde"
SCHEMA = Schema(
    IntegerRange(name=name, low=0, high=size - 1, nulls=0)
    for name, size in zip(NAMES, SIZES, strict=True)
)

thresholds = st.permutations(NAMES).flatmap(
    lambda order: st.integers(1, 5).flatmap(
        lambda k: st.integers(1, k).map(lambda r: Threshold(order[:k], r))
    )
)


def off_the_simplex(rows: int, seed: int) -> RelaxedRows:
    rng = np.random.default_rng(seed)
    return RelaxedRows(rng.random((sum(SIZES), rows), dtype=np.float32), SIZES)


def every_cell(rows: RelaxedRows, threshold: Threshold) -> SelectedQueries:
    cells = np.array(list(np.ndindex(*threshold.shape(SCHEMA))))
    positions = [SCHEMA.index(name) for name in threshold.features]
    return SelectedQueries.of(cells + rows.offsets[positions], r=threshold.r)


@settings(max_examples=40, deadline=None)
@given(thresholds, st.sampled_from([1, 3, 300]), st.integers(0, 2**32 - 1))
def test_table_equals_its_queries(threshold: Threshold, rows: int, seed: int) -> None:
    relaxed = off_the_simplex(rows, seed)
    expected = answers(relaxed, every_cell(relaxed, threshold))
    whole = threshold_table(relaxed, SCHEMA, threshold)
    assert whole.shape == threshold.shape(SCHEMA)
    np.testing.assert_allclose(whole.ravel(), expected, atol=2e-6)
    table = TableOnRows(relaxed, SCHEMA, threshold)
    parts = [table.slab(leading) for leading in table.slabs(40 * rows)]
    np.testing.assert_allclose(np.concatenate(parts).ravel(), expected, atol=2e-6)


@settings(max_examples=40, deadline=None)
@given(thresholds, st.sampled_from([1, 300]), st.integers(0, 2**32 - 1))
def test_derivative_equals_that_of_its_queries(threshold: Threshold, rows: int, seed: int) -> None:
    relaxed = off_the_simplex(rows, seed)
    on_rows = TableOnRows(relaxed, SCHEMA, threshold)
    pull = np.random.default_rng(seed).standard_normal(on_rows.cells).astype(np.float32)
    gradient = np.zeros_like(relaxed.columns)
    for leading in on_rows.slabs(40 * rows):
        on_rows.pull_back_slab(leading, pull[leading.start : leading.stop], gradient)
    on_rows.finish_pull_back(gradient)

    expected = np.zeros_like(relaxed.columns)
    pull_back(relaxed, every_cell(relaxed, threshold), pull.ravel().astype(np.float64), expected)
    np.testing.assert_allclose(gradient, expected, atol=1e-4 / rows)


def test_marginal_sums_to_one_and_sums_out() -> None:
    rows = RelaxedRows.uniform(SIZES, rows=50, rng=np.random.default_rng(0))
    table = threshold_table(rows, SCHEMA, Threshold(["a", "b", "e"]))
    assert table.sum() == pytest.approx(1.0, abs=1e-5)
    smaller = threshold_table(rows, SCHEMA, Threshold(("a", "e")))
    np.testing.assert_allclose(table.sum(axis=1), smaller, atol=1e-6)


def test_refuses_features_that_do_not_exist() -> None:
    with pytest.raises(QueryError, match="no feature 'x'"):
        threshold_table(off_the_simplex(2, 0), SCHEMA, Threshold(("a", "x"), 1))


def test_refuses_a_schema_of_other_features() -> None:
    fewer = Schema(SCHEMA.features[:2])
    with pytest.raises(ParameterError, match="features of this schema"):
        threshold_table(off_the_simplex(2, 0), fewer, Threshold(("a", "b")))
