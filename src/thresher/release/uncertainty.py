"""The uncertainty model: the margin of error of every answer that a release gives.

A margin of error is half the length of a 95 % confidence interval: 1.96 standard deviations of the
answer's error. All that goes into it is public: the noise of each measurement, how many cells of a
measured table a query adds up, and the prediction error of D'.

Each answer source supplies the variances (`Variances`), because only it knows how its answers come
about. `Uncertainty` turns them into margins, in the same way for all sources. Every command, page
and report gets its margins from here, by `Release.answer`.
"""

import math
from collections.abc import Mapping
from functools import lru_cache
from operator import attrgetter
from typing import NamedTuple, Protocol

from thresher.queries.query import Query

NORMAL_95 = 1.96
"""A normal variable is within this many standard deviations of its mean in 95 % of cases."""

REMEMBERED = 1 << 16
"""How many kinds of queries are cached. A stream of queries may have any number of them."""

Codes = tuple[tuple[int, ...], ...]
"""The codes that a query allows for each of its features."""

_feature_of, _codes_of = attrgetter("feature"), attrgetter("codes")


class QueryKind(NamedTuple):
    """Queries that differ only in which codes they allow. They share a variance.

    Attributes:
        features: The features, in the order of the conditions.
        allowed: How many codes each condition allows.
        r: How many conditions must hold.
    """

    features: tuple[str, ...]
    allowed: tuple[int, ...]
    r: int


class Variances(Protocol):
    """The variances of the errors of a source's answers."""

    def of_kind(self, kind: QueryKind) -> float:
        """The variance for any query of a kind; infinite where nothing is known."""
        ...

    def of_measured(self, kind: QueryKind) -> Mapping[Codes, float]:
        """The variances for queries of a kind that were measured themselves, by their codes."""
        ...


class Unknown:
    """Nothing is known about the error of any answer."""

    def of_kind(self, kind: QueryKind) -> float:
        """Infinite."""
        return math.inf

    def of_measured(self, kind: QueryKind) -> Mapping[Codes, float]:
        """Empty."""
        return {}


class Uncertainty:
    """The margins of error of one release's answers.

    Args:
        variances: The variances, by the source of the answers.
        total_noise: The standard deviation of the noise of n, as a fraction of n; 0 if n is public.
            An answer is a count over n, so this is an error of so large a part of the answer.

    Example:
        >>> import thresher as th
        >>> data = th.datasets.adult()
        >>> work = th.Workload(data.schema, [th.Threshold(("sex", "race"))])
        >>> release = th.GaussianJoint(rho=1).fit(data, work)
        >>> answer = release.answer("sex=Female, race in {White,Black}")
        >>> [table] = release.measurements
        >>> round(answer.error_bar / (table.sigma / table.n), 6)  # 1.96·√2: two cells added up
        2.771859
    """

    def __init__(self, variances: Variances, total_noise: float = 0.0) -> None:
        self._variances = variances
        self._total_margin = NORMAL_95 * total_noise
        # Streams of millions of queries pass here, so each kind is worked out once.
        self._kind_margins = lru_cache(REMEMBERED)(self._of_kind)

    def margin_of_error(self, query: Query, answer: float) -> tuple[float | None, bool]:
        """The margin of error of an answer, None if nothing is known; whether it is estimated."""
        codes = tuple(map(_codes_of, query.conditions))
        names = tuple(map(_feature_of, query.conditions))
        margin, measured = self._kind_margins(names, tuple(map(len, codes)), query.r)
        if measured:
            margin = min(margin, measured.get(codes, margin))
        if self._total_margin:
            margin = math.hypot(margin, self._total_margin * answer)
        # The truth is between 0 and 1, so no error is larger than this.
        largest = answer if answer > 0.5 else 1.0 - answer
        if margin < largest:
            return margin, False
        return (largest if margin < math.inf else None), False

    def _of_kind(
        self, names: tuple[str, ...], allowed: tuple[int, ...], r: int
    ) -> tuple[float, Mapping[Codes, float]]:
        kind = QueryKind(names, allowed, r)
        measured = self._variances.of_measured(kind)
        return (
            NORMAL_95 * math.sqrt(self._variances.of_kind(kind)),
            {codes: NORMAL_95 * math.sqrt(variance) for codes, variance in measured.items()},
        )


def variance_in_cells(
    sizes: tuple[int, ...], allowed: tuple[int, ...], r: int, sums_to_one: bool = False
) -> float:
    """The variance of a query's answer, in units of the variance of one cell.

    The answer is a sum of cells of the table over the query's features: those that meet at least r
    conditions. With independent noise in c cells, the variance is c.

    If the table is known to sum to 1, noise that moves all N cells alike has no effect. Then the
    variance is c·(1 - c/N). The answers of D' are of this kind.

    Args:
        sizes: The features' numbers of values.
        allowed: How many of these each condition allows.
        r: How many conditions must hold.
        sums_to_one: Whether the table is known to sum to 1.

    Example:
        >>> variance_in_cells((3, 4), (1, 2), 2), variance_in_cells((3, 4), (1, 2), 1)
        (2.0, 8.0)
    """
    whole = math.prod(sizes)
    cells = _cells_meeting(sizes, allowed, r)
    return cells * (whole - cells) / whole if sums_to_one else float(cells)


def _cells_meeting(sizes: tuple[int, ...], allowed: tuple[int, ...], r: int) -> int:
    """The number of cells of a table that meet at least r of the conditions."""
    if r == len(sizes):
        return math.prod(allowed)
    by_matches = [1]  # how many cells so far meet 0, 1, … conditions
    for size, meeting in zip(sizes, allowed, strict=True):
        others = [count * (size - meeting) for count in by_matches]
        matching = [count * meeting for count in by_matches]
        by_matches = [a + b for a, b in zip([*others, 0], [0, *matching], strict=True)]
    return sum(by_matches[r:])
