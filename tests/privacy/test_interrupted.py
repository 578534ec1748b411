"""Ctrl-C, or no memory, at any line behind the wall: what was drawn is paid for everywhere."""

import os
import random
import sys
from fractions import Fraction
from pathlib import Path

import pytest

import thresher
from thresher.privacy import Budget, Curator, InsecureSeededRandomness, Ledger
from thresher.privacy.journal import Journal, JournaledCurator
from thresher.queries import Threshold

POINTS = 24 * int(os.environ.get("THRESHER_FUZZ", "1"))
WALL = tuple(str(Path(thresher.__file__).parent / room) for room in ("privacy", "data"))
TABLES = [Threshold(("sex",)), Threshold(("town",)), Threshold(("job", "sex"))]
PRICES = [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)]


class Counting(InsecureSeededRandomness):
    """Counts the draws."""

    draws = 0

    def words(self, count):
        self.draws += 1
        return super().words(count)


class Stop:
    """Raises at some line of the wall, counted from when it is set."""

    def __init__(self, line, fault):
        self.line, self.fault, self.lines = line, fault, 0

    def __call__(self, frame, event, argument):
        if not frame.f_code.co_filename.startswith(WALL):
            return None
        if event == "line":
            self.lines += 1
            if self.lines == self.line:
                raise self.fault
        return self


def calls(records, folder, ledger, randomness, number, stop=None):
    """Make some calls through a journal, with a stop in the last of them."""
    with Journal(folder / "journal", {}) as journal:
        curator = Curator(
            records, Budget.from_rho(1), ledger, randomness=randomness, spent=journal.spent,
            journal=journal,
        )  # fmt: skip
        wall = JournaledCurator(curator, journal)
        for table, rho in zip(TABLES[: number - 1], PRICES, strict=False):
            wall.measure([table], rho=rho)
        randomness.draws = 0
        before = sys.gettrace()
        sys.settrace(stop or before)
        try:
            wall.measure([TABLES[number - 1]], rho=PRICES[number - 1])
        except (KeyboardInterrupt, MemoryError):
            pass
        finally:
            sys.settrace(before)
    return curator


@pytest.fixture
def cheap(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: None)


def attempt(records, folder, line, fault):
    folder.mkdir()
    ledger = Ledger.create(folder / "ledger", Fraction(1))
    randomness, stop = Counting(0), Stop(line, fault)
    curator = calls(records, folder, ledger, randomness, 2, stop)
    with Journal(folder / "journal", {}) as journal:
        paid = (curator.spent, ledger.spent, journal.spent)
    if randomness.draws:
        assert paid == (Fraction(1, 2),) * 3
    assert Fraction(1, 4) <= paid[0] <= paid[1]
    # Whatever happened, the rest can be had, and no more than the budget is spent.
    assert calls(records, folder, ledger, Counting(1), 3).spent <= 1
    return stop.lines


@pytest.mark.parametrize("fault", [KeyboardInterrupt, MemoryError])
def test_a_stop_at_any_line_leaves_nothing_unpaid(fault, records, tmp_path, cheap):
    lines = attempt(records, tmp_path / "whole", 0, fault)
    assert lines > 500
    chosen = random.Random(fault.__name__).sample(range(1, lines), POINTS)
    for line in sorted({*chosen, 1, lines}):
        attempt(records, tmp_path / str(line), line, fault)
