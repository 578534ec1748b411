"""`thresher reproduce`: the paper's figures, run and drawn."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from thresher.cli.console import AsJson, print_json, say, show
from thresher.errors import ParameterError

NEEDED = ("matplotlib", "statsmodels", "joblib", "distributed")


def reproduce(
    figures: Annotated[
        list[str] | None, typer.Argument(metavar="FIGURE…|all", help="Which figures; see --list.")
    ] = None,
    scale: Annotated[str, typer.Option(help="smoke, quick or paper.")] = "quick",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="A folder; a rerun goes on from what is there."),
    ] = None,
    list_figures: Annotated[bool, typer.Option("--list", help="List the figures.")] = False,
    data: Annotated[
        str | None, typer.Option(help="Only adult, or only loans; both if not given.")
    ] = None,
    loans: Annotated[
        Path | None,
        typer.Option(help="The LOANS file (loans.csv); a made-up stand-in if not given."),
    ] = None,
    repetitions: Annotated[
        int | None,
        typer.Option(help="Repetitions of every setting; those of the scale if not given.", min=1),
    ] = None,
    processes: Annotated[
        int | None, typer.Option(help="Processes; as many as cores if not given.", min=1)
    ] = None,
    dask: Annotated[
        str | None, typer.Option(help="The address of a Dask scheduler to run on instead.")
    ] = None,
    optimizer: Annotated[
        str, typer.Option(help="How D' is fitted: accelerated, or adam, the paper's way.")
    ] = "accelerated",
    as_json: AsJson = False,
) -> None:
    """Run the paper's experiments and draw its figures.

    Results go to one file, `results.csv`, run by run: after an interruption the same command goes
    on where it stopped. At scale `paper` ADULT takes some weeks of one core, and LOANS a year: see
    --data and --dask.
    """
    for module in NEEDED:
        if find_spec(module) is None:
            raise ParameterError(f"reproduce needs {module}: pip install 'thresher[experiments]'")
    from thresher.relaxed.projection import OPTIMISERS
    from thresher.reproduction import figures as experiments
    from thresher.reproduction.data import loans_source, title_of

    if list_figures:
        about = {name: figure.about for name, figure in experiments.FIGURES.items()}
        if as_json:
            print_json({"figures": about})
        else:
            for name, words in about.items():
                show(f"{name:22} {words}")
        return
    if not figures:
        raise ParameterError("name a figure, or `all`; `thresher reproduce --list` lists them")
    if output is None:
        raise ParameterError("say where the results go: -o FOLDER")
    if optimizer not in OPTIMISERS:
        raise ParameterError(f"--optimizer must be one of {', '.join(OPTIMISERS)}")
    experiments.figures_named(figures)
    name, sources = loans_source(loans)
    wanted = replace(experiments.scale_named(scale).with_loans(name), optimizer=optimizer)
    if data is not None:
        wanted = wanted.only(data)
    if repetitions is not None:
        wanted = wanted.repeated(repetitions)
    titles = [title_of(name) for name in wanted.data]
    say(f"scale {scale}: {', '.join(titles)}")
    began = time.perf_counter()
    with _progress() as watch:
        written, skipped = experiments.reproduce(
            figures,
            wanted,
            output,
            sources=sources,
            workforce=experiments.Workforce(processes, dask),
            watch=watch,
        )
    reasons = list(dict.fromkeys(one.reason for one in skipped))
    for reason in reasons:
        count = sum(one.reason == reason for one in skipped)
        say(f"thresher: {count} run(s) skipped: {reason}")
    if as_json:
        print_json(
            {
                "scale": scale,
                "data": titles,
                "files": [str(path) for path in written],
                "skipped": reasons,
                "seconds": round(time.perf_counter() - began, 1),
            }
        )
        return
    for path in written:
        show(str(path))


@contextmanager
def _progress() -> Iterator[Callable[[float, float, str], None]]:
    """A bar on standard error with the time left; runs count by how long they should take."""
    console = Console(stderr=True, highlight=False)
    columns = (
        TextColumn("running"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(), TextColumn("left:"), TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )  # fmt: skip
    # Where nobody watches, even a line that is wiped away leaves a blank one behind.
    silent = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=silent) as progress:
        line = progress.add_task("", total=None)

        def watch(done: float, total: float, kind: str) -> None:
            progress.update(line, completed=done, total=total, description=kind)

        yield watch
