"""The first D', against the one-way tables that it starts from."""

import numpy as np

import thresher as th
from thresher.mechanisms.adaptive_tables.start import near_product
from thresher.privacy.measurements import TableMeasurement

SCHEMA = th.Schema(th.IntegerRange(name=name, low=0, high=2, nulls=0) for name in "ab")


def measured(counts):
    return TableMeasurement(th.Threshold(("a",)), np.array(counts), sigma=1.0, n=100)


def test_it_has_the_measured_shares_and_no_correlation():
    rows = near_product([measured([60, 30, 10])], SCHEMA, rows=4000, seed=0)
    # 0.3 of a share is drawn: 0.3·√(0.24/4000) < 0.0024, and 6 standard deviations is 0.015.
    assert np.allclose(rows.block(0).mean(axis=1), [0.6, 0.3, 0.1], atol=0.015)
    assert np.allclose(rows.block(1).mean(axis=1), 1 / 3, atol=0.015)
    together = rows.block(0) @ rows.block(1).T / 4000
    apart = np.outer(rows.block(0).mean(axis=1), rows.block(1).mean(axis=1))
    assert np.allclose(together, apart, atol=0.005)


def test_rows_are_probabilities_and_differ_whatever_the_noise():
    rows = near_product([measured([-20, 130, 4])], SCHEMA, rows=50, seed=1)
    for feature in (0, 1):
        block = rows.block(feature)
        assert (block >= 0).all()
        assert np.allclose(block.sum(axis=0), 1)
    assert len(np.unique(rows.columns, axis=1).T) > 1


def test_beyond_noise_only_shares_that_noise_does_not_explain_differ():
    # σ = 1 of n = 100: 60 is far from a third, and 18 and 22 are as noise makes equal counts.
    rows = near_product([measured([60, 18, 22])], SCHEMA, rows=4000, seed=0, beyond_noise=True)
    found = rows.block(0).mean(axis=1)
    assert np.allclose(found, [0.6, 0.2, 0.2], atol=0.025)
    rows = near_product([measured([33, 34, 32])], SCHEMA, rows=4000, seed=0, beyond_noise=True)
    assert np.allclose(rows.block(0).mean(axis=1), 1 / 3, atol=0.015)


def test_beyond_noise_nobody_is_moved_to_the_values_with_the_largest_noise():
    schema = th.Schema([th.IntegerRange(name="a", low=0, high=99, nulls=0)])
    noise = np.random.default_rng(0).normal(0, 50, 100).round().astype(int)
    table = TableMeasurement(th.Threshold(("a",)), 10 + noise, sigma=50.0, n=1000)
    shares = [
        near_product([table], schema, rows=500, seed=0, beyond_noise=only).block(0).mean(axis=1)
        for only in (False, True)
    ]
    # The truth is 0.01 everywhere. A hundredth of 500 rows is drawn, which adds 0.004 to each.
    assert shares[0].max() > 0.05
    assert shares[1].max() < 0.025
