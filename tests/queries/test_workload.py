"""Thresholds and workloads: exact ids, filters, and random draws that are uniform."""

import itertools
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from thresher import (
    Condition,
    IntegerRange,
    ParameterError,
    Query,
    QueryError,
    ResourceError,
    Schema,
    Threshold,
    Workload,
)
from thresher.data.datasets import adult_schema, loans_schema

ADULT, LOANS = adult_schema(), loans_schema()


def schema_of(*sizes):
    return Schema(
        IntegerRange(name=f"f{i}", low=0, high=size - 1, nulls=0) for i, size in enumerate(sizes)
    )


@st.composite
def workloads(draw):
    schema = schema_of(*draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    every = [
        Threshold(draw(st.permutations(names)), r)
        for k in range(1, len(schema) + 1)
        for names in itertools.combinations(schema.names, k)
        for r in range(1, k + 1)
    ]
    return Workload(schema, draw(st.lists(st.sampled_from(every), min_size=1, unique=True)))


@given(workloads())
def test_ids_and_queries_are_one_to_one(work):
    ids = iter(range(work.query_count))
    for threshold in work:
        for targets in itertools.product(*map(range, threshold.shape(work.schema))):
            pairs = zip(threshold.features, targets, strict=True)
            query = Query([Condition(name, (code,)) for name, code in pairs], threshold.r)
            query_id = next(ids)
            assert work.query(query_id) == query
            assert work.id_of(query) == query_id
            assert work.id_of(Query(query.conditions[::-1], query.r)) == query_id
    assert next(ids, None) is None


@given(st.integers(0, 2**200))
def test_ids_of_a_workload_beyond_all_counting(number):
    work = Workload(LOANS, [Threshold(LOANS.names, r) for r in (1, 24, 48)])
    assert work.query_count == 3 * math.prod(LOANS.sizes) > 10**40
    query_id = number % work.query_count
    assert work.id_of(work.query(query_id)) == query_id


def test_ids_outside_are_refused():
    work = Workload(ADULT, [Threshold(("race", "sex"))])
    for query_id in (-1, 10, 10**50):
        with pytest.raises(QueryError, match="run from 0 to 9"):
            work.query(query_id)
    with pytest.raises(QueryError, match="does not hold"):
        work.id_of(Query([Condition("race", (0,))]))
    with pytest.raises(QueryError, match="does not hold"):
        work.id_of(Query([Condition("race", (0,)), Condition("sex", (0,))], 1))
    with pytest.raises(QueryError, match="'race' has 2"):
        work.id_of(Query([Condition("race", (0, 1)), Condition("sex", (0,))]))
    with pytest.raises(QueryError, match="run from 0 to 1"):
        work.id_of(Query([Condition("race", (0,)), Condition("sex", (5,))]))


@given(workloads(), st.slices(6))
def test_slices_and_unions(work, part):
    kept = work.thresholds[part]
    if not kept:
        with pytest.raises(QueryError, match="at least one threshold"):
            work[part]
        return
    sliced = work[part]
    assert sliced.thresholds == kept
    union = sliced | work
    assert set(union) == set(work)
    assert union.thresholds[: len(kept)] == kept
    assert len(set(union)) == len(union)


def test_unions_over_different_schemas_are_refused():
    with pytest.raises(QueryError, match="different schemas"):
        Workload.all(ADULT, 1) | Workload.all(LOANS, 1)


def test_duplicates_are_refused_in_any_order_of_features():
    pair = [Threshold(("age", "sex"), 1), Threshold(("sex", "age"), 1)]
    with pytest.raises(QueryError, match=r"holds Threshold\(1 of: sex, age\) twice"):
        Workload(ADULT, pair)
    assert len(Workload(ADULT, [pair[0], Threshold(("sex", "age"), 2)])) == 2


@pytest.mark.parametrize(
    ("features", "r", "words"),
    [
        ((), None, "at least one feature"),
        (("age", "age"), 1, "'age' twice"),
        (("age", 5), 1, "not by 5"),
        ("age", 1, "a list of names, not 'age'"),
        (("age", "sex"), 3, "from 1 to k = 2"),
        (("age", "sex"), 0, "from 1 to k = 2"),
        (("age", "sex"), -1, "from 1 to k = 2"),
        (("age", "sex"), True, "not True"),
        (("age", "sex"), 1.0, "not 1.0"),
    ],
)
def test_thresholds_that_make_no_sense(features, r, words):
    with pytest.raises(QueryError, match=words):
        Threshold(features, r)


@pytest.mark.parametrize("k", [0, -1, 15, True, 2.0, "3"])
def test_k_beyond_the_features_is_refused(k):
    with pytest.raises(ParameterError, match=r"from 1 to d = 14"):
        Workload.all(ADULT, k)
    with pytest.raises(ParameterError, match=r"from 1 to d = 14"):
        Workload.random(ADULT, k, size=1, seed=0)


def test_r_beyond_k_is_refused():
    with pytest.raises(QueryError, match="from 1 to k = 3"):
        Workload.all(ADULT, 3, r=4)
    with pytest.raises(QueryError, match="from 1 to k = 3"):
        Workload.random(ADULT, 3, r=0, size=2, seed=0)
    with pytest.raises(QueryError, match="no feature 'Age'"):
        Workload(ADULT, [Threshold(("Age",))])


def test_a_list_beyond_memory_is_refused():
    with pytest.raises(ResourceError, match=r"Workload\.random"):
        Workload.all(LOANS, 24)
    work = Workload.random(LOANS, 24, size=5, seed=0)
    assert len(work) == 5


def test_all_thresholds():
    work = Workload.all(ADULT, 3)
    assert len(work) == 364
    assert {threshold.r for threshold in work} == {3}
    sizes = dict(zip(ADULT.names, ADULT.sizes, strict=True))
    assert work.query_count == sum(
        math.prod(sizes[name] for name in names) for names in itertools.combinations(ADULT.names, 3)
    )


def test_the_filter_removes_what_the_paper_says():
    """Section 6 of the paper: 24 % and over 90 % (3-way), 92 % and over 99.99 % (5-way)."""
    three = Workload.all(ADULT, 3).within(48_842)
    assert round(100 * three.thresholds_removed) == 24
    assert 0.90 < three.queries_removed < 0.91
    five = Workload.all(ADULT, 5).within(48_842)
    assert round(100 * five.thresholds_removed) == 92
    assert 0.9999 < five.queries_removed < 1
    assert str(three).startswith("86 of 364 thresholds removed (23.6%), with ")
    assert all(t.query_count(ADULT) <= 48_842 for t in five.kept)
    with pytest.raises(ParameterError, match="every threshold has more than 1 queries"):
        Workload.all(ADULT, 3).within(1)


@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=6),
    st.integers(1, 6),
    st.one_of(st.none(), st.integers(0, 300)),
    st.integers(0, 2**32),
)
def test_a_random_workload_of_full_size_is_the_whole_set(sizes, k, max_queries, seed):
    schema = schema_of(*sizes)
    k = min(k, len(sizes))
    within = [
        threshold
        for threshold in Workload.all(schema, k, 1)
        if max_queries is None or threshold.query_count(schema) <= max_queries
    ]
    if within:
        options = {"seed": seed, "max_queries": max_queries}
        work = Workload.random(schema, k, 1, size=len(within), **options)
        assert set(work) == set(within)
        assert work == Workload.random(schema, k, 1, size=len(within), **options)
    with pytest.raises(ParameterError, match=f"has only {len(within)} thresholds"):
        Workload.random(schema, k, 1, size=len(within) + 1, seed=seed, max_queries=max_queries)


def test_a_filter_that_hardly_anything_passes_is_still_drawn_from():
    # 20 in 3·10^13 subsets pass: drawing subsets until enough of them do would not end.
    schema = schema_of(*[2] * 20, *[50] * 30)
    work = Workload.random(schema, 19, size=20, seed=0, max_queries=2**19)
    assert all(set(t.features) <= set(schema.names[:20]) for t in work)
    with pytest.raises(ParameterError, match="has only 20 thresholds"):
        Workload.random(schema, 19, size=21, seed=0, max_queries=2**19)


@pytest.mark.parametrize("size", [0, -3])
def test_an_empty_workload_is_refused(size):
    with pytest.raises(ParameterError, match="at least 1"):
        Workload.random(ADULT, 3, size=size, seed=0)


@pytest.mark.parametrize(("max_queries", "passing"), [(None, 10), (12, 5)])
def test_random_workloads_are_uniform(max_queries, passing):
    """Chi-square of ordered pairs over 20,000 seeds; a false alarm has probability 1e-7."""
    schema = schema_of(2, 3, 4, 5, 6)
    draws = 20_000
    seen: dict[tuple[Threshold, ...], int] = {}
    for seed in range(draws):
        work = Workload.random(schema, 2, size=2, seed=seed, max_queries=max_queries)
        seen[work.thresholds] = seen.get(work.thresholds, 0) + 1
    cells = passing * (passing - 1)
    expected = draws / cells
    statistic = sum((count - expected) ** 2 / expected for count in seen.values())
    statistic += (cells - len(seen)) * expected
    assert len(seen) <= cells
    assert statistic < chi2.isf(1e-7, cells - 1)


@settings(max_examples=50)
@given(workloads())
def test_json_round_trip(work):
    back = Workload.from_json(json.loads(json.dumps(work.as_json())), work.schema)
    assert back == work
    assert [t.features for t in back] == [t.features for t in work]


def test_files_round_trip(tmp_path):
    work = Workload.random(ADULT, 3, 2, size=5, seed=1)
    work.save(tmp_path / "w.json")
    assert Workload.load(tmp_path / "w.json", ADULT) == work
    assert len((tmp_path / "w.json").read_text("utf-8").splitlines()) == 7


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([], "a JSON object with a list"),
        ({}, "a JSON object with a list"),
        ({"thresholds": []}, "at least one threshold"),
        ({"thresholds": [5]}, "threshold 1 must look like"),
        ({"thresholds": [{"features": "age"}]}, "threshold 1 must look like"),
        ({"thresholds": [{"features": ["age"], "r": 2}]}, "threshold 1: r must be"),
        ({"thresholds": [{"features": ["age"]}, {"features": ["Age"]}]}, "threshold 2: .*'Age'"),
        ({"thresholds": [{"features": ["age"]}, {"features": ["age"]}]}, "twice"),
        ({"thresholds": [{"features": [["age"]]}]}, "threshold 1: .*by text"),
    ],
)
def test_a_malformed_file_names_the_threshold(tmp_path, value, words):
    (tmp_path / "w.json").write_text(json.dumps(value), "utf-8")
    with pytest.raises(QueryError, match=rf"w\.json: .*{words}"):
        Workload.load(tmp_path / "w.json", ADULT)


def test_weights_are_kept_by_files_slices_filters_and_unions(tmp_path):
    sex, age, pair = Threshold(("sex",)), Threshold(("age",)), Threshold(("sex", "race"))
    asked = Workload(ADULT, [sex, age, pair], [6, 2, 0.5])
    asked.save(tmp_path / "w.json")
    assert Workload.load(tmp_path / "w.json", ADULT) == asked
    assert asked[1:].weights == (2, 0.5)
    assert asked.within(20).kept.weights == (6, 0.5)
    assert asked.relative_weights == (1, 2 / 6, 0.5 / 6)
    assert (asked | Workload(ADULT, [age])).weights == (6, 3, 0.5)
    plain = Workload(ADULT, [sex]) | Workload(ADULT, [sex, age])
    assert not plain.has_weights
    assert "weight" not in plain.as_json()["thresholds"][0]


@pytest.mark.parametrize("weight", [0, -1, float("nan"), float("inf"), "2", True, None])
def test_a_weight_that_is_none_is_refused(weight):
    with pytest.raises(QueryError, match="a weight must be a finite number above 0"):
        Workload(ADULT, [Threshold(("sex",))], [weight])
    value = {"thresholds": [{"features": ["sex"], "weight": weight}]}
    with pytest.raises(QueryError, match="threshold 1: a weight must be"):
        Workload.from_json(value, ADULT)


def test_features_that_are_named_or_crossed():
    work = Workload.all(ADULT, 3, 2, among=["age", "sex", "race"], having=["income"])
    assert {frozenset(t.features) for t in work} == {
        frozenset({"income", *two}) for two in (("age", "sex"), ("age", "race"), ("sex", "race"))
    }
    with pytest.raises(ParameterError, match="change k, or name other features"):
        Workload.all(ADULT, 1, having=["age", "sex"])
    with pytest.raises(QueryError, match="no feature 'pay'"):
        Workload.all(ADULT, 2, among=["pay", "sex"])
