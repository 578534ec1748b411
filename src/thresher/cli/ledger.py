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
    as_json: AsJson = False,
) -> None:
    """Start the ledger of a data set.

    Everything that is ever released from the data set must fit into it.

    Example:
        thresher ledger create people.ledger --epsilon 1 --delta 1e-9
    """
    if path.exists():
        raise LedgerError(f"{path} exists already: `thresher ledger show {path}` shows it")
    budget = Budget.from_epsilon(epsilon, delta, accounting)
    Ledger.create(path, budget.rho, epsilon=epsilon, delta=delta, accounting=accounting,
                  data=without_secrets(data))  # fmt: skip
    _tell(path, as_json)


def show_ledger(
    path: Annotated[
        Path, typer.Argument(metavar="FILE", help="The ledger file.", callback=usable_path)
    ],
    as_json: AsJson = False,
) -> None:
    """Show what was spent, on which release, and what is left.

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
    ledger.declare_corrected(load_records(data, load_schema(data, schema), line_breaks), why=why)
    _tell(path, as_json)


def _tell(path: Path, as_json: bool) -> None:
    account = open_ledger(path).read()
    spent: dict[str, Fraction] = {}
    for entry in account.entries:
        spent[entry.release] = spent.get(entry.release, Fraction(0)) + entry.rho
    so_far = epsilon_of(account.spent, account.delta) if account.delta and account.spent else 0.0
    if as_json:
        print_json(
            {
                "ledger": str(path),
                "data": account.data,
                "epsilon": account.epsilon,
                "delta": account.delta,
                "rho": float(account.total),
                "spent": float(account.spent),
                "remaining": float(account.remaining),
                "epsilon_so_far": so_far,
                "releases": {name: float(rho) for name, rho in spent.items()},
            }
        )
        return
    show(f"{path}: {account.data or 'a data set'}")
    if account.epsilon is not None:
        show(f"  promise    epsilon {account.epsilon:g}, delta {account.delta:g}")
    show(f"  budget     rho {float(account.total):.6g}")
    for name, rho in spent.items():
        show(f"  spent      rho {float(rho):.6g} on {name}")
    left = _as_epsilon(account.remaining, account.delta)
    show(f"  remaining  rho {float(account.remaining):.6g}{left}")
    if so_far:
        show(f"  all releases so far together: epsilon {so_far:.4g}")


def _as_epsilon(rho: Fraction, delta: float | None) -> str:
    if not delta or not rho:
        return ""
    return f" (one more release: epsilon {epsilon_of(rho, delta):.4g} at delta {delta:g})"
