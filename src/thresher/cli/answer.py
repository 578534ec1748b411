"""`thresher answer`: ask a release."""

import sys
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, groupby
from pathlib import Path
from typing import Annotated

import typer

from thresher.cli.console import as_json_text, plain, say
from thresher.cli.kept import say_how_it_was_read
from thresher.cli.lines import lines_of
from thresher.cli.options import AsJson, ReleaseFolder, usable_path
from thresher.errors import ParameterError, QueryError
from thresher.queries.conditional import ConditionalQuery, parse_query
from thresher.queries.number_query import NumberQuery, asks_for_a_number
from thresher.queries.query import Query
from thresher.queries.query_lines import read_queries
from thresher.release import Answer, Release, load
from thresher.release.numbers import Estimate


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
            "--queries", "-f", metavar="FILE",
            help="A file with one query a line; - is standard input.",
            callback=usable_path,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Ask a release any number of questions. This costs no privacy.

    Prints one line per query, with tabs between: the share of people, the query, its margin of
    error at 95 %, and the number of people with its margin. A margin with ~ is an estimate: nothing
    that was measured bounds the error. A file of millions of queries needs no more memory than one
    of a few. A query that cannot be answered is reported, and the others are answered; the exit
    status is 2 then.

    Conditions are `race=Black`, `race!=White`, `age=65..84`, `age>=65` and `education-num in
    {13,14}`. A query starts with `2 of:`, `all of:` or `any of:`. The share among some people is
    `share of income=>50K among sex=Female`. Numbers are asked for by `mean of age`, `sum of age`,
    `median of age` and `quantile 0.9 of age`, with `among sex=Female` or without; these lines have
    the ends of a 95 % interval in place of the number of people.

    Example:
        thresher answer people-release "2 of: race=Black, sex=Female, income=>50K"
        thresher answer people-release "mean of age among sex=Female"
        thresher answer people-release --queries questions.txt --json
    """
    published = load(release)
    if bool(queries) == bool(file):
        raise ParameterError("give queries as arguments, or a file of them with --queries")
    asked = _Asked(published)
    answers = asked.answers(lines_of(file) if file else None, queries or [])
    if as_json:
        _write_json(answers, asked)
    else:
        sys.stdout.writelines(f"{_line(text, answer)}\n" for text, answer in answers)
    if asked.faults:
        raise typer.Exit(2)


@dataclass
class _Asked:
    """Queries that are read, answered and, where they are wrong, reported on standard error.

    Attributes:
        release: Who answers.
        faults: The queries that are wrong, and why.
    """

    release: Release
    faults: list[dict[str, str]] = field(default_factory=list)

    def answers(
        self, lines: Iterable[str] | None, texts: list[str]
    ) -> Iterator[tuple[str, Answer | Estimate]]:
        """The answers to the queries of a file, or to some texts."""
        schema = self.release.schema
        numbered = enumerate(texts if lines is None else lines, start=1)
        for is_number, some in groupby(numbered, key=lambda line: asks_for_a_number(line[1])):
            number, first = next(some)
            those = chain([first], (line for _, line in some))  # noqa: B031, what is left of it
            named = "line" if lines is not None else "query" if len(texts) > 1 else ""
            if is_number:
                yield from self._numbers(those, number, named)
            elif lines is not None:
                yield from self._shares(read_queries(those, schema, self.report, number))
            else:
                yield from self._shares(self._each(those, number, named))

    def _numbers(
        self, texts: Iterable[str], start: int, named: str
    ) -> Iterator[tuple[str, Estimate]]:
        for number, text in enumerate(texts, start):
            try:
                query = NumberQuery.parse(text, self.release.schema)
                yield text.strip(), self.release.number(query)
            except QueryError as fault:
                self.report(text.strip(), _named(fault, named, number))
            else:
                if query.among is not None:
                    say_how_it_was_read(text.strip(), query.among.read_as)

    def _shares(
        self, read: Iterable[tuple[str, Query | ConditionalQuery]]
    ) -> Iterator[tuple[str, Answer]]:
        asked: deque[str] = deque()

        def good() -> Iterator[Query | ConditionalQuery]:
            for text, query in read:
                try:
                    self.release.check(query)
                except QueryError as fault:
                    self.report(text, fault)
                    continue
                asked.append(text)
                say_how_it_was_read(text, query.read_as)
                yield query

        for answer in self.release.answer_trusted(good()):
            yield asked.popleft(), answer

    def _each(
        self, texts: Iterable[str], start: int, named: str
    ) -> Iterator[tuple[str, Query | ConditionalQuery]]:
        for number, text in enumerate(texts, start):
            try:
                yield text, parse_query(text, self.release.schema)
            except QueryError as fault:
                self.report(text, _named(fault, named, number))

    def report(self, text: str, fault: QueryError) -> None:
        """Tell the user of a query that has no answer."""
        words = str(fault).partition("\n  ")[0]  # below, there is a picture of where it is
        say(f"thresher: {words}")
        self.faults.append({"query": text, "fault": words})


def _named(fault: QueryError, named: str, number: int) -> QueryError:
    return QueryError(f"{named} {number}: {fault}") if named else fault


def _write_json(answers: Iterator[tuple[str, Answer | Estimate]], asked: _Asked) -> None:
    # The first answer is computed before anything is printed: a mistake leaves no half object.
    entries = (as_json_text(_entry(text, answer)) for text, answer in answers)
    first = next(entries, "")
    if not first and asked.faults:
        return
    out = sys.stdout
    out.write('{"answers": [' + first)
    out.writelines(f", {entry}" for entry in entries)
    out.write("]" + (f', "faults": {as_json_text(asked.faults)}' if asked.faults else "") + "}\n")


def _entry(text: str, answer: Answer | Estimate) -> dict[str, object]:
    told: dict[str, object] = {"query": text, "answer": answer, "error_bar": answer.error_bar}
    if isinstance(answer, Estimate):
        told |= {"low": answer.low, "high": answer.high}
    else:
        told["count"] = answer.count
    told["is_estimated"] = answer.is_estimated
    if isinstance(answer, Answer) and answer.read_as:
        told["read_as"] = answer.read_as
    return told


def _line(text: str, answer: Answer | Estimate) -> str:
    sign = "~" if answer.is_estimated else ""
    if isinstance(answer, Estimate):
        ends = f"{answer.low:.6g} to {answer.high:.6g}"
        return f"{answer:.6g}\t{plain(text)}\t±{sign}{answer.error_bar:.6g}\t{ends}"
    share = "" if answer.error_bar is None else f"±{sign}{answer.error_bar:.6f}"
    count = f"{answer.count:.0f}" + (
        "" if answer.count_error_bar is None else f" ±{sign}{answer.count_error_bar:.0f}"
    )
    return f"{answer:.6f}\t{plain(text)}\t{share}\t{count}"
