"""What the documentation says of margins of error is what was measured."""

import csv
from pathlib import Path

from benchmarks.margins.measuring import Coverage, summary

DOCS = Path(__file__).parents[2] / "docs"


def measured() -> list[Coverage]:
    """The figures of docs/margins.csv."""
    with (DOCS / "margins.csv").open(encoding="utf-8", newline="") as file:
        return [
            Coverage(
                *(row[name] for name in ("table", "case", "kind")),
                *(int(row[name]) for name in ("answers", "inside")),
                *(float(value) for value in [*row.values()][5:]),
            )
            for row in csv.DictReader(file)
        ]


def test_the_page_has_the_figures_of_the_file():
    page = (DOCS / "topics" / "margins-of-error.md").read_text("utf-8")
    for line in summary(measured()):
        assert line in page


def test_margins_hold_93_to_99_percent_of_answers_of_every_kind():
    """Intervals of medians end with whole numbers, so more of them hold the truth."""
    rows = measured()
    for kind in {row.kind for row in rows if not row.kind.startswith("median")}:
        alike = [row for row in rows if row.kind == kind]
        inside = sum(row.inside for row in alike) / sum(row.answers for row in alike)
        assert 0.93 <= inside <= 0.99, kind
