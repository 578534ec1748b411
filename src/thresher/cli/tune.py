"""`thresher tune`: choose T and K within one budget, and make a release."""

from pathlib import Path
from typing import Annotated

import typer

from thresher.cli import options
from thresher.cli.console import print_json, say, show
from thresher.cli.paying import check_budget, given, prepare, spent, unit_of
from thresher.errors import ParameterError
from thresher.mechanisms.rap import RAP
from thresher.mechanisms.tuning import CHOOSING, SEARCHING, Grid, Search, Tuned, courses, tune

PAPER = Grid()


def tune_command(
    data: options.Data,
    workload: options.WorkloadFile,
    output: options.Output,
    epsilon: options.Epsilon = None,
    delta: options.Delta = None,
    rho: options.Rho = None,
    schema: options.SchemaFile = None,
    line_breaks: options.LineBreaks = False,
    search: Annotated[
        Search,
        typer.Option(
            help="`rule`: by public facts, the whole budget in one fit; `diagonal`: the paper's "
            "search; `grid`: every setting."
        ),
    ] = "diagonal",
    rounds: Annotated[
        str, typer.Option(metavar="NUMBERS", help="The values of T to try.")
    ] = ",".join(map(str, PAPER.rounds)),
    queries_per_round: Annotated[
        str, typer.Option(metavar="NUMBERS", help="The values of K to try.")
    ] = ",".join(map(str, PAPER.queries_per_round)),
    searching: Annotated[
        str,
        typer.Option(
            metavar="SHARE", help="At most this share of the budget goes into the search.",
            callback=options.positive,
        ),
    ] = str(SEARCHING),
    choosing: Annotated[
        str,
        typer.Option(
            metavar="SHARE", help="Of it, this share of the budget goes into comparing trials.",
            callback=options.positive,
        ),
    ] = str(CHOOSING),
    synthetic_rows: options.SyntheticRows = None,
    seed: options.Seed = None,
    accounting: options.FitAccounting = None,
    neighbours: options.NeighboursOption = "replace",
    person: options.Person = None,
    rows_per_person: options.RowsPerPerson = None,
    counting: options.CountingOption = "persons",
    case_sensitive_ids: options.CaseSensitiveIds = False,
    ledger: options.LedgerFile = None,
    period: options.Period = None,
    resume: options.Resume = False,
    overwrite: options.Overwrite = False,
    as_json: options.AsJson = False,
) -> None:  # fmt: skip
    r"""Choose the rounds and queries per round of RAP within one budget, and fit a release.

    Every trial and every comparison of trials is paid for out of --epsilon. What is left pays for
    the release. Unless you have reason to distrust it, let the rule choose: `--search rule`, which
    is what `thresher fit --mechanism rap` does.

    Example:
        thresher tune people.csv --schema schema.json --workload workload.json \
            --epsilon 1 --rounds 1,4,16 --queries-per-round 4,16,64 \
            --ledger people.ledger --output people-release
    """
    check_budget(epsilon, delta, rho)
    unit = unit_of(neighbours, person, rows_per_person, counting, epsilon, delta)
    grid = Grid(_numbers(rounds, "--rounds"), _numbers(queries_per_round, "--queries-per-round"))
    rap = RAP(
        epsilon=epsilon, delta=delta, rho=rho, accounting=accounting,
        **given(synthetic_rows=synthetic_rows, seed=seed),
    )  # fmt: skip
    run = prepare(
        data, workload, output, schema=schema, line_breaks=line_breaks, unit=unit,
        case_sensitive_ids=case_sensitive_ids, ledger=ledger, period=period, resume=resume,
        overwrite=overwrite, kind="search",
    )  # fmt: skip
    run.warn(epsilon, delta)
    if search != "rule":
        most = max(len(tried) for tried, _ in courses(search, grid))
        say(f"thresher: at most {most} trials, each with a part of the budget")
    with run.paid() as progress:
        tuned = tune(
            run.records, run.workload, rap, search=search, grid=grid, searching=searching,
            choosing=choosing, progress=progress, **run.options,
        )  # fmt: skip
    _tell(tuned, search, output, run.publish(tuned.release), as_json)


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
                **spent(release, output, seconds),
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
    show(f"protects: whether {release.unit.described}")
