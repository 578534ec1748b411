"""`thresher schema`: the public description of a table."""

import csv
from pathlib import Path
from typing import Annotated

import typer

from thresher.cli.console import counting, print_json, say, show
from thresher.cli.options import AsJson, LineBreaks, usable_path
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
            help="A CSV, JSON lines or Parquet file, a folder of these, or a pattern in quotes.",
            callback=usable_path,
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Where the draft goes.", callback=usable_path
        ),
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
    as_json: AsJson = False,
) -> None:
    """Guess a schema from a file, for you to review.

    The draft tells which values occur, so it is NOT PRIVATE. Replace what was guessed by what is
    publicly known before you publish anything.

    Columns that cannot be features or should not be (identifiers, free text, survey weights) are
    left out, each with the reason.

    Example:
        thresher schema draft people.csv --output schema.json
    """
    if is_address(data):
        raise DataError(
            f"{without_secrets(data)}: a draft is made from a file; export some records to CSV or "
            "Parquet, and draft from those"
        )
    chosen = None if columns is None else _names(columns)
    with counting(f"reading {data}") as progress:
        drafted = draft_schema(data, progress, columns=chosen, line_breaks_in_cells=line_breaks)
    drafted.schema.save(output, warning=WARNING)
    for name, reason in drafted.left_out.items():
        say(f"left out: {name!r}: {reason}")
    for note in drafted.notes:
        say(f"note: {note}")
    say(WARNING)
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


def _names(columns: str) -> list[str]:
    """The names in a list such as `a,b,"c, d"`."""
    names = [name.strip() for name in next(csv.reader([columns], skipinitialspace=True), [])]
    if not names or "" in names:
        raise ParameterError(
            "--columns must list names with commas between them, such as age,sex; a name with a "
            "comma goes in double quotes"
        )
    return names


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
