"""Softmax rows: shares, their derivatives, and the fit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.relaxed.optimisers import Iterate
from thresher.relaxed.projection import Stopping, project
from thresher.relaxed.selected import SelectedQueries
from thresher.relaxed.softmax import SoftmaxAdam, softmax, softmax_rows
from thresher.relaxed.targets import Misfit, QueryTargets

SIZES = (2, 3)


@given(st.integers(0, 2**32 - 1), st.floats(0.1, 200.0))
def test_shares_add_up_and_a_constant_changes_nothing(seed, scale):
    logits = np.random.default_rng(seed).normal(0, scale, (5, 4)).astype(np.float32)
    shares = softmax(logits, SIZES)
    assert np.allclose([shares[:2].sum(axis=0), shares[2:].sum(axis=0)], 1.0, atol=1e-5)
    moved = logits.copy()
    moved[2:] += 8.0
    assert np.allclose(softmax(moved, SIZES), shares, atol=1e-4)


def test_a_step_follows_the_derivative_by_logits():
    """Adam's first step has the sign of each derivative, here by finite differences."""
    queries = SelectedQueries.of([[0, 3], [1, 2], [4]], r=[2, 1, 1])
    misfit = Misfit((QueryTargets(queries, np.array([0.4, 0.9, 0.1]), 0.1),), SIZES)
    start = softmax_rows(SIZES, 3, np.random.default_rng(1)).columns
    steps = SoftmaxAdam(rate=1e-3).iterates(misfit, start)
    before, after = (np.log(next(steps).columns.copy()).astype(float) for _ in range(2))
    slopes = np.zeros_like(before)
    for place in np.ndindex(before.shape):
        sides = []
        for change in (0.01, -0.01):
            moved = before.copy()
            moved[place] += change
            sides.append(misfit.residuals(softmax(moved.astype(np.float32), SIZES)).misfit)
        slopes[place] = (sides[0] - sides[1]) / 0.02
    size = 1e-3 * np.sqrt(3)
    expected = softmax((before - size * np.sign(slopes)).astype(np.float32), SIZES)
    assert np.abs(np.exp(after) - expected).max() < 1e-5


def test_noise_stops_a_fit():
    queries = SelectedQueries.of([[0, 2], [1, 4]], r=[2, 1])
    target = QueryTargets(queries, np.array([0.4, 0.5]), sigma=0.01)
    start = softmax_rows(SIZES, 20, np.random.default_rng(0))
    found = project(start, [target], "softmax", Stopping(iterations=500))
    assert found.reason == "noise"
    assert found.rows.columns.min() > 0
    assert found.rows.block(1).sum(axis=0) == pytest.approx(1.0, abs=1e-5)


def test_zeros_have_logits():
    start = np.array([[1.0], [0.0]], np.float32)
    queries = SelectedQueries.of([[1]], r=1)
    misfit = Misfit((QueryTargets(queries, np.array([0.5]), 0.1),), (2,))
    first: Iterate = next(SoftmaxAdam().iterates(misfit, start))
    assert np.allclose(first.columns, start, atol=1e-8)
