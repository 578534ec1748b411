"""Where words go: results to standard output, progress and messages to standard error.

Names and labels come from files that others wrote. Everything printed goes through `plain`, so that
no character of theirs moves the cursor, changes colours or reverses the text.
"""

import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from thresher.progress.display import Display, Plain, surface_for

CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""C0, DEL, C1, marks and overrides of direction, line separators, and halves of surrogate pairs."""

ROUND = 1000
"""Records from one remark about reading to the next."""

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
def counting(task: str, what: str = "records") -> Iterator[Callable[[int], None]]:
    """Follow the reading of records or the like: how many there are so far, in round numbers.

    Where a batch of records ends depends on how long their lines are, which is private.
    """
    told = 0

    def tell(rows: int) -> None:
        nonlocal told
        while told + ROUND <= rows:
            told += ROUND
            shown.tell(f"{told:,} {what}")

    with _followed(task) as shown:
        yield tell


@contextmanager
def working(task: str) -> Iterator[None]:
    """Show that something is going on."""
    with _followed(task):
        yield


@contextmanager
def phases_of(task: str) -> Iterator[Display]:
    """Follow work that has phases: how far it has come, and the time that is left."""
    with Display(task) as display:
        yield display


@contextmanager
def runs_of_experiments() -> Iterator[Watch]:
    """Follow the paper's experiments; runs count by how long they should take."""
    with _followed("running") as shown:

        def watch(done: float, total: float | None, words: str) -> None:
            shown.tell(words, done / total if total else None)

        yield watch


@contextmanager
def _followed(task: str) -> Iterator[Plain]:
    """Follow a task on standard error: a bar on a terminal, else a line now and then."""
    shown = Plain(task)
    with surface_for(shown.now):
        yield shown
