"""`thresher reproduce`: the paper's figures, run and drawn."""

import time
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thresher.cli.console import print_json, runs_of_experiments, say, show
from thresher.cli.options import AsJson, usable_path
from thresher.errors import ParameterError

if TYPE_CHECKING:
    from thresher.reproduction.running import Sources, Workforce
    from thresher.reproduction.scales import Scale

NEEDED = ("matplotlib", "statsmodels", "joblib", "distributed")


def reproduce(
    figures: Annotated[
        list[str] | None,
        typer.Argument(metavar="FIGURE", help="Which figures, or `all`; see --list."),
    ] = None,
    scale: Annotated[str, typer.Option(metavar="NAME", help="smoke, quick or paper.")] = "quick",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="Where results go. A rerun goes on from what is there.",
            callback=usable_path,
        ),
    ] = None,
    list_figures: Annotated[bool, typer.Option("--list", help="List the figures.")] = False,
    data: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only `adult`, or only `loans`.")
    ] = None,
    loans: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The LOANS file (loans.csv). Default: a made-up stand-in.",
            callback=usable_path,
        ),
    ] = None,
    repetitions: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            help="Repetitions of every setting. Default: those of the scale.",
            min=1,
        ),
    ] = None,
    processes: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", help="Processes. Default: as many as cores.", min=1),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="The address of a Dask scheduler to run on instead."),
    ] = None,
    optimizer: Annotated[
        str,
        typer.Option(metavar="NAME", help="How D' is fitted: accelerated, or the paper's adam."),
    ] = "accelerated",
    as_json: AsJson = False,
) -> None:
    """Run the paper's experiments and draw its figures.

    Results go to one file, `results.csv`, run by run. After an interruption the same command goes
    on where it stopped. At scale `paper` ADULT takes some weeks of one core, and LOANS a year: see
    --data and --dask.

    Example:
        thresher reproduce --list
        thresher reproduce present-error --scale quick --output results
    """
    for module in NEEDED:
        if find_spec(module) is None:
            raise ParameterError(f"reproduce needs {module}: pip install 'thresher[experiments]'")
    from thresher.reproduction.data import loans_source
    from thresher.reproduction.figures import Workforce

    if list_figures:
        _list(as_json)
        return
    wanted, folder = _checked(figures, output, optimizer)
    loans_name, sources = loans_source(loans)
    chosen = _scale(scale, loans_name, optimizer, data, repetitions)
    _run(wanted, scale, chosen, folder, sources, Workforce(processes, dask), as_json)


def _list(as_json: bool) -> None:
    from thresher.reproduction.figures import FIGURES

    about = {name: figure.about for name, figure in FIGURES.items()}
    if as_json:
        print_json({"figures": about})
        return
    for name, words in about.items():
        show(f"{name:22} {words}")


def _checked(
    figures: list[str] | None, output: Path | None, optimizer: str
) -> tuple[list[str], Path]:
    from thresher.relaxed.projection import OPTIMISERS
    from thresher.reproduction.figures import figures_named

    if not figures:
        raise ParameterError("name a figure, or `all`; `thresher reproduce --list` lists them")
    if output is None:
        raise ParameterError("say where the results go: -o FOLDER")
    if optimizer not in OPTIMISERS:
        raise ParameterError(f"--optimizer must be one of {', '.join(OPTIMISERS)}")
    figures_named(figures)
    return figures, output


def _scale(
    name: str, loans: str, optimizer: str, data: str | None, repetitions: int | None
) -> "Scale":
    from thresher.reproduction.figures import scale_named

    scale = replace(scale_named(name).with_loans(loans), optimizer=optimizer)
    if data is not None:
        scale = scale.only(data)
    return scale if repetitions is None else scale.repeated(repetitions)


def _run(
    figures: Sequence[str],
    name: str,
    scale: "Scale",
    output: Path,
    sources: "Sources",
    workforce: "Workforce",
    as_json: bool,
) -> None:
    from thresher.reproduction import figures as experiments
    from thresher.reproduction.data import title_of

    titles = [title_of(data) for data in scale.data]
    say(f"scale {name}: {', '.join(titles)}")
    began = time.perf_counter()
    with runs_of_experiments() as watch:
        written, skipped = experiments.reproduce(
            figures, scale, output, sources=sources, workforce=workforce, watch=watch
        )
    reasons = list(dict.fromkeys(one.reason for one in skipped))
    for reason in reasons:
        count = sum(one.reason == reason for one in skipped)
        say(f"thresher: {count} run(s) skipped: {reason}")
    if not as_json:
        for path in written:
            show(str(path))
        return
    print_json(
        {
            "scale": name,
            "data": titles,
            "files": [str(path) for path in written],
            "skipped": reasons,
            "seconds": round(time.perf_counter() - began, 1),
        }
    )
