"""The documentation is true where a machine can tell: links, commands, examples."""

import re
import shlex
import sys
from itertools import chain
from pathlib import Path

import pytest
import typer

from thresher.cli import app, main

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
PAGES += sorted((ROOT / "docs").glob("*.md"))
FENCE = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
COMMAND = re.compile(r"(?:^|`)thresher +([a-z][\w-]*(?: +[a-z][\w-]*)?)", re.MULTILINE)
WORDS = re.compile(r"[^\w\- ]")


def blocks(page: str) -> list[tuple[str, str]]:
    """The fenced blocks of a page that are to be run, in order: their language and their text."""
    found = FENCE.findall((ROOT / page).read_text("utf-8"))
    return [(language, text) for language, more, text in found if "no-test" not in more]


def anchors(page: Path) -> set[str]:
    """The anchors that a page's headings make."""
    heads = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {WORDS.sub("", head.lower()).replace(" ", "-") for head in heads}


def commands() -> dict[str, set[str]]:
    """Every command of the command line, and its subcommands."""
    group = typer.main.get_command(app)
    listed = getattr(group, "commands", {})
    return {name: set(getattr(command, "commands", {})) for name, command in listed.items()}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_relative_link_leads_somewhere(page):
    for link in LINK.findall(page.read_text("utf-8")):
        if "://" in link:
            continue
        target, _, anchor = link.partition("#")
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), f"{page.name}: {link}"
        if anchor:
            assert anchor in anchors(file), f"{page.name}: {link}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_that_is_named_exists(page):
    known = commands()
    for words in COMMAND.findall(page.read_text("utf-8")):
        command, *rest = words.split()
        assert command in known, f"{page.name}: thresher {words}"
        if known[command] and rest:
            assert rest[0] in known[command], f"{page.name}: thresher {words}"


def test_every_command_is_in_the_guide():
    guide = (ROOT / "docs" / "guide.md").read_text("utf-8")
    for command, more in commands().items():
        for words in more or {""}:
            name = f"thresher {command} {words}".strip()
            assert name in guide or command == "demo", name


@pytest.mark.parametrize("page", ["README.md", "docs/guide.md"])
def test_the_examples_run_from_top_to_bottom(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    ran = 0
    for language, text in blocks(page):
        if language == "python":
            exec(compile(text, page, "exec"), names)
            ran += 1
        elif language == "sh":
            for line in filter(None, text.splitlines()):
                words = shlex.split(line)
                assert words[0] == "thresher", line
                monkeypatch.setattr(sys, "argv", words)
                with pytest.raises(SystemExit) as ended:
                    main()
                assert not ended.value.code, f"{line}\n{capsys.readouterr().err}"
                ran += 1
    assert ran


def test_the_guide_runs_every_command_that_is_quick():
    guide = "\n".join(text for language, text in blocks("docs/guide.md") if language == "sh")
    slow = {"demo", "tune", "reproduce"}
    run = set(chain.from_iterable(re.findall(r"^thresher (\w+)()", guide, re.MULTILINE)))
    assert set(commands()) - slow <= run
