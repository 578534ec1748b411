"""`thresher schema`: the public description of a table."""

from pathlib import Path
from typing import Annotated

import typer

from thresher.cli.console import counting as counting_rows
from thresher.cli.console import print_json, say, show
from thresher.cli.options import (
    AsJson,
    CaseSensitiveIds,
    CountingOption,
    Epsilon,
    LedgerFile,
    LineBreaks,
    NeighboursOption,
    Period,
    Person,
    Rho,
    RowsPerPerson,
    names_in,
    output_option,
    probability,
    usable_path,
)
from thresher.cli.private_draft import Spending, declared_columns, draft_privately
from thresher.data.drafting import draft_schema
from thresher.data.engines.address import is_address, without_secrets
from thresher.errors import DataError, ParameterError
from thresher.schema import Schema
from thresher.schema.draft import WARNING


def draft(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A CSV, JSON lines or Parquet file, a folder of these, or a pattern in quotes; "
            "with --private also a table of a database: postgresql://host/database#people.",
            callback=usable_path,
        ),
    ],
    output: Annotated[
        Path,
        output_option("Where the draft goes."),
    ] = Path("schema.json"),
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Describe only these columns, set apart by commas. Default: all that can be "
            "features, without survey weights and identifiers.",
        ),
    ] = None,
    line_breaks: LineBreaks = False,
    private: Annotated[
        bool,
        typer.Option("--private", help="Find the schema with noise, paid for by --rho."),
    ] = False,
    rho: Rho = None,
    epsilon: Epsilon = None,
    delta: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="With --private: the probability, at most, that values of a single record or "
            "person become categories. Half of it with --epsilon, whose δ this is then. Default: a "
            "hundredth of the ledger's δ.",
            callback=probability,
        ),
    ] = None,
    ledger: LedgerFile = None,
    period: Period = None,
    neighbours: NeighboursOption = "replace",
    person: Person = None,
    rows_per_person: RowsPerPerson = None,
    counting: CountingOption = "persons",
    case_sensitive_ids: CaseSensitiveIds = False,
    categories: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="With --private: columns that hold categories."),
    ] = None,
    numbers: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="With --private: columns that hold numbers, each with its range if that is "
            "publicly known: age=0:120,income.",
        ),
    ] = None,
    dates: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="With --private: columns that hold dates, each with its years if these are "
            "publicly known: born=1900:2025.",
        ),
    ] = None,
    booleans: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="With --private: columns that hold truth values."),
    ] = None,
    bins: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER", min=2, max=1000,
            help="With --private: the bins of numbers. Default: as many as the budget can place, "
            "up to 16.",
        ),
    ] = None,
    shares: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --private: also write how frequent the found categories are, for `thresher "
            "plan --like`. It costs nothing more.",
            callback=usable_path,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    r"""Guess a schema from a file, for you to review.

    The draft tells which values occur, so it is NOT PRIVATE. Replace what was guessed by what is
    publicly known before you publish anything.

    Columns that cannot be features or should not be (identifiers, free text, survey weights) are
    left out, each with the reason.

    Where nothing is publicly known, --private finds the schema under differential privacy, paid
    for from the ledger that also pays for fits: values that enough records have become categories,
    all others count as (other), and bins have about equally many records. What you declare
    (--numbers age=0:120) costs nothing, and leaves more for the rest.

    Example:
        thresher schema draft people.csv --output schema.json
        thresher schema draft people.csv --private --rho 0.001 --ledger p.ledger
        thresher schema draft visits.csv --private --rho 0.001 \
            --ledger visits.ledger --person id --rows-per-person 4
    """
    if is_address(data) and not private:
        raise DataError(
            f"{without_secrets(data)}: a draft without noise is made from a file; export some "
            "records to CSV or Parquet, or add --private"
        )
    chosen = None if columns is None else names_in(columns, "--columns")
    declared = declared_columns(categories, numbers, dates, booleans)
    spending = Spending(
        rho, epsilon, delta, ledger, period, neighbours, person, rows_per_person, counting
    )
    if private:
        draft_privately(
            data, output, chosen, declared, spending, bins=bins, shares=shares,
            line_breaks=line_breaks, case_sensitive_ids=case_sensitive_ids, as_json=as_json,
        )  # fmt: skip
        return
    if declared or bins is not None or shares is not None or spending.is_given:
        raise ParameterError(
            "kinds of columns and a budget are for a draft with noise: add --private, or leave "
            "them out"
        )
    with counting_rows(f"reading {data}") as progress:
        drafted = draft_schema(data, progress, columns=chosen, line_breaks_in_cells=line_breaks)
    drafted.schema.save(output, warning=WARNING)
    for name, reason in drafted.left_out.items():
        say(f"left out: {name!r}: {reason}")
    for note in drafted.notes:
        say(f"note: {note}")
    say(WARNING)
    say("With --private --rho NUMBER, a draft is paid for instead, and can be published as it is.")
    features = list(drafted.schema.names)
    if as_json:
        print_json(
            {
                "schema": str(output), "features": features, "left_out": drafted.left_out,
                "notes": list(drafted.notes),
            }
        )  # fmt: skip
    else:
        show(f"wrote {output}: {len(features)} features to review")


def check(
    schema: Annotated[
        Path, typer.Argument(metavar="FILE", help="A schema file.", callback=usable_path)
    ],
    as_json: AsJson = False,
) -> None:
    """Read a schema file and say what it describes.

    Example:
        thresher schema check schema.json
    """
    loaded = Schema.load(schema)
    if as_json:
        sizes = dict(zip(loaded.names, loaded.sizes, strict=True))
        unreviewed = list(loaded.unreviewed)
        print_json({"features": sizes, "one_hot": loaded.width, "unreviewed": unreviewed})
        return
    for feature in loaded:
        note = f"  <- to review: {feature.review}" if feature.review else ""
        show(f"{feature.name}: {feature.kind}, {feature.size} values{note}")
    for view in loaded.views:
        show(f"{view.name}: view of {view.of}, {view.size} groups: {', '.join(view.labels)}")
    show(f"{len(loaded)} features, {loaded.width} one-hot columns")
