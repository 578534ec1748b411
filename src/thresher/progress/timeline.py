"""The time that is left, from the estimate of public facts and from what phases took so far."""

import math
import time
from collections.abc import Callable, Sequence

from thresher.progress.steps import COUNTING, Phase, Step

SKIPPED = 0.01
"""A part that took less than this share of what it should is skipped work, as a fit that is resumed
has it. It says nothing about the pace of the rest."""

TRUST = 0.1
"""The estimate weighs as much as work of this share of the whole that took just as long."""

LEAST = 1.0
"""While work is left, at least so many seconds are."""

MOST_PARTS = 20
"""Within a phase, the pace of k parts weighs k times as much as what was expected of it. If there
are more parts than this, they weigh as much as so many."""

OVERDUE = 0.1
"""For each second that a part takes longer than it should, so much is added to what is left."""


class Timeline:
    """Phases, how far they have come, and how long the rest takes.

    Two things correct the estimate. Phases that are over have shown how fast this machine is. And
    within a phase of several parts, those that are done count more and more.

    Args:
        clock: Tells the seconds.

    Example:
        >>> now = [0.0]
        >>> timeline = Timeline(lambda: now[0])
        >>> timeline.expect([Phase("start", 10.0), Phase("rounds", 90.0)])
        >>> timeline.remaining
        100.0
        >>> now[0] = 20.0
        >>> timeline.take(Step("rounds", 0, 9))  # the start took twice as long
        >>> round(timeline.remaining)
        135
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._phases: list[Phase] = []
        self._current = 0
        self._parts = 1
        self._ticked = self._started = clock()
        self._done = self._paced = 0.0
        self._taken = 0.0
        self._past_taken = self._past_expected = 0.0
        self._share = 0.0

    def expect(self, phases: Sequence[Phase]) -> None:
        """Learn which phases come. If some are known already, the phase of the same name goes on.

        Args:
            phases: All phases, those that are over included.
        """
        name = self.phase
        self._phases = list(phases)
        names = [phase.name for phase in self._phases]
        self._current = names.index(name) if name in names else 0
        if not name:
            self._ticked = self._clock()

    def take(self, step: Step) -> None:
        """Learn how far the work has come. A step of a phase that is over is ignored."""
        now = self._clock()
        names = [phase.name for phase in self._phases]
        if step.phase not in names[self._current :]:
            return
        self._go_to(names.index(step.phase), now)
        self._parts = max(1, step.of)
        self._tick(now, min(1.0, step.done / self._parts))
        if self._done >= 1.0 and self._current + 1 < len(self._phases):
            self._go_to(self._current + 1, now)

    @property
    def phase(self) -> str:
        """The name of the phase that is under way."""
        return self._phases[self._current].name if self._phases else ""

    def _go_to(self, phase: int, now: float) -> None:
        """End the current phase, and begin a later one."""
        if phase == self._current:
            return
        self._tick(now, 1.0)
        if self.phase != COUNTING:
            self._past_taken += self._taken
            self._past_expected += self._paced * self._phases[self._current].seconds
        self._current, self._parts, self._ticked = phase, 1, now
        self._done = self._paced = self._taken = 0.0

    def _tick(self, now: float, done: float) -> None:
        """Some more of the current phase is done."""
        if done <= self._done or not self._phases:
            return
        new, took = done - self._done, now - self._ticked
        if took >= SKIPPED * new * self._phases[self._current].seconds:
            self._paced += new
            self._taken += took
        self._done, self._ticked = done, now

    @property
    def remaining(self) -> float | None:
        """About how many seconds are left; None if nobody knows which phases come."""
        if not self._phases:
            return None
        later = sum(phase.seconds for phase in self._phases[self._current + 1 :])
        return max(LEAST, self._in_phase() + self._pace * later)

    @property
    def share(self) -> float:
        """The share of the whole time that is over. It never falls, and is below 1."""
        left = self.remaining
        if left is not None:
            elapsed = self._clock() - self._started
            self._share = max(self._share, elapsed / (elapsed + left))
        return self._share

    @property
    def _pace(self) -> float:
        """How many times as long as estimated the work takes, by the phases that are over."""
        prior = TRUST * sum(phase.seconds for phase in self._phases) + 1e-9
        return (prior + self._past_taken) / (prior + self._past_expected)

    def _in_phase(self) -> float:
        """The seconds that are left of the current phase."""
        open_ = 1.0 - self._done
        expected = self._pace * self._phases[self._current].seconds * open_
        if self._paced and open_:
            parts = self._paced * min(self._parts, MOST_PARTS)
            expected += parts / (parts + 1.0) * (self._taken / self._paced * open_ - expected)
        part = min(expected, expected / (self._parts * open_)) if open_ else 0.0
        since = self._clock() - self._ticked
        return expected - min(since, part) + OVERDUE * max(0.0, since - part)


def in_words(seconds: float) -> str:
    """A time that is left, as exact as it can be known.

    Example:
        >>> [in_words(seconds) for seconds in (0.2, 42, 700, 9000, 400000)]
        ['a few seconds', 'about 45 s', 'about 12 min', 'about 2.5 h', 'about 4.6 days']
    """
    if seconds < 8:
        return "a few seconds"
    if seconds < 90:
        return f"about {5 * math.ceil(seconds / 5)} s"
    if seconds < 90 * 60:
        return f"about {math.ceil(seconds / 60)} min"
    if seconds < 36 * 3600:
        return f"about {seconds / 3600:.1f} h"
    return f"about {seconds / 86400:.1f} days"
