"""Randomised rounding: records drawn from relaxed rows have the rows' distribution."""

import numpy as np
import pytest
from scipy import stats

from thresher.queries import Threshold
from thresher.relaxed.rounding import round_rows
from thresher.relaxed.rows import RelaxedRows
from thresher.relaxed.tables import threshold_table
from thresher.schema import IntegerRange, Schema

FALSE_ALARM = 1e-7
"""The chance that one test here would fail on correct code, had its seed not been fixed."""


@pytest.mark.parametrize("features", [(0,), (1,), (2,), (0, 1), (2, 1), (0, 1, 2)])
def test_marginals_of_a_large_sample_agree_with_the_rows(features):
    sizes, count = (2, 5, 3), 40_000
    rows = RelaxedRows.uniform(sizes, 13, np.random.default_rng(1))
    codes = round_rows(rows, count, np.random.default_rng(2))
    assert codes.shape == (count, 3)
    schema = Schema(
        IntegerRange(name=str(i), low=0, high=size - 1, nulls=0) for i, size in enumerate(sizes)
    )
    table = threshold_table(rows, schema, Threshold(map(str, features)))
    expected = count * table.astype(float).reshape(-1)
    shape = [sizes[f] for f in features]
    cells = np.ravel_multi_index([codes[:, f] for f in features], shape)
    seen = np.bincount(cells, minlength=expected.size)
    assert not seen[expected == 0].any()
    possible = expected > 0
    # Rows take turns, so cells vary less than in independent draws: the test errs on the safe side.
    scaled = expected[possible] * (count / expected[possible].sum())
    assert stats.chisquare(seen[possible], scaled).pvalue > FALSE_ALARM


def test_values_of_no_probability_are_never_drawn():
    columns = np.array([[0, 0, 1], [0.5, 0, 0], [0.5, 1, 0], [0, 0, 0]], np.float32)
    codes = round_rows(RelaxedRows(columns, (4,)), 30_000, np.random.default_rng(0))
    counts = np.bincount(codes[:, 0], minlength=4)
    assert counts[3] == 0
    assert counts[0] == 10_000
    spread = abs(counts[1] - 5000)
    assert spread <= stats.binom.isf(FALSE_ALARM, 10_000, 0.5) - 5000


@pytest.mark.parametrize("count", [1, 3, 4, 5, 12])
def test_rows_take_turns(count):
    rows = RelaxedRows.from_codes((4,), np.arange(4)[:, None])
    codes = round_rows(rows, count, np.random.default_rng(3))
    times = np.bincount(codes[:, 0], minlength=4)
    assert times.sum() == count
    assert times.max() - times.min() <= 1


def test_the_same_seed_gives_the_same_records():
    rows = RelaxedRows.uniform((3, 4), 5, np.random.default_rng(0))
    one, same, other = (round_rows(rows, 99, np.random.default_rng(seed)) for seed in (7, 7, 8))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
