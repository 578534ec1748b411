"""Relaxed Projection as mechanisms call it: targets, and the hook that follows D'."""

import numpy as np

import thresher as th
from thresher.mechanisms.projector import Projector, targets_of
from thresher.privacy.measurements import QueryMeasurement, TableMeasurement
from thresher.relaxed.projection import Stopping
from thresher.relaxed.rows import RelaxedRows


def measured(schema):
    table = TableMeasurement(th.Threshold(("job", "sex")), np.full((3, 2), 60), sigma=4.0, n=400)
    queries = [
        QueryMeasurement(th.Query.parse(text, schema), count, 2.0, 400)
        for text, count in (("sex=F", 100), ("1 of: sex=M, town=A", 300))
    ]
    return [queries[0], table, queries[1]]


def test_single_queries_are_one_target_and_each_table_is_one(schema):
    queries, table = targets_of(measured(schema), schema)
    assert (len(queries), len(table)) == (2, 6)
    assert queries.answers.tolist() == [0.25, 0.75]
    assert queries.sigma.tolist() == [0.005, 0.005]


def test_the_hook_sees_every_iteration_and_changes_nothing(schema):
    start = RelaxedRows.uniform(schema.sizes, 20, np.random.default_rng(0))
    seen = []

    def look(number, iteration, misfit, rows):
        seen.append((number, iteration, misfit, rows.columns.copy()))

    stopping = Stopping(iterations=5)
    watched = Projector("adam", stopping, look)(start, measured(schema), schema, number=7)
    alone = Projector("adam", stopping)(start, measured(schema), schema, number=7)
    assert np.array_equal(watched.rows.columns, alone.rows.columns)
    assert [(number, iteration) for number, iteration, *_ in seen] == [(7, i) for i in range(6)]
    assert [misfit for *_, misfit, _ in seen] == list(watched.misfits)
    assert np.array_equal(seen[0][3], start.columns)
    assert np.array_equal(seen[-1][3], watched.rows.columns)
