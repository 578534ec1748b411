"""The searches as pure functions of what `best` says: which settings are tried."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.errors import ParameterError
from thresher.mechanisms.tuning import Grid, Setting, courses, diagonal_search, grid_search


def minimum(error):
    """A `best` that looks at a known error, and what it was asked."""
    asked = []

    def best(settings):
        asked.append(tuple(settings))
        return min(settings, key=error)

    return best, asked


@st.composite
def grids(draw):
    size = draw(st.integers(1, 7))
    first = draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    factors = draw(st.tuples(st.integers(2, 4), st.integers(2, 4)))
    return Grid(
        *(tuple(a * f**i for i in range(size)) for a, f in zip(first, factors, strict=True))
    )


@given(grids(), st.data())
def test_where_error_has_one_valley_the_diagonal_search_finds_its_ground(grid, data):
    # Error depends on T·K alone and grows on both sides of a best c, as the paper says.
    diagonal = grid.diagonal()
    goal = data.draw(st.sampled_from(diagonal))
    best, asked = minimum(lambda s: abs(np.log(s.total / goal.total)))
    found = diagonal_search(grid, best)
    assert found.total == goal.total
    *steps, line = asked
    assert all(len(step) == 2 and set(step) <= set(diagonal) for step in steps)
    assert set(line) == {s for s in grid.settings() if s.total == goal.total}
    assert len(steps) <= max(0, (len(diagonal) - 1).bit_length())


@given(grids(), st.randoms(use_true_random=False))
def test_whatever_the_answers_the_search_keeps_to_one_of_its_courses(grid, source):
    asked = []

    def best(settings):
        asked.append(tuple(settings))
        return source.choice(settings)

    found = diagonal_search(grid, best)
    assert found in asked[-1]
    several = [settings for settings in asked if len(settings) > 1]
    assert (set(itertools.chain(*several)), len(several)) in courses("diagonal", grid)


def test_the_grid_search_asks_once_about_everything():
    best, asked = minimum(lambda s: abs(s.rounds - 4) + s.queries_per_round)
    assert grid_search(Grid(), best) == Setting(4, 4)
    assert asked == [Grid().settings()]
    assert courses("grid", Grid()) == [(set(Grid().settings()), 1)]


def test_the_diagonal_needs_far_fewer_trials():
    for size in (4, 8, 16):
        grid = Grid(tuple(2**i for i in range(size)), tuple(2**i for i in range(size)))
        most = max(len(tried) for tried, _ in courses("diagonal", grid))
        assert most <= size + 2 * size.bit_length()


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"rounds": ()}, "rounds must be whole"),
        ({"rounds": (0, 1)}, "rounds must be whole"),
        ({"queries_per_round": (1.5,)}, "queries_per_round must be whole"),
        ({"rounds": (True,)}, "rounds must be whole"),
        ({"rounds": (4, 1)}, "rounds must ascend"),
        ({"rounds": (1, 1)}, "rounds must ascend"),
    ],
)
def test_grids_are_checked(wrong, says):
    with pytest.raises(ParameterError, match=says):
        Grid(**wrong)


def test_a_diagonal_needs_a_square():
    with pytest.raises(ParameterError, match="not 1 and 4"):
        Grid(rounds=(1,)).diagonal()
