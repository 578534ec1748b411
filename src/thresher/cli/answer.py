"""`thresher answer`: ask a release."""

import json
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from thresher.cli.console import AsJson
from thresher.errors import DataError, ParameterError
from thresher.queries.query import Query
from thresher.queries.query_lines import read_queries
from thresher.release.answer import Answer
from thresher.release.folder import load


def answer(
    release: Annotated[Path, typer.Argument(help="The folder of a release.")],
    queries: Annotated[
        list[str] | None,
        typer.Argument(help='Queries such as "2 of: race=Black, sex=Female, income=>50K".'),
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--queries", help="A file with one query a line; - is stdin.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Ask a release any number of questions; it costs no privacy.

    Prints one line per query, with tabs between: the answer, the query, and ± how far the answer
    may be off, at 95 %, as far as public facts tell; nothing where they do not tell. Answers
    stream: a file of millions of queries needs no more memory than one of a few.

    Conditions: `race=Black`, `race!=White`, `age=65..84`, `education-num in {13,14}`; openings:
    `2 of:`, `all of:`, `any of:`.
    """
    published = load(release)
    if bool(queries) == bool(file):
        raise ParameterError("give queries as arguments, or a file of them with --queries")
    with ExitStack() as stack:
        read = (
            read_queries(_lines(file, stack), published.schema)
            if file
            else ((text, Query.parse(text, published.schema)) for text in queries or [])
        )
        texts: deque[str] = deque()

        def asked() -> Iterator[Query]:
            for text, query in read:
                texts.append(text)
                yield query

        _write(((texts.popleft(), a) for a in published.answer_trusted(asked())), as_json)


def _lines(file: Path, stack: ExitStack) -> Iterator[str]:
    try:
        opened = sys.stdin if str(file) == "-" else file.open(encoding="utf-8-sig")
        yield from stack.enter_context(opened)
    except OSError as fault:
        raise DataError(f"{file} cannot be read: {fault.strerror}") from None
    except UnicodeDecodeError:
        raise DataError(f"{file} is not text in UTF-8") from None


def _write(answers: Iterator[tuple[str, Answer]], as_json: bool) -> None:
    out = sys.stdout
    if not as_json:
        out.writelines(f"{answer:.6f}\t{text}\t{_bar(answer)}\n" for text, answer in answers)
        return
    # The first answer is computed before anything is printed: a mistake leaves no half object.
    entries = (
        json.dumps({"query": t, "answer": a, "error_bar": a.error_bar}, ensure_ascii=False)
        for t, a in answers
    )
    first = next(entries, "")
    out.write('{"answers": [' + first)
    out.writelines(f", {entry}" for entry in entries)
    out.write("]}\n")


def _bar(answer: Answer) -> str:
    return "" if answer.error_bar is None else f"±{answer.error_bar:.6f}"
