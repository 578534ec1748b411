"""Table "Claims": every claim of the paper with what was measured, an interval and a verdict.

It runs nothing: it reads what the other figures have stored, and says "not tested" where that is
not enough. A claim whose figure has not all its runs at the scale is judged at the largest scale at
which it has, and the table says which. Numbers are of the first data set of the scale, unless they
say otherwise.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from thresher.reproduction.future_claims import FUTURE_CLAIMS
from thresher.reproduction.paper_figure import Context, PaperFigure, is_of_the_paper
from thresher.reproduction.practice import AUTHORS, TEXT
from thresher.reproduction.present_claims import PRESENT_CLAIMS
from thresher.reproduction.running import Task
from thresher.reproduction.scales import QUICK, Scale, largest_first
from thresher.reproduction.verdicts import Claim, Finding

CLAIMS: tuple[Claim, ...] = (*PRESENT_CLAIMS, *FUTURE_CLAIMS)
NOT_TESTED = "not tested"
TEXT_REPETITIONS = 40
"""At most so many repetitions were run by the paper's text at scale `quick`."""
REFERENCE = "reference"
"""The kind of runs of the paper's way in JAX, which no claim is about."""


def no_tasks(scale: Scale) -> Sequence[Task]:
    """Nothing is run for the table itself."""
    return []


def places(context: Context, claim: Claim) -> Iterator[Context]:
    """Where results for a claim may be: at the scale itself, on its first data set, at others.

    A part of a figure's runs is mostly the part that takes little time, and would mislead. Only of
    the older runs by the paper's text are those taken that are there.
    """
    data = context.scale.data[:1]
    by_code = (scale for scale in largest_first(data) if scale.practice == AUTHORS)
    for scale in (context.scale, replace(context.scale, data=data), *by_code):
        every = (claim.runs or claim.figure.tasks)(scale)
        if context.has_all(t for t in every if is_of_the_paper(t) and t.kind != REFERENCE):
            yield replace(context, scale=scale)
    by_text = replace(QUICK, name=f"{QUICK.name}, by the text", data=data, practice=TEXT)
    yield replace(context, scale=by_text.repeated(TEXT_REPETITIONS))


def judged(context: Context, claim: Claim) -> tuple[Finding | None, str]:
    """What was measured about a claim, if anything, and at which scale."""
    for place in places(context, claim):
        found = claim.measure(place)
        if found is not None and found.verdict != NOT_TESTED:
            return found, place.scale.name
    return None, ""


def collected(context: Context, claims: Sequence[Claim] = CLAIMS) -> pd.DataFrame:
    """One row a claim."""
    rows = []
    for claim in claims:
        found, scale = judged(context, claim)
        rows.append(
            {
                "claim": claim.words,
                "measured": claim.number,
                "figure": claim.figure.name,
                "where": found.where if found else "",
                "scale": scale,
                "value": found.value if found else math.nan,
                "low": found.low if found else math.nan,
                "high": found.high if found else math.nan,
                "claimed": f"{found.side} {found.bound:.3g}" if found else "",
                "verdict": found.verdict if found else NOT_TESTED,
                "words": found.measured if found else "",
            }
        )
    return pd.DataFrame(rows)


def as_markdown(found: pd.DataFrame, folder: Path) -> str:
    """The table as a page beside the folder shows it, with links to the figures in it."""
    lines = ["| Claim | Measured | Where | Scale | Verdict |", "|---|---|---|---|---|"]
    for row in found.to_dict("records"):
        number = f"{row['measured']}: {row['words']}" if row["words"] else str(row["measured"])
        if row["claimed"]:
            number += f"; claimed: {row['claimed']}"
        shown = sorted(folder.glob(f"{row['figure']}*.png"))
        image = f" ([figure]({folder.name}/{shown[0].name}))" if shown else ""
        where, scale = (str(row[name]).replace("|", "\\|") for name in ("where", "scale"))
        lines.append(f"| {row['claim']} | {number}{image} | {where} | {scale} | {row['verdict']} |")
    return "\n".join(lines) + "\n"


def draw(context: Context) -> None:
    """The table, for programs and for the page."""
    found = collected(context)
    context.table("claims", found.drop(columns="words"))
    context.text("claims-table.txt", as_markdown(found, context.folder))


FIGURE = PaperFigure(
    "claims",
    "every claim of the paper with what was measured and a verdict, from what is stored",
    no_tasks,
    draw,
)
