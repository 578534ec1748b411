"""The documentation is true where a machine can tell: links, names, commands, examples."""

import importlib
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import typer

import thresher
from thresher.cli import app, main

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(ROOT.glob("*.md")) + sorted(DOCS.rglob("*.md"))
RUN = [ROOT / "README.md", *sorted((DOCS / "tutorials").glob("*.md"))]
TOPICS = (
    "workloads.md", "views.md", "ledger.md", "input-files.md", "units.md", "choosing-epsilon.md",
)  # fmt: skip
RUN += [DOCS / "topics" / name for name in TOPICS]
FENCE = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
COMMAND = re.compile(r"(?:^|`)thresher +([a-z][\w-]*(?: +[a-z][\w-]*)?)", re.MULTILINE)
MODULE = re.compile(r"`((?:[a-z_]+/)+[a-z_]+\.py)`")
RETIRED = re.compile(r"\b(felt|reach|miss|overlooked|besides|held|own|foreseen)\b", re.IGNORECASE)
WORDS = re.compile(r"[^\w\- ]")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> list[tuple[str, str]]:
    """The fenced blocks of a page that are to be run, in order: their language and their text."""
    found = FENCE.findall(page.read_text("utf-8"))
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


def full_commands() -> set[str]:
    """Every command as it is typed."""
    return {
        f"thresher {name} {sub}".strip()
        for name, subcommands in commands().items()
        for sub in subcommands or {""}
    }


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_relative_link_leads_somewhere(page):
    for link in LINK.findall(page.read_text("utf-8")):
        if "://" in link:
            continue
        target, _, anchor = link.partition("#")
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), link
        if anchor:
            assert anchor in anchors(file), link


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_command_that_is_named_exists(page):
    known = commands()
    for words in COMMAND.findall(page.read_text("utf-8")):
        command, *rest = words.split()
        assert command in known, f"thresher {words}"
        if known[command] and rest:
            assert rest[0] in known[command], f"thresher {words}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_module_that_is_named_exists(page):
    for path in MODULE.findall(page.read_text("utf-8")):
        assert (ROOT / path).exists() or (ROOT / "src" / "thresher" / path).exists(), path


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_prose_does_without_retired_words(page):
    # Names of fields and quoted code are what they are; the promise is rewritten elsewhere.
    prose = re.sub(r"```.*?```|`[^`]*`", "", page.read_text("utf-8"), flags=re.DOTALL)
    if page.name != "privacy-promise.md":
        assert not RETIRED.findall(prose)


def test_the_reference_has_a_section_for_every_command():
    page = (DOCS / "reference" / "command-line.md").read_text("utf-8")
    assert set(re.findall(r"^## (thresher .*)$", page, re.MULTILINE)) == full_commands()
    for command in full_commands():
        assert f"<!-- options: {command.removeprefix('thresher ')} -->" in page


def test_the_reference_has_an_entry_for_every_public_name():
    pages = "".join(p.read_text("utf-8") for p in (DOCS / "reference" / "python").glob("*.md"))
    entries = re.findall(r"^::: thresher\.(\S+)$", pages, re.MULTILINE)
    assert len(entries) == len(set(entries))
    assert {entry for entry in entries if "." not in entry} == set(thresher.__all__)
    for entry in entries:
        package, _, name = f"thresher.{entry}".rpartition(".")
        assert hasattr(importlib.import_module(package), name), entry


def test_the_architecture_names_every_package():
    page = (DOCS / "architecture.md").read_text("utf-8")
    for package in (ROOT / "src" / "thresher").glob("*/__init__.py"):
        assert f"      {package.parent.name}/ " in page
    for module in (ROOT / "src" / "thresher").glob("[!_]*.py"):
        assert f"      {module.name} " in page


def test_every_page_is_in_the_navigation():
    # mkdocs itself checks that, if it is asked to be strict; this needs no mkdocs.
    nav = (ROOT / "mkdocs.yml").read_text("utf-8")
    for page in [*DOCS.rglob("*.md"), *DOCS.rglob("*.ipynb")]:
        assert str(page.relative_to(DOCS)) in nav


def test_the_summary_of_the_accuracy_page_is_short():
    page = (DOCS / "accuracy.md").read_text("utf-8")
    summary = page.split("## In short")[1].split("\n## ")[0]
    assert 150 <= len(summary.split()) <= 300


def test_the_oldest_dependencies_are_the_lower_bounds():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    pinned = (ROOT / "constraints" / "oldest.txt").read_text("utf-8")
    lines = {line for line in pinned.splitlines() if not line.startswith("#")}
    bounds = {f"{bound.replace('>=', '==')}.*" for bound in project["dependencies"]}
    assert lines - bounds == {"click==8.2.*"}
    assert bounds <= lines


def test_every_dependency_has_its_reason():
    page = (DOCS / "dependencies.md").read_text("utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    for needed in [*project["dependencies"], *(one for extra in extras.values() for one in extra)]:
        name = re.split(r"[\[><=]", needed)[0]
        assert name == "thresher" or re.search(rf"\b{name}\b", page), name


@pytest.mark.parametrize("page", RUN, ids=name_of)
def test_the_examples_run_from_top_to_bottom(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    if page.parent.name == "tutorials":
        shutil.copytree(page.parent / "acs", tmp_path / "acs")
    names: dict = {}
    ran = 0
    for language, text in blocks(page):
        if language == "python":
            exec(compile(text, str(page), "exec"), names)
            ran += 1
        elif language == "sh":
            for line in filter(None, text.splitlines()):
                words = shlex.split(line)
                if words[0] == "python":
                    subprocess.run([sys.executable, *words[1:]], check=True)
                    continue
                assert words[0] == "thresher", line
                monkeypatch.setattr(sys, "argv", words)
                with pytest.raises(SystemExit) as ended:
                    main()
                assert not ended.value.code, f"{line}\n{capsys.readouterr().err}"
                ran += 1
    assert ran


def test_the_examples_run_every_command_that_is_quick():
    run = "\n".join(text for page in RUN for language, text in blocks(page) if language == "sh")
    slow = {"thresher demo", "thresher tune", "thresher serve"}  # which never ends
    for command in full_commands() - slow:
        assert re.search(rf"^{command}\b", run, re.MULTILINE), command


def test_no_python_block_goes_unrun():
    for page in set(PAGES) - set(RUN):
        assert not [text for language, text in blocks(page) if language in ("python", "sh")]
