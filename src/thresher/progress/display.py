"""Progress on standard error: a bar in a terminal, plain lines elsewhere, a line in a notebook."""

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from thresher.progress.steps import Called, Follower, Phase, Step, Told
from thresher.progress.timeline import Timeline, in_words
from thresher.wording import plain

PATIENCE = 2.0
"""Seconds after which work that nobody can watch is mentioned in a line."""

EVERY = 30.0
"""The most seconds without a line about such work."""

NOTEBOOK_EVERY = 0.5
"""Seconds between two looks at work that is shown in a notebook."""

Followed = Follower | Told | bool | None
"""Who follows long work: somebody, a function of three arguments, or a display if it is wanted."""


@dataclass(frozen=True)
class Shown:
    """What is shown of long work at one moment.

    Attributes:
        task: What the work is.
        phase: What is being done of it.
        words: How far that has come.
        share: The share of the whole time that is over, if that can be known.
        left: The time that is left, in words, if that can be known.

    Example:
        >>> Shown("fitting", "rounds", "7 of 16", 0.4, "about 40 s").line
        'fitting: rounds, 7 of 16; about 40 s left'
    """

    task: str
    phase: str = ""
    words: str = ""
    share: float | None = None
    left: str = ""

    @property
    def doing(self) -> str:
        """The task and its phase."""
        return ": ".join(words for words in (self.task, self.phase) if words)

    @property
    def line(self) -> str:
        """All of it in a line."""
        between = ", " if self.phase else ": "
        line = between.join(words for words in (self.doing, self.words) if words)
        return f"{line}; {self.left} left" if self.left else line


@contextmanager
def following(progress: Followed, task: str) -> Iterator[Follower]:
    """Whoever follows some work, for as long as it takes.

    Args:
        progress: A follower; a function of the number of a round, the number of rounds and a
            remark; True to show progress, False not to, None to show it in a terminal or a
            notebook.
        task: What the work is.

    Example:
        >>> with following(False, "fitting") as nobody:
        ...     nobody(Step("rounds", 7, 16))
    """
    if isinstance(progress, Follower):
        yield progress
    elif callable(progress):
        yield Called(progress)
    elif progress or (progress is None and (_in_notebook() or sys.stderr.isatty())):
        with Display(task) as display:
            yield display
    else:
        yield Follower()


class Display(Follower):
    """Shows work of several phases, and the time that is left.

    Args:
        task: What the work is.
        clock: Tells the seconds.
    """

    def __init__(self, task: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._task = plain(task)
        self._lock = threading.Lock()
        self._timeline = Timeline(clock)
        self._latest = Step("")
        self._surface = Surface(self.now)
        self._shown = ExitStack()

    def __enter__(self) -> Self:
        self._surface = self._shown.enter_context(surface_for(self.now))
        return self

    def __exit__(self, *fault: Any) -> None:
        self._shown.close()

    def expect(self, phases: Sequence[Phase]) -> None:
        """Learn which phases come."""
        with self._lock:
            self._timeline.expect(phases)
            if not self._latest.phase and phases:
                self._latest = Step(phases[0].name)

    def __call__(self, step: Step) -> None:
        """Learn how far the work has come."""
        with self._lock:
            before = self._timeline.phase
            self._timeline.take(step)
            after = self._timeline.phase
            has_ended = step.phase in (before, after) and step.phase != after
            self._latest = Step(after) if has_ended else step
            phase = self._latest.phase
        self._surface.changed(phase)

    def note(self, words: str) -> None:
        """Write a line that stays."""
        sys.stderr.write(f"thresher: {plain(words)}\n")
        sys.stderr.flush()

    def now(self) -> Shown:
        """What there is to show."""
        with self._lock:
            left, step = self._timeline.remaining, self._latest
            return Shown(
                self._task,
                plain(step.phase),
                plain(step.words),
                None if left is None else self._timeline.share,
                "" if left is None else in_words(left),
            )


class Plain:
    """Shows work without phases, of which somebody says how far it has come.

    Args:
        task: What the work is.
        clock: Tells the seconds.
    """

    def __init__(self, task: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._task, self._clock, self._began = plain(task), clock, clock()
        self._words = ""
        self._share: float | None = None

    def tell(self, words: str, share: float | None = None) -> None:
        """Say how far it has come, and which share of the work is done if that is known."""
        self._words, self._share = plain(words), share

    def now(self) -> Shown:
        """What there is to show."""
        share, left = self._share, ""
        if share:
            elapsed = self._clock() - self._began
            left = in_words(elapsed * (1.0 - share) / share)
        return Shown(self._task, words=self._words, share=share, left=left)


class Surface:
    """Where progress is shown: a context, from the beginning of the work to its end.

    Args:
        now: Says what there is to show.
    """

    def __init__(self, now: Callable[[], Shown]) -> None:
        self._now = now

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """The work is over."""

    def changed(self, phase: str) -> None:
        """Something was done; the phase is the one that is under way now."""


_one_at_a_time = threading.Lock()


@contextmanager
def surface_for(now: Callable[[], Shown]) -> Iterator[Surface]:
    """What suits the place where the program runs. Work inside other work that is shown is not.

    Args:
        now: Says what there is to show.
    """
    if not _one_at_a_time.acquire(blocking=False):
        yield Surface(now)
        return
    try:
        suited = _Notebook if _in_notebook() else _Bar if sys.stderr.isatty() else _Lines
        with suited(now) as surface:
            yield surface
    finally:
        _one_at_a_time.release()


class _Looking(Surface):
    """Looks at the work now and then, from a thread of its own."""

    def __enter__(self) -> Self:
        self._ended = threading.Event()
        self._woken = threading.Condition()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *fault: Any) -> None:
        self._ended.set()
        with self._woken:
            self._woken.notify_all()
        self._thread.join()

    def _look(self) -> None:
        raise NotImplementedError


class _Lines(_Looking):
    """A line per phase, and one now and then in long phases.

    Nothing is said about work that is done at once: a mistake then stays the only line.
    """

    def __init__(self, now: Callable[[], Shown]) -> None:
        super().__init__(now)
        self._phase: str | None = None
        self._said: str | None = None

    def changed(self, phase: str) -> None:
        """Say so if the phase is a new one."""
        with self._woken:
            self._phase = phase
            self._woken.notify_all()

    def _look(self) -> None:
        if self._ended.wait(PATIENCE):
            return
        while not self._ended.is_set():
            with self._woken:
                self._said = self._phase
            sys.stderr.write(f"thresher: {self._now().line}\n")
            sys.stderr.flush()
            with self._woken:
                self._woken.wait_for(
                    lambda: self._ended.is_set() or self._phase != self._said, EVERY
                )


class _Notebook(_Looking):
    """One line that changes, and is gone in the end. It needs no widgets."""

    def _look(self) -> None:
        from IPython.display import display

        handle: Any = display({"text/plain": ""}, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        while not self._ended.wait(NOTEBOOK_EVERY):
            handle.update({"text/plain": _drawn(self._now())}, raw=True)
        handle.update({"text/plain": ""}, raw=True)


class _Bar(Surface):
    def __enter__(self) -> Self:
        from thresher.progress.bar import bar_of

        self._bar = bar_of(self._now)
        self._bar.__enter__()
        return self

    def __exit__(self, *fault: Any) -> None:
        self._bar.__exit__(*fault)


def _drawn(shown: Shown) -> str:
    """A bar of characters, with a line about the work."""
    if shown.share is None:
        return shown.line
    full = int(20 * shown.share)
    return f"[{'#' * full}{'.' * (20 - full)}] {shown.line}"


def _in_notebook() -> bool:
    """Whether the program runs in a notebook; nothing is imported to find out."""
    shell = sys.modules.get("IPython")
    found = None if shell is None else shell.get_ipython()
    return found is not None and type(found).__name__ == "ZMQInteractiveShell"
