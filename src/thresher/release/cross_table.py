"""Tables for people: shares and counts by one, two or three features, with margins of error."""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from thresher.errors import QueryError
from thresher.queries.condition import Condition
from thresher.queries.conditional import all_of
from thresher.queries.naming import feature_named
from thresher.queries.query import Query
from thresher.release.answer import Answer
from thresher.schema import Bins, Feature

if TYPE_CHECKING:
    import pandas as pd

    from thresher.release.release import Release

TOTAL = "Total"
MOST_FEATURES = 3
MOST_CELLS = 200_000
"""The most cells of a table. More are no table for people; `answer_all` has arrays."""

PERCENT = ("row", "column", "total")
Percent = Literal["row", "column", "total"]
"""What a percentage is of: all with the same value of the first feature, of the last, or all."""


class _Value(NamedTuple):
    """A value of a feature, or the total over all of them."""

    label: str
    codes: tuple[int, ...]


def cross_table(
    release: "Release",
    features: Sequence[str],
    where: Query | None = None,
    percent: Percent | None = None,
) -> "pd.DataFrame":
    """The table of `Release.table`."""
    import pandas as pd  # half a second, which answers do without

    named = _features(release, features)
    if percent is not None and percent not in PERCENT:
        raise QueryError(f"percent must be one of {', '.join(PERCENT)}, not {percent!r}")
    axes = [_values(feature, where) for feature in named]
    cells = math.prod(map(len, axes))
    if cells > MOST_CELLS:
        raise QueryError(
            f"the table has {cells:,} cells, and {MOST_CELLS:,} are the most: take fewer features, "
            "or less of them by `where`"
        )
    names = [feature.name for feature in named]
    labels = [[value.label for value in axis] for axis in axes]
    answers = [*_answers(release, names, axes, where)]
    columns: dict[str, list[Any]] = {
        "share": [float(answer) for answer in answers],
        "margin": [_number(answer.error_bar) for answer in answers],
        "count": [answer.count for answer in answers],
        "count_margin": [_number(answer.count_error_bar) for answer in answers],
    }
    if percent is not None:
        of = _bases(answers, axes, percent)
        ratios = [ratio(part, whole) for part, whole in zip(answers, of, strict=True)]
        columns["percent"] = [100.0 * share for share in ratios]
        columns["percent_margin"] = [100.0 * _number(share.error_bar) for share in ratios]
        columns["unreliable"] = [is_unreliable(share) for share in ratios]
    else:
        columns["unreliable"] = [is_unreliable(answer) for answer in answers]
    columns["estimated"] = [answer.is_estimated for answer in answers]
    levels = [pd.CategoricalIndex(listed, categories=listed, ordered=True) for listed in labels]
    if len(names) == 1:
        found = pd.DataFrame(columns, index=levels[0].rename(names[0]))
    else:
        found = pd.DataFrame(columns, index=pd.MultiIndex.from_product(levels, names=names))
    found.attrs["read_as"] = where.read_as if where else None
    return found


def ratio(part: Answer, whole: Answer) -> Answer:
    """The share of a part in a whole that contains it, with its margin of error.

    With A and B the part and the whole, R = A/B and variances V, the variance of R is
    (V_A + R²·V_B - 2·R·min(V_A, V_B/2)) / B². The last part is the covariance of A and B if the
    part and the rest have equal variances, or if their errors are independent and the part small.

    Example:
        >>> share = ratio(Answer(0.1, 0.01, 1000), Answer(0.5, 0.0, 1000))
        >>> float(share), share.error_bar, share.count
        (0.2, 0.02, 100.0)
    """
    if not whole > 0.0:
        return Answer(math.nan, None, 0.0, whole.is_estimated)
    share = min(1.0, part / whole)
    margin = None
    if part.error_bar is not None and whole.error_bar is not None:
        a, b = part.error_bar**2, whole.error_bar**2
        squared = a + share**2 * b - 2.0 * share * min(a, b / 2.0)
        margin = min(math.sqrt(squared) / whole, max(share, 1.0 - share))
    if part is whole:
        margin = 0.0
    is_estimated = part.is_estimated or whole.is_estimated
    return Answer(share, margin, whole.count, is_estimated)


def is_unreliable(answer: Answer) -> bool:
    """Whether the margin of error is above half of the value, or not known.

    Example:
        >>> is_unreliable(Answer(0.1, 0.06)), is_unreliable(Answer(0.1, 0.04))
        (True, False)
    """
    return answer.error_bar is None or not answer.error_bar <= answer / 2


def value_label(feature: Feature, code: int) -> str:
    """A value in words; a bin with both of its ends.

    Example:
        >>> value_label(Bins(name="pay", edges=(0, 25, 50), nulls=0), 1)
        '25..50'
    """
    label = feature.labels[code]
    if isinstance(feature, Bins) and code < len(feature.edges) - 1:
        return f"{label}..{feature.edges[code + 1]:.15g}"
    return label


def complete(release: "Release", conditions: Iterable[Condition]) -> Query:
    """The query for some conditions, which names more features if the release needs that."""
    listed = [*conditions]
    features = tuple(condition.feature for condition in listed)
    needed = release.source.answerable(features) or features
    others = [
        Condition(name, range(release.schema[name].size)) for name in needed if name not in features
    ]
    return Query([*listed, *others])


def _features(release: "Release", names: Sequence[str]) -> list[Feature]:
    if not 1 <= len(names) <= MOST_FEATURES:
        raise QueryError(f"a table has one to {MOST_FEATURES} features, not {len(names)}")
    found = [feature_named(release.schema, name) for name in names]
    for feature in found:
        if found.count(feature) > 1:
            raise QueryError(f"the table names the feature {feature.name!r} twice")
    return found


def _values(feature: Feature, where: Query | None) -> list[_Value]:
    codes: tuple[int, ...] = tuple(range(feature.size))
    for condition in where.conditions if where else ():
        if condition.feature == feature.name:
            codes = condition.codes
    listed = [_Value(value_label(feature, code), (code,)) for code in codes]
    total = TOTAL if all(value.label != TOTAL for value in listed) else f"{TOTAL} (all)"
    return [*listed, _Value(total, codes)]


def _answers(
    release: "Release", names: list[str], axes: list[list[_Value]], where: Query | None
) -> Iterator[Answer]:
    def queries() -> Iterator[Query]:
        for cell in product(*axes):
            found = [Condition(n, value.codes) for n, value in zip(names, cell, strict=True)]
            cell_query = all_of(Query(found), *([where] if where else []))
            # A feature of which all values are allowed is left out: the total over it.
            kept = [
                c for c in cell_query.conditions if len(c.codes) < release.schema[c.feature].size
            ]
            query = complete(release, kept or found[:1])
            release.check(query)
            yield query

    return release.answer_trusted(queries())


def _bases(answers: list[Answer], axes: list[list[_Value]], percent: Percent) -> Iterator[Answer]:
    """For each cell, the answer that its percentage is of."""
    sizes = [len(axis) for axis in axes]
    kept = {"row": {0}, "column": {len(axes) - 1}, "total": set[int]()}[percent]
    if len(axes) == 1:
        kept = set()
    for cell in product(*map(range, sizes)):
        place = 0
        for axis, (at, size) in enumerate(zip(cell, sizes, strict=True)):
            place = place * size + (at if axis in kept else size - 1)
        yield answers[place]


def _number(value: float | None) -> float:
    return math.nan if value is None else value
