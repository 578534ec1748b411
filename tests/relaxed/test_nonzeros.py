"""Marginals and derivatives from the nonzero entries of D' equal those from all entries."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.queries import Threshold
from thresher.relaxed import targets
from thresher.relaxed.nonzeros import Gradient
from thresher.relaxed.projection import Stopping, project
from thresher.relaxed.row_answers import row_table
from thresher.relaxed.rows import RelaxedRows
from thresher.relaxed.tables import TableOnRows, nonzeros_take_less, threshold_table
from thresher.relaxed.targets import Misfit, TableTarget
from thresher.schema import IntegerRange, Schema
from thresher.tables import slabs_of

SIZES = (4, 3, 1, 2, 5)
NAMES = "abcde"
SCHEMA = Schema(
    IntegerRange(name=name, low=0, high=size - 1, nulls=0)
    for name, size in zip(NAMES, SIZES, strict=True)
)

marginals = st.permutations(NAMES).flatmap(
    lambda order: st.integers(1, 5).map(lambda k: Threshold(order[:k]))
)


def sparse_rows(rows: int, seed: int) -> RelaxedRows:
    """Rows with zeros, negative entries as momentum makes them, and features without any value."""
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(sum(SIZES), rows)) * (rng.random((sum(SIZES), rows)) < 0.4)
    return RelaxedRows(np.ascontiguousarray(columns, np.float32), SIZES)


def positions(threshold: Threshold) -> tuple[int, ...]:
    return tuple(SCHEMA.index(name) for name in threshold.features)


@settings(max_examples=40, deadline=None)
@given(marginals, st.integers(1, 90), st.integers(0, 1000))
def test_a_marginal_is_that_of_matrix_products(threshold, count, seed):
    rows = sparse_rows(count, seed)
    found = rows.nonzeros.marginal(positions(threshold))
    expected = threshold_table(rows, SCHEMA, threshold).ravel()
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("features", ["ade", "eab", "bade"])
def test_a_whole_table_of_sparse_rows_is_made_from_them_with_the_same_answers(features):
    codes = np.random.default_rng(0).integers(SIZES, size=(70, 5))
    rows, threshold = RelaxedRows.from_codes(SIZES, codes), Threshold(tuple(features))
    assert nonzeros_take_less(rows, SCHEMA, threshold)
    [whole] = slabs_of(threshold.shape(SCHEMA))
    found = row_table(rows, SCHEMA, threshold)(whole)
    np.testing.assert_allclose(found, threshold_table(rows, SCHEMA, threshold), atol=1e-6)


@settings(max_examples=40, deadline=None)
@given(marginals, st.integers(1, 90), st.integers(0, 1000))
def test_derivatives_are_those_of_matrix_products(threshold, count, seed):
    rows = sparse_rows(count, seed)
    shape = threshold.shape(SCHEMA)
    pull = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    gradient = Gradient(np.zeros_like(rows.columns), SIZES)
    rows.nonzeros.pull_back(positions(threshold), pull, 0.5, gradient)
    gradient.collect()
    table = TableOnRows(rows, SCHEMA, threshold)
    expected = np.zeros_like(rows.columns)
    table.pull_back_slab(range(table.cells[0]), 0.5 * pull.reshape(table.cells), expected)
    table.finish_pull_back(expected)
    np.testing.assert_allclose(gradient.columns, expected, atol=1e-4)


@settings(max_examples=40, deadline=None)
@given(marginals, st.sets(st.integers(0, 4), min_size=1), st.integers(0, 1000))
def test_the_largest_cell_is_found_for_each_cell_of_a_part(threshold, chosen, seed):
    rows = RelaxedRows.from_codes(SIZES, np.random.default_rng(seed).integers(SIZES, size=(30, 5)))
    axes = [axis for axis in range(threshold.k) if axis in chosen] or [0]
    features = positions(threshold)
    [largest] = rows.nonzeros.largest_within(features, [[features[axis] for axis in axes]])
    others = tuple(axis for axis in range(threshold.k) if axis not in axes)
    expected = threshold_table(rows, SCHEMA, threshold).max(axis=others)
    np.testing.assert_allclose(largest, expected.ravel(), atol=1e-6)


def noisy_tables() -> list[TableTarget]:
    rng = np.random.default_rng(1)
    chosen = [Threshold(tuple(names)) for names in ("ab", "ade", "bce", "de", "abde")]
    return [TableTarget(SCHEMA, t, rng.random(t.shape(SCHEMA)), sigma=0.1) for t in chosen]


def test_either_way_gives_the_same_residuals_and_gradient(monkeypatch):
    rows, found = sparse_rows(60, seed=3), []
    for factor in (0.0, 1e9):
        monkeypatch.setattr(
            "thresher.relaxed.nonzeros.Nonzeros.work", lambda *_, factor=factor: factor
        )
        gradient = np.empty_like(rows.columns)
        misfit = Misfit(noisy_tables(), SIZES).residuals(rows.columns, gradient)
        found.append((misfit.misfit, misfit.largest, gradient))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-5)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-5)
    np.testing.assert_allclose(found[0][2], found[1][2], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("optimiser", ["accelerated", "sparse"])
def test_the_number_of_cores_changes_no_digit(monkeypatch, optimiser):
    monkeypatch.setattr(targets, "_WORTH_SHARING", 1)
    start = RelaxedRows.uniform(SIZES, 80, np.random.default_rng(0))
    fitted = []
    for cores in (1, 2, 3):
        monkeypatch.setattr("thresher.parallel.cores", lambda cores=cores: cores)
        result = project(start, noisy_tables(), optimiser, Stopping(iterations=8))
        fitted.append(result.rows.columns)
    np.testing.assert_array_equal(fitted[0], fitted[1])
    np.testing.assert_array_equal(fitted[0], fitted[2])


def test_a_step_that_keeps_d_sparse_makes_at_most_one_more_value_nonzero():
    codes = np.random.default_rng(0).integers(SIZES, size=(50, 5))
    start = RelaxedRows.from_codes(SIZES, codes)
    counts = []

    def record(iteration: int, misfit: float, rows: RelaxedRows) -> None:
        counts.append([(rows.block(f) > 0).sum(axis=0).max() for f in range(len(SIZES))])

    result = project(start, noisy_tables(), "sparse", Stopping(iterations=1), record)
    assert np.max(counts[0]) == 1
    assert np.max(counts[1]) == 2
    assert result.misfits[1] < result.misfits[0]
