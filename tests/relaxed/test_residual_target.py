"""D' against residuals: the misfit by its definition, and derivatives by finite differences."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.errors import ParameterError
from thresher.privacy.measurements import ResidualMeasurement
from thresher.queries import Threshold
from thresher.relaxed.nonzeros import Gradient
from thresher.relaxed.residual_target import ResidualTarget, residual_targets
from thresher.relaxed.rows import RelaxedRows
from thresher.relaxed.tables import threshold_table
from thresher.relaxed.targets import Misfit, TableTarget
from thresher.schema import IntegerRange, Schema
from thresher.tables.contrasts import contrasts_of, subsets

SCHEMA = Schema(
    IntegerRange(name=name, low=1, high=size, nulls=1)
    for name, size in (("a", 2), ("b", 4), ("c", 3), ("d", 5))
)
N = 1000


def projected(table):
    for axis, size in enumerate(table.shape):
        centre = np.eye(size) - np.ones((size, size)) / size
        table = np.moveaxis(np.tensordot(centre, table, (1, axis)), 0, axis)
    return table


def margin(table, axes):
    return table.sum(axis=tuple(axis for axis in range(table.ndim) if axis not in axes))


def rows_of(seed, count=6, is_sparse=False):
    rows = RelaxedRows.uniform(SCHEMA.sizes, count, np.random.default_rng(seed))
    if not is_sparse:
        return rows
    codes = np.random.default_rng(seed).integers(0, SCHEMA.sizes, (count, len(SCHEMA)))
    return RelaxedRows.from_codes(SCHEMA.sizes, codes)


def target_of(features, noises, seed=0):
    threshold = Threshold(features)
    rng = np.random.default_rng(seed)
    answers = rng.dirichlet(np.ones(threshold.query_count(SCHEMA))).reshape(threshold.shape(SCHEMA))
    return ResidualTarget(SCHEMA, threshold, answers, 0.01, noises)


@st.composite
def targets(draw):
    k = draw(st.integers(1, 4))
    features = tuple(draw(st.permutations(SCHEMA.names))[:k])
    every = [axes for axes in subsets(tuple(range(k))) if axes]
    chosen = draw(st.lists(st.sampled_from(every), min_size=1, unique=True))
    return target_of(features, {axes: draw(st.floats(0.001, 0.1)) for axes in chosen})


@given(target=targets(), seed=st.integers(0, 9), is_sparse=st.booleans())
@settings(max_examples=60)
def test_the_misfit_is_the_sum_over_residuals(target, seed, is_sparse):
    rows = rows_of(seed, is_sparse=is_sparse)
    difference = threshold_table(rows, SCHEMA, target.threshold) - target.answers
    expected = sum(
        (projected(margin(difference, axes)) ** 2).sum() / noise**2
        for axes, noise in target.noises.items()
    )
    shape = target.threshold.shape(SCHEMA)
    largest = np.abs(difference).max() / 0.01
    for axes, noise in target.noises.items():
        if len(axes) < len(shape):
            cell = noise * np.prod([1 - 1 / shape[axis] for axis in axes]) ** 0.5
            largest = max(largest, np.abs(projected(margin(difference, axes))).max() / cell)
    for way in (target._by_products, target._by_nonzeros):
        found = way(rows, None, 1.0)
        assert found.misfit == pytest.approx(expected, rel=1e-4, abs=1e-3)
        assert found.largest == pytest.approx(largest, rel=1e-3)
        assert found.count == sum(
            np.prod([target.answers.shape[axis] - 1 for axis in axes]) for axes in target.noises
        )


@given(target=targets(), seed=st.integers(0, 9), is_sparse=st.booleans())
@settings(max_examples=40)
def test_the_gradient_is_that_of_the_misfit(target, seed, is_sparse):
    rows = rows_of(seed, is_sparse=is_sparse)
    direction = np.random.default_rng(seed + 1).normal(size=rows.columns.shape)

    def misfit(step):
        """In double precision, by definition."""
        columns = rows.columns.astype(np.float64) + step * direction
        starts = np.cumsum([0, *SCHEMA.sizes])
        places = [SCHEMA.index(name) for name in target.threshold.features]
        blocks = [columns[starts[i] : starts[i + 1]] for i in places]
        letters = "abcd"[: len(blocks)]
        table = np.einsum(f"{','.join(f'{x}z' for x in letters)}->{letters}", *blocks) / rows.count
        difference = table - target._flat.reshape(table.shape)
        return 0.5 * sum(
            (projected(margin(difference, axes)) ** 2).sum() / noise**2
            for axes, noise in target.noises.items()
        )

    slope = (misfit(1e-4) - misfit(-1e-4)) / 2e-4
    for way in (target._by_products, target._by_nonzeros):
        gradient = Gradient(np.zeros_like(rows.columns), rows.sizes)
        way(rows, gradient, 0.5)
        gradient.collect()
        found = float((gradient.columns * direction).sum())
        scale = np.abs(gradient.columns * direction).sum() + 1
        assert found == pytest.approx(slope, abs=2e-4 * scale)


def test_residuals_of_independent_noise_are_the_table_itself():
    """Noise σ in every cell is noise σ·√(cells that a margin adds up) in the residual of a margin.

    Only the total, which D' has right, is left out.
    """
    features, sigma = ("d", "a", "c"), 0.02
    shape = Threshold(features).shape(SCHEMA)
    noises = {
        axes: sigma * np.prod([shape[i] for i in range(3) if i not in axes]) ** 0.5
        for axes in subsets((0, 1, 2))
        if axes
    }
    residual = target_of(features, noises)
    table = TableTarget(SCHEMA, Threshold(features), residual.answers, sigma)
    rows = rows_of(3)
    assert residual.residuals(rows).misfit == pytest.approx(table.residuals(rows).misfit, rel=1e-4)
    assert len(residual) == len(table) - 1


def measured(names, table, sigma):
    return ResidualMeasurement(Threshold(names), contrasts_of(table), sigma, N)


def test_each_residual_counts_once_and_tables_are_put_together():
    rng = np.random.default_rng(0)
    whole = rng.multinomial(N, np.full(120, 1 / 120)).reshape(SCHEMA.sizes)
    wanted = [("a", "b"), ("b", "c", "d")]
    sets = {names for t in wanted for k in (1, 2, 3) for names in combinations(t, k)}
    residuals = [
        measured(names, margin(whole, [SCHEMA.index(x) for x in names]), 3.0 + len(names))
        for names in sorted(sets)
    ]
    found = residual_targets(residuals, SCHEMA)
    assert sorted(target.threshold.features for target in found) == wanted
    assert sum(len(target.noises) for target in found) == len(sets)
    [pair] = (target for target in found if target.threshold.k == 2)
    assert pair.noises == {(0,): 0.004, (1,): 0.004, (0, 1): 0.005}  # the smaller table has b
    assert np.allclose(pair.answers, margin(whole, (0, 1)) / N)
    # Of tables that are too large, the smaller residuals are left.
    small = residual_targets(residuals, SCHEMA, largest=20)
    assert {target.threshold.k for target in small} == {2}
    assert sum(len(target) for target in found) == sum(r.contrasts.size for r in residuals)
    perfect = np.repeat(np.indices(SCHEMA.sizes).reshape(4, -1).T, whole.reshape(-1), axis=0)
    rows = RelaxedRows.from_codes(SCHEMA.sizes, perfect)
    assert Misfit(found, SCHEMA.sizes).residuals(rows.columns).misfit < 1e-4


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ParameterError, match="at least one"):
        target_of(("a", "b"), {})
    with pytest.raises(ParameterError, match="positive"):
        target_of(("a", "b"), {(0,): 0.0})
