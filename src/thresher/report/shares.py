"""One- and two-way tables of a release, with the error bars that need no private data."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median

import numpy as np
import numpy.typing as npt

from thresher.privacy.measurements import QueryMeasurement, TableMeasurement, measured_tables
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.release import Release
from thresher.release.error_bars import WITHIN
from thresher.release.sources import SyntheticRows
from thresher.schema.features import Categorical, Feature

Table = npt.NDArray[np.float64]

MOST_BARS = 100
MOST_CATEGORIES = 16
MOST_CELLS = 20
MOST_CANDIDATES = 200
"""Pairs of features that are looked at, to show those that are tied most closely."""


@dataclass(frozen=True)
class Group:
    """Values of a feature that are drawn as one."""

    label: str
    codes: tuple[int, ...]


@dataclass(frozen=True)
class Bar:
    """The share of people in a group of values.

    Attributes:
        label: The group's name.
        share: What the release says.
        reach: Half the length of its error bar; None where nothing is known about its error.
    """

    label: str
    share: float
    reach: float | None


@dataclass(frozen=True, eq=False)
class OneWay:
    """The shares of one feature's values."""

    feature: Feature
    bars: tuple[Bar, ...]

    @property
    def is_ordered(self) -> bool:
        """Whether the values stand in an order of their own, as numbers do."""
        return not isinstance(self.feature, Categorical)


@dataclass(frozen=True, eq=False)
class TwoWay:
    """The shares of two features' values, jointly: one row per group of the first feature."""

    features: tuple[Feature, Feature]
    labels: tuple[tuple[str, ...], tuple[str, ...]]
    shares: Table
    reach: float | None


def typical_sigma(release: Release) -> float | None:
    """The standard deviation of a measurement's noise as a share of people, in the middle."""
    return median(m.sigma / m.n for m in release.measurements) if release.measurements else None


def one_way(release: Release, name: str) -> OneWay | None:
    """The shares of a feature's values; None if the release cannot tell."""
    found = _marginal(release, (name,))
    if found is None:
        return None
    shares, sigma = found
    feature = release.schema[name]
    named = _measured_codes(release).get(name, set())
    most = MOST_CATEGORIES if isinstance(feature, Categorical) else MOST_BARS
    bars = []
    for group in _groups(feature, shares, most):
        known = named.intersection(group.codes)
        reach = WITHIN * sigma * math.sqrt(_summed(release, group)) if known else None
        bars.append(Bar(group.label, float(shares[list(group.codes)].sum()), reach))
    return OneWay(feature, tuple(bars))


def two_way(release: Release, names: tuple[str, str]) -> TwoWay | None:
    """The joint shares of two features' values; None if the release cannot tell."""
    found = _marginal(release, names)
    if found is None:
        return None
    shares, sigma = found
    first, second = (release.schema[name] for name in names)
    rows = _groups(first, shares.sum(axis=1), MOST_CELLS)
    columns = _groups(second, shares.sum(axis=0), MOST_CELLS)
    grouped = np.array(
        [[shares[np.ix_(row.codes, column.codes)].sum() for column in columns] for row in rows]
    )
    most_summed = max(_summed(release, g) for g in rows) * max(_summed(release, g) for g in columns)
    return TwoWay(
        (first, second),
        (tuple(g.label for g in rows), tuple(g.label for g in columns)),
        grouped,
        WITHIN * sigma * math.sqrt(most_summed) if release.measurements else None,
    )


def telling_pairs(release: Release, most: int) -> list[TwoWay]:
    """The pairs of features to show: from the workload, those that are tied most closely.

    Where answers are noisy tables themselves, noise looks like a tie; there, those with the least
    noise come first.
    """
    frequency = Counter(
        tuple(sorted(pair, key=release.schema.index))
        for features in _asked_together(release)
        for pair in combinations(features, 2)
    )
    found = []
    for (first, second), _ in frequency.most_common(MOST_CANDIDATES):
        pair = two_way(release, (first, second))
        if pair is not None:
            found.append(pair)
    if isinstance(release.source, SyntheticRows):
        return sorted(found, key=lambda pair: -mutual_information(pair.shares))[:most]
    return sorted(found, key=lambda pair: pair.reach or 0.0)[:most]


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
    apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    some = joint > 0
    return float((joint[some] * np.log(joint[some] / apart[some])).sum())


def _asked_together(release: Release) -> Iterator[Sequence[str]]:
    for m in release.measurements:
        if isinstance(m, QueryMeasurement):
            yield [condition.feature for condition in m.query.conditions]
    for threshold in release.workload:
        yield threshold.features


def _marginal(release: Release, names: tuple[str, ...]) -> tuple[Table, float] | None:
    """The marginal table over some features, and the standard deviation of a cell's noise.

    For synthetic rows that is the noise of a measurement, the least that an answer is wrong by.
    """
    if isinstance(release.source, SyntheticRows):
        asked = Workload(release.schema, [Threshold(names)])
        return release.answer_all(asked)[0], typical_sigma(release) or 0.0
    best: tuple[float, TableMeasurement] | None = None
    for m in measured_tables(release.measurements):
        if m.threshold.r < m.threshold.k:
            continue
        if {*names} <= {*m.threshold.features}:
            kept = math.prod(release.schema[name].size for name in names)
            sigma = m.noise * math.sqrt(m.counts.size / kept)
            if best is None or sigma < best[0]:
                best = sigma, m
    if best is None:
        return None
    sigma, m = best
    others = tuple(i for i, name in enumerate(m.threshold.features) if name not in names)
    left = [name for name in m.threshold.features if name in names]
    summed = m.counts.sum(axis=others) if others else m.counts
    return np.transpose(summed, [left.index(name) for name in names]) / m.n, sigma


def _summed(release: Release, group: Group) -> int:
    """How many noisy numbers a group adds up: on synthetic rows none, each answer is one."""
    return 1 if isinstance(release.source, SyntheticRows) else len(group.codes)


def _measured_codes(release: Release) -> dict[str, set[int]]:
    """The values of each feature that some measurement asked about."""
    named: dict[str, set[int]] = {}
    for m in release.measurements:
        if isinstance(m, QueryMeasurement):
            for condition in m.query.conditions:
                named.setdefault(condition.feature, set()).update(condition.codes)
        else:
            for name in m.threshold.features:
                named.setdefault(name, set()).update(range(release.schema[name].size))
    return named


def _groups(feature: Feature, shares: Table, most: int) -> list[Group]:
    """At most about so many groups of values: neighbouring numbers, or the rarest categories."""
    labels = feature.labels
    if isinstance(feature, Categorical):
        order = [int(code) for code in np.argsort(-shares, kind="stable")]
        if len(order) <= most:
            return [Group(labels[code], (code,)) for code in order]
        rest = tuple(sorted(order[most - 1 :]))
        shown = [Group(labels[code], (code,)) for code in order[: most - 1]]
        return [*shown, Group(f"{len(rest)} others", rest)]
    numbers = feature.size - len(feature.extra)
    step = -(-numbers // most)
    groups = []
    for start in range(0, numbers, step):
        codes = tuple(range(start, min(start + step, numbers)))
        last = f"–{labels[codes[-1]]}" if len(codes) > 1 else ""
        groups.append(Group(labels[start] + last, codes))
    return [*groups, *(Group(labels[code], (code,)) for code in range(numbers, feature.size))]
