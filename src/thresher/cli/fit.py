"""`thresher fit`: spend a budget, once, and make a release."""

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from thresher.cli import options
from thresher.cli.console import print_json, say, show
from thresher.cli.forecasting import tell
from thresher.cli.inputs import load_public
from thresher.cli.paying import check_budget, given, prepare, spent, unit_of
from thresher.errors import ParameterError
from thresher.mechanisms import MECHANISMS
from thresher.mechanisms.mechanism import Mechanism
from thresher.release import Release
from thresher.wording import meant

OPTIMIZERS = (
    "How D' is fitted: `accelerated` (the default), the paper's `adam`, `sparse`, or `softmax` for "
    "Softmax rows in place of Sparsemax rows."
)


def fit(
    data: options.Data,
    workload: options.WorkloadFile,
    output: options.Output,
    epsilon: options.Epsilon = None,
    delta: options.Delta = None,
    rho: options.Rho = None,
    schema: options.SchemaFile = None,
    line_breaks: options.LineBreaks = False,
    mechanism: Annotated[
        str, typer.Option(metavar="NAME", help=f"One of: {', '.join(MECHANISMS)}.")
    ] = "auto",
    rounds: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="T, rounds of adaptive selection.", min=1)
    ] = None,
    queries_per_round: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="K, queries measured per round.", min=1)
    ] = None,
    synthetic_rows: options.SyntheticRows = None,
    optimizer: Annotated[str | None, typer.Option(metavar="NAME", help=OPTIMIZERS)] = None,
    selection: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="`oneshot` (OSAS, the default), `iterative` (AS), or `spread`: at most one query "
            "of a threshold in a round.",
        ),
    ] = None,
    optimise: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Smallest `max` (the default) or `mean` error."),
    ] = None,
    seed: options.Seed = None,
    public: options.Public = None,
    accounting: options.FitAccounting = None,
    neighbours: options.NeighboursOption = "replace",
    person: options.Person = None,
    rows_per_person: options.RowsPerPerson = None,
    counting: options.CountingOption = "persons",
    case_sensitive_ids: options.CaseSensitiveIds = False,
    ledger: options.LedgerFile = None,
    period: options.Period = None,
    resume: options.Resume = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Forecast what this would achieve, and spend nothing."),
    ] = False,
    overwrite: options.Overwrite = False,
    as_json: options.AsJson = False,
) -> None:
    r"""Fit a release: spend a privacy budget on private records, once.

    Everything that is paid for is written to disk at once, beside the release (FOLDER.partial).
    After Ctrl-C, a crash or a full disk, the same command with --resume goes on from there. With
    --dry-run it tells what to expect, as `thresher plan` does, and spends nothing.

    Example:
        thresher fit people.csv --schema schema.json --workload workload.json \
            --epsilon 1 --ledger people.ledger --output people-release
    """
    check_budget(epsilon, delta, rho)
    unit = unit_of(neighbours, person, rows_per_person, counting, epsilon, delta)
    settings = given(
        rounds=rounds, queries_per_round=queries_per_round, synthetic_rows=synthetic_rows,
        optimizer=optimizer, selection=selection, optimise=optimise, seed=seed,
    )  # fmt: skip
    budget = {"epsilon": epsilon, "delta": delta, "rho": rho, "accounting": accounting}
    chosen = mechanism_named(mechanism, budget, settings, later=given(public=public))
    run = prepare(
        data, workload, output, schema=schema, line_breaks=line_breaks, unit=unit,
        case_sensitive_ids=case_sensitive_ids, ledger=ledger, period=period, resume=resume,
        overwrite=overwrite, kind="fit",
    )  # fmt: skip
    if dry_run:
        tell(run.forecast(chosen), as_json)
        return

    if public is not None:
        records = load_public(public, data, run.workload.schema, line_breaks)
        chosen = mechanism_named(mechanism, budget, {**settings, "public": records})

    def expect(estimate: object) -> None:
        run.warn(epsilon, delta)
        say(f"thresher: the fit takes {estimate}")

    with run.paid() as progress:
        release = chosen.fit(
            run.records, run.workload, progress=progress, expect=expect, **run.options
        )
    _tell(release, output, run.publish(release), as_json)


def mechanism_named(
    name: str, budget: dict[str, Any], settings: dict[str, Any], later: Iterable[str] = ()
) -> Mechanism:
    """A mechanism by its name, if it has these settings and those whose values are read later."""
    if name not in MECHANISMS:
        raise ParameterError(
            f"there is no mechanism {name!r}{meant(name, MECHANISMS)}; known are: "
            f"{', '.join(MECHANISMS)}"
        )
    kind = MECHANISMS[name]
    fields = {field.name for field in dataclasses.fields(kind)}
    for key in (*settings, *later):
        if key not in fields:
            raise ParameterError(f"{name} has no setting --{key.replace('_', '-')}")
    return kind(**budget, **settings)


def _tell(release: Release, output: Path, seconds: float, as_json: bool) -> None:
    rounds = int(release.settings.get("rounds", 1))
    measured = len(release.measurements)
    if as_json:
        print_json({**spent(release, output, seconds), "rounds": rounds, "measured": measured})
        return
    show(f"wrote {output}: {measured} measurements in {rounds} rounds, {seconds:.1f} s")
    share = "the whole" if release.spent == release.budget.rho else "out"
    show(
        f"spent: rho {float(release.spent):.6g}, {share} of epsilon {release.epsilon:.4g} at "
        f"delta {float(release.delta):.3g} ({release.budget.accounting or 'zCDP'})"
    )
    show(f"protects: whether {release.unit.described}")
    if "public" in release.settings:
        number = release.settings["public"]["records"]
        show(f"started from {number:,} records that you vouch are public; they are not protected")
