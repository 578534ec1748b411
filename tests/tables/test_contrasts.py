"""Contrasts against the matrices of their definition."""

import math
from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.tables.contrasts import (
    answer_variances,
    contrasts_of,
    squared_norms,
    subsets,
    table_of,
)

SHAPES = st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple)


def basis(size):
    """The vectors b_0 = (1, …, 1) and b_j = (1, …, 1, -j, 0, …, 0), one in each row."""
    rows = [np.ones(size)]
    for j in range(1, size):
        rows.append(np.concatenate([np.ones(j), [-j], np.zeros(size - j - 1)]))
    return np.array(rows)


def noisy(shape, seed):
    return np.random.default_rng(seed).integers(-50, 50, shape)


@given(shape=SHAPES, seed=st.integers(0, 100))
def test_contrasts_are_products_with_the_orthogonal_basis(shape, seed):
    table = noisy(shape, seed)
    expected = table
    for axis, size in enumerate(shape):
        expected = np.moveaxis(np.tensordot(basis(size)[1:], expected, (1, axis)), 0, axis)
    assert np.array_equal(contrasts_of(table), expected)
    norms = reduce(np.multiply.outer, [(basis(size)[1:] ** 2).sum(axis=1) for size in shape])
    assert np.array_equal(squared_norms(shape), norms)
    for size in shape:
        gram = basis(size) @ basis(size).T
        assert np.array_equal(gram, np.diag(np.diag(gram)))


@given(shape=SHAPES, seed=st.integers(0, 100))
def test_the_contrasts_of_all_margins_give_the_table_back(shape, seed):
    table = noisy(shape, seed)
    axes = range(len(shape))
    parts = {
        kept: contrasts_of(table.sum(axis=tuple(a for a in axes if a not in kept)))
        for kept in subsets(tuple(axes))
    }
    assert np.allclose(table_of(shape, parts), table, atol=1e-9)


@given(
    shape=st.lists(st.integers(2, 4), min_size=1, max_size=3).map(tuple),
    seed=st.integers(0, 100),
    data=st.data(),
)
def test_the_variance_of_an_answer_is_that_of_its_projections(shape, seed, data):
    r = data.draw(st.integers(1, len(shape)))
    rng = np.random.default_rng(seed)
    meets = [rng.permutation(size) < rng.integers(1, size + 1) for size in shape]
    matches = reduce(np.add.outer, [m.astype(int) for m in meets])
    indicator = (matches >= r).astype(float)
    found = answer_variances(shape, [int(m.sum()) for m in meets], r)
    for inside, factor in found.items():
        part = indicator
        for axis, size in enumerate(shape):
            mean = np.ones((size, size)) / size
            matrix = np.eye(size) - mean if axis in inside else mean
            part = np.moveaxis(np.tensordot(matrix, part, (1, axis)), 0, axis)
        # A mean over d values is read from one number, not from d copies of it.
        outside = math.prod(size for axis, size in enumerate(shape) if axis not in inside)
        assert factor == pytest.approx((part**2).sum() / outside, abs=1e-12)
