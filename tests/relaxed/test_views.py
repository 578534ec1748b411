"""D' with views: their columns are sums, and gradients by them are gradients by their bases."""

import numpy as np

from thresher import IntegerRange, Schema, Threshold, View
from thresher.relaxed.projection import project
from thresher.relaxed.rounding import round_rows
from thresher.relaxed.rows import RelaxedRows
from thresher.relaxed.tables import threshold_table
from thresher.relaxed.targets import Misfit, TableTarget

A, B = (IntegerRange(name=x, low=0, high=3, nulls=0) for x in "ab")
ODD = View.of_groups(B, "odd", {"x": [1, 3], "y": []})
SCHEMA = Schema([A, B], [View.at_cuts(A, "old", [1]), ODD])
TABLES = [Threshold(("old", "odd")), Threshold(("old", "b"), 1), Threshold(("a", "odd"))]


def rows(count=6, seed=0):
    return RelaxedRows.uniform((4, 4), count, np.random.default_rng(seed)).with_views(SCHEMA)


def test_a_table_over_views_is_a_sum_of_cells_of_the_features():
    seen = threshold_table(rows(), SCHEMA, Threshold(("old", "odd")))
    whole = threshold_table(rows(), SCHEMA, Threshold(("a", "b")))
    for i in range(2):
        for j in range(2):
            cells = np.ix_(SCHEMA["old"].base_codes([i]), SCHEMA["odd"].base_codes([j]))
            assert np.isclose(seen[i, j], whole[cells].sum(), atol=1e-6)


def targets():
    rng = np.random.default_rng(1)
    return [
        TableTarget(SCHEMA, t, rng.random(t.query_count(SCHEMA)).astype(np.float32), 0.5)
        for t in TABLES
    ]


def test_the_gradient_is_that_of_finite_differences():
    start = rows()
    misfit = Misfit(targets(), start.feature_sizes, start.views)
    columns = start.feature_columns.copy()
    gradient = np.empty_like(columns)
    misfit.residuals(columns, gradient)
    for place in [(0, 0), (2, 3), (3, 1), (5, 4), (7, 2)]:
        ends = []
        for step in (1e-2, -1e-2):
            moved = columns.copy()
            moved[place] += step
            ends.append(misfit.residuals(moved).misfit)
        assert np.isclose((ends[0] - ends[1]) / 2e-2, gradient[place], rtol=2e-2, atol=1e-3)


def test_a_projection_fits_tables_over_views():
    wanted = threshold_table(rows(seed=5), SCHEMA, TABLES[0])
    fitted = project(rows(count=40), [TableTarget(SCHEMA, TABLES[0], wanted, sigma=0.001)]).rows
    assert np.abs(threshold_table(fitted, SCHEMA, TABLES[0]) - wanted).max() < 0.005
    assert np.allclose(fitted.block(2).sum(axis=0), 1.0, atol=1e-5)


def test_records_that_are_drawn_have_the_views_of_their_values():
    drawn = round_rows(rows(), 30, np.random.default_rng(0))
    assert np.array_equal(drawn[:, 2], SCHEMA["old"].map[drawn[:, 0]])
    assert np.array_equal(drawn[:, 3], SCHEMA["odd"].map[drawn[:, 1]])
