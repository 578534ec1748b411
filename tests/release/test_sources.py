"""Where answers come from: noisy tables against sums over their cells, rows, and nothing at all."""

from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.errors import QueryError
from thresher.privacy.measurements import TableMeasurement
from thresher.queries import Condition, Query, Threshold
from thresher.relaxed.rows import RelaxedRows
from thresher.release.sources import NoisyTables, RowsAndTables, SyntheticRows, Zeros, margins_of
from thresher.schema import Schema
from thresher.schema.features import Categorical
from thresher.tables import slabs_of

SIZES = {"a": 2, "b": 3, "c": 4, "d": 2}
SCHEMA = Schema(
    Categorical(
        name=name, categories=tuple(f"{name}{i}" for i in range(size)), outside=f"{name}0",
        nulls=f"{name}0",
    )
    for name, size in SIZES.items()
)  # fmt: skip
N = 100


def noisy(features, r=None, seed=0):
    """A noisy table: some counts are below zero, and they do not add up to n."""
    threshold = Threshold(features, r)
    counts = np.random.default_rng(seed).integers(-5, 30, threshold.shape(SCHEMA))
    return TableMeasurement(threshold, counts, 3.0, N)


MARGINAL = noisy(("b", "a", "c"))
SOURCE = NoisyTables.of([MARGINAL, noisy(("d", "a"), 1, seed=1), noisy(("d",), seed=2)], SCHEMA)


def cells(source, threshold, size=1 << 20):
    table = source.table(threshold)
    parts = []
    for slab in slabs_of(threshold.shape(SCHEMA), size):
        found = table(slab)
        assert found.shape == slab.shape
        parts.append(found.reshape(-1))
    return np.concatenate(parts).reshape(threshold.shape(SCHEMA))


def from_marginal(query):
    """The sum of the noisy cells that meet a query, by definition."""
    where = {c.feature: c.codes for c in query.conditions}
    total = 0
    for codes in np.ndindex(*MARGINAL.counts.shape):
        names = MARGINAL.threshold.features
        met = sum(code in where[name] for name, code in zip(names, codes, strict=True))
        total += MARGINAL.counts[codes] if met >= query.r else 0
    return min(1.0, max(0.0, total / N))


@pytest.mark.parametrize("features", list(permutations("abc")))
@pytest.mark.parametrize("r", [1, 2, 3])
@pytest.mark.parametrize("size", [1, 5, 1000])
def test_tables_of_a_noisy_marginal_in_any_order_of_axes(features, r, size):
    found = cells(SOURCE, Threshold(features, r), size)
    for codes in np.ndindex(*found.shape):
        conditions = [Condition(f, (code,)) for f, code in zip(features, codes, strict=True)]
        query = Query(conditions, r)
        assert found[codes] == pytest.approx(from_marginal(query))
        assert list(SOURCE.queries([query])) == [pytest.approx(found[codes])]


@given(st.permutations("abc"), st.integers(1, 3), st.data())
def test_sets_of_values_on_a_noisy_marginal(features, r, data):
    query = Query(
        [Condition(name, data.draw(st.sets(st.integers(0, SIZES[name] - 1)))) for name in features],
        r,
    )
    assert list(SOURCE.queries([query])) == [pytest.approx(from_marginal(query))]


def test_a_table_that_was_measured_itself_is_taken_as_it_is():
    measured = SOURCE.tables[Threshold(("a", "d"), 1)]
    expected = np.clip(measured.counts / N, 0, 1)
    assert np.array_equal(cells(SOURCE, Threshold(("d", "a"), 1)), expected)
    assert np.array_equal(cells(SOURCE, Threshold(("a", "d"), 1)), expected.T)
    for a, d in product(range(2), range(2)):
        query = Query([Condition("a", (a,)), Condition("d", (d,))], 1)
        assert list(SOURCE.queries([query])) == [expected[d, a]]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("a=a0", "no answers for Threshold.1 of: a.*only; a release with synthetic rows"),
        ("2 of: a=a0, d=d1", "no answers for"),
        ("any of: a in {a0,a1}, d=d1", "only for single values"),
        ("a=a0, b=b0, c=c0, d=d0", "no answers for"),
    ],
)
def test_what_noisy_tables_cannot_answer(query, words):
    with pytest.raises(QueryError, match=words):
        list(SOURCE.queries([Query.parse(query, SCHEMA)]))


def test_a_table_that_was_not_measured():
    with pytest.raises(QueryError, match="no answers for"):
        SOURCE.table(Threshold(("a", "b")))


def test_queries_about_what_the_schema_does_not_have():
    for condition in (Condition("a", (7,)), Condition("z", (0,))):
        with pytest.raises(QueryError, match=r"run from 0 to 1|no feature 'z'"):
            list(SOURCE.queries([Query([condition])]))


def test_zeros():
    assert not cells(Zeros(), Threshold(("a", "b"))).any()
    assert list(Zeros().queries([Query.parse("a=a0", SCHEMA)] * 3)) == [0.0] * 3


def test_rows_answer_tables_and_queries_alike():
    rows = RelaxedRows.uniform(SCHEMA.sizes, 9, np.random.default_rng(0))
    source = SyntheticRows(rows, SCHEMA)
    found = cells(source, Threshold(("c", "a"), 1), size=3)
    asked = [
        Query([Condition("c", (c,)), Condition("a", (a,))], 1) for c in range(4) for a in range(2)
    ]
    assert list(source.queries(asked)) == pytest.approx(found.reshape(-1).tolist(), abs=1e-6)


def test_rows_are_limited_by_noisy_tables_of_the_same_features():
    schema = Schema(
        [Categorical(name=n, categories=("x", "y"), outside="x", nulls="x") for n in "ab"]
    )
    rows = RelaxedRows(np.full((4, 3), 0.5, np.float32), schema.sizes)  # a quarter in each cell
    counts = np.array([[40, 26], [24, 10]])
    table = Threshold(("b", "a"))
    once = [TableMeasurement(table, counts, sigma=2.0, n=100)]
    source = RowsAndTables.of(rows, schema, None, once)
    [whole] = slabs_of((2, 2))
    limited = source.table(Threshold(("a", "b")))(whole)
    # 3σ = 0.06: noisy cells within 0.06 of D' change nothing, the others pull it this close.
    assert limited == pytest.approx(np.array([[0.34, 0.25], [0.25, 0.16]]))
    query = Query.where(schema, {"a": "x", "b": "x"})
    both = Query.parse("a=x, b in {x,y}", schema)
    either = Query.where(schema, {"a": "x", "b": "x"}, r=1)
    nobody = Query([Condition("a", ()), Condition("b", (0,))])
    assert list(source.queries([nobody])) == [0.0]
    assert list(source.queries([query, both, either])) == pytest.approx([0.34, 0.5, 0.75])
    # Measured twice, it is known better: half the variance, and the mean of the two.
    twice = RowsAndTables.of(rows, schema, None, [*once, *once])
    assert twice.table(Threshold(("a", "b")))(whole)[0, 0] == pytest.approx(0.40 - 0.06 / 2**0.5)


def test_margins_of_a_table_of_many_features_are_few_and_have_any_three_together():
    """Of 12 features with two values there are 924 margins of 64 cells."""
    names = [f"f{i:02}" for i in range(12)]
    counts = np.random.default_rng(0).integers(-5, 30, [2] * 12)
    margins = margins_of(TableMeasurement(Threshold(names), counts, 3.0, N), largest=64)
    assert len(margins) < 100
    found = {some for m in margins for some in combinations(m.threshold.features, 3)}
    assert found == {*combinations(names, 3)}
    for m in margins:
        left_out = tuple(i for i, name in enumerate(names) if name not in m.threshold.features)
        np.testing.assert_array_equal(m.counts, counts.sum(axis=left_out))
        assert m.sigma == pytest.approx(3.0 * 8)


def test_a_table_that_is_small_enough_is_its_only_margin():
    assert margins_of(MARGINAL, largest=24) == [MARGINAL]
    assert [m.counts.size for m in margins_of(MARGINAL, largest=23)] == [8, 12, 6]
