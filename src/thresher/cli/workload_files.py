"""`thresher workload show` and `merge`: look at workload files, and put several together."""

import functools
import operator
from pathlib import Path
from typing import Annotated

import typer

from thresher.cli.console import print_json, show
from thresher.cli.inputs import named_schema
from thresher.cli.options import AsJson, usable_path, usable_paths
from thresher.cli.workload import WORKLOAD, Output, SchemaOption, write
from thresher.queries import Workload
from thresher.queries.overview import Overview


def show_workload(
    workload: Annotated[
        Path, typer.Argument(metavar="FILE", help="The workload file.", callback=usable_path)
    ],
    most: Annotated[
        int,
        typer.Option(metavar="NUMBER", help="How many of the largest thresholds to show.", min=1),
    ] = 10,
    schema: SchemaOption = None,
    as_json: AsJson = False,
) -> None:
    """Show what a workload asks for, and what it leaves out.

    The largest thresholds are those with the most queries. They cost most time, and their answers
    add up the noise of most cells.

    Example:
        thresher workload show workload.json --schema schema.json
    """
    work = Workload.load(workload, named_schema(schema))
    seen = Overview(work)
    if as_json:
        print_json({"workload": str(workload), **seen.as_json(most)})
        return
    show(f"{len(work)} thresholds, {work.query_count:,} queries")
    for (k, r), number in seen.kinds.items():
        show(f"{number:8,}  {r} of {k}" + (" (marginal tables)" if r == k else ""))
    show("largest thresholds, with their numbers of queries:")
    weights = dict(zip(work.thresholds, work.weights, strict=True))
    for threshold, queries in seen.most_expensive[:most]:
        weighed = f"  (weight {weights[threshold]:g})" if work.has_weights else ""
        show(f"{queries:12,}  {threshold.r} of: {', '.join(threshold.features)}{weighed}")
    if len(work) > most:
        show(f"              and {len(work) - most} smaller ones")
    named = ", ".join(f"{name} {times}" for name, times in seen.times_named.items())
    show(f"how many thresholds name each feature: {named}")
    show(f"never asked: {', '.join(seen.never_asked) or 'none'}")


def merge(
    workloads: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Workload files.", callback=usable_paths),
    ],
    schema: SchemaOption = None,
    output: Output = WORKLOAD,
    as_json: AsJson = False,
) -> None:
    """Merge workloads into one; weights are added up.

    A threshold that is in several files is listed once.

    Example:
        thresher workload merge a.json b.json --schema schema.json -o both.json
    """
    features = named_schema(schema)
    parts = [Workload.load(path, features) for path in workloads]
    write(functools.reduce(operator.or_, parts), output, as_json)
