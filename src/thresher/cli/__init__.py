"""The command line: one file per command; see `thresher --help`."""

import sys
from typing import NoReturn

import typer

from thresher.cli import (
    answer,
    demo,
    evaluate,
    fit,
    ledger,
    report,
    reproduce,
    sample,
    schema,
    tune,
    workload,
)
from thresher.cli.console import Interrupted, say
from thresher.errors import ThresherError

app = typer.Typer(
    name="thresher",
    help="Answer very many r-of-k threshold queries about sensitive records, under differential "
    "privacy.\n\nStart with `thresher demo`.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
app.command("demo")(demo.demo)
app.command("fit")(fit.fit)
app.command("tune")(tune.tune_command)
app.command("answer")(answer.answer)
app.command("sample")(sample.sample)
app.command("evaluate")(evaluate.evaluate)
app.command("report")(report.report)
app.command("reproduce")(reproduce.reproduce)
app.add_typer(schema.app, name="schema")
app.add_typer(workload.app, name="workload")
app.add_typer(ledger.app, name="ledger")

INTERRUPTED = 130
"""The exit status after Ctrl-C, as a shell would have it; typer, too, turns Ctrl-C into it."""


def main() -> None:
    """Run the command line; a user's mistake is one line and exit status 2."""
    try:
        status = app(standalone_mode=False)
        if status == INTERRUPTED:
            _fail("interrupted", INTERRUPTED)
        sys.exit(status)
    except ThresherError as fault:
        _fail(str(fault).splitlines()[0], 2)
    except Interrupted as fault:
        _fail(f"interrupted; {fault}", INTERRUPTED)
    except (KeyboardInterrupt, typer.Abort):
        _fail("interrupted", INTERRUPTED)
    except Exception as fault:
        # A mistake in the command's own words; its class has moved between typer's versions.
        if not hasattr(fault, "exit_code") or not hasattr(fault, "format_message"):
            raise
        words = fault.format_message()
        if not words:  # A command of commands without one: typer has printed its help.
            sys.exit(fault.exit_code)
        _fail(f"{words} See `thresher --help`.", fault.exit_code)


def _fail(words: str, status: int) -> NoReturn:
    say(f"thresher: {words}")
    sys.exit(status)
