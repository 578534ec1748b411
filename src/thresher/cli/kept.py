"""What commands that show a part of a release share: who is kept, and the file it is written to."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from thresher.cli.console import say
from thresher.errors import ParameterError
from thresher.queries.query import Query
from thresher.schema import Schema

Where = Annotated[
    str | None,
    typer.Option(metavar="QUERY", help='Only people who meet conditions: "age>=25".'),
]


def kept_by(where: str | None, schema: Schema) -> Query | None:
    """The conditions of `--where`, if there are any. Says how they were read, if otherwise."""
    if where is None:
        return None
    kept = Query.parse(where, schema)
    say_how_it_was_read(where, kept.read_as)
    return kept


def say_how_it_was_read(text: str, read_as: str | None) -> None:
    """Tell the user of ranges that were widened to whole bins."""
    if read_as is not None:
        say(f"thresher: {text} was read as {read_as}: bins end there")


@contextmanager
def writing(output: Path) -> Iterator[None]:
    """Say in one line why a file cannot be written."""
    try:
        yield
    except OSError as fault:
        raise ParameterError(f"{output} cannot be written: {fault.strerror}") from None
