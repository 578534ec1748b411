"""How rounds anneal: what they find decides what the next ones get, and all of it is spent."""

from fractions import Fraction
from math import ceil, log, sqrt

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from thresher.mechanisms.adaptive_tables.rounds import Annealing, Round, finds_an_error
from thresher.privacy.measurements import TableMeasurement

TABLE = th.Threshold(("a", "b"))


@given(
    st.integers(1, 40), st.lists(st.booleans(), min_size=60, max_size=60), st.booleans(),
    st.fractions(Fraction(1, 10**9), 10**3),
)  # fmt: skip
def test_all_is_spent_and_no_more(rounds, found, anneals, rho):
    left, spent, sizes = Annealing(rho, rho / rounds, anneals), Fraction(0), []
    for outcome in found:
        if not left.left:
            break
        sizes.append(left.next().rho)
        spent += sizes[-1]
        left.learn(outcome)
    assert spent + left.left == rho
    assert left.left == 0 or len(sizes) == len(found)
    assert sizes == sorted(sizes) or sizes[:-1] == sorted(sizes[:-1])
    if not anneals or all(found):
        assert len(sizes) == rounds


def test_a_round_that_finds_nothing_makes_the_next_ones_larger():
    rounds = Annealing(Fraction(1), Fraction(1, 16), anneals=True)
    assert rounds.to_come == 16
    rounds.next()
    rounds.learn(found=True)
    assert rounds.to_come == 15
    rounds.learn(found=False)
    assert (rounds.next().rho, rounds.to_come) == (Fraction(1, 8), 7)


def test_a_candidate_must_exceed_the_noise_to_come():
    now = Round(Fraction(1, 100))
    assert now.per_selection + now.per_measurement == now.rho
    sigma = float(now.per_measurement) ** -0.5  # in counts
    assert now.noise_to_come([10, 170]) == [
        ceil(sigma * sqrt(2 * log(10))),
        ceil(sigma * sqrt(2 * log(170))),
    ]


def measured(errors, sigma=5.0):
    counts = np.full((20, 30), 100) + errors
    return TableMeasurement(TABLE, counts, sigma, n=60_000)


PREDICTED = np.full((20, 30), 100 / 60_000)


def test_noise_alone_is_no_error():
    """Of 600 cells, some exceed √(2 ln 600) + 0.5 = 4.1σ in one of 40 tables; of 40 tables, one or
    two on average. That more than ten of them do has a chance below 1e-6."""
    rng = np.random.default_rng(0)
    tables = [measured(np.rint(rng.normal(0, 5, (20, 30))).astype(int)) for _ in range(40)]
    assert sum(finds_an_error(table, PREDICTED) for table in tables) <= 10


def test_one_cell_that_is_far_off_is_found():
    errors = np.zeros((20, 30), dtype=int)
    errors[3, 4] = 30
    assert finds_an_error(measured(errors), PREDICTED)


def test_many_cells_that_are_a_little_off_are_found():
    errors = np.where(np.arange(600).reshape(20, 30) % 2, 9, -9)
    assert finds_an_error(measured(errors), PREDICTED)
    assert not finds_an_error(measured(errors // 3), PREDICTED)
