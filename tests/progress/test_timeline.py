"""The time that is left: corrected by what was, without wild jumps, and never 0."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.progress import COUNTING, ROUNDS, Phase, Step
from thresher.progress.timeline import LEAST, Timeline


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def test_of_unknown_phases_nobody_knows_the_time():
    timeline = Timeline(Clock())
    timeline.take(Step(ROUNDS, 1, 2))
    assert timeline.remaining is None
    assert timeline.share == 0.0


def rounds(count, expected, real, clock=None):
    """A fit whose rounds take another time than expected; (left, truly left) after each."""
    clock = clock or Clock()
    timeline = Timeline(clock)
    timeline.expect([Phase("start", expected), Phase(ROUNDS, expected * count)])
    yield timeline.remaining, real * (count + 1)
    clock.now += real
    timeline.take(Step(ROUNDS, 0, count))
    yield timeline.remaining, real * count
    for number in range(1, count):
        clock.now += real
        timeline.take(Step(ROUNDS, number, count))
        yield timeline.remaining, real * (count - number)


@pytest.mark.parametrize("factor", [0.25, 0.5, 1.0, 2.0, 4.0])
def test_a_wrong_estimate_is_corrected_step_by_step(factor):
    found = list(rounds(16, 10.0, 10.0 * factor))
    assert found[0][0] == pytest.approx(170.0)
    # In the second half it is right to a quarter.
    for left, truth in found[9:]:
        assert left == pytest.approx(truth, rel=0.25)
    # The time at which all would end comes nearer to the truth with every step.
    errors = [abs(left - truth) for left, truth in found]
    assert errors == sorted(errors, reverse=True)


def test_a_right_estimate_stays():
    for left, truth in rounds(8, 5.0, 5.0):
        assert left == pytest.approx(truth)


def test_counting_says_nothing_about_the_pace_of_fits():
    clock = Clock()
    timeline = Timeline(clock)
    timeline.expect([Phase(COUNTING, 10.0), Phase(ROUNDS, 100.0)])
    clock.now = 1000.0
    timeline.take(Step(COUNTING, 1, 1))
    assert timeline.remaining == pytest.approx(100.0)


def test_what_a_resumed_fit_skips_says_nothing_about_the_pace():
    clock = Clock()
    timeline = Timeline(clock)
    timeline.expect([Phase(ROUNDS, 160.0)])
    for number in range(1, 13):
        clock.now += 0.01
        timeline.take(Step(ROUNDS, number, 16))
    assert timeline.remaining == pytest.approx(40.0, rel=0.01)
    clock.now += 20.0
    timeline.take(Step(ROUNDS, 13, 16))
    assert 30.0 < timeline.remaining < 60.0


def test_a_phase_that_was_ended_is_not_charged_for_what_comes_after():
    clock = Clock()
    timeline = Timeline(clock)
    timeline.expect([Phase(COUNTING, 1.0), Phase(ROUNDS, 40.0)])
    clock.now = 1.0
    timeline.take(Step(COUNTING, 1, 1))
    assert timeline.phase == ROUNDS
    clock.now = 21.0  # the first round takes twice as long
    timeline.take(Step(ROUNDS, 1, 4))
    assert timeline.remaining > 35.0


def test_a_step_of_a_phase_that_is_over_changes_nothing():
    timeline = Timeline(Clock())
    timeline.expect([Phase(COUNTING, 10.0), Phase(ROUNDS, 100.0)])
    timeline.take(Step(ROUNDS, 0, 4))
    timeline.take(Step(COUNTING))
    assert timeline.remaining == pytest.approx(100.0)


def test_new_phases_go_on_from_the_phase_of_the_same_name():
    timeline = Timeline(Clock())
    timeline.expect([Phase(COUNTING, 1.0), Phase(ROUNDS, 10.0)])
    timeline.take(Step(ROUNDS, 0, 4))
    timeline.expect([Phase(COUNTING, 50.0), Phase(ROUNDS, 20.0)])
    assert timeline.remaining == pytest.approx(20.0)


times = st.lists(st.floats(0.0, 1e5), min_size=1, max_size=30)


@given(times, st.floats(1e-3, 1e5))
def test_while_work_is_left_it_is_never_0_and_the_share_never_falls(taken, expected):
    clock, before = Clock(), 0.0
    timeline = Timeline(clock)
    timeline.expect([Phase("start", expected), Phase(ROUNDS, expected)])
    for number, seconds in enumerate(taken):
        clock.now += seconds
        assert timeline.remaining >= LEAST
        timeline.take(Step(ROUNDS, number, len(taken)))
        assert timeline.remaining >= LEAST
        assert before <= timeline.share < 1.0
        before = timeline.share


@given(st.floats(0.0, 1e6))
def test_work_that_is_overdue_takes_ever_longer(late):
    clock = Clock()
    timeline = Timeline(clock)
    timeline.expect([Phase("start", 10.0)])
    clock.now = 10.0 + late
    assert timeline.remaining == pytest.approx(max(LEAST, late / 10.0))
