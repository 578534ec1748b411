"""`thresher report`: a release as one page for people."""

from pathlib import Path
from typing import Annotated

import typer

from thresher.cli.console import print_json, say, show, working
from thresher.cli.evaluate import STAMP, compared_on, number_counted
from thresher.cli.imprint import PageContact, PageFile, PageOwner, PageTitle, imprint_of
from thresher.cli.inputs import load_records
from thresher.cli.options import (
    AsJson,
    BaselineSeed,
    LineBreaks,
    OtherWorkload,
    ReleaseFolder,
    usable_path,
)
from thresher.data.engines.address import without_secrets
from thresher.errors import DataError, ParameterError
from thresher.evaluation.comparison import compare
from thresher.files import write_text
from thresher.release import Release, load
from thresher.report import Comparison, release_page


def report(
    release: ReleaseFolder,
    output: PageFile = Path("report.html"),
    data: Annotated[
        str | None,
        typer.Option(
            metavar="DATA",
            help="The private records: a file, a database URL or `adult`. Adds errors beside the "
            "baselines, and makes the page not private.",
            callback=usable_path,
        ),
    ] = None,
    workload: OtherWorkload = None,
    line_breaks: LineBreaks = False,
    seed: BaselineSeed = 0,
    title: PageTitle = "",
    owner: PageOwner = "",
    contact: PageContact = "",
    as_json: AsJson = False,
) -> None:
    """Write a page about a release: findings, what was measured and how noisy, and the promise.

    It is the page of `thresher explore`, opened at its report. It costs no privacy, works offline
    and prints well. With --data it shows errors computed from the private records. It is then NOT
    PRIVATE, and says so.

    Example:
        thresher report people-release --output people.html
    """
    if workload is not None and data is None:
        raise ParameterError("--workload says what to compare on: give --data too")
    published = load(release)
    comparison = None if data is None else _compared(published, data, workload, line_breaks, seed)
    with working("drawing"):
        imprint = imprint_of(release, title, owner, contact)
        write_text(output, release_page(published, imprint, "report", comparison))
    if comparison:
        say(STAMP)
    if as_json:
        warning = {"warning": STAMP} if comparison else {}
        print_json({"report": str(output), "private": comparison is None, **warning})
    else:
        show(f"wrote {output}" + (" (not private)" if comparison else ""))


def _compared(
    published: Release, data: str, workload: Path | None, line_breaks: bool, seed: int
) -> Comparison:
    records = load_records(
        data, published.schema, line_breaks, published.unit.person, case_sensitive_ids=True
    )
    if (n := number_counted(published, records)) != published.n and not published.n_sigma:
        raise DataError(
            f"{without_secrets(data)} holds {n:,} {published.unit.counted}, and the release was "
            f"made from {published.n:,}: give the data that it was made from"
        )
    work = compared_on(published, workload)
    with working("comparing"):
        return Comparison(work, compare(published, records, work, seed))
