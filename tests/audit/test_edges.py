"""`Curator.find_edges`: its scores over all neighbours of tiny universes, and what it draws.

Every choice is the exponential mechanism, so the chances of all sequences of choices can be written
down; MARGIN is a thousand times what rounding in double precision contributes at these sizes.
"""

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement, permutations

import numpy as np
import pytest
from scipy import stats

import thresher.privacy.edges as edges
from thresher.data.cells import Cells
from thresher.privacy import Budget, Curator, InsecureSeededRandomness
from thresher.privacy.edges import counts_below, split_scores
from thresher.privacy.ladder import selection_rate
from thresher.schema import Schema
from thresher.schema.draft.survey import survey_feature

FALSE_ALARM = 1e-7
MARGIN = 1e-9
ORDERS = (1.01, 1.5, 2, 5, 20, 64)
TEXTS = ("", "x", "0", "1", "2.5", "4")
CANDIDATES = (0.0, 0.5, 1.0, 3.0, 4.0)


SCHEMA = Schema([survey_feature("u")])


def cells_of(people):
    return Cells(SCHEMA, len(people), {"u": Counter(people)})


def defined_scores(people, chosen):
    """By definition: the smaller part of the bin that a candidate divides, cell by cell."""
    numbers = [float(text) for text in people if text not in ("", "x")]
    picked = [CANDIDATES[place] for place in chosen]
    scores = []
    for edge in CANDIDATES:
        low = max([e for e in picked if e <= edge], default=-math.inf)
        high = min([e for e in picked if e > edge], default=math.inf)
        scores.append(
            min(sum(low <= x < edge for x in numbers), sum(edge <= x < high for x in numbers))
        )
    return scores


def scores_of(people, chosen):
    numbers, counts = cells_of(people).numbers("u")
    return split_scores(counts_below(numbers, counts, CANDIDATES), list(chosen)).tolist()


def difference_scores(people, chosen):
    """A planted fault: minus the difference of both parts, which a replaced record moves by 2."""
    numbers = [float(text) for text in people if text not in ("", "x")]
    return [-abs(sum(x < edge for x in numbers) - sum(x >= edge for x in numbers))
            for edge in CANDIDATES]  # fmt: skip


def neighbours(n):
    for people in combinations_with_replacement(TEXTS, n):
        for place in range(n):
            others = people[:place] + people[place + 1 :]
            yield people, others
            yield from ((people, (*others, new)) for new in TEXTS)


EARLIER = [(), (1,), (3,), (1, 3), (0, 4)]


def test_scores_are_those_of_the_definition_and_one_record_moves_them_by_one():
    moves = set()
    for chosen in EARLIER:
        for first, second in neighbours(3):
            mine, theirs = (defined_scores(people, chosen) for people in (first, second))
            assert scores_of(first, chosen) == mine
            moves |= {abs(a - b) for a, b in zip(mine, theirs, strict=True)}
    assert moves == {0, 1}


def test_scores_of_sensitivity_two_would_be_noticed():
    moves = {
        abs(a - b)
        for first, second in neighbours(3)
        for a, b in zip(difference_scores(first, ()), difference_scores(second, ()), strict=True)
    }
    assert max(moves) == 2


def chances(people, rate, score, count=2):
    """The probability of every sequence of choices."""
    found = {}
    for sequence in permutations(range(len(CANDIDATES)), count):
        total = 1.0
        for step, place in enumerate(sequence):
            weights = np.exp(rate * np.array(score(people, sequence[:step]), dtype=float))
            weights[list(sequence[:step])] = 0
            total *= weights[place] / weights.sum()
        found[sequence] = total
    return found


def worst_share(rho, rate, score):
    known = {}

    def of(people):
        key = tuple(sorted(people))
        if key not in known:
            known[key] = np.array(list(chances(key, rate, score).values()))
        return known[key]

    share = 0.0
    for first, second in neighbours(3):
        p, q = of(first), of(second)
        for order in ORDERS:
            reached = math.log(float((p**order * q ** (1 - order)).sum())) / (order - 1)
            share = max(share, reached / (order * float(rho)))
    return share


@pytest.mark.parametrize("rho", [Fraction(1, 1000), Fraction(1, 2), Fraction(8)])
def test_two_choices_cost_rho_over_all_neighbours(rho):
    assert worst_share(rho, float(selection_rate(rho / 2)), scores_of) <= 1 + MARGIN


def test_choices_that_do_not_share_the_budget_are_caught():
    rho = Fraction(1, 1000)
    assert worst_share(rho, float(selection_rate(rho)), scores_of) > 1.05


def test_scores_of_sensitivity_two_are_caught():
    rho = Fraction(1, 1000)
    assert worst_share(rho, float(selection_rate(rho / 2)), difference_scores) > 1.05


PEOPLE = ("", "x", "0", "0", "1", "2.5", "2.5", "4", "4", "4")
RUNS, RHO = 800, Fraction(1, 2)


def p_value(seed):
    """How well the drawn pairs of edges fit the enumerated ones."""
    curator = Curator(
        cells_of(PEOPLE), Budget.from_rho(RHO * RUNS), randomness=InsecureSeededRandomness(seed)
    )
    drawn = Counter()
    for _ in range(RUNS):
        [found] = curator.find_edges(["u"], [CANDIDATES], 2, rho=RHO)
        drawn[found] += 1
    expected = Counter()
    for sequence, chance in chances(PEOPLE, float(selection_rate(RHO / 2)), scores_of).items():
        expected[tuple(CANDIDATES[place] for place in sorted(sequence))] += chance
    assert drawn.keys() <= expected.keys()
    return stats.chisquare(
        [drawn[pair] for pair in expected], [chance * RUNS for chance in expected.values()]
    ).pvalue


def test_the_curator_draws_as_enumerated():
    """False alarm below 1e-7."""
    assert p_value(seed=5) > FALSE_ALARM


def test_scores_that_are_doubled_are_caught_in_the_draws(monkeypatch):
    """The planted fault overspends by 4. Its power is above 1 - 1e-7."""
    monkeypatch.setattr(edges, "split_scores", lambda *given: 2 * split_scores(*given))
    assert p_value(seed=5) < FALSE_ALARM
