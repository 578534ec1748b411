"""A claim of the paper, what was measured about it, and the verdict that follows by rule.

A claim says that a number lies above (or below) a bound, and is measured with a 95 % interval. It
is confirmed where the whole interval lies on the claimed side, refuted where it lies on the other,
and undecided in between. So "confirmed" is only said where the measurement could have refuted it.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from thresher.reproduction.paper_figure import Context, PaperFigure, mean_and_margin
from thresher.reproduction.running import Task
from thresher.reproduction.scales import Scale

Verdict = Literal["confirmed", "refuted", "undecided", "not tested"]
Side = Literal["above", "below"]


@dataclass(frozen=True)
class Finding:
    """What was measured about a claim.

    Attributes:
        value: The number that the claim is about.
        low: The lower end of its 95 % interval; the number itself where it is exact.
        high: The upper end.
        bound: What it is compared with.
        side: On which side of the bound the claim puts it.
        where: The data set and the parameters.

    Example:
        >>> Finding(0.3, 0.1, 0.5, bound=0.0, side="above", where="ADULT").verdict
        'confirmed'
    """

    value: float
    low: float
    high: float
    bound: float
    side: Side
    where: str

    @property
    def verdict(self) -> Verdict:
        """By the rule of this module."""
        if any(math.isnan(x) for x in (self.value, self.low, self.high)):
            return "not tested"
        above, below = self.low > self.bound, self.high < self.bound
        if self.side == "above":
            return "confirmed" if above else "refuted" if below else "undecided"
        return "confirmed" if below else "refuted" if above else "undecided"

    @property
    def measured(self) -> str:
        """The number with its interval, in words."""
        if self.low == self.high:
            return f"{self.value:.3g}"
        return f"{self.value:.3g} ({self.low:.3g} to {self.high:.3g})"


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper that can be checked.

    Attributes:
        words: The claim, in a line.
        number: What is measured, in words.
        figure: The experiment that measures it.
        measure: Finds the number in stored results; None where they are not there.
        runs: The runs that it looks at, where they are not all those of the figure.
    """

    words: str
    number: str
    figure: PaperFigure
    measure: Callable[[Context], Finding | None]
    runs: Callable[[Scale], Sequence[Task]] | None = None


def finding(values: Iterable[float], bound: float, side: Side, where: str) -> Finding | None:
    """The mean of repetitions with its 95 % interval; None where there are none.

    Example:
        >>> finding([0.1, 0.2, 0.15], bound=0.0, side="above", where="").verdict
        'confirmed'
    """
    listed = [float(value) for value in values]
    if not listed:
        return None
    mean, margin = mean_and_margin(listed)
    return Finding(mean, mean - margin, mean + margin, bound, side, where)


def factor(values: Iterable[float], bound: float, side: Side, where: str) -> Finding | None:
    """The geometric mean of ratios with its 95 % interval; None where there are none.

    One ratio decides nothing.

    Example:
        >>> factor([2.0, 4.0, 3.0], bound=1.0, side="above", where="").verdict
        'confirmed'
        >>> factor([2.0], bound=1.0, side="above", where="").verdict
        'undecided'
    """
    found = finding(map(math.log, values), math.log(bound), side, where)
    if found is None:
        return None
    value, low, high = (math.exp(x) for x in (found.value, found.low, found.high))
    return Finding(value, low, high, bound, side, where)


def worst(found: Iterable[Finding | None]) -> Finding | None:
    """Of findings about one claim the one that speaks against it most, in shares of its bound.

    Example:
        >>> some = [Finding(x, x, x, bound=2.0, side="below", where="") for x in (1.0, 3.0)]
        >>> worst(some).value
        3.0
    """

    def against(one: Finding) -> float:
        excess = (one.value - one.bound) / (abs(one.bound) or 1.0)
        return excess if one.side == "below" else -excess

    return max((one for one in found if one is not None), key=against, default=None)


def exactly(value: float, bound: float, side: Side, where: str) -> Finding:
    """A number without sampling error, such as a count.

    Example:
        >>> exactly(3.0, bound=2.0, side="below", where="").verdict
        'refuted'
    """
    return Finding(value, value, value, bound, side, where)


def within(values: Iterable[float], most: float, where: str) -> Finding | None:
    """Whether a mean is as good as 0: its whole interval lies within ±most.

    The number is the end of the interval that is farther from 0.

    Example:
        >>> within([0.001, -0.001, 0.0005], most=0.01, where="").verdict
        'confirmed'
    """
    listed = [float(value) for value in values]
    if len(listed) < 2:
        return None
    mean, margin = mean_and_margin(listed)
    least = max(0.0, abs(mean) - margin)
    return Finding(abs(mean), least, abs(mean) + margin, most, "below", where)
