"""Two features by D': how strongly they depend, and how far D' is from noisy tables."""

import itertools

import numpy as np
import pytest

import thresher as th
from thresher.privacy.measurements import TableMeasurement
from thresher.relaxed.rows import RelaxedRows
from thresher.release.sources.dependence import Pairs

N = 100_000
SCHEMA = th.Schema(
    th.IntegerRange(name=name, low=0, high=size - 1, nulls=0)
    for name, size in (("a", 3), ("b", 4), ("c", 2))
)
ROWS = RelaxedRows.uniform(SCHEMA.sizes, 9, np.random.default_rng(4))


def table_by_rows():
    return np.einsum("az,bz,cz->abc", *(ROWS.block(i) for i in range(3))) / ROWS.count


def measured(off, sigma=10.0, features="abc"):
    axes = ["abc".index(name) for name in features]
    counts = np.rint(N * np.transpose(table_by_rows() + off, axes)).astype(np.int64)
    return TableMeasurement(th.Threshold(tuple(features)), counts, sigma, N)


def test_strength_is_the_typical_correlation():
    both = table_by_rows().sum(axis=2)
    p, q = both.sum(axis=1), both.sum(axis=0)
    squares, weights = 0.0, 0.0
    for u, v in itertools.product(range(3), range(4)):
        spread = p[u] * (1 - p[u]) * q[v] * (1 - q[v])
        correlation = (both[u, v] - p[u] * q[v]) / np.sqrt(spread)
        squares += both[u, v] * spread * correlation**2
        weights += both[u, v] * spread
    found = Pairs(ROWS, SCHEMA, ()).of("b", "a")
    assert found.strength == pytest.approx(np.sqrt(squares / weights))
    assert found == Pairs(ROWS, SCHEMA, ()).of("a", "b")


@pytest.mark.parametrize("features", ["abc", "cba", "bca"])
def test_misfit_compares_sums_of_cells(features):
    rng = np.random.default_rng(0)
    off = rng.normal(0, 0.002, (3, 4, 2))
    pairs = Pairs(ROWS, SCHEMA, [measured(off, 10.0, features), measured(0, 50.0)])
    sums = [
        off[: u + 1, : v + 1].sum() ** 2 / ((u + 1) * (v + 1) * 2 * 1e-8)
        for u, v in itertools.product(range(3), range(4))
    ]
    assert pairs.of("a", "b").misfit == pytest.approx(np.mean(sums), rel=0.02)


def test_no_misfit_where_nothing_was_measured_or_noise_explains_it():
    assert Pairs(ROWS, SCHEMA, [measured(0)]).of("a", "b").misfit == 1.0
    assert Pairs(ROWS, SCHEMA, []).of("a", "b").misfit == 1
