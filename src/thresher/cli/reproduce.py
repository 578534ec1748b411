"""`thresher reproduce`: the paper's figures, run and drawn."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thresher.cli.console import print_json, runs_of_experiments, say, show
from thresher.cli.options import AsJson, usable_path
from thresher.errors import ParameterError
from thresher.wording import meant

if TYPE_CHECKING:
    from thresher.reproduction.figures import Reproduced
    from thresher.reproduction.running import Sources
    from thresher.reproduction.scales import Scale
    from thresher.reproduction.workforce import Workforce

NEEDED = ("matplotlib", "statsmodels", "joblib", "distributed")
EXTRACT = "lending-club"


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
        str | None,
        typer.Option(metavar="NAME", help="Only `adult`, only `loans`, or `lending-club`."),
    ] = None,
    loans: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The LOANS file (loans.csv). Default: a made-up stand-in.",
            callback=usable_path,
        ),
    ] = None,
    lending_club: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The extract of Lending Club's loans (24 columns), for --data lending-club.",
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
    largest: Annotated[
        int | None,
        typer.Option(metavar="SIZE", help="Leave out workloads of more thresholds.", min=1),
    ] = None,
    practice: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Where text and code of the paper differ: authors (their code) or text.",
        ),
    ] = "authors",
    processes: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", help="Processes. Default: as many as cores.", min=1),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="The address of a Dask scheduler to run on instead."),
    ] = None,
    niceness: Annotated[
        int,
        typer.Option(metavar="NUMBER", help="Priority, from 0 to 19 (the lowest).", min=0, max=19),
    ] = 0,
    minutes: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="Begin no run after this time.", min=0),
    ] = None,
    short_first: Annotated[
        bool, typer.Option("--short-first", help="Begin with the shortest runs.")
    ] = False,
    share: Annotated[
        str | None,
        typer.Option(metavar="I/N", help="Do the part of machine I of N; see --merge."),
    ] = None,
    merge: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="The results.csv of another machine, to be taken over. Repeatable.",
        ),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A page whose tables are filled in from the results.",
            callback=usable_path,
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only tell what is missing and how long it takes.")
    ] = False,
    stored: Annotated[
        bool,
        typer.Option(
            "--stored",
            help="Run nothing: draw each figure at the largest scale whose runs are all there.",
        ),
    ] = False,
    optimizer: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="How D' is fitted: accelerated, the paper's adam, or authors-adam.",
        ),
    ] = "accelerated",
    as_json: AsJson = False,
) -> None:
    """Run the paper's experiments and draw its figures.

    Results go to one file, `results.csv`, run by run. After an interruption the same command goes
    on where it stopped. Scale `paper` takes days: see --dry-run, --minutes, --share and --dask.

    Example:
        thresher reproduce --list
        thresher reproduce present-error --scale quick --output results
    """
    for module in NEEDED:
        if find_spec(module) is None:
            raise ParameterError(f"reproduce needs {module}: pip install 'thresher[experiments]'")
    from thresher.reproduction.workforce import Share, Workforce

    if list_figures:
        _list(as_json)
        return
    wanted, folder = _checked(figures, output, optimizer)
    if stored:
        _redraw(wanted, folder, merge or [], page, as_json)
        return
    chosen, sources = _scale(_Choice(scale, data, loans, lending_club, optimizer, practice))
    chosen = chosen if repetitions is None else chosen.repeated(repetitions)
    chosen = chosen if largest is None else chosen.up_to(largest)
    part = Share() if share is None else Share.parse(share)
    workforce = Workforce(processes, dask, niceness, minutes, part, short_first)
    if dry_run:
        _plan(wanted, chosen, folder, workforce, as_json)
        return
    _run(wanted, chosen, folder, sources, workforce, merge or [], page, as_json)


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
    from thresher.reproduction.figures import figures_named
    from thresher.reproduction.variants import REPRODUCTION_OPTIMISERS

    if not figures:
        raise ParameterError("name a figure, or `all`; `thresher reproduce --list` lists them")
    if output is None:
        raise ParameterError("say where the results go: -o FOLDER")
    if optimizer not in REPRODUCTION_OPTIMISERS:
        raise ParameterError(
            f"--optimizer must be one of {', '.join(REPRODUCTION_OPTIMISERS)}"
            f"{meant(optimizer, REPRODUCTION_OPTIMISERS)}"
        )
    figures_named(figures)
    return figures, output


@dataclass(frozen=True)
class _Choice:
    """What the user said about the parameters."""

    scale: str
    data: str | None
    loans: Path | None
    lending_club: Path | None
    optimizer: str
    practice: str


def _scale(choice: _Choice) -> tuple["Scale", "Sources"]:
    from thresher.reproduction.data import LOANS, source_of
    from thresher.reproduction.figures import scale_named
    from thresher.reproduction.practice import practice_named

    scale = replace(
        scale_named(choice.scale),
        optimizer=choice.optimizer,
        practice=practice_named(choice.practice),
    )
    if choice.data == EXTRACT:
        if choice.lending_club is None:
            raise ParameterError("--data lending-club needs its file: --lending-club FILE")
        name, sources = source_of(choice.lending_club, EXTRACT, "--lending-club")
        return scale.on(name), sources
    sources = {}
    if choice.loans is not None:
        name, sources = source_of(choice.loans, LOANS, "--loans")
        scale = scale.with_loans(name)
    return (scale if choice.data is None else scale.only(choice.data)), sources


def _redraw(
    figures: Sequence[str],
    output: Path,
    merged: Sequence[Path],
    page: Path | None,
    as_json: bool,
) -> None:
    from thresher.reproduction.page import fill
    from thresher.reproduction.stored import redrawn

    if not output.is_dir():
        raise ParameterError(f"--stored: there are no results in {output}")
    written = redrawn(figures, output, merged)
    if page is not None:
        written.extend(page for _ in fill(page, output)[:1])
    if as_json:
        print_json({"files": [str(path) for path in written]})
        return
    for path in written:
        show(str(path))


def _plan(
    figures: Sequence[str], scale: "Scale", output: Path, workforce: "Workforce", as_json: bool
) -> None:
    from thresher.reproduction.figures import planned

    plans = planned(figures, scale, output, workforce)
    if as_json:
        told = {p.figure: {"runs": p.runs, "missing": p.missing, "hours": p.hours} for p in plans}
        print_json({"scale": scale.name, "figures": told})
        return
    show(f"{'figure':22} {'runs':>7} {'missing':>8} {'core-hours':>11}")
    for plan in plans:
        show(f"{plan.figure:22} {plan.runs:7} {plan.missing:8} {plan.hours:11.2f}")
    missing, hours = sum(p.missing for p in plans), sum(p.hours for p in plans)
    show(f"{'in all':22} {'':7} {missing:8} {hours:11.2f}")


def _run(
    figures: Sequence[str],
    scale: "Scale",
    output: Path,
    sources: "Sources",
    workforce: "Workforce",
    merged: Sequence[Path],
    page: Path | None,
    as_json: bool,
) -> None:
    from thresher.reproduction import figures as experiments
    from thresher.reproduction.data import title_of
    from thresher.reproduction.page import fill
    from thresher.reproduction.stored import redrawn

    titles = [title_of(data) for data in scale.data]
    say(f"scale {scale.name}: {', '.join(titles)}")
    began = time.perf_counter()
    with runs_of_experiments() as watch:
        done = experiments.reproduce(
            figures, scale, output, sources=sources, workforce=workforce, watch=watch,
            merged=merged, drawing=page is None,
        )  # fmt: skip
    if page is not None:
        done.written.extend(redrawn(figures, output, scale=scale))
        done.written.extend(page for _ in fill(page, output)[:1])
    reasons = _tell_what_is_left(done)
    if not as_json:
        for path in done.written:
            show(str(path))
        return
    print_json(
        {
            "scale": scale.name,
            "data": titles,
            "files": [str(path) for path in done.written],
            "skipped": reasons,
            "unfinished": {one.figure: one.missing for one in done.unfinished},
            "seconds": round(time.perf_counter() - began, 1),
        }
    )


def _tell_what_is_left(done: "Reproduced") -> list[str]:
    """Say what could not be run and what is missing; the reasons for the former."""
    reasons = list(dict.fromkeys(one.reason for one in done.skipped))
    for reason in reasons:
        count = sum(one.reason == reason for one in done.skipped)
        say(f"thresher: {count} run(s) skipped: {reason}")
    for one in done.unfinished:
        say(f"thresher: {one.figure} is not drawn: {one.missing} of its runs are still missing")
    return reasons
