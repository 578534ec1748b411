"""The same query about features or about views of them.

A condition on a view stands for a set of values of its base. A condition on a feature can be put to
any view in which its values are whole groups. All these queries have the same true answer, but a
release may know one of them better: the one about the table that was measured.
"""

import itertools
from collections.abc import Iterator

from thresher.queries.condition import Condition
from thresher.queries.query import Query
from thresher.schema import Schema, View

MOST_WAYS = 64
"""The most ways of putting a query that are tried."""


def on_columns(query: Query, schema: Schema) -> Query:
    """The query about the columns themselves: conditions on views become sets of values.

    Example:
        >>> from thresher.data import datasets
        >>> adult = datasets.adult_schema()
        >>> schema = adult.with_views([View.at_cuts(adult["age"], "old", [65])])
        >>> on_columns(Query.parse("old=65.., sex=Male", schema), schema).text(schema)
        'all of: age=65..100, sex=Male'
    """
    if not schema.views:
        return query
    schema.bases(condition.feature for condition in query.conditions)
    return Query(
        (_on_column(condition, schema) for condition in query.conditions), query.r, query.read_as
    )


def equivalents(query: Query, schema: Schema) -> Iterator[Query]:
    """The query itself, and the same about other views or features, whole groups permitting.

    Example:
        >>> from thresher.data import datasets
        >>> adult = datasets.adult_schema()
        >>> schema = adult.with_views([View.at_cuts(adult["age"], "old", [65])])
        >>> asked = Query.parse("age=65.., sex=Male", schema)
        >>> [same.text(schema) for same in equivalents(asked, schema)]
        ['all of: age=65..100, sex=Male', 'all of: old="65..", sex=Male']
    """
    if not schema.views:
        yield query
        return
    ways = [_ways(condition, schema) for condition in on_columns(query, schema).conditions]
    asked = {condition.feature for condition in query.conditions}
    for some in ways:
        some.sort(key=lambda condition: condition.feature not in asked)
    for conditions in itertools.islice(itertools.product(*ways), MOST_WAYS):
        yield Query(conditions, query.r, query.read_as)


def _on_column(condition: Condition, schema: Schema) -> Condition:
    feature = schema[condition.feature]
    if not isinstance(feature, View):
        return condition
    return Condition(feature.of, feature.base_codes(condition.codes))


def _ways(condition: Condition, schema: Schema) -> list[Condition]:
    """A condition on a column, and the same on each view in which its values are whole groups."""
    found = [condition]
    for view in schema.views:
        codes = view.codes_for(condition.codes) if view.of == condition.feature else None
        if codes is not None:
            found.append(Condition(view.name, codes))
    return found
