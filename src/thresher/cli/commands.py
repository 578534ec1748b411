"""The tree of commands. A command's module is imported when the command runs, not before.

The lines of help stand here, so that `thresher --help` imports no command; a test compares them
with the commands' docstrings.
"""

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from thresher.errors import ThresherError


@dataclass(frozen=True)
class Entry:
    """A line of help, and either the function of a command or the commands of a group."""

    line: str
    function: str = ""
    commands: "Mapping[str, Entry]" = field(default_factory=dict)


COMMANDS: dict[str, Entry] = {
    "demo": Entry("Fit the built-in ADULT data and ask the release a few questions.", "demo:demo"),
    "plan": Entry(
        "Forecast errors, time and memory at several ε, before anything is paid for.", "plan:plan"
    ),
    "fit": Entry("Fit a release: spend a privacy budget on private records, once.", "fit:fit"),
    "tune": Entry(
        "Choose the rounds and queries per round of RAP within one budget, and fit a release.",
        "tune:tune_command",
    ),
    "answer": Entry(
        "Ask a release any number of questions. This costs no privacy.", "answer:answer"
    ),
    "table": Entry(
        "Show a table of a release by one, two or three features. This costs no privacy.",
        "table:table",
    ),
    "numbers": Entry(
        "Show the mean, sum, quartiles and histogram of numbers. This costs no privacy.",
        "numbers:numbers",
    ),
    "sample": Entry(
        "Draw synthetic records from a release. This costs no privacy.", "sample:sample"
    ),
    "evaluate": Entry(
        "Compare a release with the truth and with every baseline at the same budget.",
        "evaluate:evaluate",
    ),
    "report": Entry(
        "Write a page about a release: findings, what was measured and how noisy, and the promise.",
        "report:report",
    ),
    "explore": Entry(
        "Write a page that answers questions about a release in the browser, without a server.",
        "explore:explore",
    ),
    "serve": Entry(
        "Serve releases on this machine: a page for people, an API for programs.", "serve:serve"
    ),
    "reproduce": Entry("Run the paper's experiments and draw its figures.", "reproduce:reproduce"),
    "schema": Entry(
        "Draft and check schemas, the public description of a table.",
        commands={
            "draft": Entry("Guess a schema from a file, for you to review.", "schema:draft"),
            "check": Entry("Read a schema file and say what it describes.", "schema:check"),
        },
    ),
    "workload": Entry(
        "Make, merge and look at workload files: the thresholds to be answered.",
        commands={
            "random": Entry(
                "Draw thresholds over k features at random.", "workload:random_workload"
            ),
            "augment": Entry(
                "Add random thresholds to a small historical workload.", "workload:augmented"
            ),
            "from-log": Entry(
                "Turn a log of past queries into a historical workload.", "workload:from_log"
            ),
            "all": Entry("Take every threshold over k of the features.", "workload:all_thresholds"),
            "show": Entry(
                "Show what a workload asks for, and what it leaves out.",
                "workload_files:show_workload",
            ),
            "merge": Entry(
                "Merge workloads into one; weights are added up.", "workload_files:merge"
            ),
        },
    ),
    "drift": Entry("Tell how far interests moved from one log to another.", "drift:drift"),
    "ledger": Entry(
        "Keep the budget of a data set over all its releases.",
        commands={
            "create": Entry("Start the ledger of a data set.", "ledger:create"),
            "show": Entry(
                "Show what was spent, on which release, and what is left.", "ledger:show_ledger"
            ),
            "export": Entry(
                "Write everything that a ledger says as JSON, for auditors.", "ledger:export"
            ),
            "correct": Entry("Declare that the data of a ledger were corrected.", "ledger:correct"),
        },
    ),
}
"""Every command, in the order of the help."""


class LazyGroup(TyperGroup):
    """A group of commands, each a line of help until it is run."""

    def __init__(self, *, listed: Mapping[str, Entry] = COMMANDS, **settings: Any) -> None:
        super().__init__(**settings)
        self._listed = listed
        for name, entry in listed.items():
            self.commands[name] = _line(name, entry)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command to run, and import it."""
        entry = self._listed.get(args[0])
        if entry is not None and entry.function:
            self.commands[args[0]] = load_command(args[0], entry)
        return super().resolve_command(ctx, args)


def load_command(name: str, entry: Entry) -> Any:
    """Import the function of a command and make a command of it."""
    module, _, function = entry.function.partition(":")
    callback = getattr(import_module(f"thresher.cli.{module}"), function)
    alone = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    alone.command(name, help=_laid_out(callback.__doc__))(_in_words_of_the_command_line(callback))
    return typer.main.get_command(alone)


def _line(name: str, entry: Entry) -> Any:
    if entry.commands:
        return LazyGroup(
            listed=entry.commands, name=name, help=entry.line, short_help=entry.line,
            no_args_is_help=True, rich_markup_mode=None,
        )  # fmt: skip
    return TyperCommand(name, callback=None, help=entry.line, short_help=entry.line)


def _laid_out(docstring: str) -> str:
    """A docstring as help: click fills paragraphs, except those that start with a backspace."""
    paragraphs = inspect.cleandoc(docstring).split("\n\n")
    return "\n\n".join(f"\b\n{p}" if "\n " in p else p for p in paragraphs)


PYTHON = {
    "Ledger.declare_corrected": "`thresher ledger correct LEDGER DATA --why …`",
    "Ledger.create": "`thresher ledger create`",
    "Ledger.open": "`thresher ledger show`",
    "(max_queries)": "(--max-queries)",
}
"""What the library's errors advise, and what does the same on the command line."""


def _in_words_of_the_command_line(callback: Callable[..., None]) -> Callable[..., None]:
    """Let a command's errors name options such as --rounds where the library says rounds."""

    @functools.wraps(callback)
    def run(*args: Any, **options: Any) -> None:
        try:
            callback(*args, **options)
        except ThresherError as fault:
            fault.args = (_translated(str(fault), options),)
            raise

    return run


def _translated(words: str, options: Mapping[str, Any]) -> str:
    for python, command in PYTHON.items():
        words = words.replace(python, command)
    subject = re.match(r"(\w+)(?= must )", words)
    if subject is None or subject[0] not in options:
        return words
    dashes = "-" if len(subject[0]) == 1 else "--"
    return dashes + subject[0].replace("_", "-") + words[subject.end() :]
