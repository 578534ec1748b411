"""`thresher schema`: the public description of a table."""

from pathlib import Path
from typing import Annotated

import typer

from thresher.cli.console import counting, print_json, say, show
from thresher.cli.options import AsJson, LineBreaks, usable_path
from thresher.data.drafting import draft_schema
from thresher.data.engines.address import is_address, without_secrets
from thresher.errors import DataError
from thresher.schema import Schema
from thresher.schema.draft import WARNING


def draft(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="A CSV or Parquet file.", callback=usable_path)
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Where the draft goes.", callback=usable_path
        ),
    ] = Path("schema.json"),
    line_breaks: LineBreaks = False,
    as_json: AsJson = False,
) -> None:
    """Guess a schema from a file, for you to review.

    The draft tells which values occur, so it is NOT PRIVATE. Replace what was guessed by what is
    publicly known before you publish anything.

    Example:
        thresher schema draft people.csv --output schema.json
    """
    if is_address(data):
        raise DataError(
            f"{without_secrets(data)}: a draft is made from a file; export some records to CSV or "
            "Parquet, and draft from those"
        )
    with counting(f"reading {data}") as progress:
        guessed, left_out = draft_schema(data, progress, line_breaks_in_cells=line_breaks)
    guessed.save(output, warning=WARNING)
    for name in left_out:
        say(f"left out: {name!r} (empty, free text, or without a usable name: not a feature)")
    say(WARNING)
    if as_json:
        print_json({"schema": str(output), "features": list(guessed.names), "left_out": left_out})
    else:
        show(f"wrote {output}: {len(guessed)} features to review")


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
    show(f"{len(loaded)} features, {loaded.width} one-hot columns")
