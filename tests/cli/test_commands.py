"""The tree of commands: imported on demand, and the help that stands in it is the commands'."""

import inspect
import subprocess
import sys

import pytest
import typer

from thresher.cli import app
from thresher.cli.commands import COMMANDS, load_command

EVERY = {
    f"{name} {sub}".strip(): entry
    for name, group in COMMANDS.items()
    for sub, entry in (group.commands or {"": group}).items()
}
GROUPS = [name for name, group in COMMANDS.items() if group.commands]
PROGRAM = """
import sys
sys.argv = ["thresher", *{words!r}]
from thresher.cli import main
try:
    main()
except SystemExit as ended:
    status = ended.code
sys.stderr.write("LOADED " + " ".join(sys.modules))
"""


def loaded(*words: str) -> set[str]:
    """The modules that a command line imports in a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(words=words)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return set(done.stderr.rpartition("LOADED ")[2].split())


@pytest.mark.parametrize("name", EVERY)
def test_the_line_of_help_is_the_first_of_the_docstring(name):
    entry = EVERY[name]
    command = load_command(name.split()[-1], entry)
    assert inspect.cleandoc(command.callback.__doc__).splitlines()[0] == entry.line


@pytest.mark.parametrize("name", EVERY)
def test_the_help_of_a_command_teaches(thresher, name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    told = thresher(f"{name} --help")
    assert (told.status, told.err) == (0, "")
    assert told.out.startswith(f"Usage: thresher {name} ")
    assert EVERY[name].line.split(".")[0][:50] in told.out
    assert f"Example:\n      thresher {name}" in told.out
    assert "<bool>" not in told.out
    assert "\x1b" not in told.out
    assert all(len(line) <= 80 for line in told.out.splitlines())


@pytest.mark.parametrize("group", ["", *GROUPS])
def test_the_help_of_a_group_lists_its_commands(thresher, group):
    told = thresher(f"{group} --help")
    filled = " ".join(told.out.split())
    for name, entry in (COMMANDS[group].commands if group else COMMANDS).items():
        assert f"{name} {entry.line}" in filled


def test_every_command_can_be_listed_without_importing_it():
    listed = typer.main.get_command(app).commands
    assert {name: set(getattr(c, "commands", {})) for name, c in listed.items()} == {
        name: set(entry.commands) for name, entry in COMMANDS.items()
    }


@pytest.mark.parametrize("words", [["--help"], ["workload", "--help"], ["--version"], ["wrong"]])
def test_help_imports_nothing_heavy(words):
    found = loaded(*words)
    assert "thresher.cli.commands" in found
    assert not found & {"numpy", "numba", "pandas", "pyarrow", "rich", "thresher.privacy"}
    assert not any(name.startswith("thresher.cli.fit") for name in found)


def test_an_answer_imports_no_more_than_a_release_needs(release):
    found = loaded("answer", str(release), "town=A")
    assert "thresher.release.folder" in found
    assert not found & {"rich", "typer.rich_utils", "thresher.privacy.curator", "thresher.data"}
    assert not found & {"numba", "pandas", "pyarrow"}
    packages = ("mechanisms", "evaluation", "reproduction", "report")
    assert not [name for name in found if name.startswith(tuple(f"thresher.{p}" for p in packages))]


def test_version(thresher):
    told = thresher("--version")
    assert told.status == 0
    assert told.out.startswith("thresher ")
    assert told.out.count("\n") == 1


def test_a_command_that_is_misspelled(thresher):
    told = thresher("sampel")
    assert told.status == 2
    assert "Did you mean 'sample'?" in told.err
