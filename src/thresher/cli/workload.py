"""`thresher workload`: write down many thresholds in one line."""

import functools
import operator
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from thresher.cli.console import counting, print_json, show, warn
from thresher.cli.inputs import named_schema
from thresher.cli.lines import lines_of
from thresher.cli.options import AsJson, names_in, output_option, usable_path, usable_paths
from thresher.errors import ParameterError, QueryError
from thresher.files import read_json
from thresher.queries import (
    FeatureDistribution,
    History,
    Query,
    Workload,
    augment,
    small_history,
    threshold_workload,
)
from thresher.queries.conditional import ConditionalQuery
from thresher.queries.proposals import propose_views, through_views
from thresher.queries.query_lines import read_queries
from thresher.schema import Schema

SchemaOption = Annotated[
    Path | None,
    typer.Option(
        "--schema",
        metavar="FILE",
        help="The schema file, or `adult` for that of the built-in data. It must be given.",
        callback=usable_path,
    ),
]
Way = Annotated[int, typer.Option("-k", metavar="NUMBER", help="Features per threshold.", min=1)]
Matches = Annotated[
    int | None,
    typer.Option(
        "-r", metavar="NUMBER", help="How many of the k must match. Default: k, a marginal."
    ),
]
MostQueries = Annotated[
    int | None,
    typer.Option(
        metavar="NUMBER",
        help="Leave out thresholds with more queries than this (n: the filter of Aydore et al.).",
    ),
]
Output = Annotated[
    Path,
    output_option("Where the workload goes."),
]
WORKLOAD = Path("workload.json")
SHOWN = 10
"""The most frequent thresholds of a log that are shown."""


def random_workload(
    k: Way,
    size: Annotated[int, typer.Option(metavar="NUMBER", help="How many thresholds.", min=1)],
    r: Matches = None,
    seed: Annotated[
        int, typer.Option(metavar="NUMBER", help="The same seed gives the same workload.")
    ] = 0,
    schema: SchemaOption = None,
    max_queries: MostQueries = None,
    distribution: Annotated[
        str,
        typer.Option(
            metavar="NAME|FILE",
            help="How likely features are: `uniform`, `zipf`, `geometric`, or a JSON file "
            '{"age": 0.5, …}.',
        ),
    ] = "uniform",
    order_seed: Annotated[
        int,
        typer.Option(
            metavar="NUMBER",
            help="Seed of the order of the features, the likeliest first (zipf, geometric).",
        ),
    ] = 0,
    replacement: Annotated[
        bool,
        typer.Option(
            "--replacement",
            help="Draw with replacement. A threshold that is drawn twice is listed once.",
        ),
    ] = False,
    output: Output = WORKLOAD,
    as_json: AsJson = False,
) -> None:
    """Draw thresholds over k features at random.

    All features are equally likely, unless --distribution says otherwise.

    Example:
        thresher workload random -k 3 -r 2 --size 64 --schema schema.json
    """
    features = named_schema(schema)
    if distribution == "uniform" and not replacement:
        work = Workload.random(features, k, r, size=size, seed=seed, max_queries=max_queries)
    else:
        work = threshold_workload(
            _distribution(distribution, order_seed, features),
            k, r, size=size, seed=seed, replacement=replacement, max_queries=max_queries,
        )  # fmt: skip
    write(work, output, as_json)


def augmented(
    workload: Annotated[
        Path, typer.Argument(metavar="FILE", help="The historical workload.", callback=usable_path)
    ],
    add: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            help="How many to add. Default: as many as a small history lacks.",
            min=1,
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(metavar="NUMBER", help="The same seed adds the same thresholds.")
    ] = 0,
    schema: SchemaOption = None,
    output: Output = WORKLOAD,
    as_json: AsJson = False,
) -> None:
    """Add random thresholds to a small historical workload.

    They are drawn uniformly, with the same mix of k and r. This is the paper's advice: at worst,
    future queries are answered as well as before.

    Example:
        thresher workload augment past.json --schema schema.json -o more.json
    """
    past = Workload.load(workload, named_schema(schema))
    work = augment(past, seed=seed, add=add)
    _warn_if_small(work)
    write(work, output, as_json, added=len(work) - len(past))


def from_log(
    logs: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Past queries in the query language, one a line; several logs are pooled.",
            callback=usable_paths,
        ),
    ],
    at_least: Annotated[
        int,
        typer.Option(
            metavar="NUMBER", help="Keep thresholds that were asked about this often.", min=1
        ),
    ] = 1,
    views: Annotated[
        bool,
        typer.Option(
            "--views",
            help="Ask about the ranges that analysts used, by views that the file declares.",
        ),
    ] = False,
    equal_weights: Annotated[
        bool,
        typer.Option(
            "--equal-weights",
            help="Let all thresholds matter alike, in place of how often each was asked about.",
        ),
    ] = False,
    schema: SchemaOption = None,
    output: Output = WORKLOAD,
    as_json: AsJson = False,
) -> None:
    """Turn a log of past queries into a historical workload.

    The most frequent thresholds come first, and how often each was asked about is its weight. A log
    tells what analysts asked, never what the records say.

    Example:
        thresher workload from-log questions.txt --at-least 2 --schema schema.json
    """
    features = named_schema(schema)
    asked = _read_logs(logs, features)
    proposed = propose_views(asked, features)
    if views:
        features = features.with_views(proposed)
    whole = History.of(features, (through_views(query, features) for query in asked))
    history = whole.asked_at_least(at_least)
    work = history.workload if equal_weights else history.weighted
    if not as_json:
        show(f"{whole.asked:,} queries about {len(whole.workload)} different thresholds")
        for threshold, times in list(zip(history.workload, history.times, strict=True))[:SHOWN]:
            show(f"{times:8,}  {threshold.r} of: {', '.join(threshold.features)}")
        if len(history.workload) > SHOWN:
            show(f"          and {len(history.workload) - SHOWN} less frequent ones")
        named = [f"{name} {share:.1%}" for name, share in whole.features.descending() if share]
        show(f"how often features were named: {', '.join(named)}")
        for view in proposed:
            labels = ", ".join(view.labels)
            show(f"{'view' if views else 'a view that --views would add'}, of {view.of}: {labels}")
    _warn_if_small(work)
    shares = {name: share for name, share in whole.features.descending() if share}
    write(
        work, output, as_json, asked=whole.asked, times=list(history.times), features=shares,
        views=[view.as_json() for view in proposed],
    )  # fmt: skip


def read_history(log: Path, schema: Schema) -> History:
    """What a log asked; an error names the log and its line."""
    return History.of(schema, (query.threshold for query in _read_logs([log], schema)))


def _read_logs(logs: Iterable[Path], schema: Schema) -> list[Query]:
    """The queries of several logs, pooled; an error names the log and its line."""
    asked: list[Query] = []
    for log in logs:
        try:
            with counting(f"reading {log}", "queries") as progress:
                read = read_queries(_counted(lines_of(log), progress), schema)
                # A share among some people needs the table of all features that it names.
                asked += [q.both if isinstance(q, ConditionalQuery) else q for _, q in read]
        except QueryError as fault:
            raise QueryError(f"{log}: {fault}") from None
    if not asked:
        raise QueryError(f"{', '.join(map(str, logs))}: the history holds no query")
    return asked


def all_thresholds(
    k: Annotated[
        list[int],
        typer.Option("-k", metavar="NUMBER", help="Features per threshold; repeatable.", min=1),
    ],
    r: Matches = None,
    among: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FEATURES",
            help="Take only such features: one, or several with commas; repeatable. Default: all.",
        ),
    ] = None,
    having: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FEATURES",
            help="A feature that every threshold has, such as an outcome; repeatable.",
        ),
    ] = None,
    schema: SchemaOption = None,
    max_queries: MostQueries = None,
    output: Output = WORKLOAD,
    as_json: AsJson = False,
) -> None:
    """Take every threshold over k of the features.

    Example:
        thresher workload all -k 3 --schema schema.json --output workload.json
        thresher workload all -k 2 -k 3 --among age,sex,race --schema adult
        thresher workload all -k 2 --having income --schema adult
    """
    features = named_schema(schema)
    chosen = None if among is None else _named(among, "--among", features)
    outcomes = _named(having or [], "--having", features)
    parts = [Workload.all(features, each, r, among=chosen, having=outcomes) for each in k]
    work = functools.reduce(operator.or_, parts)
    if max_queries is not None:
        filtered = work.within(max_queries)
        if not as_json:
            show(str(filtered))
        work = filtered.kept
    write(work, output, as_json)


def _named(given: list[str], flag: str, schema: Schema) -> list[str]:
    """The features that an option names: each by itself, or several with commas between them."""
    lists = ([text] if text in schema.names else names_in(text, flag) for text in given)
    return [name for names in lists for name in names]


def _counted(lines: Iterator[str], progress: Callable[[int], None]) -> Iterator[str]:
    """The same lines; whoever follows is told how many were read."""
    for number, line in enumerate(lines, 1):
        yield line
        if number % 1000 == 0:
            progress(number)


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


def _warn_if_small(work: Workload) -> None:
    warning = small_history(work)
    if warning:
        warn(warning)


def write(work: Workload, output: Path, as_json: bool, **more: object) -> None:
    """Write a workload file, and say what is in it."""
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
