"""The stored results: a CSV file with a line per run."""

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from benchmarks.peers.cells import Cell
from thresher.files import write_text

CELL = tuple(field.name for field in fields(Cell))
MEASURES = (
    *("max", "mean_max", "total_variation", "accuracy", "real_accuracy", "majority"),
    *("cpu_seconds", "peak_megabytes"),
)
COLUMNS = (*CELL, "status", *MEASURES, "commit")
Row = Mapping[str, str]


class Results:
    """The rows of a CSV file, by cell. Each new one is written at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[Cell, Row] = {}
        if path.exists():
            with path.open(encoding="utf-8", newline="") as file:
                self.rows = {_cell(row): _all_columns(row) for row in csv.DictReader(file)}

    def add(self, cell: Cell, found: Mapping[str, Any], commit: str) -> None:
        """Put a row into the file, in place of an earlier one of the same cell."""
        row = {**asdict(cell), **found, "commit": commit}
        self.rows[cell] = {name: _text(row.get(name)) for name in COLUMNS}
        write_text(self.path, _as_csv(self.rows[c] for c in sorted(self.rows, key=_order)))


def _cell(row: Row) -> Cell:
    epsilon, seed = float(row["epsilon"]), int(row["seed"])
    return Cell(row["data"], row["workload"], epsilon, row["mechanism"], seed)


def _all_columns(row: Row) -> Row:
    """A row as it is written now; what was not measured when it was stored is empty."""
    return {name: row.get(name) or "" for name in COLUMNS}


def _order(cell: Cell) -> tuple[object, ...]:
    return cell.data, cell.workload, cell.epsilon, cell.mechanism, cell.seed


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _as_csv(rows: Iterable[Row]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
