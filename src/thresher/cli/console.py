"""Where words go: results to standard output, progress and messages to standard error.

Names and labels come from files that others wrote. Everything printed goes through `plain`, so that
no character of theirs moves the cursor, changes colours or reverses the text.
"""

import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Any

CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""C0, DEL, C1, marks and overrides of direction, line separators, and halves of surrogate pairs."""

PATIENCE = 2.0
"""Seconds after which a task that nobody can watch is mentioned in a line."""

MINUTE = 60.0
"""Seconds between two lines about the progress of such a task."""

Watch = Callable[[float, float | None, str], None]
"""Is told how much is done, of how much if that is known, and a few words."""


class Interrupted(Exception):  # noqa: N818, it is nobody's error
    """Ctrl-C, where there is more to tell about it."""


def plain(text: str) -> str:
    r"""A text with every control character written as an escape.

    Example:
        >>> print(plain("red: \x1b[31m"))
        red: \x1b[31m
    """
    return CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def as_json_text(value: object) -> str:
    """One line of JSON, in which control characters are escaped as well."""
    text = json.dumps(value, ensure_ascii=False)
    return CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def print_json(value: object) -> None:
    """Print the one JSON object of a command's standard output."""
    sys.stdout.write(as_json_text(value) + "\n")


def show(text: str = "") -> None:
    """Print a line of a command's result."""
    sys.stdout.write(plain(text) + "\n")


def say(text: str) -> None:
    """Tell the user something that is not the result."""
    sys.stderr.write(plain(text) + "\n")
    sys.stderr.flush()


def warn(text: str) -> None:
    """Warn the user of something that may be a mistake."""
    say(f"thresher: warning: {text}")


@contextmanager
def counting(task: str) -> Iterator[Callable[[int], None]]:
    """Follow the reading of records: how many there are so far."""
    with _followed(task, has_end=False) as watch:
        yield lambda rows: watch(rows, None, f"{rows:,} records")


@contextmanager
def working(task: str) -> Iterator[None]:
    """Show that something is going on."""
    with _followed(task, has_end=False):
        yield


@contextmanager
def rounds_of_a_fit() -> Iterator[Callable[[int, int, str], None]]:
    """Follow the rounds of a fit and how well D' fits by now."""
    with _followed("fitting", has_end=True) as watch:
        yield lambda done, rounds, fit: watch(done, rounds, f"{done} of {rounds} rounds; {fit}")


@contextmanager
def runs_of_experiments() -> Iterator[Watch]:
    """Follow the paper's experiments; runs count by how long they should take."""
    with _followed("running", has_end=True) as watch:
        yield watch


@contextmanager
def _followed(task: str, has_end: bool) -> Iterator[Watch]:
    """Follow a task on standard error: a bar on a terminal, else a line now and then."""
    followed = _bar if sys.stderr.isatty() else _lines
    with followed(plain(task), has_end) as watch:
        yield watch


@contextmanager
def _bar(task: str, has_end: bool) -> Iterator[Watch]:
    from rich import progress as rich
    from rich.console import Console

    columns: tuple[Any, ...] = (
        rich.TextColumn(task, markup=False) if has_end else rich.SpinnerColumn(),
        *((rich.BarColumn(), rich.TaskProgressColumn()) if has_end else ()),
        rich.TextColumn("{task.description}", markup=False),
        rich.TimeElapsedColumn(),
        *((rich.TextColumn("left:"), rich.TimeRemainingColumn()) if has_end else ()),
    )
    console = Console(stderr=True, highlight=False)
    with rich.Progress(*columns, console=console, transient=True) as progress:
        line = progress.add_task("" if has_end else task, total=None)

        def watch(done: float, total: float | None, words: str) -> None:
            words = plain(words) if has_end else f"{task}: {plain(words)}"
            progress.update(line, completed=done, total=total, description=words)

        yield watch


@contextmanager
def _lines(task: str, has_end: bool) -> Iterator[Watch]:
    """Nothing for a task that is done at once: then a mistake stays the only line that is said."""
    began = Timer(PATIENCE, say, [f"thresher: {task}"])
    began.daemon = True
    began.start()
    due = time.monotonic() + MINUTE

    def watch(done: float, total: float | None, words: str) -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + MINUTE
            share = f"{done / total:.0%}, " if total else ""
            say(f"thresher: {task}: {share}{words}")

    try:
        yield watch
    finally:
        began.cancel()
