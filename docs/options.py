"""Hook of mkdocs: lists every command's options on the page of the command line."""

import re
from pathlib import Path
from typing import Any

import typer

from thresher.cli import app

MARKER = re.compile(r"^<!-- options: ([a-z -]+) -->$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace each marker by the table of a command's arguments and options."""
    return MARKER.sub(lambda marker: table(marker[1].split()), markdown)


def table(words: list[str]) -> str:
    """The arguments and options of one command, as a table."""
    command: Any = typer.main.get_command(app)
    for word in words:
        command = command.commands[word]
    lines = ["| argument or option | meaning | if not given |", "|---|---|---|"]
    for parameter in command.params:
        names = " ".join(f"`{name}`" for name in parameter.opts)
        if parameter.param_type_name == "argument":
            names = f"`{parameter.name.upper()}`"
        lines.append(f"| {names} | {_cell(parameter.help)} | {_default(parameter)} |")
    return "\n".join(lines) if command.params else ""


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    plain = isinstance(parameter.default, int | float | str | Path)
    return f"`{parameter.default}`" if plain and parameter.default is not False else ""


def _cell(text: str | None) -> str:
    return (text or "").replace("|", "\\|").replace("{", "&#123;")
