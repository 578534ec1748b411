"""One- and two-way tables of a release: each share is an answer of the release, with its margin."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from thresher.privacy.measurements import measured_queries
from thresher.queries.condition import Condition
from thresher.queries.query import Query
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.release import Answer, Release
from thresher.report.groups import Group, groups_of
from thresher.schema.features import Boolean, Categorical, Feature

Table = npt.NDArray[np.float64]

MOST_BARS = 100
MOST_CATEGORIES = 16
MOST_CELLS = 20
MOST_CANDIDATES = 200
"""How many pairs of features are compared, to show the most closely related ones."""

LARGEST_COMPARED = 10_000_000
"""The most cells of a pair of features that is compared."""


@dataclass(frozen=True)
class Bar:
    """The share of people with one of some values.

    Attributes:
        label: The values in words.
        query: What the release was asked.
        answer: What it answered; its `error_bar` is the margin of error.
    """

    label: str
    query: Query
    answer: Answer


@dataclass(frozen=True, eq=False)
class OneWay:
    """The shares of one feature's values."""

    feature: Feature
    bars: tuple[Bar, ...]

    @property
    def is_ordered(self) -> bool:
        """Whether the values lie on a line, as numbers and dates do."""
        return not isinstance(self.feature, Categorical | Boolean)


@dataclass(frozen=True, eq=False)
class TwoWay:
    """The joint shares of two features' values.

    Attributes:
        features: The features of the rows and of the columns.
        labels: The labels of the rows and of the columns.
        cells: The cells, a list for each row; a cell's label names its row and its column.
    """

    features: tuple[Feature, Feature]
    labels: tuple[tuple[str, ...], tuple[str, ...]]
    cells: tuple[tuple[Bar, ...], ...]

    @property
    def shares(self) -> Table:
        """The shares as an array."""
        return np.array([[bar.answer for bar in row] for row in self.cells], dtype=np.float64)


def one_way(release: Release, name: str) -> OneWay | None:
    """The shares of a feature's values; None if the release does not answer such queries."""
    if release.source.answerable((name,)) is None:
        return None
    feature = release.schema[name]
    most = MOST_CATEGORIES if isinstance(feature, Categorical | Boolean) else MOST_BARS
    groups = groups_of(feature, most, lambda: _shares(release, name))
    bars = _asked(release, [(group.label, {name: group.codes}) for group in groups])
    return OneWay(feature, tuple(bars))


def two_way(release: Release, names: tuple[str, str]) -> TwoWay | None:
    """The joint shares of two features' values; None if the release does not answer such queries.

    Large tables are shown in groups of values.
    """
    if release.source.answerable(names) is None:
        return None
    first, second = names
    rows, columns = (
        groups_of(release.schema[name], MOST_CELLS, lambda name=name: _shares(release, name))  # type: ignore[misc]
        for name in names
    )
    bars = _asked(
        release,
        [
            (f"{row.label}, {column.label}", {first: row.codes, second: column.codes})
            for row in rows
            for column in columns
        ],
    )
    return TwoWay(
        (release.schema[first], release.schema[second]),
        (tuple(g.label for g in rows), tuple(g.label for g in columns)),
        tuple(tuple(next(bars) for _ in columns) for _ in rows),
    )


def telling_pairs(release: Release, most: int) -> list[TwoWay]:
    """The pairs of features to show: of those asked about together, the most closely related.

    Noise in a noisy table looks like a relation. So for a release of noisy tables, the pairs with
    the smallest margins of error come first instead.
    """
    asked = Counter(
        tuple(sorted(pair, key=release.schema.index))
        for features in _asked_together(release)
        for pair in combinations(features, 2)
    )
    closeness = _relation if release.source.rows is not None else _precision
    candidates = [
        (first, second)
        for (first, second), _ in asked.most_common(MOST_CANDIDATES)
        if release.source.answerable((first, second)) is not None
        and release.schema[first].size * release.schema[second].size <= LARGEST_COMPARED
    ]
    ranked = sorted(candidates, key=lambda pair: -closeness(release, pair))[:most]
    return [table for pair in ranked if (table := two_way(release, pair)) is not None]


def mutual_information(shares: Table) -> float:
    """How much the row of a person tells about the column, in nats.

    Example:
        >>> mutual_information(np.array([[0.25, 0.25], [0.25, 0.25]]))
        0.0
        >>> round(mutual_information(np.array([[0.5, 0.0], [0.0, 0.5]])), 3)
        0.693
    """
    joint = np.clip(shares, 0.0, None)
    total = joint.sum()
    if total <= 0:
        return 0.0
    joint = joint / total
    independent = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    some = joint > 0
    return float((joint[some] * np.log(joint[some] / independent[some])).sum())


def _relation(release: Release, names: tuple[str, str]) -> float:
    """The mutual information of two features, in groups of values."""
    table = release.answer_all(Workload(release.schema, [Threshold(names)]))[0]
    grouped = table
    for axis, name in enumerate(names):
        shares = table.sum(axis=1 - axis)
        groups = groups_of(release.schema[name], MOST_CELLS, shares.tolist)
        grouped = _summed(grouped, groups, axis)
    return mutual_information(grouped)


def _summed(table: Table, groups: Sequence[Group], axis: int) -> Table:
    parts = [table.take(group.codes, axis=axis).sum(axis=axis) for group in groups]
    return np.stack(parts, axis=axis)


def _precision(release: Release, names: tuple[str, str]) -> float:
    """Larger for a smaller margin of error of a single cell."""
    [cell] = _asked(release, [("", dict.fromkeys(names, (0,)))])
    return -(1.0 if cell.answer.error_bar is None else cell.answer.error_bar)


def _asked_together(release: Release) -> Iterator[Sequence[str]]:
    for m in measured_queries(release.measurements):
        yield m.query.threshold.features
    for threshold in release.workload:
        yield threshold.features


def _shares(release: Release, name: str) -> list[float]:
    """The share of every single value of a feature."""
    asked = [("", {name: (code,)}) for code in range(release.schema[name].size)]
    return [float(bar.answer) for bar in _asked(release, asked)]


def _asked(
    release: Release, labelled: Sequence[tuple[str, Mapping[str, tuple[int, ...]]]]
) -> Iterator[Bar]:
    """What the release answers about some codes of some features, with labels."""
    queries = [_query(release, codes) for _, codes in labelled]
    answers = release.answer_many(queries)
    for (label, _), query, answer in zip(labelled, queries, answers, strict=True):
        yield Bar(label, query, answer)


def _query(release: Release, codes: Mapping[str, tuple[int, ...]]) -> Query:
    """The query for some codes of some features, which names others if the release needs that."""
    features = release.source.answerable(tuple(codes)) or tuple(codes)
    everything = {name: range(release.schema[name].size) for name in features if name not in codes}
    return Query(Condition(name, allowed) for name, allowed in {**codes, **everything}.items())
