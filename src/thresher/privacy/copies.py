"""Fresh copies of what a caller asks about: what was checked is what is used.

A caller keeps what it gives: it can change a workload while its own `answers_of` runs, and a
subclass of `str` or `int` can be one thing when it is checked and another when it is used. So
requests are carried out on copies made of plain values, whose names come from the schema.
"""

import operator
from collections.abc import Iterable

import numpy as np

from thresher.errors import ParameterError, QueryError
from thresher.queries.condition import Condition
from thresher.queries.query import Query
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.schema import Schema


def copied_threshold(threshold: Threshold, schema: Schema) -> Threshold:
    """A threshold of plain values.

    Example:
        >>> from thresher.schema import IntegerRange
        >>> schema = Schema([IntegerRange(name="age", low=0, high=99, nulls=0)])
        >>> copied_threshold(Threshold(("age",)), schema)
        Threshold(1 of: age)
    """
    if type(threshold) is not Threshold:
        raise ParameterError(f"name thresholds: a Threshold, not {threshold!r}")
    return Threshold(_names(threshold.features, schema), operator.index(threshold.r))


def copied_query(query: Query, schema: Schema) -> Query:
    """A query of plain values."""
    if type(query) is not Query:
        raise ParameterError(f"name queries: a Query, not {query!r}")
    query.check(schema)
    given = [(condition.feature, condition.codes) for condition in query.conditions]
    names = _names((feature for feature, _ in given), schema)
    codes = [tuple(map(operator.index, chosen)) for _, chosen in given]
    return Query(map(Condition, names, codes), operator.index(query.r))


def copied_ids(queries: Iterable[Query | int], workload: Workload) -> list[int]:
    """The ids, in a workload, of some of its queries, as plain numbers.

    An id says all that there is to say about a query, and to copy it takes next to no time.

    Args:
        queries: The queries, or their ids.
        workload: A copied workload.
    """
    ids = [given if type(given) is int else _id_of(given, workload) for given in queries]
    if ids and not 0 <= min(ids) <= max(ids) < workload.query_count:
        raise QueryError(f"the ids of the workload's queries run to {workload.query_count - 1}")
    return ids


def _id_of(query: Query | int, workload: Workload) -> int:
    if type(query) is Query:
        return workload.id_of(copied_query(query, workload.schema))
    if isinstance(query, int | np.integer) and not isinstance(query, bool):
        return operator.index(query)
    raise ParameterError(f"name queries: a Query or its id, not {query!r}")


def copied_workload(workload: Workload, schema: Schema) -> Workload:
    """A workload of plain values, over the schema of the records."""
    if type(workload) is not Workload or type(workload.schema) is not Schema:
        raise ParameterError(f"workload must be a Workload, not {workload!r}")
    if workload.schema.fingerprint != schema.fingerprint:
        raise QueryError("the workload is over another schema than the records")
    thresholds = [copied_threshold(t, schema) for t in tuple(workload.thresholds)]
    theirs, ours = ({v.name: v for v in s.views} for s in (workload.schema, schema))
    for name in {name for threshold in thresholds for name in threshold.features}:
        # The fingerprint says nothing about views, and one of the same name may have other groups.
        if theirs.get(name) != ours.get(name):
            raise QueryError(f"the workload has another view {name!r} than the records")
    return Workload(schema, thresholds, tuple(workload.weights))


def copied_target(target: Query | Threshold, schema: Schema) -> Query | Threshold:
    """A query or a threshold of plain values."""
    if type(target) is Query:
        return copied_query(target, schema)
    if type(target) is Threshold:
        return copied_threshold(target, schema)
    raise ParameterError(f"only queries and thresholds can be measured, not {target!r}")


def _names(names: Iterable[str], schema: Schema) -> tuple[str, ...]:
    listed = tuple(schema[name].name for name in names)
    schema.bases(listed)  # a feature and a view of it are refused before anything is paid
    return listed
