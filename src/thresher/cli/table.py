"""`thresher table`: a table of shares and counts, with margins of error."""

import math
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thresher.cli.console import plain, print_json, show
from thresher.cli.kept import Where, kept_by, writing
from thresher.cli.options import AsJson, ReleaseFolder, output_option
from thresher.errors import ParameterError
from thresher.release import Release, load
from thresher.release.spreadsheet import spreadsheet_safe, write_csv

if TYPE_CHECKING:
    import pandas as pd

ENDINGS = (".csv", ".parquet", ".xlsx")
WIDE = 8
"""The most values of the second of two features that get a column each on a terminal."""


class PercentOf(StrEnum):
    """What percentages are of."""

    ROW = "row"
    COLUMN = "column"
    TOTAL = "total"


def table(
    release: ReleaseFolder,
    features: Annotated[
        list[str], typer.Argument(metavar="FEATURE", help="One, two or three features.")
    ],
    where: Where = None,
    percent: Annotated[
        PercentOf | None,
        typer.Option(
            help="Percentages of all with the same value of the first feature (`row`), of the last "
            "one (`column`), or of all (`total`), in place of shares of all people."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        output_option("A .csv, .parquet or .xlsx file. Default: the terminal."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a table of a release by one, two or three features. This costs no privacy.

    Each cell has the percentage of people and its margin of error at 95 %. Cells marked * are
    unreliable: the margin is above half of the value. Margins marked ~ are estimates: no measured
    table has all features. A file has shares, counts and margins, one cell a line.

    Example:
        thresher table people-release education income --percent row
        thresher table people-release education sex --where "age>=25" -o table.csv
    """
    if output is not None and output.suffix not in ENDINGS:
        raise ParameterError(
            f"{output}: the kind of file is told by its ending: {', '.join(ENDINGS)}"
        )
    published = load(release)
    kept = kept_by(where, published.schema)
    found = published.table(*features, where=kept, percent=percent.value if percent else None)
    if output is not None:
        _write(found, output)
    if as_json:
        print_json({"table": str(output)} if output else {"cells": _records(found)})
    elif output is not None:
        show(f"wrote {output}: {len(found):,} cells")
    else:
        _show(found, published, where, percent)


def _write(found: "pd.DataFrame", output: Path) -> None:
    flat = found.reset_index()
    names = found.index.names
    flat = flat.astype(dict.fromkeys(names, str))
    with writing(output):
        if output.suffix == ".csv":
            write_csv(flat, output)
        elif output.suffix == ".parquet":
            flat.to_parquet(output, index=False)
        else:
            _write_workbook(flat, output)


def _write_workbook(flat: "pd.DataFrame", output: Path) -> None:
    try:
        spreadsheet_safe(flat).to_excel(output, index=False)
    except ModuleNotFoundError:
        raise ParameterError(
            f"{output}: writing .xlsx needs openpyxl: pip install 'thresher[xlsx]'"
        ) from None


def _records(found: "pd.DataFrame") -> list[dict[str, Any]]:
    """One object per cell, without what JSON has no word for."""
    flat = found.reset_index().to_dict("records")
    return [
        {
            str(key): None if isinstance(value, float) and math.isnan(value) else value
            for key, value in record.items()
        }
        for record in flat
    ]


def _show(
    found: "pd.DataFrame", published: Release, where: str | None, percent: PercentOf | None
) -> None:
    """Print the table: a column for each value of the second of two features, if they are few."""
    # rich takes a fifth of a second to import.
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    names = [str(name) for name in found.index.names]
    of = f" of each {percent.value}" if percent and percent is not PercentOf.TOTAL else ""
    title = f"percent{of}, ± margin of error at 95 %" + (f", where {where}" if where else "")
    show(title)
    grid = Table(box=SIMPLE_HEAD, show_edge=False)
    cells = {_key(label): _cell(row) for label, row in found.iterrows()}
    first, last = (
        [*dict.fromkeys(map(str, found.index.get_level_values(level)))] for level in (0, -1)
    )
    if len(names) == 2 and len(last) <= WIDE + 1:
        heads, lines = [names[0], *last], [
            [label, *(cells[label, other] for other in last)] for label in first
        ]  # fmt: skip
    else:
        counts = [f"{row['count']:,.0f}" for _, row in found.iterrows()]
        heads = [*names, "percent", "count"]
        lines = [[*key, cell, n] for (key, cell), n in zip(cells.items(), counts, strict=True)]
    for place, head in enumerate(heads):
        is_label = place < (1 if len(heads) > len(names) + 2 else len(names))
        grid.add_column(Text(plain(head)), justify="left" if is_label else "right", no_wrap=True)
    for line in lines:
        grid.add_row(*(Text(plain(cell)) for cell in line))
    widest = sum(max(len(str(line[i])) for line in [heads, *lines]) + 3 for i in range(len(heads)))
    Console(file=sys.stdout, width=max(80, widest), highlight=False).print(grid)
    notes = f"n = {published.n:,}"
    if found["unreliable"].any():
        notes += "; * unreliable: the margin is above half of the value"
    if found["estimated"].any():
        notes += "; ~ estimated margin: no measured table has all features"
    show(notes)


def _key(label: Any) -> tuple[str, ...]:
    return tuple(map(str, label)) if isinstance(label, tuple) else (str(label),)


def _cell(row: "pd.Series[Any]") -> str:
    has_percent = "percent" in row.index
    value = row["percent"] if has_percent else 100.0 * row["share"]
    margin = row["percent_margin"] if has_percent else 100.0 * row["margin"]
    if math.isnan(value):
        return "-"
    sign = "~" if row["estimated"] else ""
    bar = "" if math.isnan(margin) else f" ±{sign}{margin:.1f}"
    return f"{value:.1f}{bar}{'*' if row['unreliable'] else ' '}"
