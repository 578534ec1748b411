"""The uncertainty model: the margin of error of every answer that a release gives.

A margin of error is half the length of a 95 % confidence interval: 1.96 standard deviations of the
answer's error. All that goes into it is public: the noise of each measurement, how many cells of a
measured table a query adds up, and D'.

Each answer source supplies the variances (`Variances`), because only it knows how its answers come
about. `Uncertainty` turns them into margins, in the same way for all sources. Every command, page
and report gets its margins from here, by `Release.answer`. docs/topics/margins-of-error.md has
all formulas.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from thresher.queries.query import Query

NORMAL_95 = 1.96
"""A normal variable is within this many standard deviations of its mean in 95 % of cases."""

REMEMBERED = 1 << 16
"""How many shares of conditions are cached. A stream of queries may have any number of them."""


class Variance(NamedTuple):
    """The variance of the error of an answer.

    Attributes:
        value: The variance; infinite where nothing is known.
        is_estimated: Whether it is an estimate, because nothing that was measured bounds the error.
    """

    value: float
    is_estimated: bool


class Margin(NamedTuple):
    """The margin of error of an answer.

    Attributes:
        value: Half the length of a 95 % interval; None where nothing is known.
        is_estimated: Whether it is an estimate, because nothing that was measured bounds the error.
    """

    value: float | None
    is_estimated: bool


class Variances(Protocol):
    """The variances of the errors of a source's answers."""

    def of(self, query: Query, answer: float | None = None) -> Variance:
        """The variance for a query, whose features and codes have been checked.

        Args:
            query: The query.
            answer: The source's answer, if it is known.
        """
        ...


class Unknown:
    """Nothing is known about the error of any answer."""

    def of(self, query: Query, answer: float | None = None) -> Variance:
        """Infinite."""
        return Variance(math.inf, is_estimated=False)


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
        self._variances, self._total_noise = variances, total_noise

    def margin_of_error(self, query: Query, answer: float) -> Margin:
        """The margin of error of the answer to a query."""
        variance, is_estimated = self._variances.of(query, answer)
        if variance == math.inf:
            return Margin(None, is_estimated)
        margin = NORMAL_95 * math.sqrt(variance + (self._total_noise * answer) ** 2)
        # The truth is between 0 and 1, so no error is larger than this.
        return Margin(min(margin, max(answer, 1.0 - answer)), is_estimated)

    def rank(self, query: Query) -> tuple[bool, float]:
        """Orders queries with the same true answer, the one that is known best first."""
        variance = self._variances.of(query)
        return variance.is_estimated, variance.value


def count_probabilities(shares: Sequence[float]) -> list[float]:
    """The probabilities that 0, 1, 2, … of some independent conditions hold.

    Example:
        >>> count_probabilities([0.5, 0.5])
        [0.25, 0.5, 0.25]
    """
    by_count = [1.0]
    for share in shares:
        hold = [0.0, *[share * before for before in by_count]]
        fail = [*[(1.0 - share) * before for before in by_count], 0.0]
        by_count = [a + b for a, b in zip(hold, fail, strict=True)]
    return by_count


def cells_meeting(sizes: tuple[int, ...], allowed: tuple[int, ...], r: int) -> int:
    """The number of cells of a table that meet at least r of the conditions.

    Noisy cells are independent, so this is the variance of their sum in units of one cell's.

    Args:
        sizes: The features' numbers of values.
        allowed: How many of these each condition allows.
        r: How many conditions must hold.

    Example:
        >>> cells_meeting((3, 4), (1, 2), 2), cells_meeting((3, 4), (1, 2), 1)
        (2, 8)
    """
    if r == len(sizes):
        return math.prod(allowed)
    by_matches = [1]  # how many cells so far meet 0, 1, … conditions
    for size, meeting in zip(sizes, allowed, strict=True):
        others = [count * (size - meeting) for count in by_matches]
        matching = [count * meeting for count in by_matches]
        by_matches = [a + b for a, b in zip([*others, 0], [0, *matching], strict=True)]
    return sum(by_matches[r:])
