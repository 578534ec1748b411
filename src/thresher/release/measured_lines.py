"""The file measurements.csv: every noisy count in long form, for a spreadsheet or a notebook.

Single queries come first; `folder` reads them back. The cells of noisy tables follow, a line each,
for people: thresher itself reads tables from tables.npz, and residuals from residuals.npz, from
which tables are put together here.
"""

import csv
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from thresher.privacy.measurements import TableMeasurement, measured_queries, measured_tables
from thresher.queries.condition import Condition
from thresher.queries.threshold import Threshold
from thresher.queries.writing import written
from thresher.release.sources.joint_tables import residuals_as_tables
from thresher.release.spreadsheet import safe_cell
from thresher.schema import Schema

if TYPE_CHECKING:
    from thresher.release.release import Release

HEADS = ["query", "noisy_count", "sigma"]
"""The first columns, which are all that versions 1 and 2 of a release have."""

MOST_LINES = 100_000
"""The most lines for cells of tables. A spreadsheet opens a file of so many without trouble."""


def tables_listed(tables: Sequence[TableMeasurement], most: int = MOST_LINES) -> list[bool]:
    """Which tables stand in measurements.csv: the smallest, as long as there is room for all cells.

    Args:
        tables: The tables, in the order of release.json.
        most: How many cells there is room for.
    """
    listed = [False] * len(tables)
    for place in sorted(range(len(tables)), key=lambda i: tables[i].counts.size):
        most -= tables[place].counts.size
        listed[place] = most >= 0
    return listed


def name_of(threshold: Threshold) -> str:
    """A table in the words of people.

    Example:
        >>> name_of(Threshold(("age", "race"))), name_of(Threshold(("age", "race", "sex"), r=2))
        ('age × race', '2 of: age, race, sex')
    """
    if threshold.r == threshold.k:
        return " × ".join(threshold.features)
    return f"{threshold.r} of: {', '.join(threshold.features)}"


def noisy_tables(release: "Release") -> list[TableMeasurement]:
    """All tables that were measured, or that measured residuals determine."""
    return measured_tables(residuals_as_tables(release.measurements, release.schema))


def write_measurements(path: Path, release: "Release", most: int = MOST_LINES) -> None:
    """Write measurements.csv.

    Args:
        path: The file.
        release: What was measured.
        most: The most lines for cells of tables.
    """
    queries, tables = measured_queries(release.measurements), noisy_tables(release)
    kept = list(itertools.compress(tables, tables_listed(tables, most)))
    widest = max((table.threshold.k for table in kept), default=0)
    values = [f"value_{i}" for i in range(1, widest + 1)]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*HEADS, "noisy_share", "table", *values])
        for m in queries:
            line = [m.query.text(release.schema), m.count, repr(m.sigma), f"{m.answer:.6g}"]
            writer.writerow(line + [""] * (1 + widest))
        for table in kept:
            writer.writerows(_cells(table, release.schema, widest))


def _cells(table: TableMeasurement, schema: Schema, widest: int) -> Iterator[list[object]]:
    """The lines of a table: each cell as a query that can be asked, and its values alone."""
    threshold = table.threshold
    features = [schema[name] for name in threshold.features]
    first = written([Condition(f.name, [0]) for f in features], threshold.r, schema)
    opening = first[: first.index(":") + 2]
    texts = [
        [written([Condition(f.name, [code])], 1, schema).removeprefix("all of: ")
         for code in range(f.size)]
        for f in features
    ]  # fmt: skip
    labels = [[safe_cell(label) for label in f.labels] for f in features]
    name, sigma, blank = (
        safe_cell(name_of(threshold)),
        repr(table.sigma),
        [""] * (widest - len(features)),
    )
    cells = zip(
        itertools.product(*texts), itertools.product(*labels), table.counts.ravel().tolist(),
        strict=True,
    )  # fmt: skip
    for conditions, values, count in cells:
        query = opening + ", ".join(conditions)
        yield [query, count, sigma, f"{count / table.n:.6g}", name, *values, *blank]
