"""Who follows: nobody, a function, or a display where somebody can see it."""

import sys
import time
import types

import pytest

from thresher.progress import ROUNDS, Called, Follower, Phase, Step, display
from thresher.progress.display import Display, Plain, Shown, following


class Terminal:
    def __init__(self, stream):
        self.stream = stream

    def isatty(self):
        return True

    def __getattr__(self, name):
        return getattr(self.stream, name)


def kind_for(progress):
    with following(progress, "fitting") as follower:
        return type(follower)


def test_in_a_script_there_is_silence_unless_it_is_asked_for():
    assert kind_for(None) is Follower
    assert kind_for(False) is Follower
    assert kind_for(True) is Display
    assert kind_for(print) is Called


def test_in_a_terminal_progress_is_shown_unless_it_is_switched_off(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal(sys.stderr))
    assert kind_for(None) is Display
    assert kind_for(False) is Follower


class ZMQInteractiveShell:
    """As the kernel of a notebook calls it."""


@pytest.fixture
def notebook(monkeypatch):
    """What a notebook displays, update by update."""
    shown = []

    class Handle:
        def update(self, data, raw):
            assert raw
            shown.append(data["text/plain"])

    ipython = types.ModuleType("IPython")
    ipython.get_ipython = ZMQInteractiveShell
    ipython.display = types.ModuleType("IPython.display")
    ipython.display.display = lambda *_, **__: Handle()
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", ipython.display)
    monkeypatch.setattr(display, "NOTEBOOK_EVERY", 0.005)
    return shown


def test_in_a_notebook_a_line_changes_and_is_gone_in_the_end(notebook):
    with following(None, "fitting") as follower:
        follower.expect([Phase(ROUNDS, 100.0)])
        follower(Step(ROUNDS, 1, 4, "age"))
        end = time.monotonic() + 30.0
        while not any("1 of 4, age" in line for line in notebook) and time.monotonic() < end:
            time.sleep(0.005)
    assert notebook[-1] == ""
    [line, *_] = [line for line in notebook if "1 of 4, age" in line]
    assert line == "[....................] fitting: rounds, 1 of 4, age; about 75 s left"


def test_after_a_phase_that_ends_the_next_one_is_shown():
    shown = Display("fitting", lambda: 0.0)
    shown.expect([Phase("start", 1.0), Phase(ROUNDS, 20.0)])
    assert shown.now().phase == "start"
    with shown:
        shown(Step("start", 1, 1))
    assert shown.now() == Shown("fitting", ROUNDS, "", 0.0, "about 20 s")


def test_the_time_that_is_left_of_work_without_phases():
    now = [0.0]
    shown = Plain("running", lambda: now[0])
    shown.tell("forms")
    assert shown.now().line == "running: forms"
    now[0] = 10.0
    shown.tell("forms", 0.25)
    assert shown.now().line == "running: forms; about 30 s left"
