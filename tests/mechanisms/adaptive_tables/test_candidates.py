"""The tables that may be measured, on a schema with a wide threshold."""

from itertools import combinations

import thresher as th
from thresher.mechanisms.adaptive_tables.candidates import (
    MOST_SUBSETS,
    candidates_of,
    one_way_tables,
    smallest_pairs,
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


SIZES = {"a": 30, "b": 20, "c": 40, "d": 10}
UNEVEN = th.Schema(th.IntegerRange(name=n, low=0, high=s - 1, nulls=0) for n, s in SIZES.items())


def test_a_threshold_without_a_candidate_gets_its_smallest_pair():
    work = th.Workload(UNEVEN, [th.Threshold(("c", "a", "b")), th.Threshold(("d",))])
    assert smallest_pairs(work, (), largest=600) == {th.Threshold(("a", "b")): 600}
    assert smallest_pairs(work, (), largest=599) == {}, "left to one-way tables"
    assert smallest_pairs(work, [th.Threshold(("a", "c"))], largest=600) == {}, "has a candidate"
    assert smallest_pairs(work, [th.Threshold(("b", "c", "a"))], largest=600) == {}, "is measured"


def test_two_thresholds_share_a_pair():
    work = th.Workload(UNEVEN, [th.Threshold(("a", "b")), th.Threshold(("a", "b", "c"), r=1)])
    assert smallest_pairs(work, (), largest=10**6) == {th.Threshold(("a", "b")): 600}
