"""`thresher ledger`: the budget of one data set, over all its releases."""

from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from thresher.cli.console import print_json, show
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
    positive,
    probability,
    usable_path,
)
from thresher.cli.paying import open_ledger
from thresher.data.engines.address import without_secrets
from thresher.errors import LedgerError
from thresher.privacy.budget import Budget, epsilon_of
from thresher.privacy.ledger import Ledger
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
        raise LedgerError(f"{path} exists already: `thresher ledger show {path}` shows it")
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

    A ledger of several periods, such as years, also says what was spent on each. The total is what
    somebody spends who is in all of them.

    Example:
        thresher ledger show people.ledger
    """
    _tell(path, as_json)


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


def _tell(path: Path, as_json: bool) -> None:
    account = open_ledger(path).read()
    spent: dict[str, Fraction] = {}
    for entry in account.entries:
        spent[entry.release] = spent.get(entry.release, Fraction(0)) + entry.rho
    so_far = epsilon_of(account.spent, account.delta) if account.delta and account.spent else 0.0
    periods = {name: rho for name, rho in account.by_period.items() if name is not None}
    if as_json:
        print_json(
            {
                "ledger": str(path),
                "data": account.data,
                "unit": account.unit.protected_json(),
                "epsilon": account.epsilon,
                "delta": account.delta,
                "rho": float(account.total),
                "spent": float(account.spent),
                "remaining": float(account.remaining),
                "epsilon_so_far": so_far,
                "releases": {name: float(rho) for name, rho in spent.items()},
                "periods": {
                    name: {"rho": float(rho), "epsilon": _epsilon(rho, account.delta)}
                    for name, rho in periods.items()
                },
            }
        )
        return
    show(f"{path}: {account.data or 'a data set'}")
    show(f"  protects   whether {account.unit}")
    if account.epsilon is not None:
        show(f"  promise    epsilon {account.epsilon:g}, delta {account.delta:g}")
    show(f"  budget     rho {float(account.total):.6g}")
    for name, rho in spent.items():
        show(f"  spent      rho {float(rho):.6g} on {name}")
    for period, rho in periods.items():
        one = _epsilon(rho, account.delta)
        alone = "" if one is None else f" (of this period alone: epsilon {one:.4g})"
        show(f"  in {period:<8} rho {float(rho):.6g}{alone}")
    left = _as_epsilon(account.remaining, account.delta)
    show(f"  remaining  rho {float(account.remaining):.6g}{left}")
    if so_far:
        whole = "all releases so far together" + (", for somebody in all periods" * bool(periods))
        show(f"  {whole}: epsilon {so_far:.4g}")


def _epsilon(rho: Fraction, delta: float | None) -> float | None:
    return epsilon_of(rho, delta) if delta and rho else None


def _as_epsilon(rho: Fraction, delta: float | None) -> str:
    epsilon = _epsilon(rho, delta)
    if epsilon is None:
        return ""
    return f" (one more release: epsilon {epsilon:.4g} at delta {delta:g})"
