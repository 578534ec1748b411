"""Tables of one, two or three features over HTTP, as `Release.table` makes them."""

import math
from collections.abc import Sequence
from typing import Any

from thresher.errors import ParameterError
from thresher.queries.naming import feature_named
from thresher.release import Release
from thresher.release.cross_table import Percent
from thresher.service.answers import finite

MARKS = ("unreliable", "estimated")
"""The columns that are true or false. All others are numbers."""


def table_of(
    release: Release, features: Sequence[str], where: str | None, percent: Percent | None, most: int
) -> dict[str, Any]:
    """All cells of a table, and its totals.

    Args:
        release: The release.
        features: Whose values are combined.
        where: Conditions that all hold, to count nobody else.
        percent: What percentages are of.
        most: The most cells.
    """
    cells = math.prod(feature_named(release.schema, name).size + 1 for name in features)
    if cells > most:
        raise ParameterError(
            f"this table has {cells:,} cells with its totals, and the limit is {most:,}: choose "
            "fewer features"
        )
    found = release.table(*features, where=where, percent=percent)
    labels = ([label] if len(features) == 1 else list(label) for label in found.index.tolist())
    columns = [
        map(bool if name in MARKS else finite, found[name].tolist()) for name in found.columns
    ]
    listed = [
        {"values": values, **dict(zip(found.columns, cell, strict=True))}
        for values, *cell in zip(labels, *columns, strict=True)
    ]
    return {
        "features": list(features),
        "where": where,
        "read_as": found.attrs["read_as"],
        "percent": percent,
        "cells": listed,
    }
