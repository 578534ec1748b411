"""Scores by search are the scores of a walk, and so are the draws; whatever a source may list."""

from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import thresher.privacy.searching as module
from thresher.data.records import Records
from thresher.errors import ParameterError, ResourceError
from thresher.privacy import Budget, Curator, InsecureSeededRandomness
from thresher.privacy.counted import CountedTables
from thresher.privacy.ladder import selection_rate
from thresher.privacy.scores import WorkloadScores
from thresher.privacy.selection import levelwise_selection
from thresher.privacy.tally import EXCLUDED, ListedScores, largest_of, members_at, tallied
from thresher.queries import Query, Threshold, Workload
from thresher.relaxed.rows import RelaxedRows
from thresher.release.sources import SyntheticRows, Zeros
from thresher.schema import IntegerRange, Schema
from thresher.tables import SparseTable, slabs_of
from thresher.tables.listing import ListedAnswers, Same, Zero

FALSE_ALARM = 1e-7


@pytest.fixture
def always_searched(monkeypatch):
    """However small a table is, it is searched if its answers can be listed."""
    monkeypatch.setattr(module, "SMALLEST_SEARCHED", 1)
    monkeypatch.setattr(module, "SPARSE_FROM", 0)


# Lists of scores.


@st.composite
def lists(draw):
    size = draw(st.integers(1, 20))
    cells = sorted(draw(st.sets(st.integers(0, size - 1))))
    scores = draw(
        st.lists(
            st.one_of(st.integers(0, 3), st.just(EXCLUDED)),
            min_size=len(cells),
            max_size=len(cells),
        )
    )
    return ListedScores(size, np.array(cells, np.int64), np.array(scores, np.int64))


def whole(listed):
    """All scores, cell by cell."""
    scores = np.zeros(listed.size, dtype=np.int64)
    scores[listed.cells] = listed.scores
    return scores


@given(lists())
def test_a_list_stands_for_the_whole_table(listed):
    dense = whole(listed)
    mine, theirs = tallied(listed), tallied(dense)
    assert mine.levels.tolist() == theirs.levels.tolist()
    assert mine.sizes.tolist() == theirs.sizes.tolist()
    assert largest_of(listed) == largest_of(dense)
    for level, size in zip(mine.levels.tolist(), mine.sizes.tolist(), strict=True):
        found = members_at(listed, level, range(size))
        assert sorted(found) == np.flatnonzero(dense == level).tolist()
        with pytest.raises(ParameterError, match="unchanged"):
            members_at(listed, level, [size])


@given(lists(), st.sets(st.integers(0, 19)))
def test_excluded_cells_are_marked_whether_they_were_listed_or_not(listed, excluded):
    cells = np.array(sorted(cell for cell in excluded if cell < listed.size), dtype=np.int64)
    marked = module.without_excluded(listed.size, listed.cells, listed.scores, cells)
    expected = whole(listed)
    expected[cells] = EXCLUDED
    assert np.array_equal(whole(marked), expected)
    assert (np.diff(marked.cells) > 0).all()


def test_draws_from_lists_follow_the_exponential_mechanism():
    """Two of eight queries, in order. An absent cell that no rank leads to would show at once."""
    parts = [
        ListedScores(5, np.array([1, 3]), np.array([2, 0])),
        ListedScores(4, np.array([0, 2]), np.array([1, EXCLUDED])),
    ]
    rho, draws, source = Fraction(1, 4), 4000, InsecureSeededRandomness(1)
    weights = np.exp(float(selection_rate(rho / 2)) * np.array([0, 2, 0, 0, 0, 1, 0, -np.inf, 0]))
    pairs = [pair for pair in permutations(range(9), 2) if 7 not in pair]
    chances = np.array(
        [weights[i] / weights.sum() * weights[j] / (weights.sum() - weights[i]) for i, j in pairs]
    )
    seen = dict.fromkeys(pairs, 0)
    for _ in range(draws):
        chosen = levelwise_selection(parts, 2, rho, source)
        first, second = (5 * place.slab + place.position for place in chosen)
        seen[first, second] += 1
    assert stats.chisquare(list(seen.values()), chances * draws).pvalue > FALSE_ALARM
    # Were all queries equally likely, the same test would tell.
    assert stats.chisquare(list(seen.values())).pvalue < FALSE_ALARM


def test_more_queries_than_64_bits_can_count():
    """Nine tables of 2^62 cells each: sums in 64 bits would wrap and leave some tables out."""
    parts = [ListedScores(2**62, np.array([5]), np.array([i])) for i in range(9)]
    source = InsecureSeededRandomness(3)
    places = levelwise_selection(parts, 1800, Fraction(1, 10**9), source)
    of_part = np.bincount([place.slab for place in places], minlength=9)
    assert stats.chisquare(of_part).pvalue > FALSE_ALARM
    halves = np.bincount([place.position >> 61 for place in places], minlength=2)
    assert stats.chisquare(halves).pvalue > FALSE_ALARM
    assert all(0 <= place.position < 2**62 for place in places)
    assert len(set(places)) == 1800


# Scores of a workload.

SIZES = (3, 5, 2, 7, 4)
SCHEMA = Schema(
    IntegerRange(name=name, low=0, high=size - 1, nulls=0)
    for name, size in zip("abcde", SIZES, strict=True)
)
WORK = Workload(
    SCHEMA,
    [Threshold(("d", "a", "e")), Threshold(("b", "c"), r=1), Threshold(("b", "d", "c", "a"))],
)


def people(n, seed=0):
    source = np.random.default_rng(seed)
    columns = [source.integers(0, size, n).astype(np.uint8) for size in SIZES]
    return Records(SCHEMA, columns)


def exact_rows():
    """D' with shares of 1/8 in 64 rows: float32 loses nothing in a walk."""
    source = np.random.default_rng(8)
    blocks = [source.multinomial(8, np.full(size, 1 / size), 64).T / 8 for size in SIZES]
    return RelaxedRows(np.ascontiguousarray(np.concatenate(blocks), np.float32), SIZES)


def all_scores(answers_of, excluded=None, weights_of=None, n=300):
    counted = CountedTables(people(n))
    counted.count_together([threshold.features for threshold in WORK])
    scores = WorkloadScores(counted, WORK, answers_of, excluded or {}, weights_of)
    parts = [scores[index] for index in range(len(scores))]
    is_list = [isinstance(part, ListedScores) for part in parts]
    dense = [whole(part) if isinstance(part, ListedScores) else part for part in parts]
    return np.concatenate(dense), scores.largest(), is_list


def uneven_weights(threshold):
    if threshold.k == 4:
        return Same(0.75)
    shape = threshold.shape(SCHEMA)
    weights = np.linspace(-0.5, 1.5, int(np.prod(shape)), dtype=np.float32).reshape(shape)
    return lambda slab: weights[slab.index]


@pytest.mark.parametrize("weights_of", [None, uneven_weights])
@pytest.mark.parametrize("source", [SyntheticRows(exact_rows(), SCHEMA), Zeros()])
def test_searched_scores_are_the_walked_ones(source, weights_of, monkeypatch):
    excluded = {0: np.array([0, 17, 83]), 2: np.array([3, 4])}
    walked, largest, is_list = all_scores(source.table, excluded, weights_of)
    assert not any(is_list)
    monkeypatch.setattr(module, "SMALLEST_SEARCHED", 1)
    monkeypatch.setattr(module, "SPARSE_FROM", 0)
    searched, largest_searched, is_list = all_scores(source.table, excluded, weights_of)
    assert is_list == [True, False, True]
    assert np.array_equal(searched, walked)
    assert np.array_equal(largest_searched, largest)


@pytest.mark.parametrize("n", [300, 10**6])
def test_where_float32_rounds_a_walk_only_cells_near_half_a_count_differ(n, monkeypatch):
    """The answer to a cell is the same but for the last digits of float32."""
    rows = RelaxedRows.uniform(SIZES, 100, np.random.default_rng(1))
    source = SyntheticRows(rows, SCHEMA)
    walked, _, _ = all_scores(source.table, n=n)
    monkeypatch.setattr(module, "SMALLEST_SEARCHED", 1)
    monkeypatch.setattr(module, "SPARSE_FROM", 0)
    searched, _, _ = all_scores(source.table, n=n)
    differ = np.flatnonzero(searched != walked)
    assert len(differ) < 0.05 * len(walked)
    assert np.abs(searched - walked).max() <= 1
    for query_id in differ.tolist():
        position, cell = WORK.locate(query_id)
        expected = n * float(source.table(WORK[position]).at(np.array([cell]))[0])
        assert abs(expected % 1 - 0.5) < 1e-6 * n


def test_small_tables_are_walked():
    _, _, is_list = all_scores(Zeros().table)
    assert is_list == [False] * 3


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1), st.integers(1, 4))
def test_differences_are_divided_and_rounded_down(pairs, scale):
    counts, public = np.array(pairs).T
    table, listed = SparseTable.of_counts(counts), SparseTable.of_counts(public)
    cells, scores = module.score_listed(
        table, module.PublicList(listed.cells, listed.counts), scale
    )
    found = np.zeros(len(pairs), dtype=np.int64)
    found[cells] = scores
    assert found.tolist() == [abs(c - p) // scale for c, p in pairs]


# What a source may do.


class Noted:
    """Answers that note what they are asked; the same for every record there may be."""

    def __init__(self, public, diary, **changes):
        self.public, self.diary, self.changes = public, diary, changes

    def __call__(self, threshold):
        shape = threshold.shape(SCHEMA)
        return _NotedTable(self, threshold, self.public, shape)


class _NotedTable:
    def __init__(self, source, threshold, public, shape):
        self.source, self.threshold, self.public, self.shape = source, threshold, public, shape

    def __call__(self, slab):
        self.source.diary.append((self.threshold, slab.first))
        return np.full(slab.shape, self.public)

    def at(self, cells):
        raise AssertionError("nobody may ask about cells because they have records")

    def listed(self, least):
        self.source.diary.append((self.threshold, "list"))
        return ListedAnswers(np.array([2, 5]), np.array([self.public, self.public]))


MARGINALS = Workload(SCHEMA, [Threshold(("a", "b")), Threshold(("b", "c")), Threshold(("a", "e"))])


def curator_of(seed, n=4):
    return Curator(people(n, seed), Budget.from_rho(10), randomness=InsecureSeededRandomness(seed))


@given(seed=st.integers(0, 2**20), count=st.integers(1, 12))
def test_the_second_look_is_a_function_of_what_was_chosen(seed, count):
    """Whether a chosen query had records, or was listed, must not show in what is asked for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SMALLEST_SEARCHED", 1)
        patch.setattr(module, "SPARSE_FROM", 0)
        diary = []
        chosen = curator_of(seed).select(MARGINALS, Noted(0.25, diary), count, rho="1/100")
    assert diary[:3] == [(threshold, "list") for threshold in MARGINALS]
    positions = sorted({MARGINALS.locate(MARGINALS.id_of(query))[0] for query in chosen})
    assert diary[3:] == [(MARGINALS[position], "list") for position in positions]


WRONG_LISTS = {
    "not ascending": ([5, 2], [0.1, 0.1]),
    "twice the same": ([2, 2], [0.1, 0.1]),
    "before the first": ([-1, 2], [0.1, 0.1]),
    "beyond the last": ([2, 15], [0.1, 0.1]),
    "no number": ([2, 5], [0.1, np.nan]),
    "too few answers": ([2, 5], [0.1]),
}


@pytest.mark.parametrize("listed", WRONG_LISTS.values(), ids=WRONG_LISTS)
def test_a_wrong_list_fails_alike_whatever_the_records(listed, always_searched):
    class Wrong(Zero):
        def listed(self, least):
            return ListedAnswers(np.array(listed[0]), np.array(listed[1]))

    work = Workload(SCHEMA, [Threshold(("a", "b"))])
    for seed in range(5):
        curator = curator_of(seed)
        with pytest.raises(ParameterError, match="must list cells of its table"):
            curator.select(work, lambda _: Wrong(), 1, rho="1/100")
        assert curator.spent == Fraction(1, 100)


def test_a_list_that_changes_ends_the_selection(always_searched):
    looks = []

    class Fickle(Zero):
        def listed(self, least):
            looks.append(least)
            return ListedAnswers(np.array([len(looks)]), np.array([1.0]))

    class Forgetful(Zero):
        pass

    kinds = iter([Forgetful(), Forgetful(), lambda slab: np.zeros(slab.shape)])
    work = Workload(SCHEMA, [Threshold(("a", "b"))])
    for answers_of in (lambda _: Fickle(), lambda _: next(kinds)):
        curator = curator_of(0)
        with pytest.raises(ParameterError, match="every time it is asked"):
            curator.select(work, answers_of, 1, rho="1/100")
        assert curator.spent == Fraction(1, 100)
    assert len(looks) == 2


def test_wild_answers_in_a_list_are_cut_off(always_searched):
    class Wild(Zero):
        def listed(self, least):
            return ListedAnswers(np.array([0, 1]), np.array([np.inf, -7.0]))

    counted = CountedTables(people(10))
    threshold = Threshold(("a", "b"))
    counted.count_together([threshold.features])
    scores = WorkloadScores(counted, Workload(SCHEMA, [threshold]), lambda _: Wild(), {})[0]
    counts = counted.answers(threshold)(next(slabs_of((3, 5)))).reshape(-1)
    expected = np.abs(counts - np.array([10] + [0] * 14))
    assert np.array_equal(whole(scores), expected)


# Any number of queries.

WIDE = Schema(IntegerRange(name=f"f{i}", low=0, high=99, nulls=0) for i in range(12))


def wide_curator(n=50, rho=100):
    source = np.random.default_rng(0)
    columns = [source.integers(0, 100, n).astype(np.uint8) for _ in WIDE]
    return Curator(
        Records(WIDE, columns), Budget.from_rho(rho), randomness=InsecureSeededRandomness(1)
    )


def eight_way(count):
    return Workload(WIDE, [Threshold(f"f{(i + j) % 12}" for j in range(8)) for i in range(count)])


def test_a_selection_over_more_than_10_to_the_16_queries_is_uniform_where_scores_are_0():
    """At almost no budget, every cell is as likely: a rank that lost its last digits would show."""
    work = eight_way(3)
    assert work.query_count == 3 * 10**16
    chosen = wide_curator().select(work, Zeros().table, 2000, rho="1/1000000000000")
    assert len(set(map(work.id_of, chosen))) == 2000
    positions, cells = zip(*(work.locate(work.id_of(query)) for query in chosen), strict=True)
    assert stats.chisquare(np.bincount(positions, minlength=3)).pvalue > FALSE_ALARM
    for digit in range(8):
        codes = [cell // 100**digit % 100 // 10 for cell in cells]
        assert stats.chisquare(np.bincount(codes, minlength=10)).pvalue > FALSE_ALARM


def test_with_a_large_budget_the_cells_with_records_are_chosen_and_never_twice():
    work, curator = eight_way(2), wide_curator()
    first = curator.select(work, Zeros().table, 60, rho=40)
    second = curator.select(work, Zeros().table, 40, first, rho=40)
    assert len({*map(work.id_of, first), *map(work.id_of, second)}) == 100
    # Fifty people are in fifty cells of each of the two tables.
    nowhere = curator.select(work, Zeros().table, 1, first + second, rho=1)
    assert not {*map(work.id_of, nowhere)} & {*map(work.id_of, first + second)}


def test_ids_beyond_64_bits():
    work = Workload(WIDE, map(Threshold, combinations(WIDE.names, 9)))
    assert work.query_count == 220 * 10**18 > 2**63
    curator = wide_curator()
    [query] = curator.select(work, Zeros().table, 1, rho="1/1000000")
    assert work.query(work.id_of(query)) == query
    [other] = curator.select(work, Zeros().table, 1, [query], rho="1/1000000")
    assert other != query


@pytest.mark.parametrize(
    ("work", "answers_of"),
    [
        (Workload(WIDE, [Threshold([f"f{i}" for i in range(8)], r=7)]), Zeros().table),
        (eight_way(1), lambda _: lambda slab: np.zeros(slab.shape)),
    ],
    ids=["r < k", "answers that cannot be listed"],
)
def test_what_would_have_to_be_walked_is_refused_before_it_is_paid(work, answers_of):
    curator = wide_curator()
    calls = (
        lambda: curator.select(work, answers_of, 1, rho=1),
        lambda: curator.select_table(list(work), answers_of, [0] * len(work), rho=1),
        lambda: curator.choose(work, [Zeros().table, answers_of], rho=1),
    )
    for call in calls:
        with pytest.raises(ResourceError, match="take marginals"):
            call()
    assert curator.spent == 0


def test_tables_and_candidates_of_any_size_are_chosen():
    work, curator = eight_way(3), wide_curator()
    source = np.random.default_rng(0)
    codes = np.stack([source.integers(0, 100, 50) for _ in WIDE], axis=1)
    good = SyntheticRows(RelaxedRows.from_codes(WIDE.sizes, codes), WIDE).table
    assert curator.choose(work, [Zeros().table, good], rho=1) in (0, 1)
    weights = {work[0]: 0.0, work[1]: 1.0, work[2]: 0.0}
    table = curator.select_table(
        list(work), Zeros().table, [0, 0, 0], weights_of=lambda t: Same(weights[t]), rho=90
    )
    assert table == work[1]


def test_a_query_that_cannot_be_numbered_is_refused_by_name():
    work = Workload(WIDE, [Threshold([f"f{i}" for i in range(10)])])
    with pytest.raises(ResourceError, match=r"more than 2\^63 cells"):
        wide_curator().select(work, Zeros().table, 1, rho=1)


def test_a_query_parses_back_from_a_journal():
    work = eight_way(1)
    [query] = wide_curator().select(work, Zeros().table, 1, rho=1)
    assert Query.parse(query.text(WIDE), WIDE) == query


@pytest.mark.parametrize(("records", "searched"), [(0, True), (1024, True), (1025, False)])
def test_a_table_of_few_cells_for_each_record_is_walked(records, searched):
    schema = Schema(IntegerRange(name=name, low=0, high=63, nulls=0) for name in "ab")
    threshold = Threshold(("a", "b"))
    assert threshold.query_count(schema) == 4096
    assert module.can_be_searched(threshold, schema, Zeros().table, records) is searched
