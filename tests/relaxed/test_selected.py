"""The fused kernels say what the readable surrogates say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from thresher.errors import ParameterError
from thresher.relaxed.rows import RelaxedRows
from thresher.relaxed.selected import SelectedQueries, answers, pull_back
from thresher.relaxed.surrogate import threshold_by_counting, threshold_gradient


def random_rows(columns: int, rows: int, seed: int) -> RelaxedRows:
    """Numbers in [0, 1] with no regard to the simplex: the polynomials hold anywhere."""
    return RelaxedRows(
        np.random.default_rng(seed).random((columns, rows), dtype=np.float32), (columns,)
    )


def reference_answers(rows: RelaxedRows, queries: SelectedQueries) -> NDArray[np.float64]:
    exact = rows.columns.astype(np.float64)
    return np.array(
        [
            threshold_by_counting(exact[chosen[chosen >= 0]], int(r)).mean()
            for chosen, r in zip(queries.columns, queries.r, strict=True)
        ]
    )


def reference_gradient(
    rows: RelaxedRows, queries: SelectedQueries, coefficients: NDArray[np.float64]
) -> NDArray[np.float64]:
    exact = rows.columns.astype(np.float64)
    gradient = np.zeros_like(exact)
    for chosen, r, coefficient in zip(queries.columns, queries.r, coefficients, strict=True):
        slopes = threshold_gradient(exact[chosen[chosen >= 0]], int(r)) / rows.count
        gradient[chosen[chosen >= 0]] += coefficient * slopes
    return gradient


@settings(max_examples=60, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 8), min_size=1, max_size=6),
    rows=st.sampled_from([1, 5, 512, 700]),
    seed=st.integers(0, 2**32 - 1),
)
def test_answers_and_gradient_for_any_mixture(lengths: list[int], rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    relaxed = random_rows(12, rows, seed)
    queries = SelectedQueries.of(
        [rng.choice(12, k, replace=False).tolist() for k in lengths],
        r=[int(rng.integers(1, k + 1)) for k in lengths],
    )
    expected = reference_answers(relaxed, queries)
    np.testing.assert_allclose(answers(relaxed, queries), expected, atol=2e-6)

    coefficients = rng.standard_normal(len(queries))
    gradient = np.zeros_like(relaxed.columns)
    pull_back(relaxed, queries, coefficients, gradient)
    wanted = reference_gradient(relaxed, queries, coefficients)
    np.testing.assert_allclose(gradient, wanted, atol=1e-5 / rows)


def test_ten_of_twenty() -> None:
    relaxed = random_rows(40, 30, seed=0)
    queries = SelectedQueries.of([list(range(20)), list(range(20, 40))], r=10)
    np.testing.assert_allclose(
        answers(relaxed, queries), reference_answers(relaxed, queries), atol=1e-6
    )
    gradient = np.zeros_like(relaxed.columns)
    pull_back(relaxed, queries, np.array([1.0, 0.5]), gradient)
    wanted = reference_gradient(relaxed, queries, np.array([1.0, 0.5]))
    np.testing.assert_allclose(gradient, wanted, atol=1e-7)


def test_one_hot_rows_count_records() -> None:
    codes = np.random.default_rng(0).integers(0, 3, size=(1000, 3))
    rows = RelaxedRows.from_codes((3, 3, 3), codes)
    chosen = np.array([1, 0, 2])
    for r in (1, 2, 3):
        queries = SelectedQueries.of([(np.array([0, 3, 6]) + chosen).tolist()], r=r)
        share = np.mean((codes == chosen).sum(axis=1) >= r)
        assert answers(rows, queries)[0] == pytest.approx(share, abs=1e-7)


@pytest.mark.parametrize(
    ("columns", "r", "message"),
    [
        ([[0, 1]], 3, "at most k"),
        ([[0, 1]], 0, "at least 1"),
        ([[1, 1]], 1, "same column twice"),
    ],
)
def test_refuses_what_makes_no_sense(columns: list[list[int]], r: int, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        SelectedQueries.of(columns, r=r)


def test_refuses_columns_that_do_not_exist() -> None:
    with pytest.raises(ParameterError, match="column 9"):
        answers(random_rows(4, 2, seed=0), SelectedQueries.of([[0, 9]], r=1))
