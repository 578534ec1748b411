"""Exact answers against a brute-force reading of the definition of r-of-k thresholds."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher import (
    Condition,
    IntegerRange,
    ParameterError,
    Query,
    QueryError,
    Records,
    ResourceError,
    Schema,
    Threshold,
    datasets,
    exact_answer,
    exact_answers,
    exact_slabs,
)
from thresher.data.exact import exact_count
from thresher.tables import SparseTable, coefficient, slabs_of, threshold_table


def records_of(sizes, rows):
    schema = Schema(
        IntegerRange(name=f"f{i}", low=0, high=size - 1, nulls=0) for i, size in enumerate(sizes)
    )
    columns = np.array(rows, dtype=np.uint8).reshape(len(rows), len(sizes)).T
    return Records(schema, list(columns))


@st.composite
def small_records(draw, least=1):
    sizes = draw(st.lists(st.integers(1, 4), min_size=least, max_size=5))
    row = st.tuples(*(st.integers(0, size - 1) for size in sizes))
    return records_of(sizes, draw(st.lists(row, min_size=1, max_size=12)))


def brute_force(records, threshold):
    """At least r of the k values match: counted row by row, query by query."""
    columns = [records.codes(name).tolist() for name in threshold.features]
    rows = list(zip(*columns, strict=True))
    shape = threshold.shape(records.schema)
    table = np.zeros(shape, dtype=np.int64)
    for targets in itertools.product(*map(range, shape)):
        for row in rows:
            matches = sum(cell == target for cell, target in zip(row, targets, strict=True))
            table[targets] += matches >= threshold.r
    return table


@st.composite
def questions(draw):
    records = draw(small_records())
    names = draw(st.permutations(records.schema.names))
    k = draw(st.integers(1, len(names)))
    return records, Threshold(names[:k], draw(st.integers(1, k)))


@settings(max_examples=200)
@given(questions(), st.integers(1, 40))
def test_every_table_is_what_the_definition_says(question, cells):
    records, threshold = question
    expected = brute_force(records, threshold)
    assert np.array_equal(exact_answers(records, threshold), expected)
    place = 0
    for slab, table in exact_slabs(records, threshold, cells=cells):
        assert slab.first == place
        assert slab.size <= cells
        assert table.shape == slab.shape
        assert np.array_equal(table, expected[np.ix_(*slab.ranges)])
        table += 7  # a caller may do as it likes with a slab
        place += slab.size
    assert place == expected.size


@pytest.mark.parametrize("r", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_axes_of_one_size_are_not_mistaken_for_each_other(k, r):
    if r > k:
        return
    rows = np.random.default_rng(k).integers(0, 3, size=(50, 5)) ** 2 % 3
    records = records_of([3] * 5, rows.tolist())
    threshold = Threshold(records.schema.names[:k], r)
    expected = brute_force(records, threshold)
    for cells in (1, 2, 3, 10, 81, 1000):
        walked = [table.reshape(-1) for _, table in exact_slabs(records, threshold, cells=cells)]
        assert np.array_equal(np.concatenate(walked), expected.reshape(-1))


def test_nothing_kept_between_slabs_changes_nothing(monkeypatch):
    records = records_of([3, 2, 3, 2], np.random.default_rng(0).integers(0, 2, (30, 4)).tolist())
    threshold = Threshold(records.schema.names, 2)
    expected = exact_answers(records, threshold)
    monkeypatch.setattr(threshold_table, "MOST_REMEMBERED", 3)
    walked = [table.reshape(-1) for _, table in exact_slabs(records, threshold, cells=6)]
    assert np.array_equal(np.concatenate(walked), expected.reshape(-1))


@st.composite
def conditioned(draw):
    records = draw(small_records())
    names = draw(st.permutations(records.schema.names))
    names = names[: draw(st.integers(1, len(names)))]
    conditions = [
        Condition(name, draw(st.sets(st.integers(0, records.schema[name].size - 1))))
        for name in names
    ]
    return records, Query(conditions, draw(st.integers(1, len(names))))


def count_by_rows(records, query):
    return sum(
        sum(int(records.codes(c.feature)[row]) in c.codes for c in query.conditions) >= query.r
        for row in range(records.n)
    )


@given(conditioned())
def test_every_query_is_what_the_definition_says(question):
    records, query = question
    expected = count_by_rows(records, query)
    assert exact_count(records, query) == expected
    assert exact_answer(records, query) == expected / records.n
    assert exact_count(records, query.text(records.schema)) == expected


@given(conditioned())
def test_the_complement_identity(question):
    """φ_r(x) = 1 − φ_{k−r+1}(1 − x): at least r match unless k − r + 1 or more do not."""
    records, query = question
    negated = [
        Condition(c.feature, set(range(records.schema[c.feature].size)) - set(c.codes))
        for c in query.conditions
    ]
    complement = Query(negated, query.k - query.r + 1)
    assert exact_count(records, query) == records.n - exact_count(records, complement)


@given(questions())
def test_a_table_holds_the_answers_to_its_queries(question):
    records, threshold = question
    table = exact_answers(records, threshold)
    for targets in itertools.product(*map(range, table.shape)):
        pairs = zip(threshold.features, targets, strict=True)
        query = Query([Condition(name, (code,)) for name, code in pairs], threshold.r)
        assert exact_count(records, query) == table[targets]


def test_small_integers_give_way_to_large_ones(monkeypatch):
    records = records_of([2, 2, 2], [(0, 1, 0), (1, 1, 1), (0, 0, 0)])
    threshold = Threshold(records.schema.names, 2)
    small = next(exact_slabs(records, threshold))[1]
    assert small.dtype == np.int32
    # Σ C(3, i) |coefficient(i, 2)| = 3 + 2, so 2^31 / 5 records are the first that might overflow.
    monkeypatch.setattr(SparseTable, "total", property(lambda self: 2**31 // 5))
    assert next(exact_slabs(records, threshold))[1].dtype == np.int32
    monkeypatch.setattr(SparseTable, "total", property(lambda self: 2**31 // 5 + 1))
    large = next(exact_slabs(records, threshold))[1]
    assert large.dtype == np.int64
    assert np.array_equal(small, large)


def test_the_coefficients_sum_to_one_where_r_match():
    from math import comb

    for r in range(1, 8):
        for t in range(10):
            total = sum(comb(t, i) * coefficient(i, r) for i in range(1, t + 1))
            assert total == (t >= r)


def test_a_table_over_the_ceiling_is_refused_with_the_way_out():
    records = records_of([4, 4], [(0, 1)])
    threshold = Threshold(records.schema.names, 1)
    assert exact_answers(records, threshold, memory=128).sum() == 7
    with pytest.raises(ResourceError, match=r"16 cells .* 127 bytes.*exact_slabs"):
        exact_answers(records, threshold, memory=127)


def test_tables_beyond_64_bits_are_refused():
    records = datasets.loans_like(seed=0, n=10)
    whole = Threshold(records.schema.names, 1)
    with pytest.raises(ResourceError, match="more than 2\\^63 cells"):
        next(exact_slabs(records, whole))
    with pytest.raises(ResourceError, match="ceiling"):
        exact_answers(records, whole)


@pytest.mark.parametrize("r", [1, 4])
def test_the_largest_table_of_loans_can_be_walked(r):
    records = datasets.loans_like(seed=0, n=500)
    names = ("zip_code", "last_credit_pull_d", "debt_settlement_flag_date", "settlement_date")
    threshold = Threshold(names, r)
    assert threshold.query_count(records.schema) > 3 * 10**9
    for slab, table in itertools.islice(exact_slabs(records, threshold), 3):
        assert table.nbytes <= 4 << 20
        for cell in (0, table.size // 2, table.size - 1):
            place = np.unravel_index(slab.first + cell, slab.table)
            pairs = zip(names, map(int, place), strict=True)
            query = Query([Condition(name, (code,)) for name, code in pairs], r)
            assert table.reshape(-1)[cell] == exact_count(records, query)


def test_many_features_need_little_memory():
    records = records_of([2] * 12, np.random.default_rng(0).integers(0, 2, (20, 12)).tolist())
    for r in (1, 6, 12):
        threshold = Threshold(records.schema.names, r)
        table = exact_answers(records, threshold)
        assert table[(0,) * 12] == count_by_rows(
            records, Query([Condition(name, (0,)) for name in records.schema.names], r)
        )


def test_questions_about_other_schemas_are_refused():
    records = records_of([2, 2], [(0, 1)])
    with pytest.raises(QueryError, match="no feature 'age'"):
        exact_answers(records, Threshold(("age",)))
    with pytest.raises(QueryError, match="'f0' run from 0 to 1"):
        exact_count(records, Query([Condition("f0", (2,))]))
    with pytest.raises(QueryError, match="at character 1"):
        exact_count(records, "age=5")


@given(st.lists(st.integers(1, 5), min_size=1, max_size=5), st.integers(1, 200))
def test_slabs_cut_a_table_in_order(shape, cells):
    slabs = list(slabs_of(shape, cells))
    assert all(slab.size <= cells for slab in slabs)
    whole = np.arange(np.prod(shape)).reshape(shape)
    walked = [whole[np.ix_(*slab.ranges)].reshape(-1) for slab in slabs]
    assert np.array_equal(np.concatenate(walked), whole.reshape(-1))
    assert [slab.first for slab in slabs] == [int(part[0]) for part in walked]


def test_a_slab_of_no_cells_is_refused():
    with pytest.raises(ParameterError, match="at least one cell"):
        next(slabs_of((2, 2), cells=0))
