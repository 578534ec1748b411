"""`thresher tune`: choose T and K within one budget, and make a release."""

import shutil
import time
from pathlib import Path
from typing import Annotated

import typer

from thresher.cli.console import (
    AsJson,
    kept_on_interruption,
    load_records,
    print_json,
    rounds_of_a_fit,
    say,
    show,
    warnings_told,
)
from thresher.errors import ParameterError, ReleaseError
from thresher.mechanisms.rap import RAP
from thresher.mechanisms.tuning import CHOOSING, SEARCHING, Grid, Search, Tuned, courses, tune
from thresher.privacy.budget import Accounting
from thresher.privacy.ledger import Ledger
from thresher.queries.workload import Workload
from thresher.release.folder import check_free

PAPER = Grid()


def tune_command(
    data: Annotated[str, typer.Argument(help="A CSV or Parquet file, or `adult`.")],
    workload: Annotated[Path, typer.Option("--workload", "-w", help="The workload file.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder of the release.")],
    epsilon: Annotated[float | None, typer.Option(help="ε of the whole search.")] = None,
    delta: Annotated[
        float | None, typer.Option(help="δ of the promise; 1/n² if not given.")
    ] = None,
    rho: Annotated[str | None, typer.Option(help="The zCDP budget, in place of ε and δ.")] = None,
    schema: Annotated[Path | None, typer.Option(help="The schema file.")] = None,
    search: Annotated[
        Search,
        typer.Option(
            help="`rule`: by public facts, the whole budget in one fit; `diagonal`: the paper's "
            "search; `grid`: every setting."
        ),
    ] = "diagonal",
    rounds: Annotated[str, typer.Option(help="The values of T to try.")] = ",".join(
        map(str, PAPER.rounds)
    ),
    queries_per_round: Annotated[str, typer.Option(help="The values of K to try.")] = ",".join(
        map(str, PAPER.queries_per_round)
    ),
    searching: Annotated[
        str, typer.Option(help="The part of the budget that goes into the search, at most.")
    ] = str(SEARCHING),
    choosing: Annotated[
        str, typer.Option(help="How much of the budget choices between trials cost of that.")
    ] = str(CHOOSING),
    synthetic_rows: Annotated[
        int, typer.Option(help="n', rows of the synthetic data.", min=1)
    ] = 1000,
    seed: Annotated[
        int, typer.Option(help="Seed of the random start of D'; public, not the noise.", min=0)
    ] = 0,
    accounting: Annotated[
        Accounting, typer.Option(help="`tight`, or `paper` for the paper's conversion.")
    ] = "tight",
    ledger: Annotated[
        Path | None, typer.Option(help="The ledger file of this data set's budget.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an interrupted search.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a release of the same name.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Choose T (rounds) and K (queries per round) of RAP within one budget, and make the release.

    Every trial and every comparison of trials is paid for out of --epsilon; what is left makes the
    release. Unless you have reason to distrust it, let the rule choose: `--search rule`, which is
    what `thresher fit` does.
    """
    if epsilon is None and rho is None:
        raise ParameterError("how much may be spent? Give --epsilon, or --rho")
    grid = Grid(_numbers(rounds, "--rounds"), _numbers(queries_per_round, "--queries-per-round"))
    rap = RAP(
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        accounting=accounting,
        synthetic_rows=synthetic_rows,
        seed=seed,
    )
    check_free(output, overwrite)
    journal = output.absolute().with_name(output.absolute().name + ".partial")
    if journal.exists() != resume:
        raise ReleaseError(
            f"there is no interrupted search {journal}: leave out --resume to start"
            if resume
            else f"{journal} holds an interrupted search, already paid for: go on with --resume, "
            "or delete it"
        )
    account = Ledger.open(ledger) if ledger else None
    records = load_records(data, schema)
    work = Workload.load(workload, records.schema)
    began = time.perf_counter()
    if search != "rule":
        most = max(len(tried) for tried, _ in courses(search, grid))
        say(f"thresher: at most {most} trials, each with a part of the budget")
    with kept_on_interruption(journal), warnings_told():
        with rounds_of_a_fit() as progress:
            tuned = tune(
                records, work, rap, search=search, grid=grid, searching=searching,
                choosing=choosing, ledger=account, journal=journal, release=str(output),
                progress=progress,
            )  # fmt: skip
        tuned.release.save(output, overwrite=overwrite)
    shutil.rmtree(journal, ignore_errors=True)
    _tell(tuned, search, output, time.perf_counter() - began, as_json)


def _numbers(text: str, option: str) -> tuple[int, ...]:
    try:
        return tuple(int(word) for word in text.split(","))
    except ValueError:
        raise ParameterError(
            f"{option} takes whole numbers such as 1,4,16,64, not {text!r}"
        ) from None


def _tell(tuned: Tuned, search: str, output: Path, seconds: float, as_json: bool) -> None:
    release, chosen = tuned.release, tuned.chosen
    if as_json:
        print_json(
            {
                "release": str(output),
                "rho": float(release.spent),
                "epsilon": release.epsilon,
                "delta": float(release.delta),
                "seconds": round(seconds, 3),
                "search": search,
                "rounds": chosen.rounds,
                "queries_per_round": chosen.queries_per_round,
                "trials": [[trial.rounds, trial.queries_per_round] for trial in tuned.trials],
                "measured": len(release.measurements),
            }
        )
        return
    show(f"wrote {output}: {chosen}, by {search}, {seconds:.1f} s")
    show("tried: " + "; ".join(map(str, tuned.trials)))
    show(
        f"spent: rho {float(release.spent):.6g} of {float(release.budget.rho):.6g} "
        f"(epsilon {release.epsilon:.4g} at delta {float(release.delta):.3g}), all trials included"
    )
