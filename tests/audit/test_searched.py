"""The scores of searched tables, by enumeration: they are those of the definition.

`test_exact` and `test_sensitivity` show what follows for selections that depend on these scores.
"""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from scipy import stats
from test_exact import log_chances
from universe import answers_from, data_sets, neighbours_of, records_of, schema_of, scores_of

import thresher.privacy.searching as searching
from thresher.privacy import Budget, Curator, InsecureSeededRandomness
from thresher.privacy.counted import CountedTables
from thresher.privacy.ladder import selection_rate
from thresher.privacy.scores import WorkloadScores
from thresher.privacy.tally import ListedScores
from thresher.queries import Threshold, Workload
from thresher.tables import slabs_of
from thresher.tables.listing import ListedAnswers

FALSE_ALARM = 1e-7
SCHEMA = schema_of(2, 3)
N = 3
WORKLOAD = Workload(SCHEMA, [Threshold(("b", "a")), Threshold(("a",)), Threshold(("b",))])


class Listing:
    """Public answers that are listed where they are large enough, and never walked."""

    def __init__(self, dense):
        self.dense = dense

    def __call__(self, slab):
        raise AssertionError("nobody need walk what is listed")

    def listed(self, least):
        cells = np.flatnonzero(self.dense >= least)
        return ListedAnswers(cells, self.dense[cells])

    def at(self, cells):
        raise AssertionError("nobody may ask about cells because they have records")


def listing_from(workload, public, n):
    walked = answers_from(workload, public, n)

    def answers_of(threshold):
        [slab] = slabs_of(threshold.shape(workload.schema))
        return Listing(walked(threshold)(slab).reshape(-1))

    return answers_of


@pytest.fixture(autouse=True)
def always_searched(monkeypatch):
    monkeypatch.setattr(searching, "SMALLEST_SEARCHED", 1)
    monkeypatch.setattr(searching, "SPARSE_FROM", 0)


def searched_scores(people, public):
    counted = CountedTables(records_of(SCHEMA, people))
    counted.count_together([threshold.features for threshold in WORKLOAD])
    scores = WorkloadScores(counted, WORKLOAD, listing_from(WORKLOAD, public, N), {})
    found = []
    for part in (scores[index] for index in range(len(scores))):
        assert isinstance(part, ListedScores)
        table = np.zeros(part.size, dtype=np.int64)
        table[part.cells] = part.scores
        found += table.tolist()
    return tuple(found)


def test_on_every_data_set_they_are_those_of_the_definition_and_move_by_at_most_one():
    source = np.random.default_rng(3)
    size = WORKLOAD.query_count
    for public in ([0] * size, [N] * size, *source.integers(0, N + 1, (3, size)).tolist()):
        scores = {people: searched_scores(people, public) for people in data_sets(SCHEMA, N)}
        for people, found in scores.items():
            assert found == scores_of(people, WORKLOAD, public)
            for other in neighbours_of(SCHEMA, people):
                moved = np.abs(np.array(found) - np.array(scores[other]))
                assert moved.max() <= 1


@pytest.mark.parametrize("count", [1, 2])
def test_the_curator_draws_from_the_distribution_that_was_audited(count):
    workload, rho, draws = Workload(SCHEMA, [Threshold(("a", "b"))]), Fraction(1, 2), 3000
    people, public = ((0, 0), (0, 2)), [1, 0, 2, 0, 0, 1]
    records, randomness = records_of(SCHEMA, people), InsecureSeededRandomness(11)
    choices = np.array(list(permutations(range(6), count)))
    scores = scores_of(people, workload, public)
    chances = np.exp(log_chances(scores, choices, float(selection_rate(rho / count))))
    assert chances.min() * draws > 20
    seen = dict.fromkeys(map(tuple, choices.tolist()), 0)
    answers_of = listing_from(workload, public, 2)
    for _ in range(draws):
        curator = Curator(records, Budget.from_rho(rho), randomness=randomness)
        chosen = curator.select(workload, answers_of, count, rho=rho)
        seen[tuple(workload.id_of(query) for query in chosen)] += 1
    assert stats.chisquare(list(seen.values()), chances * draws).pvalue > FALSE_ALARM
    # The same draws are not those of twice the rate: the test can fail.
    printed = np.exp(log_chances(scores, choices, float(selection_rate(4 * rho / count))))
    assert stats.chisquare(list(seen.values()), printed * draws).pvalue < FALSE_ALARM
