"""`thresher answer`: ask a release."""

import sys
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from thresher.cli.console import as_json_text, plain
from thresher.cli.lines import lines_of
from thresher.cli.options import AsJson, ReleaseFolder, usable_path
from thresher.errors import ParameterError
from thresher.queries.query import Query
from thresher.queries.query_lines import read_queries
from thresher.release import Answer, load


def answer(
    release: ReleaseFolder,
    queries: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="QUERY",
            help='Queries such as "2 of: race=Black, sex=Female, income=>50K".',
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--queries", metavar="FILE", help="A file with one query a line; - is standard input.",
            callback=usable_path,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Ask a release any number of questions. This costs no privacy.

    Prints one line per query, with tabs between: the answer, the query, and its margin of error at
    95 %. The margin is empty where it is not known. A file of millions of queries needs no more
    memory than one of a few.

    Conditions are `race=Black`, `race!=White`, `age=65..84` and `education-num in {13,14}`. A
    query starts with `2 of:`, `all of:` or `any of:`.

    Example:
        thresher answer people-release "2 of: race=Black, sex=Female, income=>50K"
        thresher answer people-release --queries questions.txt --json
    """
    published = load(release)
    if bool(queries) == bool(file):
        raise ParameterError("give queries as arguments, or a file of them with --queries")
    read = (
        read_queries(lines_of(file), published.schema)
        if file
        else ((text, Query.parse(text, published.schema)) for text in queries or [])
    )
    texts: deque[str] = deque()

    def asked() -> Iterator[Query]:
        for text, query in read:
            texts.append(text)
            yield query

    _write(((texts.popleft(), a) for a in published.answer_trusted(asked())), as_json)


def _write(answers: Iterator[tuple[str, Answer]], as_json: bool) -> None:
    out = sys.stdout
    if not as_json:
        out.writelines(f"{answer:.6f}\t{plain(text)}\t{_bar(answer)}\n" for text, answer in answers)
        return
    # The first answer is computed before anything is printed: a mistake leaves no half object.
    entries = (
        as_json_text({"query": t, "answer": a, "error_bar": a.error_bar}) for t, a in answers
    )
    first = next(entries, "")
    out.write('{"answers": [' + first)
    out.writelines(f", {entry}" for entry in entries)
    out.write("]}\n")


def _bar(answer: Answer) -> str:
    return "" if answer.error_bar is None else f"±{answer.error_bar:.6f}"
