"""The tables that may be measured, on a schema with a wide threshold."""

from itertools import combinations

import thresher as th
from thresher.mechanisms.adaptive_tables.candidates import (
    MOST_SUBSETS,
    candidates_of,
    one_way_tables,
    subsets_of,
    workload_tables_of,
)

WIDE = th.Schema(th.IntegerRange(name=f"f{i}", low=0, high=1, nulls=0) for i in range(40))


def test_candidates_are_all_subsets_of_two_or_more_features_that_are_small_enough():
    work = th.Workload(WIDE, [th.Threshold(WIDE.names[:4], r=2), th.Threshold(WIDE.names[2:5])])
    expected = {
        some
        for names in (WIDE.names[:4], WIDE.names[2:5])
        for size in (2, 3)
        for some in combinations(names, size)
    }
    assert {tuple(table.features) for table in candidates_of(work, largest=8)} == expected


def test_of_a_wide_threshold_only_small_subsets_are_listed():
    sizes = {table.k for table in subsets_of(th.Threshold(WIDE.names), WIDE)}
    assert sizes == {2}
    assert 40 * 39 // 2 <= MOST_SUBSETS < 40 * 39 * 38 // 6
    assert {t.k for t in workload_tables_of(th.Threshold(WIDE.names, r=20), WIDE)} == {2}


def test_one_way_tables_of_the_workload_come_apart_from_the_others():
    work = th.Workload(WIDE, [th.Threshold(("f3", "f1"))])
    named, others = one_way_tables(work)
    assert [table.features for table in named] == [("f1",), ("f3",)]
    assert len(others) == 38
