"""`thresher ledger`: the budget of one data set, over all its releases."""

import dataclasses
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from thresher.cli.console import print_json, show, warn
from thresher.cli.inputs import load_records, load_schema
from thresher.cli.options import (
    AccountingOption,
    AsJson,
    Data,
    LineBreaks,
    NeighboursOption,
    Period,
    Person,
    SchemaFile,
    output_option,
    positive,
    probability,
    usable_path,
)
from thresher.cli.paying import open_ledger
from thresher.data.engines.address import without_secrets
from thresher.errors import LedgerError
from thresher.files import write_json
from thresher.privacy.budget import Budget
from thresher.privacy.ledger import Ledger
from thresher.privacy.ledger_lines import rounded_down
from thresher.privacy.ledger_review import ReleaseCost, releases_in, unusual
from thresher.privacy.statement import Statement
from thresher.privacy.unit import Unit


def create(
    path: Annotated[
        Path, typer.Argument(metavar="FILE", help="Where the ledger goes.", callback=usable_path)
    ],
    epsilon: Annotated[
        float,
        typer.Option(metavar="NUMBER", help="ε of all releases together.", callback=positive),
    ],
    delta: Annotated[
        float,
        typer.Option(metavar="NUMBER", help="δ of all releases together.", callback=probability),
    ],
    accounting: AccountingOption = "tight",
    data: Annotated[str, typer.Option(metavar="NAME", help="The name of the data set.")] = "",
    neighbours: NeighboursOption = "replace",
    person: Person = None,
    as_json: AsJson = False,
) -> None:
    """Start the ledger of a data set.

    Everything that is ever released from the data set must fit into it. All of it protects the same
    unit: a record, or a person with all their rows.

    Example:
        thresher ledger create people.ledger --epsilon 1 --delta 1e-9
        thresher ledger create visits.ledger --epsilon 1 --delta 1e-9 --person id
    """
    if path.exists():
        raise LedgerError(
            f"{path} exists already: `thresher ledger show {path}` shows it. Pay from it with "
            "--ledger if it is for these data, or choose another name for other people's"
        )
    budget = Budget.from_epsilon(epsilon, delta, accounting)
    Ledger.create(
        path, budget.rho, epsilon=epsilon, delta=delta, accounting=accounting,
        data=without_secrets(data), unit=Unit(neighbours, person),
    )  # fmt: skip
    _tell(path, as_json)


def show_ledger(
    path: Annotated[
        Path, typer.Argument(metavar="FILE", help="The ledger file.", callback=usable_path)
    ],
    as_json: AsJson = False,
) -> None:
    """Show what was spent, on which release, and what is left.

    What is left is also told as the ε of one more release, and what is unusual is a warning. A
    ledger of several periods, such as years, also says what was spent on each. The total is what
    somebody spends who is in all of them.

    Example:
        thresher ledger show people.ledger
    """
    _tell(path, as_json)
    for remark in unusual(open_ledger(path).read()):
        warn(remark)


def correct(
    path: Annotated[
        Path, typer.Argument(metavar="FILE", help="The ledger file.", callback=usable_path)
    ],
    data: Data,
    why: Annotated[
        str, typer.Option(metavar="TEXT", help="What was corrected, for later readers.")
    ],
    schema: SchemaFile = None,
    line_breaks: LineBreaks = False,
    period: Period = None,
    as_json: AsJson = False,
) -> None:
    """Declare that the data of a ledger were corrected.

    A ledger recognises the records that its budget was spent on, and refuses others. If the same
    people's data were corrected, say so here. What was spent stays spent. For other people's data,
    make another ledger.

    Example:
        thresher ledger correct people.ledger new.csv --schema s.json --why typos
    """
    ledger = open_ledger(path)
    records = load_records(data, load_schema(data, schema), line_breaks)
    ledger.declare_corrected(records, why=why, period=period)
    _tell(path, as_json)


def export(
    path: Annotated[
        Path, typer.Argument(metavar="FILE", help="The ledger file.", callback=usable_path)
    ],
    output: Annotated[
        Path | None,
        output_option("Where the JSON goes. Default: standard output."),
    ] = None,
) -> None:  # fmt: skip
    """Write everything that a ledger says as JSON, for auditors.

    Every spend is in it, as an exact fraction, with its time, who, and for which release. The
    fingerprints of the records are not, because they depend on private data.

    Example:
        thresher ledger export people.ledger -o people-audit.json
    """
    account = open_ledger(path).read()
    exported = {
        "format": "thresher-ledger-export",
        "version": 1,
        **_summary(path, account),
        "accounting": account.accounting,
        "created": account.created,
        "identity": account.identity,
        "rho_exact": str(account.total),
        "spent_exact": str(account.spent),
        "remaining_exact": str(account.remaining),
        "releases": [_audited(release, account) for release in releases_in(account)],
        "spends": [
            {
                "number": entry.number,
                "time": entry.time,
                "who": entry.who,
                "release": entry.release,
                "period": entry.period,
                "rho": float(entry.rho),
                "rho_exact": str(entry.rho),
                "delta": float(entry.delta),
            }
            for entry in account.entries
        ],
        "corrections": [dataclasses.asdict(correction) for correction in account.corrections],
        "unusual": list(unusual(account)),
    }
    if output is None:
        print_json(exported)
        return
    write_json(output, exported)
    show(f"wrote {output}: {len(account.entries)} spends of {len(exported['releases'])} releases")


def _tell(path: Path, as_json: bool) -> None:
    account = open_ledger(path).read()
    if as_json:
        print_json(_summary(path, account))
        return
    show(f"{path}: {account.data or 'a data set'}")
    show(f"  protects   whether {account.unit}")
    if account.epsilon is not None:
        show(f"  promise    epsilon {account.epsilon:g}, delta {account.delta:g}")
    only = ", for noisy counts only (Gaussian accounting)" * (account.accounting == "gaussian")
    show(f"  budget     rho {float(account.total):.6g}, since {account.created[:10]}{only}")
    for release in releases_in(account):
        show(f"  spent      rho {float(release.rho):.6g} on {_described(release, account)}")
    for period, rho in _periods(account).items():
        one = account.as_epsilon(rho)
        alone = "" if one is None else f" (of this period alone: epsilon {one:.4g})"
        show(f"  in {period:<8} rho {float(rho):.6g}{alone}")
    if account.delta_spent:
        show(f"  of delta   {float(account.delta_spent):.3g} spent on rare values of a draft")
    left, more = account.as_epsilon(account.remaining), ""
    if left:
        more = f" (one more release: epsilon {rounded_down(left)} at delta {account.delta:g})"
    show(f"  remaining  rho {float(account.remaining):.6g}{more}")
    so_far = account.epsilon_so_far
    if so_far:
        several = ", for somebody in all periods" * bool(_periods(account))
        show(f"  all releases so far together{several}: epsilon {so_far:.4g}")


def _described(release: ReleaseCost, account: Statement) -> str:
    """A release, its date, who paid for it, and its ε by itself."""
    alone = account.as_epsilon(release.rho)
    told = [release.days[0], f"by {' and '.join(release.who)}", *release.periods]
    told += [] if alone is None else [f"epsilon {alone:.4g} by itself"]
    return f"{release.name} ({', '.join(told)})"


def _summary(path: Path, account: Statement) -> dict[str, Any]:
    """What the JSON of every command about a ledger starts with."""
    return {
        "ledger": str(path),
        "data": account.data,
        "unit": account.unit.protected_json(),
        "epsilon": account.epsilon,
        "delta": account.delta,
        "rho": float(account.total),
        "spent": float(account.spent),
        "remaining": float(account.remaining),
        "delta_spent": float(account.delta_spent),
        "remaining_epsilon": account.as_epsilon(account.remaining),
        "epsilon_so_far": account.epsilon_so_far or 0.0,
        "releases": {release.name: float(release.rho) for release in releases_in(account)},
        "periods": {
            name: {"rho": float(rho), "epsilon": account.as_epsilon(rho)}
            for name, rho in _periods(account).items()
        },
    }


def _audited(release: ReleaseCost, account: Statement) -> dict[str, Any]:
    return {
        "name": release.name,
        "unit": account.unit.protected_json(),
        "rho": float(release.rho),
        "epsilon": account.as_epsilon(release.rho),
        "first": release.entries[0].time,
        "last": release.entries[-1].time,
        "who": release.who,
        "periods": release.periods,
    }


def _periods(account: Statement) -> dict[str, Fraction]:
    return {name: rho for name, rho in account.by_period.items() if name is not None}
