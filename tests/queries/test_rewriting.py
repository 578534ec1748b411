"""The same query, put to features and to views: one truth."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher import Condition, IntegerRange, Query, QueryError, Records, Schema, Threshold, View
from thresher.data.exact import exact_answers, exact_count
from thresher.queries.proposals import propose_views, through_views
from thresher.queries.rewriting import equivalents, on_columns

A, B, C = (IntegerRange(name=x, low=0, high=4, nulls=0) for x in "abc")
SCHEMA = Schema([A, B, C], [
    View.at_cuts(A, "halves", [2]),
    View.of_groups(A, "odd", {"odd": [1, 3], "even": []}),
    View.at_cuts(B, "b-halves", [3]),
])  # fmt: skip
RNG = np.random.default_rng(0)
DATA = Records(SCHEMA, [RNG.integers(0, 5, 60).astype(np.uint8) for _ in range(3)])


def codes(name):
    return st.sets(st.integers(0, SCHEMA[name].size - 1), min_size=1).map(
        lambda some: Condition(name, some)
    )


@given(
    st.one_of(*map(codes, ("a", "halves", "odd"))),
    st.one_of(*map(codes, ("b", "b-halves"))),
    codes("c"),
    st.integers(1, 3),
)
def test_every_way_of_putting_a_query_counts_the_same_records(a, b, c, r):
    query = Query((a, b, c), r)
    ways = list(equivalents(query, SCHEMA))
    assert ways[0] == query
    assert on_columns(query, SCHEMA) in ways
    assert len(set(ways)) == len(ways)
    values = [dict(zip("abc", row, strict=True)) for row in zip(*DATA.columns, strict=True)]
    plain = on_columns(query, SCHEMA).conditions
    brute = sum(sum(row[x.feature] in x.codes for x in plain) >= r for row in values)
    assert {exact_count(DATA, way) for way in ways} == {brute}


def test_a_table_over_views_adds_up_cells():
    whole = exact_answers(DATA, Threshold(("a", "b")))
    seen = exact_answers(DATA, Threshold(("halves", "b-halves")))
    for i, j in itertools.product(range(2), range(2)):
        groups = np.ix_(SCHEMA["halves"].base_codes([i]), SCHEMA["b-halves"].base_codes([j]))
        assert seen[i, j] == whole[groups].sum()


def test_a_feature_and_its_view_do_not_stand_in_one_query():
    with pytest.raises(QueryError, match="all about the feature 'a': name one"):
        on_columns(Query.parse("a=1, halves=2..", SCHEMA), SCHEMA)


def test_views_are_proposed_where_ranges_were_asked_for():
    schema = Schema([IntegerRange(name=x, low=0, high=30, nulls=0) for x in "abc"])
    log = ["a=10..19, b=3", "a=20.., c in {1,5,9}", "b=4", "c not in {1,5,9}", "b=5..7"]
    asked = [Query.parse(line, schema) for line in log]
    a, c = propose_views(asked, schema)
    assert (a.of, a.labels) == ("a", ("..9", "10..19", "20.."))
    assert (c.of, sorted(map(len, (c.base_codes([0]), c.base_codes([1]))))) == ("c", [3, 28])
    viewed = schema.with_views([a, c])
    assert [through_views(query, viewed).features for query in asked] == [
        (a.name, "b"), (a.name, c.name), ("b",), (c.name,), ("b",),
    ]  # fmt: skip
    assert propose_views(asked, viewed) == []


def test_a_proposed_view_leaves_out_what_was_asked_rarely():
    schema = Schema([IntegerRange(name="a", low=0, high=99, nulls=0)])
    often = ["a=50..69"] * 5
    asked = [
        Query.parse(line, schema) for line in [*(f"a={i}..{i + 1}" for i in range(40)), *often]
    ]
    [view] = propose_views(asked, schema)
    assert view.size <= 16
    assert view.codes_for(tuple(range(50, 70))) is not None
