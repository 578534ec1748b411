"""`Curator.select_table`: what it can cost, over all neighbours of a tiny universe."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from universe import answers_from, data_sets, neighbours_of, records_of, schema_of, scores_of

from thresher.errors import ParameterError, QueryError
from thresher.privacy import Budget, Curator, InsecureSeededRandomness
from thresher.privacy.ladder import selection_rate
from thresher.queries import Threshold, Workload

FALSE_ALARM = 1e-7
SCHEMA = schema_of(2, 3)
N = 2
TABLES = [Threshold(("a",)), Threshold(("b",)), Threshold(("a", "b"))]
WORK = Workload(SCHEMA, TABLES)
HANDICAPS = [0, 1, -1]
PUBLIC = [1, 1, 0, 2, 0, 0, 0, 1, 1, 0, 0]
EVEN = [1.0] * len(PUBLIC)
UNEVEN = [0.5, 0.5, 0.0, 1.0, 0.7, 0.5, 1.0, 0.999, 0.3, 1.0, 0.5]


def table_scores(people, weights=EVEN):
    """The largest weighted score of each table, less its handicap, by definition."""
    scores = [int(w * s) for w, s in zip(weights, scores_of(people, WORK, PUBLIC), strict=True)]
    bounds = WORK.starts
    return tuple(max(scores[bounds[i] : bounds[i + 1]]) - HANDICAPS[i] for i in range(len(TABLES)))


def log_chances(scores, rate):
    weights = rate * np.array(scores, dtype=float)
    return weights - weights.max() - np.log(np.exp(weights - weights.max()).sum())


def largest_share(rho, rate, weights=EVEN):
    """The largest D_α/(αρ) over all neighbours and orders."""
    share = 0.0
    for people in data_sets(SCHEMA, N):
        for other in neighbours_of(SCHEMA, people):
            p, q = (log_chances(table_scores(x, weights), rate) for x in (people, other))
            for order in (1.01, 1.5, 2, 5, 20, 200):
                terms = order * p + (1 - order) * q
                top = terms.max()
                divergence = (top + math.log(np.exp(terms - top).sum())) / (order - 1)
                share = max(share, divergence / (order * float(rho)))
    return share


@pytest.mark.parametrize("weights", [EVEN, UNEVEN], ids=["even", "uneven"])
def test_a_person_moves_a_table_by_at_most_one(weights):
    moves = {
        abs(mine - theirs)
        for people in data_sets(SCHEMA, N)
        for other in neighbours_of(SCHEMA, people)
        for mine, theirs in zip(
            table_scores(people, weights), table_scores(other, weights), strict=True
        )
    }
    assert moves == {0, 1}


@pytest.mark.parametrize("rho", [Fraction(1, 1000), Fraction(1, 2), Fraction(20)], ids=str)
@pytest.mark.parametrize("weights", [EVEN, UNEVEN], ids=["even", "uneven"])
def test_a_choice_costs_no_more_than_it_pays(rho, weights):
    assert largest_share(rho, float(selection_rate(rho)), weights) <= 1 + 1e-9 / float(rho)


def test_the_audit_catches_twice_the_rate():
    rho = Fraction(1, 1000)
    assert largest_share(rho, 2 * float(selection_rate(rho))) > 1


def test_the_audit_catches_a_weight_above_one():
    rho = Fraction(1, 1000)
    assert largest_share(rho, float(selection_rate(rho)), [2.0] * len(PUBLIC)) > 1


@pytest.mark.parametrize(
    ("given", "audited"),
    [(None, EVEN), ([7.0] * len(PUBLIC), EVEN), (UNEVEN, UNEVEN)],
    ids=["not weighted", "held to 1", "uneven"],
)
def test_the_curator_draws_from_the_distribution_that_was_audited(given, audited):
    rho, draws, people = Fraction(1, 2), 3000, ((0, 0), (0, 2))
    answers_of = answers_from(WORK, PUBLIC, N)
    weights_of = None if given is None else answers_from(WORK, given, 1)
    randomness, seen = InsecureSeededRandomness(3), np.zeros(len(TABLES))
    for _ in range(draws):
        curator = Curator(records_of(SCHEMA, people), Budget.from_rho(rho), randomness=randomness)
        chosen = curator.select_table(TABLES, answers_of, HANDICAPS, weights_of=weights_of, rho=rho)
        seen[TABLES.index(chosen)] += 1
        assert curator.spent == rho
    scores = table_scores(people, audited)
    assert len(set(scores)) > 1
    chances = np.exp(log_chances(scores, float(selection_rate(rho))))
    assert stats.chisquare(seen, chances * draws).pvalue > FALSE_ALARM
    dear = np.exp(log_chances(scores, float(selection_rate(9 * rho))))
    assert stats.chisquare(seen, dear * draws).pvalue < FALSE_ALARM


def test_what_makes_no_sense_is_refused_before_it_is_paid():
    curator = Curator(records_of(SCHEMA, ((0, 0), (0, 2))), Budget.from_rho(1))
    answers_of = answers_from(WORK, PUBLIC, N)
    with pytest.raises(ParameterError, match="at least one candidate"):
        curator.select_table([], answers_of, [], rho=1)
    with pytest.raises(ParameterError, match="a handicap for each"):
        curator.select_table(TABLES, answers_of, [0], rho=1)
    with pytest.raises(QueryError, match="twice"):
        curator.select_table([TABLES[0]] * 2, answers_of, [0, 0], rho=1)
    assert curator.spent == 0


def test_weights_must_be_numbers():
    curator = Curator(records_of(SCHEMA, ((0, 0), (0, 2))), Budget.from_rho(1))
    weights_of = answers_from(WORK, [math.nan] * len(PUBLIC), 1)
    with pytest.raises(ParameterError, match=r"weights_of.* must give a number"):
        curator.select_table(
            TABLES, answers_from(WORK, PUBLIC, N), HANDICAPS, weights_of=weights_of, rho=1
        )
