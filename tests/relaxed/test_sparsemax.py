"""Sparsemax is the exact projection onto the simplex."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from thresher.relaxed.rows import RelaxedRows, offsets_of
from thresher.relaxed.sparsemax import sparsemax


def by_sorting(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The textbook algorithm, in double precision."""
    ordered = np.sort(values)[::-1]
    steps = np.arange(1, len(values) + 1)
    support = np.count_nonzero(1 + steps * ordered > np.cumsum(ordered))
    tau = (ordered[:support].sum() - 1) / support
    return np.maximum(values - tau, 0)


def projected(values: NDArray[np.float64], sizes: tuple[int, ...]) -> NDArray[np.float32]:
    columns = np.ascontiguousarray(values, np.float32)
    sparsemax(columns, offsets_of(sizes))
    return columns


@pytest.mark.parametrize("size", [1, 2, 3, 17, 300, 2000])
@pytest.mark.parametrize("scale", [0.01, 1.0, 50.0])
def test_matches_sorting_and_sums_to_one(size: int, scale: float) -> None:
    values = scale * np.random.default_rng(size).standard_normal((size, 7))
    columns = projected(values, (size,))
    expected = np.stack([by_sorting(row) for row in values.astype(np.float32).T.astype(float)])
    np.testing.assert_allclose(columns.T, expected, atol=2e-6 * max(1.0, scale))
    np.testing.assert_allclose(columns.sum(axis=0), 1.0, atol=2e-6 * max(1.0, scale))
    assert columns.min() >= 0.0


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=4).map(tuple),
    rows=st.integers(1, 5),
    seed=st.integers(0, 2**32 - 1),
)
def test_is_idempotent_feature_by_feature(sizes: tuple[int, ...], rows: int, seed: int) -> None:
    once = projected(np.random.default_rng(seed).normal(size=(sum(sizes), rows)), sizes)
    again = projected(once, sizes)
    np.testing.assert_allclose(again, once, atol=1e-6)
    totals = np.add.reduceat(once, offsets_of(sizes)[:-1], axis=0)
    np.testing.assert_allclose(totals, 1.0, atol=1e-6)


def test_is_the_closest_point_of_the_simplex() -> None:
    """No point of a fine grid over the simplex of three values is closer."""
    grid = np.array([(i, j, 60 - i - j) for i in range(61) for j in range(61 - i)]) / 60
    values = np.random.default_rng(0).normal(size=(3, 20))
    columns = projected(values, (3,))
    for given_point, answer in zip(values.T, columns.T, strict=True):
        closest = np.min(np.sum((grid - given_point) ** 2, axis=1))
        assert np.sum((answer - given_point) ** 2) <= closest + 1e-6


def test_does_not_depend_on_how_rows_are_shared_out() -> None:
    """Rows are projected one by one: a longer run of them changes nothing."""
    values = np.random.default_rng(0).normal(size=(9, 600)).astype(np.float32)
    together = projected(values, (4, 5))
    apart = np.concatenate(
        [projected(part, (4, 5)) for part in np.split(values, 6, axis=1)], axis=1
    )
    np.testing.assert_allclose(together, apart, atol=1e-6)


def test_uniform_start_is_random_and_on_the_simplex() -> None:
    rows = RelaxedRows.uniform((3, 5), rows=50, rng=np.random.default_rng(1))
    np.testing.assert_allclose(rows.block(0).sum(axis=0), 1.0, atol=1e-6)
    np.testing.assert_allclose(rows.block(1).sum(axis=0), 1.0, atol=1e-6)
    assert np.std(rows.block(1), axis=1).min() > 0.05
