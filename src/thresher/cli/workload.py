"""`thresher workload`: write down many thresholds in one line."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from thresher.cli.console import AsJson, load_schema, print_json, say, show
from thresher.errors import DataError, ParameterError, QueryError
from thresher.files import read_json
from thresher.queries import (
    FeatureDistribution,
    History,
    Workload,
    augment,
    small_history,
    threshold_workload,
)
from thresher.schema import Schema

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
SHOWN = 10
"""The most frequent thresholds of a log that are shown."""


@app.command("random")
def random_workload(
    k: Way,
    size: Annotated[int, typer.Option(help="How many thresholds.", min=1)],
    r: Matches = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same workload.")] = 0,
    schema: SchemaOption = None,
    max_queries: MostQueries = None,
    distribution: Annotated[
        str,
        typer.Option(
            help="How likely features are: `uniform`, `zipf`, `geometric`, or a JSON file "
            '{"age": 0.5, …}.'
        ),
    ] = "uniform",
    order_seed: Annotated[
        int, typer.Option(help="Seed of the order in which features are likely (zipf, geometric).")
    ] = 0,
    replacement: Annotated[
        bool,
        typer.Option(
            "--replacement", help="Thresholds may be drawn again; each is listed once all the same."
        ),
    ] = False,
    output: Output = WORKLOAD,
    as_json: AsJson = False,
) -> None:
    """Thresholds over k features at random, uniformly or by a distribution over the features."""
    features = load_schema("adult", schema)
    if distribution == "uniform" and not replacement:
        work = Workload.random(features, k, r, size=size, seed=seed, max_queries=max_queries)
    else:
        work = threshold_workload(
            _distribution(distribution, order_seed, features),
            k, r, size=size, seed=seed, replacement=replacement, max_queries=max_queries,
        )  # fmt: skip
    _write(work, output, as_json)


@app.command("augment")
def augmented(
    workload: Annotated[Path, typer.Argument(help="The historical workload.")],
    add: Annotated[
        int | None,
        typer.Option(help="How many to add; as many as there are too few, if not given.", min=1),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed adds the same thresholds.")] = 0,
    schema: SchemaOption = None,
    output: Output = WORKLOAD,
    as_json: AsJson = False,
) -> None:
    """Add uniformly random thresholds to a small historical workload, in its own mix of k and r.

    The paper's advice: at worst, future queries are answered as well as before.
    """
    past = Workload.load(workload, load_schema("adult", schema))
    work = augment(past, seed=seed, add=add)
    _warn_if_small(work)
    _write(work, output, as_json, added=len(work) - len(past))


@app.command("from-log")
def from_log(
    log: Annotated[Path, typer.Argument(help="Past queries in the query language, one a line.")],
    at_least: Annotated[
        int, typer.Option(help="Keep thresholds that were asked about so often.", min=1)
    ] = 1,
    schema: SchemaOption = None,
    output: Output = WORKLOAD,
    as_json: AsJson = False,
) -> None:
    """Turn a log of past queries into a historical workload, the most frequent thresholds first.

    The log tells what analysts asked, never what the records say.
    """
    features = load_schema("adult", schema)
    try:
        whole = History.from_log(_lines(log), features)
        history = whole.asked_at_least(at_least)
    except QueryError as fault:
        raise QueryError(f"{log}: {fault}") from None
    if not as_json:
        show(f"{whole.asked:,} queries about {len(whole.workload)} different thresholds")
        for threshold, times in list(zip(history.workload, history.times, strict=True))[:SHOWN]:
            show(f"{times:8,}  {threshold.r} of: {', '.join(threshold.features)}")
        if len(history.workload) > SHOWN:
            show(f"          and {len(history.workload) - SHOWN} less frequent ones")
    _warn_if_small(history.workload)
    _write(history.workload, output, as_json, asked=whole.asked, times=list(history.times))


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


def _distribution(name: str, seed: int, schema: Schema) -> FeatureDistribution:
    if name == "uniform":
        return FeatureDistribution.uniform(schema)
    if name == "zipf":
        return FeatureDistribution.zipf(schema, seed=seed)
    if name == "geometric":
        return FeatureDistribution.geometric(schema, seed=seed)
    if not name.endswith(".json"):
        raise ParameterError(
            f"--distribution is uniform, zipf, geometric or a JSON file, not {name!r}"
        )
    given = read_json(name, ParameterError)
    if not isinstance(given, dict):
        raise ParameterError(f'{name} must look like {{"age": 0.5, "sex": 0.5}}')
    try:
        return FeatureDistribution.of(schema, given)
    except (ParameterError, QueryError) as fault:
        raise ParameterError(f"{name}: {fault}") from None


def _lines(file: Path) -> Iterator[str]:
    try:
        with file.open(encoding="utf-8-sig") as opened:
            yield from opened
    except OSError as fault:
        raise DataError(f"{file} cannot be read: {fault.strerror}") from None
    except UnicodeDecodeError:
        raise DataError(f"{file} is not text in UTF-8") from None


def _warn_if_small(work: Workload) -> None:
    warning = small_history(work)
    if warning:
        say(f"thresher: warning: {warning}")


def _write(work: Workload, output: Path, as_json: bool, **more: object) -> None:
    work.save(output)
    if as_json:
        print_json(
            {
                "workload": str(output),
                "thresholds": len(work),
                "queries": work.query_count,
                **more,
            }
        )
    else:
        show(f"wrote {output}: {len(work)} thresholds, {work.query_count:,} queries")
