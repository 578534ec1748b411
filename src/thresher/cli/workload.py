"""`thresher workload`: write down many thresholds in one line."""

from pathlib import Path
from typing import Annotated

import typer

from thresher.cli.console import AsJson, load_schema, print_json, show
from thresher.queries import Workload

app = typer.Typer(help="Make workload files: the thresholds to be answered.", no_args_is_help=True)

SchemaOption = Annotated[
    Path | None, typer.Option("--schema", help="The schema file; ADULT's if not given.")
]
Way = Annotated[int, typer.Option("-k", help="Features per threshold.", min=1)]
Matches = Annotated[
    int | None, typer.Option("-r", help="How many must match; k (marginals) if not given.")
]
MostQueries = Annotated[
    int | None,
    typer.Option(
        help="Leave out thresholds with more queries than this (n: the filter of Aydore et al.)."
    ),
]
Output = Annotated[Path, typer.Option("--output", "-o", help="Where the workload goes.")]
WORKLOAD = Path("workload.json")


@app.command("random")
def random_workload(
    k: Way,
    size: Annotated[int, typer.Option(help="How many thresholds.", min=1)],
    r: Matches = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same workload.")] = 0,
    schema: SchemaOption = None,
    max_queries: MostQueries = None,
    output: Output = WORKLOAD,
    as_json: AsJson = False,
) -> None:
    """Thresholds over k features, uniformly at random, no two alike."""
    features = load_schema("adult", schema)
    work = Workload.random(features, k, r, size=size, seed=seed, max_queries=max_queries)
    _write(work, output, as_json)


@app.command("all")
def all_thresholds(
    k: Way,
    r: Matches = None,
    schema: SchemaOption = None,
    max_queries: MostQueries = None,
    output: Output = WORKLOAD,
    as_json: AsJson = False,
) -> None:
    """Every threshold over k of the features."""
    work = Workload.all(load_schema("adult", schema), k, r)
    if max_queries is not None:
        filtered = work.within(max_queries)
        if not as_json:
            show(str(filtered))
        work = filtered.kept
    _write(work, output, as_json)


def _write(work: Workload, output: Path, as_json: bool) -> None:
    work.save(output)
    if as_json:
        print_json({"workload": str(output), "thresholds": len(work), "queries": work.query_count})
    else:
        show(f"wrote {output}: {len(work)} thresholds, {work.query_count:,} queries")
