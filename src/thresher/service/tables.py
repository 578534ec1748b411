"""Tables of one, two or three features: every combination of values, with its margin of error."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

from thresher.errors import ParameterError, QueryError
from thresher.queries.condition import Condition
from thresher.queries.query import Query
from thresher.release import Release
from thresher.service.answers import TOGETHER, numbers_of
from thresher.service.worker import Deadline


def table_of(
    release: Release, features: Sequence[str], where: str | None, most: int, deadline: Deadline
) -> dict[str, Any]:
    """All cells of a table.

    Args:
        release: The release.
        features: Whose values are combined.
        where: A query without `of:`, to count only people who meet all its conditions.
        most: The most cells.
        deadline: When to be done.
    """
    chosen = [release.schema[name] for name in features]
    cells = math.prod(feature.size for feature in chosen)
    if cells > most:
        raise ParameterError(
            f"this table has {cells:,} cells, and the limit is {most:,}: choose fewer features"
        )
    among = _conditions(release, where)
    places = itertools.product(*(range(feature.size) for feature in chosen))
    asked = ((place, Query([*map(_one_value, features, place), *among])) for place in places)
    found: list[dict[str, Any]] = []
    while some := list(itertools.islice(asked, TOGETHER)):
        deadline.check()
        release.check(some[0][1])
        answers = release.answer_trusted(query for _, query in some)
        for (place, _), answer in zip(some, answers, strict=True):
            values = [f.labels[code] for f, code in zip(chosen, place, strict=True)]
            found.append({"values": values, **numbers_of(answer)})
    return {"features": list(features), "where": where, "cells": found}


def _one_value(feature: str, code: int) -> Condition:
    return Condition(feature, [code])


def _conditions(release: Release, where: str | None) -> tuple[Condition, ...]:
    if where is None:
        return ()
    query = Query.parse(where, release.schema)
    if query.r < query.k:
        raise QueryError("where must be conditions that all hold, such as age=25..64, sex=Female")
    return query.conditions
