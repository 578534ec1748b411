"""`thresher ledger`: the budget of one data set, over all its releases."""

from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from thresher.cli.console import AsJson, print_json, show
from thresher.privacy.budget import Accounting, Budget, epsilon_of
from thresher.privacy.ledger import Ledger

app = typer.Typer(help="Keep the budget of a data set over all its releases.", no_args_is_help=True)


@app.command()
def create(
    path: Annotated[Path, typer.Argument(help="Where the ledger goes.")],
    epsilon: Annotated[float, typer.Option(help="ε of all releases together.")],
    delta: Annotated[float, typer.Option(help="δ of all releases together.")],
    accounting: Annotated[Accounting, typer.Option(help="How ε and δ buy ρ.")] = "tight",
    data: Annotated[str, typer.Option(help="The name of the data set.")] = "",
    as_json: AsJson = False,
) -> None:
    """Start a ledger: everything that is ever released from a data set must fit into it."""
    budget = Budget.from_epsilon(epsilon, delta, accounting)
    Ledger.create(path, budget.rho, epsilon=epsilon, delta=delta, accounting=accounting, data=data)
    _tell(path, as_json)


@app.command("show")
def show_ledger(
    path: Annotated[Path, typer.Argument(help="The ledger file.")], as_json: AsJson = False
) -> None:
    """Show what has been spent, on which release, and what is left."""
    _tell(path, as_json)


def _tell(path: Path, as_json: bool) -> None:
    account = Ledger.open(path).read()
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
    show(f"  remaining  rho {float(account.remaining):.6g}")
    if so_far:
        show(f"  all releases so far together: epsilon {so_far:.4g}")
