"""The command line: one file per command; see `thresher --help`."""

import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, NoReturn

import typer

from thresher.cli.commands import LazyGroup
from thresher.cli.console import Interrupted, say, show
from thresher.errors import ThresherError
from thresher.wording import meant

app = typer.Typer(
    name="thresher",
    cls=LazyGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    # Plain text: flags look like flags, help can be searched, and rich need not be imported.
    rich_markup_mode=None,
)

INTERRUPTED = 130
"""The exit status after Ctrl-C, as a shell would have it; typer, too, turns Ctrl-C into it."""


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        show(f"thresher {version('thresher')}")
        raise typer.Exit


@app.callback()
def thresher(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Answer very many r-of-k threshold queries about sensitive records, under differential privacy.

    Start with `thresher demo`. `thresher COMMAND --help` explains a command, with an example.
    """  # noqa: E501


def main() -> None:
    """Run the command line; a user's mistake is one line and exit status 2."""
    _never_fail_to_print()
    try:
        with _warnings_said():
            status = app(prog_name="thresher", standalone_mode=False)
        if status == INTERRUPTED:
            _fail("interrupted", INTERRUPTED)
        sys.exit(status)
    except ThresherError as fault:
        # A mistake in a query comes with a picture of where it is, below the line.
        _fail(str(fault).partition("\n  ")[0], 2)
    except Interrupted as fault:
        _fail(f"interrupted; {fault}", INTERRUPTED)
    except (KeyboardInterrupt, typer.Abort):
        _fail("interrupted", INTERRUPTED)
    except OSError as fault:
        if fault.filename is None or fault.strerror is None:
            raise
        _fail(f"{fault.filename}: {fault.strerror}", 2)
    except Exception as fault:
        # A mistake in the command's own words; its class has moved between typer's versions.
        if not hasattr(fault, "exit_code") or not hasattr(fault, "format_message"):
            raise
        words = _with_the_nearest(fault.format_message())
        if type(fault).__name__ == "NoArgsIsHelpError":
            typer.echo(words)
            sys.exit(fault.exit_code)
        command = getattr(getattr(fault, "ctx", None), "command_path", "thresher")
        stop = "" if words.endswith((".", "?")) else "."
        _fail(f"{words}{stop} See `{command} --help`.", fault.exit_code)


def _with_the_nearest(words: str) -> str:
    """What typer says of a value that an option does not know, with the one that was meant."""
    found = re.search(r"(?:Value error, )?('([^']*)' is not one of (.+?))\.?$", words)
    if found is None:
        return words
    nearest = meant(found[2], re.findall(r"'([^']+)'", found[3]))
    return f"{words[: found.start()]}{found[1]}{nearest}."


def _never_fail_to_print() -> None:
    """Let a character that the terminal's encoding lacks be printed as an escape."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def _warnings_said() -> Iterator[None]:
    """Say each warning to the user once, in one line, when it is given."""
    said: set[str] = set()

    def tell(message: Warning | str, *_: Any, **__: Any) -> None:
        if str(message) not in said:
            said.add(str(message))
            say(f"thresher: warning: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = tell
        yield


def _fail(words: str, status: int) -> NoReturn:
    say(f"thresher: {words}")
    sys.exit(status)
