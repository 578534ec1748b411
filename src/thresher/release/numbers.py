"""Means, sums, quantiles and histograms of a feature of numbers, with margins of error.

A release knows numbers by their codes: whole numbers, or bins. Inside of a bin, numbers are taken
to be spread evenly, so that the middle of the bin is their mean. Labels beyond the numbers, such as
`unknown`, are left out. A number that the schema clipped counts as where it was clipped to.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from thresher.errors import ParameterError, QueryError
from thresher.queries.condition import Condition
from thresher.queries.conditional import all_of
from thresher.queries.naming import feature_named
from thresher.queries.number_query import Statistic
from thresher.queries.query import Query
from thresher.release.answer import Answer
from thresher.release.cross_table import complete, ratio
from thresher.schema import Bins, Feature, IntegerRange

if TYPE_CHECKING:
    import pandas as pd

    from thresher.release.release import Release

BINNING = 0.25
"""How far the mean of the numbers of a bin may be from its middle, in widths of the bin."""


class Estimate(float):
    """A number with its 95 % interval.

    Attributes:
        low: The lower end of the interval.
        high: The upper end.
        is_estimated: Whether the interval is an estimate: see `Answer.is_estimated`.

    Example:
        >>> mean = Estimate(40.0, 39.0, 41.5)
        >>> mean, mean.error_bar
        (40.0, 1.5)
    """

    __slots__ = ("high", "is_estimated", "low")

    low: float
    high: float
    is_estimated: bool

    def __new__(
        cls, value: float, low: float, high: float, is_estimated: bool = False
    ) -> "Estimate":
        """A float gets its value when it is made, so this is not `__init__`."""
        estimate = float.__new__(cls, value)
        estimate.low, estimate.high, estimate.is_estimated = low, high, is_estimated
        return estimate

    @property
    def error_bar(self) -> float:
        """The margin of error: the distance to the further end of the interval."""
        return max(self - self.low, self.high - self)


@dataclass(frozen=True, eq=False)
class Numbers:
    """A feature of numbers, as a release has it.

    Attributes:
        release: The release.
        feature: The feature.
        where: The conditions that people meet, all of which must hold; empty for everybody.
        shares: The share of people with each code of a number.
        total: The share of all people who have a number and meet the conditions.
        read_as: The conditions as they were read, where ranges do not end with a bin.

    Example:
        >>> import thresher as th
        >>> data = th.datasets.adult()
        >>> work = th.Workload(data.schema, [th.Threshold(("age", "sex"))])
        >>> release = th.Auto(epsilon=1.0, synthetic_rows=100).fit(data, work)
        >>> ages = release.numbers("age", where="sex=Female")
        >>> 30 < ages.mean() < 45, ages.quantile(0.5) < ages.quantile(0.9)
        (True, True)
    """

    release: "Release"
    feature: IntegerRange | Bins
    where: tuple[Condition, ...]
    shares: tuple[Answer, ...]
    total: Answer
    read_as: str | None = None

    @classmethod
    def of(cls, release: "Release", name: str, where: Query | None) -> "Numbers":
        """The numbers of a feature, of people who meet some conditions."""
        feature = feature_named(release.schema, name)
        if not isinstance(feature, IntegerRange | Bins):
            raise QueryError(f"feature {feature.name!r} has no numbers, so it has no mean")
        conditions = () if where is None else all_of(where).conditions
        asker = _Asker(release, feature, conditions)
        codes = range(feature.size - len(feature.extra))
        total = asker.answers([codes])[0]
        shares = asker.answers([range(code, code + 1) for code in codes])
        # Single cells may be corrected to nobody where their sum is not.
        if not (total > 0.0 and any(shares)):
            raise QueryError(f"the release has nobody with a number of {feature.name!r} there")
        read_as = None if where is None else where.read_as
        return cls(release, feature, conditions, tuple(shares), total, read_as)

    def estimate(self, statistic: Statistic, part: float | None = None) -> Estimate:
        """The mean, the sum, or the quantile of a part of people."""
        if statistic == "quantile":
            return self.quantile(0.5 if part is None else part)
        return self.mean() if statistic == "mean" else self.sum()

    def mean(self) -> Estimate:
        """The mean.

        With the shares s, middles v and widths w of the bins, B the sum of s, and m the mean, the
        variance is Σ (v - m)²·V / B², and the margin √(1.96²·variance + (Σ s·w/4 / B)²): the second
        part is for numbers that are not spread evenly over their bins. No interval extends beyond
        the least and the largest number of the schema.
        """
        mean, margin = self._mean()
        return self._within(mean, margin, *self._ends)

    def sum(self) -> Estimate:
        """The sum over all people: the mean, times their number."""
        mean, margin = self._mean()
        people = self.total.count
        off = math.hypot(people * margin, mean * (self.total.count_error_bar or 0.0))
        least, most = (self.release.n * end for end in self._ends)
        return self._within(people * mean, off, min(least, 0.0), max(most, 0.0))

    def quantile(self, part: float) -> Estimate:
        """The number that so large a part of people are at or below: 0.5 is the median.

        The interval has all numbers whose part of people below is `part`, give or take its margin
        of error. It ends with whole bins, since numbers need not be spread evenly over them.
        """
        if not isinstance(part, int | float) or not 0.0 <= part <= 1.0:
            raise ParameterError(f"part must be a number from 0 to 1, not {part!r}")
        asker = _Asker(self.release, self.feature, self.where)
        steps = range(1, len(self.shares))
        below = [ratio(a, self.total) for a in asker.answers([range(code) for code in steps])]
        parts = np.maximum.accumulate(np.array([0.0, *below, 1.0]))
        margins = np.array([0.0, *((answer.error_bar or 0.0) for answer in below), 0.0])
        lower, upper = np.maximum(parts - margins, 0.0), np.minimum(parts + margins, 1.0)
        lower[-1] = upper[-1] = 1.0
        value, low, high = (
            _crossing(self._edges, np.maximum.accumulate(curve), part)
            for curve in (parts, upper, lower)
        )
        edges = self._edges
        if isinstance(self.feature, IntegerRange):
            _, highest = self._ends
            value, low, high = (min(float(math.floor(x)), highest) for x in (value, low, high))
        else:  # numbers need not be spread evenly over a bin
            low = float(edges[np.searchsorted(edges, low, side="right") - 1])
            high = float(edges[np.searchsorted(edges, high, side="left")])
        return Estimate(value, min(low, value), max(high, value), self._is_estimated)

    def histogram(self, bins: int = 20) -> "pd.DataFrame":
        """Shares of people among those with a number, in at most so many bins of neighbours.

        The rows are labelled by `from` and `to`; the columns are `share`, `margin`, `count` and
        `count_margin`.
        """
        if not isinstance(bins, int) or isinstance(bins, bool) or bins < 1:
            raise ParameterError(f"bins must be a whole number of at least 1, not {bins!r}")
        import pandas as pd  # half a second, which answers do without

        codes = len(self.shares)
        step = -(-codes // bins)
        groups = [range(start, min(start + step, codes)) for start in range(0, codes, step)]
        answers = _Asker(self.release, self.feature, self.where).answers(groups)
        shares = [ratio(answer, self.total) for answer in answers]
        edges = self._edges
        whole = isinstance(self.feature, IntegerRange)
        ends = [(edges[g[0]], edges[g[-1] + 1] - (1 if whole else 0)) for g in groups]
        return pd.DataFrame(
            {
                "share": [float(share) for share in shares],
                "margin": [_or_nan(share.error_bar) for share in shares],
                "count": [answer.count for answer in answers],
                "count_margin": [_or_nan(answer.count_error_bar) for answer in answers],
            },
            index=pd.MultiIndex.from_tuples(ends, names=["from", "to"]),
        )

    @property
    def _edges(self) -> npt.NDArray[np.float64]:
        if isinstance(self.feature, Bins):
            return np.asarray(self.feature.edges)
        return np.arange(self.feature.low, self.feature.high + 2, dtype=np.float64)

    @property
    def _ends(self) -> tuple[float, float]:
        """The least and the largest number."""
        edges = self._edges
        return float(edges[0]), float(edges[-1 if isinstance(self.feature, Bins) else -2])

    def _within(self, value: float, margin: float, least: float, most: float) -> Estimate:
        low, high = max(value - margin, least), min(value + margin, most)
        return Estimate(value, min(low, value), max(high, value), self._is_estimated)

    @property
    def _is_estimated(self) -> bool:
        return any(share.is_estimated for share in self.shares)

    def _mean(self) -> tuple[float, float]:
        edges, shares = self._edges, np.array([float(share) for share in self.shares])
        widths = np.diff(edges)
        if isinstance(self.feature, Bins):
            middles = edges[:-1] + widths / 2
        else:
            middles, widths = edges[:-1], np.zeros(len(shares))
        base = float(shares.sum())
        mean = float(shares @ middles) / base
        margins = np.array([share.error_bar or 0.0 for share in self.shares])
        noise = float(((middles - mean) ** 2 * margins**2).sum())
        binning = BINNING * float(shares @ widths)
        return mean, math.hypot(math.sqrt(noise), binning) / base


@dataclass(frozen=True)
class _Asker:
    """Asks for the people with some codes of a feature who meet conditions."""

    release: "Release"
    feature: Feature
    where: tuple[Condition, ...]

    def answers(self, groups: Sequence[range]) -> list[Answer]:
        queries = []
        for codes in groups:
            wanted = Query([Condition(self.feature.name, codes)])
            joined = all_of(wanted, Query(self.where)) if self.where else wanted
            queries.append(complete(self.release, joined.conditions))
            self.release.check(queries[-1])
        return [*self.release.answer_trusted(queries)]


def _crossing(edges: npt.NDArray[np.float64], parts: npt.NDArray[np.float64], part: float) -> float:
    """Where a rising curve through the parts at the edges first comes to a part."""
    place = int(np.searchsorted(parts, part, side="left"))
    if place == 0:
        return float(edges[0])
    low, high = parts[place - 1], parts[place]
    inside = (part - low) / (high - low)
    return float(edges[place - 1] + inside * (edges[place] - edges[place - 1]))


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value
