"""Views that a log of queries asks for: the cut points and sets that analysts used.

Everything here is public: which questions were asked, never what the records say.
"""

from collections import Counter
from collections.abc import Iterable

from thresher.queries.query import Query
from thresher.queries.rewriting import on_columns
from thresher.queries.threshold import Threshold
from thresher.schema import Bins, Feature, IntegerRange, Schema, View

MOST_GROUPS = 16
"""The most groups of a proposed view. Ranges that were asked for rarely are left out first."""

LARGEST_LABEL = 3
"""A group of more values than this is called by a number."""

Codes = tuple[int, ...]


def propose_views(queries: Iterable[Query], schema: Schema) -> list[View]:
    """A view of each feature that was mostly asked about in ranges or sets.

    In it, each of these ranges is whole groups, as far as 16 groups suffice: the most frequent
    ones come first. Features that have a view already are left out.

    Example:
        >>> from thresher.data import datasets
        >>> schema = datasets.adult_schema()
        >>> log = ["age=65.., sex=Male", "age=18..29", "native-country!=United-States"]
        >>> asked = [Query.parse(line, schema) for line in log]
        >>> [view.labels for view in propose_views(asked, schema)]
        [('..17', '18..29', '30..64', '65..'), ('United-States', 'not United-States')]
    """
    asked: dict[str, Counter[Codes]] = {}
    for query in queries:
        for condition in on_columns(query, schema).conditions:
            asked.setdefault(condition.feature, Counter())[condition.codes] += 1
    viewed = {view.of for view in schema.views}
    found = (
        _view(feature, asked[feature.name], schema)
        for feature in schema
        if feature.name in asked and feature.name not in viewed
    )
    return [view for view in found if view is not None]


def through_views(query: Query, schema: Schema) -> Threshold:
    """The threshold of a query over the coarsest views in which its values are whole groups.

    Example:
        >>> from thresher.data import datasets
        >>> adult = datasets.adult_schema()
        >>> schema = adult.with_views([View.at_cuts(adult["age"], "old", [65])])
        >>> through_views(Query.parse("age=65.., sex=Male", schema), schema)
        Threshold(2 of: old, sex)
    """
    names = []
    for condition in on_columns(query, schema).conditions:
        whole = [
            view
            for view in schema.views
            if view.of == condition.feature and view.codes_for(condition.codes) is not None
        ]
        coarsest = min(whole, key=lambda view: view.size, default=None)
        names.append(condition.feature if coarsest is None else coarsest.name)
    return Threshold(names, query.r)


def _view(feature: Feature, asked: Counter[Codes], schema: Schema) -> View | None:
    sets = Counter({codes: n for codes, n in asked.items() if 1 < len(codes) < feature.size})
    if 2 * sets.total() < asked.total() or not sets:
        return None
    wanted = [codes for codes, _ in sets.most_common()]
    name = f"{feature.name}-groups"
    if name in schema.all_names:
        return None
    if feature.has_order and all(_is_run(codes, feature) for codes in wanted):
        return _at_cuts(feature, name, wanted)
    return _by_sets(feature, name, wanted)


def _is_run(codes: Codes, feature: Feature) -> bool:
    regular = feature.size - len(feature.extra)
    return codes == tuple(range(codes[0], codes[-1] + 1)) and codes[-1] < regular


def _at_cuts(feature: Feature, name: str, wanted: list[Codes]) -> View | None:
    regular, cuts = feature.size - len(feature.extra), set[int]()
    for codes in wanted:
        more = cuts | ({codes[0], codes[-1] + 1} - {0, regular})
        if len(more) < MOST_GROUPS and len(more) + 1 + len(feature.extra) < feature.size:
            cuts = more
    values = [_value(feature, code) for code in sorted(cuts)]
    return View.at_cuts(feature, name, values) if values else None


def _value(feature: Feature, code: int) -> object:
    """The first value of a code, as a schema file would write it."""
    if isinstance(feature, IntegerRange):
        return feature.low + code
    if isinstance(feature, Bins):
        edge = feature.edges[code]
        return int(edge) if edge.is_integer() else edge
    return feature.labels[code]


def _by_sets(feature: Feature, name: str, wanted: list[Codes]) -> View | None:
    """The coarsest groups of which every set is made."""
    kept: list[Codes] = []
    groups: dict[tuple[bool, ...], list[int]] = {}
    for codes in wanted:
        more = _groups(feature.size, [*kept, codes])
        if len(more) <= MOST_GROUPS and 1 < len(more) < feature.size:
            kept, groups = [*kept, codes], more
    if not groups:
        return None
    labelled = {}
    for number, members in enumerate(groups.values(), start=1):
        said = [feature.labels[code] for code in members]
        left_out = [label for label in feature.labels if label not in said]
        label = f"group {number}"
        if len(said) <= LARGEST_LABEL:
            label = " or ".join(said)
        elif len(groups) == 2 and len(left_out) <= LARGEST_LABEL:
            label = f"not {' or '.join(left_out)}"
        labelled[label] = said
    return View.of_groups(feature, name, labelled)


def _groups(size: int, sets: list[Codes]) -> dict[tuple[bool, ...], list[int]]:
    """Codes that lie in the same sets, together."""
    members = [set(codes) for codes in sets]
    groups: dict[tuple[bool, ...], list[int]] = {}
    for code in range(size):
        groups.setdefault(tuple(code in some for some in members), []).append(code)
    return groups
