"""`thresher plan`: what fits would take and achieve, before anything is paid for."""

from pathlib import Path
from typing import Annotated

import typer

from thresher.cli import options
from thresher.cli.console import phases_of, say
from thresher.cli.fit import mechanism_named
from thresher.cli.forecasting import tell
from thresher.cli.inputs import load_schema
from thresher.cli.paying import open_ledger, unit_of
from thresher.errors import LedgerError
from thresher.files import write_text
from thresher.mechanisms import MECHANISMS
from thresher.planning import plan as planned
from thresher.planning.like import read_like
from thresher.privacy.ledger import Ledger
from thresher.privacy.unit import Unit
from thresher.queries.workload import Workload


def plan(
    schema: Annotated[
        Path, typer.Option(metavar="FILE", help="The schema file.", callback=options.usable_path)
    ],
    n: Annotated[
        int, typer.Option("--n", metavar="NUMBER", help="The number of records or persons.", min=2)
    ],
    workload: options.WorkloadFile,
    epsilon: Annotated[
        str,
        typer.Option(
            metavar="NUMBERS",
            help="ε of the promise, or several to compare, such as 0.1,0.5,1,2.",
            callback=options.several_positive,
        ),
    ] = "0.1,0.5,1,2",
    delta: options.Delta = None,
    ledger: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="A ledger: what would be left of it?", callback=options.usable_path
        ),
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="The largest error that is wanted, such as 0.01: at which ε is it met?",
            callback=options.probability,
        ),
    ] = None,
    mechanism: Annotated[
        str, typer.Option(metavar="NAME", help=f"One of: {', '.join(MECHANISMS)}.")
    ] = "auto",
    like: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="What people are like, if that is public: the folder of an earlier release, or a "
            'JSON file of shares, such as {"sex": {"F": 0.51, "M": 0.49}}.',
            callback=options.usable_path,
        ),
    ] = None,
    accounting: options.FitAccounting = None,
    neighbours: options.NeighboursOption = "replace",
    output: Annotated[
        Path | None,
        options.output_option("Also write the forecast as an .html page."),
    ] = None,
    as_json: options.AsJson = False,
) -> None:  # fmt: skip
    r"""Forecast errors, time and memory at several ε, before anything is paid for.

    The mechanism is run on made-up people of the same schema and number. No record is read, and
    nothing is spent. A typical cell is one with 1 % of the people or more. If it is public what
    people are like, say so with --like: errors and margins are forecast better then.

    Example:
        thresher plan --schema schema.json --n 5000 --workload workload.json \
            --epsilon 0.1,0.5,1,2 --ledger people.ledger --margin 0.01
    """
    unit = unit_of(neighbours, None, None, "persons", 1.0, delta)
    features = load_schema("", schema)
    known = None if like is None else read_like(like)
    account = None if ledger is None else _ledger(ledger, unit)
    with phases_of("planning") as progress:
        forecast = planned(
            features, n=n, workload=Workload.load(workload, features), epsilon=epsilon.split(","),
            delta=delta, mechanism=mechanism_named(mechanism, {}, {}), unit=unit, ledger=account,
            margin=margin, accounting=accounting, like=known, progress=progress,
        )  # fmt: skip
    tell(forecast, as_json)
    if output is not None:
        write_text(output, forecast.page())
        say(f"thresher: wrote {output}")


def _ledger(path: Path, unit: Unit) -> Ledger:
    """The ledger, if its budget is for records, persons or whoever, changed in the same way."""
    ledger = open_ledger(path)
    there = ledger.read().unit
    if there.neighbours != unit.neighbours:
        raise LedgerError(
            f"{path} is for another unit of privacy: give --neighbours {there.neighbours}"
        )
    return ledger
