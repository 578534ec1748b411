"""One question: what fraction of people meet at least r of these k conditions?"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from thresher.errors import QueryError
from thresher.queries.condition import Condition
from thresher.queries.language import parse, value_codes
from thresher.queries.naming import code_named, feature_named
from thresher.queries.threshold import Threshold
from thresher.queries.writing import written
from thresher.schema import Schema, View
from thresher.wording import shown


@dataclass(frozen=True)
class Query:
    """At least r of these conditions hold.

    Attributes:
        conditions: The conditions.
        r: How many of them must hold.
        read_as: The query as it was read, where its text named ends of ranges that are not ends of
            bins; None where it was read to the letter.
        views: The views of the schema it was read with that its conditions name. Codes mean nothing
            with another view of the same name.

    Example:
        >>> from thresher.data import datasets
        >>> schema = datasets.adult_schema()
        >>> query = Query.where(schema, {"race": "Black", "age": range(65, 85)}, r=1)
        >>> query.text(schema)
        'any of: race=Black, age=65..84'
    """

    conditions: tuple[Condition, ...]
    r: int
    read_as: str | None = field(default=None, compare=False, repr=False)
    views: tuple[View, ...] = field(default=(), compare=False, repr=False)

    def __init__(
        self,
        conditions: Iterable[Condition],
        r: int | None = None,
        read_as: str | None = None,
        views: Iterable[View] = (),
    ) -> None:
        object.__setattr__(self, "conditions", tuple(conditions))
        object.__setattr__(self, "read_as", read_as)
        object.__setattr__(self, "views", tuple(views))
        # The rules of a threshold (k ≥ 1, distinct features, 1 ≤ r ≤ k) are those of a query.
        object.__setattr__(self, "r", Threshold((c.feature for c in self.conditions), r).r)

    @classmethod
    def where(cls, schema: Schema, wanted: Mapping[str, object], r: int | None = None) -> "Query":
        """A query from values: `{"race": "Black", "age": range(65, 85), "pay": "1000.."}`.

        Args:
            schema: The features.
            wanted: For each feature a value, a range as text, or a set, list or range of values.
            r: How many must hold; all of them if not given.
        """
        conditions = []
        for name, value in wanted.items():
            if not isinstance(name, str):
                raise QueryError(f"a query names its features by text, not by {shown(name)}")
            feature = feature_named(schema, name)
            if isinstance(value, str):
                codes = value_codes(feature, value)
            elif isinstance(value, Collection) and not isinstance(value, bytes):
                codes = [code_named(feature, one) for one in value]
            else:
                codes = (code_named(feature, value),)
            conditions.append(Condition(feature.name, codes))
        return cls(conditions, r, views=_views_in(conditions, schema))

    @classmethod
    def trusted(
        cls, conditions: tuple[Condition, ...], r: int, read_as: str | None = None
    ) -> "Query":
        """A query whose conditions were checked before: for readers of millions of them."""
        query = object.__new__(cls)
        object.__setattr__(query, "conditions", conditions)
        object.__setattr__(query, "r", r)
        object.__setattr__(query, "read_as", read_as)
        object.__setattr__(query, "views", ())
        return query

    @classmethod
    def parse(cls, text: str, schema: Schema) -> "Query":
        """A query in the language of analysts; see `thresher.queries.language`."""
        conditions, r, is_exact = parse(text, schema)
        read_as = None if is_exact else written(conditions, r, schema, bins_as_ranges=True)
        return cls(conditions, r, read_as, _views_in(conditions, schema))

    @property
    def k(self) -> int:
        """The number of conditions."""
        return len(self.conditions)

    @property
    def threshold(self) -> Threshold:
        """The threshold over the same features."""
        return Threshold((condition.feature for condition in self.conditions), self.r)

    def check(self, schema: Schema) -> None:
        """Raise a QueryError unless every condition is about the schema's features and codes."""
        for view in self.views:
            if schema[view.name] != view:
                raise QueryError(
                    f"the query was read with another view {shown(view.name)} than this one: its "
                    "groups are others. Read it again, with the schema that is asked"
                )
        for condition in self.conditions:
            size = schema[condition.feature].size
            if condition.codes and not 0 <= condition.codes[0] <= condition.codes[-1] < size:
                raise QueryError(
                    f"the codes of feature {condition.feature!r} run from 0 to {size - 1}"
                )

    def text(self, schema: Schema) -> str:
        """The query in the language of analysts; parsing it gives the query back."""
        return written(self.conditions, self.r, schema)


def _views_in(conditions: Iterable[Condition], schema: Schema) -> Iterator[View]:
    if schema.views:
        for condition in conditions:
            if isinstance(view := schema[condition.feature], View):
                yield view
