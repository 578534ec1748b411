"""Table "Claims": every claim of the paper with what was measured, an interval and a verdict.

It runs nothing: it reads what the other figures have stored, and says "not tested" where that is
not enough. A claim whose figure has not all its runs at the scale is judged at the largest scale at
which it has, and the table says which. Every claim has a row for each data set that it is judged
on.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from thresher.reproduction.future_claims import FUTURE_CLAIMS
from thresher.reproduction.paper_figure import Context, PaperFigure, image_of, optional_line
from thresher.reproduction.present_claims import PRESENT_CLAIMS
from thresher.reproduction.running import Task
from thresher.reproduction.scales import Scale, largest_first
from thresher.reproduction.verdicts import Claim, Finding

CLAIMS: tuple[Claim, ...] = (*PRESENT_CLAIMS, *FUTURE_CLAIMS)
NOT_TESTED = "not tested"


def no_tasks(scale: Scale) -> Sequence[Task]:
    """Nothing is run for the table itself."""
    return []


def places(context: Context, claim: Claim) -> Iterator[Context]:
    """Where results for a claim may be: at the scale itself, or at others on the same data set.

    A part of a figure's runs is mostly the part that takes little time, and would mislead.
    """
    for scale in (context.scale, *largest_first(context.scale.data)):
        every = (claim.runs or claim.figure.tasks)(scale)
        if context.has_all(task for task in every if not optional_line(task)):
            yield replace(context, scale=scale)


def judged(context: Context, claim: Claim) -> tuple[Finding | None, str]:
    """What was measured about a claim, if anything, and at which scale."""
    for place in places(context, claim):
        found = claim.measure(place)
        if found is not None and found.verdict != NOT_TESTED:
            return found, place.scale.name
    return None, ""


def collected(context: Context, claims: Sequence[Claim] = CLAIMS) -> pd.DataFrame:
    """A row for each claim and data set, or one that says "not tested"."""
    return pd.DataFrame([row for claim in claims for row in rows_of(context, claim)])


def rows_of(context: Context, claim: Claim) -> list[dict[str, Any]]:
    """The rows of one claim. What depends on no data set has one."""
    rows: dict[str, dict[str, Any]] = {}
    for data in context.scale.data:
        found, scale = judged(replace(context, scale=context.scale.on(data)), claim)
        if found is not None:
            image = image_of(context.folder, claim.figure.name, data)
            rows.setdefault(found.where, _row(claim, found, scale, image))
    return list(rows.values()) or [_not_tested(claim)]


def _row(claim: Claim, found: Finding, scale: str, image: Path | None) -> dict[str, Any]:
    return {
        **_not_tested(claim),
        "where": found.where,
        "scale": scale,
        "value": found.value,
        "low": found.low,
        "high": found.high,
        "claimed": f"{found.side} {found.bound:.3g}",
        "verdict": found.verdict,
        "words": found.measured,
        "image": image.name if image else "",
    }


def _not_tested(claim: Claim) -> dict[str, Any]:
    told = {"claim": claim.words, "measured": claim.number, "figure": claim.figure.name}
    numbers = dict.fromkeys(("value", "low", "high"), math.nan)
    words = {"claimed": "", "verdict": NOT_TESTED, "words": "", "image": ""}
    return {**told, "where": "", "scale": "", **numbers, **words}


def as_markdown(found: pd.DataFrame, folder: Path) -> str:
    """The table as a page beside the folder shows it, with links to the figures in it."""
    lines = ["| Claim | Measured | Where | Scale | Verdict |", "|---|---|---|---|---|"]
    for row in found.to_dict("records"):
        number = f"{row['measured']}: {row['words']}" if row["words"] else str(row["measured"])
        if row["claimed"]:
            number += f"; claimed: {row['claimed']}"
        image = f" ([figure]({folder.name}/{row['image']}))" if row["image"] else ""
        where, scale = (str(row[name]).replace("|", "\\|") for name in ("where", "scale"))
        lines.append(f"| {row['claim']} | {number}{image} | {where} | {scale} | {row['verdict']} |")
    return "\n".join(lines) + "\n"


def draw(context: Context) -> None:
    """The table, for programs and for the page."""
    found = collected(context)
    context.table("claims", found.drop(columns=["words", "image"]))
    context.text("claims-table.txt", as_markdown(found, context.folder))


FIGURE = PaperFigure(
    "claims",
    "every claim of the paper with what was measured and a verdict, from what is stored",
    no_tasks,
    draw,
)
