"""`thresher evaluate`: how wrong a release is, beside every baseline. Not private."""

from pathlib import Path
from typing import Annotated

import typer

from thresher.cli.console import print_json, say, show, warn, working
from thresher.cli.inputs import load_records
from thresher.cli.options import (
    AsJson,
    BaselineSeed,
    Data,
    LineBreaks,
    OtherWorkload,
    ReleaseFolder,
)
from thresher.data.engines.address import without_secrets
from thresher.data.persons import persons_in
from thresher.data.private import PrivateData
from thresher.evaluation.comparison import compare
from thresher.evaluation.cost import comparing
from thresher.evaluation.errors import Errors
from thresher.queries.workload import Workload
from thresher.release import Release, load

STAMP = "NOT PRIVATE, NOT FOR PUBLICATION: computed from the private records"

WORTH_SAYING = 5.0
"""From so many seconds on, how long it takes is said beforehand."""


def evaluate(
    release: ReleaseFolder,
    data: Data,
    workload: OtherWorkload = None,
    per_threshold: Annotated[
        bool, typer.Option("--per-threshold", help="Also show the maximum error of each threshold.")
    ] = False,
    line_breaks: LineBreaks = False,
    seed: BaselineSeed = 0,
    as_json: AsJson = False,
) -> None:
    """Compare a release with the truth and with every baseline at the same budget.

    The result is computed from the records. It is not private, and not for publication.

    Example:
        thresher evaluate people-release people.csv --per-threshold
    """
    published = load(release)
    records = load_records(
        data, published.schema, line_breaks, published.unit.person, case_sensitive_ids=True
    )
    work = compared_on(published, workload)
    if (n := number_counted(published, records)) != published.n and not published.n_sigma:
        warn(
            f"the release is of {published.n} {published.unit.counted}, and "
            f"{without_secrets(data)} has {n}"
        )
    if (expected := comparing(published, work)).seconds > WORTH_SAYING:
        seconds = expected.here()
        say(f"comparing {work.query_count:,} queries takes about {seconds:.0f} s of processor time")
    with working("comparing"):
        compared = compare(published, records, work, seed)
    say(STAMP)
    if as_json:
        print_json(_facts(work, compared, per_threshold))
    else:
        _tell(work, compared, per_threshold)


def number_counted(published: Release, records: PrivateData) -> int:
    """How many of what a release counts the records have."""
    return persons_in(records) if published.unit.counted == "persons" else records.n


def compared_on(published: Release, workload: Path | None) -> Workload:
    """The workload of a comparison: a file's, or the release's."""
    return Workload.load(workload, published.schema) if workload else published.workload


def _facts(work: Workload, compared: dict[str, Errors], per_threshold: bool) -> dict[str, object]:
    facts = {
        "queries": work.query_count,
        "thresholds": len(work),
        "errors": {name: {"max": e.max, "mean_max": e.mean_max} for name, e in compared.items()},
        "warning": STAMP,
    }
    if per_threshold:
        facts["by_threshold"] = {name: list(e.by_threshold) for name, e in compared.items()}
    return facts


def _tell(work: Workload, compared: dict[str, Errors], per_threshold: bool) -> None:
    show(STAMP)
    show(f"{len(work)} thresholds, {work.query_count:,} queries")
    show(f"{'':20} {'maximum error':>14} {'mean of maxima':>15}")
    for name, errors in compared.items():
        show(f"{name:20} {errors.max:14.4f} {errors.mean_max:15.4f}")
    if not per_threshold:
        return
    show("maximum error by threshold: " + ", ".join(compared))
    for i, threshold in enumerate(work):
        numbers = " ".join(f"{errors.by_threshold[i]:.4f}" for errors in compared.values())
        show(f"  {numbers}  {threshold.r} of: {', '.join(threshold.features)}")
