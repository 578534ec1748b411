"""`thresher evaluate`: how wrong a release is, beside every baseline. Not private."""

from pathlib import Path
from typing import Annotated

import typer

from thresher.cli.console import AsJson, load_with, print_json, say, show, working
from thresher.errors import ResourceError
from thresher.evaluation.comparison import compare
from thresher.queries.workload import Workload
from thresher.release.folder import load

STAMP = "NOT PRIVATE, NOT FOR PUBLICATION: computed from the private records"


def evaluate(
    release: Annotated[Path, typer.Argument(help="The folder of a release.")],
    data: Annotated[str, typer.Argument(help="The private records: a file, or `adult`.")],
    workload: Annotated[
        Path | None,
        typer.Option("--workload", "-w", help="A workload; the release's if not given."),
    ] = None,
    per_threshold: Annotated[
        bool, typer.Option("--per-threshold", help="Also show the maximum error of each threshold.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the baselines' noise.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Compare a release with the truth and with every baseline at the same budget.

    Not private, and not for publication: it looks at the records.
    """
    published = load(release)
    records = load_with(data, published.schema)
    work = Workload.load(workload, published.schema) if workload else published.workload
    if records.n != published.n:
        say(
            f"thresher: warning: the release is of {published.n} records, and {data} has "
            f"{records.n}"
        )
    with working("comparing"):
        try:
            compared = compare(published, records, work, seed)
        except ResourceError as fault:
            say(f"thresher: {fault}")
            raise
    say(STAMP)
    if as_json:
        errors = {name: {"max": e.max, "mean_max": e.mean_max} for name, e in compared.items()}
        print_json(
            {
                "queries": work.query_count,
                "thresholds": len(work),
                "errors": errors,
                "warning": STAMP,
                **(
                    {"by_threshold": {n: list(e.by_threshold) for n, e in compared.items()}}
                    if per_threshold
                    else {}
                ),
            }
        )
        return
    show(STAMP)
    show(f"{len(work)} thresholds, {work.query_count:,} queries")
    show(f"{'':20} {'maximum error':>14} {'mean of maxima':>15}")
    for name, errors_ in compared.items():
        show(f"{name:20} {errors_.max:14.4f} {errors_.mean_max:15.4f}")
    if per_threshold:
        show("maximum error by threshold: " + ", ".join(compared))
        for i, threshold in enumerate(work):
            numbers = " ".join(f"{e.by_threshold[i]:.4f}" for e in compared.values())
            show(f"  {numbers}  {threshold.r} of: {', '.join(threshold.features)}")
