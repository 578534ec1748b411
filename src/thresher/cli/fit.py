"""`thresher fit`: spend a budget, once, and make a release."""

import dataclasses
import shutil
import time
from pathlib import Path
from typing import Annotated, Any

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
from thresher.mechanisms import MECHANISMS
from thresher.mechanisms.mechanism import Mechanism
from thresher.privacy.budget import Accounting
from thresher.privacy.ledger import Ledger
from thresher.queries.workload import Workload
from thresher.release import Release
from thresher.release.folder import check_free


def fit(
    data: Annotated[str, typer.Argument(help="A CSV or Parquet file, or `adult`.")],
    workload: Annotated[Path, typer.Option("--workload", "-w", help="The workload file.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder of the release.")],
    epsilon: Annotated[float | None, typer.Option(help="ε of the promise.")] = None,
    delta: Annotated[
        float | None, typer.Option(help="δ of the promise; 1/n² if not given.")
    ] = None,
    rho: Annotated[str | None, typer.Option(help="The zCDP budget, in place of ε and δ.")] = None,
    schema: Annotated[Path | None, typer.Option(help="The schema file.")] = None,
    mechanism: Annotated[str, typer.Option(help=f"One of: {', '.join(MECHANISMS)}.")] = "auto",
    rounds: Annotated[int | None, typer.Option(help="T, rounds of adaptivity.", min=1)] = None,
    queries_per_round: Annotated[
        int | None, typer.Option(help="K, queries measured per round.", min=1)
    ] = None,
    synthetic_rows: Annotated[
        int | None, typer.Option(help="n', rows of the synthetic data; 1000 if not given.", min=1)
    ] = None,
    optimizer: Annotated[
        str | None, typer.Option(help="How D' is fitted; `adam` is the paper's way.")
    ] = None,
    selection: Annotated[
        str | None, typer.Option(help="`oneshot` (OSAS, the default) or `iterative` (AS).")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of the random start of D'; public, not the noise.")
    ] = None,
    accounting: Annotated[
        Accounting, typer.Option(help="`tight`, or `paper` for the paper's conversion.")
    ] = "tight",
    ledger: Annotated[
        Path | None, typer.Option(help="The ledger file of this data set's budget.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an interrupted fit; nothing is paid twice.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a release of the same name.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Fit a release: spend a privacy budget on private records, once.

    Everything that is paid for is on disk at once, beside the release (NAME.partial): after
    Ctrl-C, a crash or a full disk, the same command with --resume goes on from there.
    """
    settings = {
        "rounds": rounds,
        "queries_per_round": queries_per_round,
        "synthetic_rows": synthetic_rows,
        "optimizer": optimizer,
        "selection": selection,
        "seed": seed,
    }
    chosen = _mechanism(mechanism, epsilon, delta, rho, accounting, settings)
    if output.exists() and not overwrite:
        raise ReleaseError(f"{output} exists: choose another --output, or give --overwrite")
    check_free(output, overwrite)
    journal = output.absolute().with_name(output.absolute().name + ".partial")
    if journal.exists() and not resume:
        raise ReleaseError(
            f"{journal} holds an interrupted fit, already paid for: go on with --resume, "
            "or delete it"
        )
    if resume and not journal.exists():
        raise ReleaseError(f"there is no interrupted fit {journal}: leave out --resume to start")
    account = Ledger.open(ledger) if ledger else None
    records = load_records(data, schema)
    work = Workload.load(workload, records.schema)
    began = time.perf_counter()
    with kept_on_interruption(journal), warnings_told():
        with rounds_of_a_fit() as progress:
            release = chosen.fit(
                records, work, ledger=account, journal=journal, release=str(output),
                progress=progress,
                expect=lambda estimate: say(f"thresher: the fit takes {estimate}"),
            )  # fmt: skip
        release.save(output, overwrite=overwrite)
    shutil.rmtree(journal, ignore_errors=True)
    _tell(release, output, time.perf_counter() - began, as_json)


def _mechanism(
    name: str,
    epsilon: float | None,
    delta: float | None,
    rho: str | None,
    accounting: Accounting,
    settings: dict[str, Any],
) -> Mechanism:
    if name not in MECHANISMS:
        raise ParameterError(f"there is no mechanism {name!r}; known are: {', '.join(MECHANISMS)}")
    if epsilon is None and rho is None:
        raise ParameterError("how much may be spent? Give --epsilon, or --rho")
    kind = MECHANISMS[name]
    fields = {field.name for field in dataclasses.fields(kind)}
    given = {key: value for key, value in settings.items() if value is not None}
    for key in given:
        if key not in fields:
            raise ParameterError(f"{name} has no setting --{key.replace('_', '-')}")
    return kind(epsilon=epsilon, delta=delta, rho=rho, accounting=accounting, **given)


def _tell(release: Release, output: Path, seconds: float, as_json: bool) -> None:
    rounds = int(release.settings.get("rounds", 1))
    if as_json:
        print_json(
            {
                "release": str(output),
                "rho": float(release.spent),
                "epsilon": release.epsilon,
                "delta": float(release.delta),
                "seconds": round(seconds, 3),
                "rounds": rounds,
                "measured": len(release.measurements),
            }
        )
        return
    show(
        f"wrote {output}: {len(release.measurements)} measurements in {rounds} rounds, "
        f"{seconds:.1f} s"
    )
    share = "the whole" if release.spent == release.budget.rho else "out"
    show(
        f"spent: rho {float(release.spent):.6g}, {share} of epsilon {release.epsilon:.4g} at "
        f"delta {float(release.delta):.3g} ({release.budget.accounting or 'zCDP'})"
    )
