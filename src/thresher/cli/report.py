"""`thresher report`: a release as one page for people."""

from pathlib import Path
from typing import Annotated

import typer

from thresher.cli.console import AsJson, load_with, print_json, say, show, working
from thresher.cli.evaluate import STAMP
from thresher.errors import DataError, ParameterError
from thresher.evaluation.comparison import compare
from thresher.files import write_text
from thresher.queries.workload import Workload
from thresher.release import Release
from thresher.release.folder import load
from thresher.report import Comparison, report_page


def report(
    release: Annotated[Path, typer.Argument(help="The folder of a release.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The .html file to write.")] = Path(
        "report.html"
    ),
    data: Annotated[
        str | None,
        typer.Option(
            help="The private records, a file or `adult`: adds errors beside the baselines, and "
            "makes the page not private."
        ),
    ] = None,
    workload: Annotated[
        Path | None,
        typer.Option("--workload", "-w", help="With --data: a workload other than the release's."),
    ] = None,
    seed: Annotated[int, typer.Option(help="With --data: seed of the baselines' noise.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Write a page about a release: its promise, its budget, its noise, and its data in pictures.

    It costs no privacy, works offline and prints well. With --data the page shows errors computed
    from the private records: it is then **not private**, and says so.
    """
    if workload is not None and data is None:
        raise ParameterError("--workload says what to compare on: give --data too")
    published = load(release)
    comparison = None if data is None else _compared(published, data, workload, seed)
    with working("drawing"):
        write_text(output, report_page(published, comparison))
    if comparison:
        say(STAMP)
    if as_json:
        warning = {"warning": STAMP} if comparison else {}
        print_json({"report": str(output), "private": comparison is None, **warning})
    else:
        show(f"wrote {output}" + (" (not private)" if comparison else ""))


def _compared(published: Release, data: str, workload: Path | None, seed: int) -> Comparison:
    records = load_with(data, published.schema)
    if records.n != published.n:
        raise DataError(
            f"{data} holds {records.n:,} records, and the release was made from {published.n:,}: "
            "give the data that it was made from"
        )
    work = Workload.load(workload, published.schema) if workload else published.workload
    with working("comparing"):
        return Comparison(work, compare(published, records, work, seed))
