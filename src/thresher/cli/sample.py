"""`thresher sample`: synthetic records from a release."""

from pathlib import Path
from typing import Annotated

import typer

from thresher.cli.console import print_json, show, working
from thresher.cli.kept import writing
from thresher.cli.options import AsJson, ReleaseFolder, output_option
from thresher.errors import ParameterError
from thresher.release import load
from thresher.release.spreadsheet import write_csv
from thresher.schema import IntegerRange


def sample(
    release: ReleaseFolder,
    rows: Annotated[int, typer.Option(metavar="NUMBER", help="How many records.", min=1)],
    output: Annotated[
        Path,
        output_option("A .csv or .parquet file."),
    ],
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER", help="The same seed gives the same records. Protects nothing.", min=0
        ),
    ] = None,
    escape: Annotated[
        bool,
        typer.Option(
            "--escape/--no-escape",
            help="In CSV, put an apostrophe before texts that a spreadsheet would run (=1+1).",
        ),
    ] = True,
    labels: Annotated[
        bool,
        typer.Option(
            "--labels",
            help="Write labels such as unknown beside numbers and dates, not empty cells.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Draw synthetic records from a release. This costs no privacy.

    Example:
        thresher sample people-release --rows 10000 --output synthetic.csv
    """
    if output.suffix not in (".csv", ".parquet"):
        raise ParameterError(f"{output}: the kind of file is told by its ending: .csv or .parquet")
    published = load(release)
    with working(f"drawing {rows:,} records"):
        records = published.sample(rows, seed, labels=labels)
    with_extra = [feature for feature in published.schema if feature.extra]
    if not labels:
        # Missing values make pandas turn whole numbers into floats. Files keep them whole.
        whole = {f.name: "Int64" for f in with_extra if isinstance(f, IntegerRange)}
        records = records.astype(whole)
    mixed = {feature.name: str for feature in with_extra if labels}
    with writing(output), working(f"writing {output}"):
        if output.suffix == ".csv":
            write_csv(records, output, escape=escape)
        else:
            # A Parquet column has one type: numbers beside words ("missing") become words.
            records.astype(mixed).to_parquet(output, index=False)
    if as_json:
        print_json({"sample": str(output), "rows": rows})
    else:
        show(f"wrote {output}: {rows} synthetic records")
