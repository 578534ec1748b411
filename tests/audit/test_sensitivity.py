"""Over all neighbouring pairs of tiny universes: what one person can move, at most and in fact."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from universe import (
    all_thresholds,
    answers_from,
    count,
    data_sets,
    neighbours_of,
    records_of,
    schema_of,
    scores_of,
)

from thresher.data.exact import exact_answers, exact_count
from thresher.errors import QueryError
from thresher.privacy import Budget, Curator, InsecureSeededRandomness
from thresher.privacy.scores import weigh
from thresher.queries import Condition, Query, Threshold, Workload
from thresher.schema import View

UNIVERSES = [((2, 3), 3), ((2, 2, 2), 2), ((2, 2, 3), 2)]


@pytest.fixture(scope="module", params=UNIVERSES, ids=str)
def universe(request):
    """A schema, and for every data set the exact table of every threshold."""
    sizes, n = request.param
    schema = schema_of(*sizes)
    tables = {
        people: {
            threshold: exact_answers(records_of(schema, people), threshold)
            for threshold in all_thresholds(schema)
        }
        for people in data_sets(schema, n)
    }
    return schema, n, tables


def moves(universe, threshold):
    """By how much each table of a threshold differs from each neighbour's."""
    schema, _, tables = universe
    for people, mine in tables.items():
        for other in neighbours_of(schema, people):
            yield tables[other][threshold] - mine[threshold]


def test_the_counts_behind_the_wall_are_those_of_the_definition(universe):
    schema, _, tables = universe
    workload = Workload(schema, all_thresholds(schema))
    for people, mine in list(tables.items())[::5]:
        listed = np.concatenate([mine[threshold].ravel() for threshold in workload])
        for i in range(workload.query_count):
            query = workload.query(i)
            assert listed[i] == count(people, query, schema)
            assert listed[i] == exact_count(records_of(schema, people), query)


def test_a_person_moves_every_single_query_by_at_most_one(universe):
    for threshold in all_thresholds(universe[0]):
        assert max(np.abs(move).max() for move in moves(universe, threshold)) == 1


def test_a_person_moves_queries_over_sets_of_values_by_at_most_one():
    schema = schema_of(2, 3)
    queries = [
        Query((Condition("a", first), Condition("b", second)), r)
        for first in ((), (0,), (0, 1))
        for second in ((), (1,), (0, 2), (0, 1, 2))
        for r in (1, 2)
    ]
    counts = {
        people: [exact_count(records_of(schema, people), query) for query in queries]
        for people in data_sets(schema, 2)
    }
    largest = max(
        np.abs(np.subtract(counts[people], counts[other])).max()
        for people in counts
        for other in neighbours_of(schema, people)
    )
    assert largest == 1


def test_a_person_moves_every_score_by_at_most_one(universe):
    # A score is |count - c| with c = round(n·answer), which is one of 0…n.
    _, n, _ = universe
    for threshold in all_thresholds(universe[0]):
        table = universe[2]
        for people, mine in table.items():
            for other in neighbours_of(universe[0], people):
                theirs = table[other][threshold]
                for public in range(n + 1):
                    difference = np.abs(theirs - public) - np.abs(mine[threshold] - public)
                    assert np.abs(difference).max() <= 1


def test_a_whole_marginal_table_moves_by_two_squared_and_no_more(universe):
    for threshold in all_thresholds(universe[0]):
        if threshold.r == threshold.k:
            assert max(int((move**2).sum()) for move in moves(universe, threshold)) == 2


def test_an_r_of_k_table_moves_by_more_and_is_refused_as_one_vector(universe):
    schema, _, tables = universe
    for threshold in all_thresholds(schema):
        if threshold.r == threshold.k:
            continue
        # "At least one of k matches" over two-valued features is the complement of a marginal, and
        # the one case that moves by no more than a marginal does.
        mirrored = threshold.r == 1 and set(threshold.shape(schema)) == {2}
        largest = max(int((move**2).sum()) for move in moves(universe, threshold))
        assert largest == 2 if mirrored else largest > 2
        curator = Curator(records_of(schema, next(iter(tables))), Budget.from_rho(1))
        with pytest.raises(QueryError, match="cannot be measured as one table"):
            curator.measure([threshold], rho=1)
        assert curator.spent == 0


def test_cell_by_cell_an_r_of_k_table_pays_for_at_least_what_it_can_move(universe):
    schema, _, tables = universe
    for threshold in all_thresholds(schema):
        largest = max(int((move**2).sum()) for move in moves(universe, threshold))
        curator = Curator(records_of(schema, next(iter(tables))), Budget.from_rho(1))
        [measured] = curator.measure([threshold], rho=Fraction(1, 2), jointly=False)
        assert measured.sigma**2 >= largest * (1 - 1e-12)


@pytest.mark.parametrize("are_weighed", [False, True], ids=["even", "weighed"])
def test_select_ranks_by_the_scores_of_the_definition(are_weighed):
    # With so large a ρ the best always wins: what is left of `select` is its scores. A weight is
    # a part of the largest one, so it never stretches what a person moves.
    schema = schema_of(2, 3)
    thresholds = all_thresholds(schema)
    weights = [2.0 ** (3 - i) for i in range(len(thresholds))] if are_weighed else None
    workload = Workload(schema, thresholds, weights)
    of_query = [w for w, t in zip(workload.relative_weights, workload, strict=True)
                for _ in range(t.query_count(schema))]  # fmt: skip
    source = np.random.default_rng(0)
    for people in data_sets(schema, 3):
        public = source.integers(0, 4, workload.query_count).tolist()
        curator = Curator(
            records_of(schema, people),
            Budget.from_rho(10**7),
            randomness=InsecureSeededRandomness(1),
        )
        chosen = curator.select(
            workload, answers_from(workload, public, 3), workload.query_count, rho=10**7
        )
        plain = scores_of(people, workload, public)
        scores = [int(w * score) for w, score in zip(of_query, plain, strict=True)]
        ranked = [scores[workload.id_of(query)] for query in chosen]
        assert ranked == sorted(scores, reverse=True)


@given(
    st.integers(0, 2**40),
    st.floats(allow_nan=False, width=32) | st.floats(0.0, 1.0, width=32),
)
def test_a_weight_never_stretches_what_a_person_moves(score, weight):
    """In floating point it might: 0.99… times a score may round up on one side of a whole."""
    scores = np.array([score, score + 1], dtype=np.int64)
    weigh(scores, np.full(2, weight, dtype=np.float32))
    assert scores[1] - scores[0] in (0, 1)
    assert 0 <= scores[0] <= score


def test_rounding_public_answers_is_what_keeps_scores_whole():
    # The answer to one query is public and may be anything; it is held to [0, 1] and rounded.
    schema = schema_of(2)
    workload = Workload(schema, [Threshold(("a",))])
    people = ((0,), (0,), (1,))
    for wild, rounded in ((-5.0, 0), (np.inf, 3), (-np.inf, 0), (0.49, 1), (1.2, 3)):
        curator = Curator(
            records_of(schema, people),
            Budget.from_rho(10**7),
            randomness=InsecureSeededRandomness(1),
        )
        answers = np.array([wild, 1.0])
        chosen = curator.select(workload, lambda _, a=answers: lambda slab: a, 2, rho=10**7)
        scores = (abs(2 - rounded), abs(1 - 3))
        first = workload.id_of(chosen[0])
        assert scores[first] == max(scores)


def test_a_person_moves_a_table_over_views_no_more_than_one_over_features():
    # A view adds up cells. Were a value in two groups, or in none, this would fail.
    plain = schema_of(3, 3)
    view = View.of_groups(plain["a"], "seen", {"x": ["a0", "a2"], "y": []})
    schema = plain.with_views([view])
    marginal, queries = Threshold(("seen", "b")), Threshold(("seen", "b"), 1)
    tables = {
        people: [exact_answers(records_of(schema, people), t) for t in (marginal, queries)]
        for people in data_sets(schema, 2)
    }
    pairs = [(x, y) for x in tables for y in neighbours_of(schema, x)]
    moved = [(tables[x][0] - tables[y][0], tables[x][1] - tables[y][1]) for x, y in pairs]
    assert max(int((table**2).sum()) for table, _ in moved) == 2
    assert max(int(np.abs(both).max()) for pair in moved for both in pair) == 1
    for people in list(tables)[::7]:
        curator = Curator(records_of(plain, people), Budget.from_rho(10**7), views=[view],
                          randomness=InsecureSeededRandomness(1))  # fmt: skip
        [measured] = curator.measure([marginal], rho=10**7)
        assert np.array_equal(measured.counts, tables[people][0])
