"""The three forms of the surrogate agree, and equal the predicate on one-hot rows."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from thresher.errors import ParameterError
from thresher.relaxed.surrogate import (
    product_query,
    threshold_by_counting,
    threshold_by_inclusion_exclusion,
    threshold_by_partitions,
    threshold_gradient,
)

FORMS = [threshold_by_partitions, threshold_by_inclusion_exclusion, threshold_by_counting]

matches_and_r = st.integers(1, 6).flatmap(
    lambda k: st.tuples(arrays(np.float64, (k, 3), elements=st.floats(0, 1)), st.integers(1, k))
)


@settings(max_examples=80, deadline=None)
@given(matches_and_r)
def test_forms_agree(drawn: tuple[NDArray[np.float64], int]) -> None:
    matches, r = drawn
    expected = threshold_by_partitions(matches, r)
    for form in FORMS[1:]:
        np.testing.assert_allclose(form(matches, r), expected, atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_equals_the_predicate_on_one_hot_rows(form, k: int) -> None:
    matches = np.array(list(product([0.0, 1.0], repeat=k))).T
    for r in range(1, k + 1):
        np.testing.assert_array_equal(form(matches, r), matches.sum(axis=0) >= r)


def test_product_query_is_the_case_r_equals_k() -> None:
    matches = np.random.default_rng(0).random((4, 10))
    np.testing.assert_allclose(threshold_by_counting(matches, 4), product_query(matches))


@settings(max_examples=40, deadline=None)
@given(matches_and_r)
def test_gradient_is_the_slope(drawn: tuple[NDArray[np.float64], int]) -> None:
    matches, r = drawn
    gradient = threshold_gradient(matches, r)
    for position in range(len(matches)):
        step = np.zeros_like(matches)
        step[position] = 1e-6
        rise = threshold_by_counting(matches + step, r) - threshold_by_counting(matches - step, r)
        np.testing.assert_allclose(gradient[position], rise / 2e-6, atol=1e-8)


def test_ten_of_twenty() -> None:
    """The paper's forms would need hundreds of thousands of products for each row."""
    fair = np.full((20, 1), 0.5)
    exact = 0.5 * (1 + 184_756 / 2**20)
    np.testing.assert_allclose(threshold_by_counting(fair, 10), exact, rtol=1e-12)


@pytest.mark.parametrize("r", [0, 4])
@pytest.mark.parametrize("form", FORMS)
def test_refuses_impossible_r(form, r: int) -> None:
    with pytest.raises(ParameterError, match="1 <= r <= k"):
        form(np.full((3, 1), 0.5), r)
