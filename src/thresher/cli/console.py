"""Where words go: results to standard output, progress and messages to standard error."""

import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from thresher.data import Records, datasets, read
from thresher.errors import DataError
from thresher.schema import Schema

_results = Console(highlight=False)
_messages = Console(stderr=True, highlight=False)


class Interrupted(Exception):  # noqa: N818, it is nobody's error
    """Ctrl-C, where there is more to tell about it."""


AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object and nothing else on standard output.")
]


def print_json(value: object) -> None:
    """Print the one JSON object of a command's standard output."""
    typer.echo(json.dumps(value, ensure_ascii=False))


def show(text: str) -> None:
    """Print a line of a command's result."""
    _results.print(text, markup=False, soft_wrap=True)


def say(text: str) -> None:
    """Tell the user something that is not the result."""
    _messages.print(text, markup=False, soft_wrap=True)


@contextmanager
def kept_on_interruption(journal: Path) -> Iterator[None]:
    """Tell who interrupts a fit that what was paid for is still there."""
    try:
        yield
    except KeyboardInterrupt:
        if not journal.exists():
            raise
        raise Interrupted("what was paid for is kept: go on with --resume") from None


@contextmanager
def warnings_told() -> Iterator[None]:
    """Say each warning once, in a line of its own."""
    told: set[str] = set()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            for warning in caught:
                words = str(warning.message)
                if words not in told:
                    say(f"thresher: warning: {words}")
                told.add(words)


@contextmanager
def counting(task: str) -> Iterator[Callable[[int], None]]:
    """A line on standard error that counts records while they are read."""
    columns: tuple[Any, ...] = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
    )
    # Where nobody watches, even a line that is wiped away leaves a blank one behind.
    silent = not _messages.is_terminal
    with Progress(*columns, console=_messages, transient=True, disable=silent) as progress:
        line = progress.add_task(task)
        yield lambda rows: progress.update(line, description=f"{task}: {rows:,} records")


@contextmanager
def working(task: str) -> Iterator[None]:
    """A line on standard error that shows that something is going on."""
    with _messages.status(task):
        yield


@contextmanager
def rounds_of_a_fit() -> Iterator[Callable[[int, int, str], None]]:
    """A bar on standard error that follows the rounds of a fit and how well D' fits by now."""
    columns: tuple[Any, ...] = (
        TextColumn("fitting"), BarColumn(), MofNCompleteColumn(),
        TextColumn("{task.description}"), TimeElapsedColumn(), TimeRemainingColumn(),
    )  # fmt: skip
    # Where nobody watches, even a line that is wiped away leaves a blank one behind.
    silent = not _messages.is_terminal
    with Progress(*columns, console=_messages, transient=True, disable=silent) as progress:
        line = progress.add_task("", total=None)

        def update(done: int, rounds: int, fit: str) -> None:
            progress.update(line, completed=done, total=rounds, description=fit)

        yield update


def load_schema(data: str, path: Path | None) -> Schema:
    """The schema of a command's data: its file, or that of the built-in data."""
    if path is None:
        if data == "adult":
            return datasets.adult_schema()
        raise DataError(f"{data} needs a schema: give --schema (`thresher schema draft` makes one)")
    schema = Schema.load(path)
    if schema.unreviewed:
        say(
            f"thresher: warning: {path} is a draft; still to be reviewed: "
            f"{', '.join(schema.unreviewed)}"
        )
    return schema


def load_records(data: str, path: Path | None) -> Records:
    """The private records a command is about: a file, or `adult` for the built-in set."""
    return load_with(data, load_schema(data, path))


def load_with(data: str, schema: Schema) -> Records:
    """The private records a command is about, by a schema that is at hand."""
    if data == "adult" and schema.fingerprint == datasets.adult_schema().fingerprint:
        return datasets.adult()
    with counting(f"reading {data}") as progress:
        return read(data, schema, progress)
