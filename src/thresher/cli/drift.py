"""`thresher drift`: how far interests have moved, and whether a new release is worth its budget."""

import math
from pathlib import Path
from typing import Annotated

import typer

from thresher.cli.console import print_json, show
from thresher.cli.inputs import named_schema
from thresher.cli.options import AsJson, usable_path
from thresher.cli.workload import SchemaOption, read_history
from thresher.errors import ParameterError
from thresher.queries import Drift
from thresher.queries.drift import WORTH
from thresher.release.expected import expected_future_error
from thresher.release.folder import load


def drift(
    old: Annotated[
        Path, typer.Argument(metavar="OLD", help="The earlier log.", callback=usable_path)
    ],
    new: Annotated[
        Path, typer.Argument(metavar="NEW", help="The later log.", callback=usable_path)
    ],
    release: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="The release in use: its errors on both logs are forecast.",
            callback=usable_path,
        ),
    ] = None,
    schema: SchemaOption = None,
    as_json: AsJson = False,
) -> None:
    """Tell how far interests moved from one log to another.

    Logs have one query a line. Nothing here needs the records, or costs privacy.

    Example:
        thresher drift 2025.log 2026.log --schema schema.json
    """
    released = None if release is None else load(release)
    features = released.schema if released and schema is None else named_schema(schema)
    if released and features.fingerprint != released.schema.fingerprint:
        raise ParameterError(f"{release} has another schema than --schema says: leave --schema out")
    moved = Drift(read_history(old, features), read_history(new, features))
    told: dict[str, object] = {
        "total_variation": moved.variation,
        "by_chance": moved.by_chance,
        "covered": moved.covered,
        "error_factor": moved.error_factor,
    }
    worth, why = moved.is_worth_a_release, f"{moved.error_factor:.2f} times"
    if released:
        parts = [
            expected_future_error(released, history.workload, history.times)
            for history in (moved.old, moved.new)
        ]
        (before, _), (now, unknown) = parts
        told |= {"expected_error": {"old": _or_none(before), "new": _or_none(now)}}
        told |= {"without_margin": unknown}
        worth = moved.variation > moved.by_chance and (now >= WORTH * before or unknown > 1 / 2)
        why = f"{now:.4f} in place of {before:.4f}"
    told["worth_a_release"] = worth
    if as_json:
        print_json(told)
        return
    show(f"total variation of the features named: {moved.variation:.3f}")
    show(f"by chance alone it would be below {moved.by_chance:.3f} in 95 % of cases")
    show(f"{moved.covered:.1%} of the new queries name features of one earlier threshold")
    if released:
        show(f"expected future error of {release}: {why}")
        show(f"{unknown:.1%} of the new queries have no margin of error in it")
    else:
        show(f"expected future error: {why} that without drift (RAP, 4 historical thresholds)")
    show("a new release is worth its budget" if worth else "a new release is not worth its budget")


def _or_none(error: float) -> float | None:
    return error if error < math.inf else None
