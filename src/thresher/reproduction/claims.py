"""Table "Claims": every claim of the paper with what was measured, an interval and a verdict.

It runs nothing: it reads what the other figures have stored, and says "not tested" where that is
not enough. Numbers are of the first data set of the scale, unless they say otherwise.
"""

import math
from collections.abc import Sequence

import pandas as pd

from thresher.reproduction.future_claims import FUTURE_CLAIMS
from thresher.reproduction.paper_figure import Context, PaperFigure
from thresher.reproduction.present_claims import PRESENT_CLAIMS
from thresher.reproduction.running import Task
from thresher.reproduction.scales import Scale
from thresher.reproduction.verdicts import Claim

CLAIMS: tuple[Claim, ...] = (*PRESENT_CLAIMS, *FUTURE_CLAIMS)
NOT_TESTED = "not tested"


def no_tasks(scale: Scale) -> Sequence[Task]:
    """Nothing is run for the table itself."""
    return []


def collected(context: Context, claims: Sequence[Claim] = CLAIMS) -> pd.DataFrame:
    """One row a claim."""
    rows = []
    for claim in claims:
        found = claim.measure(context)
        known = found is not None and found.verdict != NOT_TESTED
        rows.append(
            {
                "claim": claim.words,
                "measured": claim.number,
                "figure": claim.figure,
                "where": found.where if found and known else "",
                "value": found.value if found and known else math.nan,
                "low": found.low if found and known else math.nan,
                "high": found.high if found and known else math.nan,
                "claimed": f"{found.side} {found.bound:g}" if found and known else "",
                "verdict": found.verdict if found else NOT_TESTED,
                "words": found.measured if found and known else "",
            }
        )
    return pd.DataFrame(rows)


def as_markdown(found: pd.DataFrame) -> str:
    """The table as the page shows it."""
    lines = ["| Claim | Measured | Where | Verdict |", "|---|---|---|---|"]
    for row in found.to_dict("records"):
        number = f"{row['measured']}: {row['words']}" if row["words"] else str(row["measured"])
        if row["claimed"]:
            number += f"; claimed: {row['claimed']}"
        where = str(row["where"]).replace("|", "\\|")
        lines.append(f"| {row['claim']} | {number} | {where} | {row['verdict']} |")
    return "\n".join(lines) + "\n"


def draw(context: Context) -> None:
    """The table, for programs and for the page."""
    found = collected(context)
    context.table("claims", found.drop(columns="words"))
    context.text("claims-table.txt", as_markdown(found))


FIGURE = PaperFigure(
    "claims",
    "every claim of the paper with what was measured and a verdict, from what is stored",
    no_tasks,
    draw,
)
