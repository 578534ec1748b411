"""Scores of walked tables, by the definition: every type of number, and large r-of-k tables."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import thresher.privacy.scores as module
import thresher.privacy.tally as tally_module
import thresher.relaxed.slab_marginals as slab_marginals
import thresher.tables.threshold_table as threshold_table_module
from thresher.data.exact import exact_answers
from thresher.data.records import Records
from thresher.errors import ParameterError
from thresher.privacy import Budget, Curator, InsecureSeededRandomness
from thresher.privacy.counted import CountedTables
from thresher.privacy.ladder import selection_rate
from thresher.privacy.scores import WorkloadScores, score_walked
from thresher.privacy.tally import EXCLUDED, tallied
from thresher.queries import Threshold, Workload
from thresher.relaxed.rows import RelaxedRows
from thresher.relaxed.slab_marginals import FilledAnswers
from thresher.relaxed.tables import threshold_table
from thresher.release.sources import SyntheticRows
from thresher.schema import IntegerRange, Schema
from thresher.tables import slabs_of
from thresher.tables.threshold_table import ThresholdTable

FALSE_ALARM = 1e-7
TOTALS = [1, 7, 2**16 - 1, 2**16, 2**30 - 1, 2**30, 2**31, 2**40]


@given(
    st.sampled_from(TOTALS),
    st.lists(st.tuples(st.integers(0, 2**40), st.floats(width=32, allow_nan=False)), min_size=1),
    st.sampled_from([1, 2, 7]),
    st.booleans(),
)
def test_a_score_is_what_the_definition_says_in_every_type(total, pairs, scale, small):
    counts = np.array([count % (2 * total) for count, _ in pairs], dtype=np.int64)
    if small and counts.max() < 2**31:
        counts = counts.astype(np.int32)
    answers = np.array([answer for _, answer in pairs], dtype=np.float32)
    rounded, scores = score_walked(counts, answers, total, scale)
    for count, answer, public, score in zip(
        counts.tolist(), answers.tolist(), rounded.tolist(), scores.tolist(), strict=True
    ):
        assert public == round(total * min(max(answer, 0.0), 1.0))
        assert score == abs(count - public) // scale


@given(st.lists(st.integers(-50, 5000), min_size=1), st.integers(1, 5), st.sampled_from([0, 2**16]))
def test_levels_are_counted_alike_in_both_types(levels, often, few):
    scores = np.repeat(np.array(levels, dtype=np.int64), often)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tally_module, "FEW_LEVELS", few)
        check_levels(scores)


def check_levels(scores):
    expected = np.unique(scores, return_counts=True)
    marked = np.append(scores, [EXCLUDED] * 3)
    for given_scores in (scores, scores.astype(np.int32), marked):
        tally = tallied(given_scores)
        assert tally.levels.tolist() == expected[0].tolist()
        assert tally.sizes.tolist() == expected[1].tolist()


@pytest.mark.parametrize("wrong", [np.nan, np.array([0.5, np.nan, np.inf]), np.array([0.1])])
def test_what_is_not_a_number_for_each_query_is_refused(wrong):
    with pytest.raises(ParameterError, match="answers must give a number for each query"):
        module._numbers("answers", wrong, 3)


SIZES = (12, 10, 3, 8)
SCHEMA = Schema(
    IntegerRange(name=name, low=0, high=size - 1, nulls=0)
    for name, size in zip("abcd", SIZES, strict=True)
)
N = 60


@pytest.fixture
def by_kernels(monkeypatch):
    """Small tables are treated as large ones are, in several slabs."""
    monkeypatch.setattr(slab_marginals, "SMALLEST_FILLED", 1)
    monkeypatch.setattr(slab_marginals, "ADD_TO_CELL", 1e-3)
    monkeypatch.setattr(threshold_table_module, "WORTH_COMPILING", 1)
    monkeypatch.setattr(module, "slabs_of", lambda shape: slabs_of(shape, 500))
    monkeypatch.setattr(module, "WORTH_SHARING", 1)
    monkeypatch.setenv("THRESHER_CORES", "2")


def people():
    source = np.random.default_rng(5)
    codes = (source.random((N, 4)) ** 3 * SIZES).astype(np.uint8)
    return Records(SCHEMA, [np.ascontiguousarray(column) for column in codes.T])


def eighths():
    """D' with shares of 1/8 in 32 rows: float32 loses nothing, so that all scores are known."""
    source = np.random.default_rng(8)
    blocks = [source.multinomial(8, np.full(size, 1 / size), 32).T / 8 for size in SIZES]
    return RelaxedRows(np.ascontiguousarray(np.concatenate(blocks), np.float32), SIZES)


def scores_by_definition(threshold):
    public = np.rint(N * threshold_table(eighths(), SCHEMA, threshold).astype(np.float64))
    return np.abs(exact_answers(people(), threshold) - public.astype(np.int64)).reshape(-1)


WORK = Workload(SCHEMA, [Threshold([*"abcd"], 1), Threshold([*"dcba"], 2), Threshold([*"bda"], 2)])


def test_scores_of_large_tables_are_those_of_the_definition(by_kernels):
    answers_of = SyntheticRows(eighths(), SCHEMA).table
    assert all(isinstance(answers_of(t), FilledAnswers | ThresholdTable) for t in WORK)
    counted = CountedTables(people())
    counted.count_together([threshold.features for threshold in WORK])
    excluded = {1: np.array([5, 99, 100])}
    scores = WorkloadScores(counted, WORK, answers_of, excluded, looks=2)
    found = np.concatenate([*scores.each(lambda index: scores[index], range(len(scores)))])
    expected = np.concatenate([scores_by_definition(threshold) for threshold in WORK])
    expected[WORK.starts[1] + excluded[1]] = EXCLUDED
    assert np.array_equal(found, expected)
    # In another order, and again: the public answers have the same marks.
    for index in np.random.default_rng(0).permutation(len(scores)).tolist():
        scores[index]


def test_draws_from_a_large_table_follow_the_exponential_mechanism(by_kernels):
    """Cells in five groups of equal chance, by score. False alarms: one in ten million."""
    [threshold] = work = Workload(SCHEMA, [Threshold([*"abcd"], 1)])
    scores = scores_by_definition(threshold)
    draws, rho = 400, Fraction(1, 200)
    answers_of, randomness = SyntheticRows(eighths(), SCHEMA).table, InsecureSeededRandomness(3)
    order = np.argsort(scores, kind="stable")

    def chances_at(rate):
        weights = np.exp(float(rate) * (scores - scores.max()))
        return weights / weights.sum()

    chances = chances_at(selection_rate(rho))
    group = np.empty(len(scores), dtype=np.int64)
    group[order] = np.minimum(np.cumsum(chances[order]) * 5, 4).astype(np.int64)
    records, seen = people(), np.zeros(5)
    for _ in range(draws):
        curator = Curator(records, Budget.from_rho(rho), randomness=randomness)
        [query] = curator.select(work, answers_of, 1, rho=rho)
        seen[group[work.id_of(query)]] += 1
    expected = np.bincount(group, chances, 5) * draws
    assert stats.chisquare(seen, expected).pvalue > FALSE_ALARM
    # The same draws are not those of twice the rate: the test can fail.
    doubled = np.bincount(group, chances_at(2 * selection_rate(rho)), 5) * draws
    assert stats.chisquare(seen, doubled).pvalue < FALSE_ALARM
