"""A procedure: what a mechanism becomes once n, ρ and the workload are known."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

from thresher.mechanisms.checkpoint import Fits
from thresher.mechanisms.estimate import Estimate, Work, slowness
from thresher.privacy.access import Access
from thresher.privacy.measurements import Measurement
from thresher.progress import COUNTING, ROUNDS, Phase, Step
from thresher.queries.workload import Workload
from thresher.release.sources import AnswerSource

Progress = Callable[[Step], None]
"""Is told how far a run has come."""

LATE_PART = 4
"""Predictions are judged in the last quarter of the rounds: before that, D' is still rough."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a procedure found.

    Attributes:
        source: Where the answers come from.
        measurements: Everything that was measured for them.
        diagnostics: What the procedure decided on the way, as plain JSON values. A release records
            them with the settings.
    """

    source: AnswerSource
    measurements: tuple[Measurement, ...]
    diagnostics: Mapping[str, Any] = field(default_factory=dict)


class Procedure(Protocol):
    """A mechanism whose every choice is settled, so that nothing is left but to run it.

    A procedure is made from public facts only. Its plan is part of it, and it can be run once or
    many times.
    """

    @property
    def name(self) -> str:
        """The name of the mechanism, as a release records it."""
        ...

    @property
    def cost(self) -> Fraction:
        """The ρ that it spends."""
        ...

    @property
    def settings(self) -> dict[str, Any]:
        """The parameters as they were settled, as plain JSON values."""
        ...

    def estimate(self, n: int) -> Estimate:
        """The time and memory that a run on n records takes, with reading and counting them."""
        ...

    def phases(self, n: int) -> tuple[Phase, ...]:
        """The phases of a run on n records, with about how long each takes."""
        ...

    def run(self, access: Access, progress: Progress, fits: Fits | None = None) -> Outcome:
        """Spend `cost` through the budgeted access, and make answers.

        Args:
            access: The budgeted access.
            progress: Is told how far it has come.
            fits: Makes every fit of D', or knows its result from an interrupted run.
        """
        ...


def counting_and_rounds(estimate: Estimate, workload: Workload, n: int) -> tuple[Phase, ...]:
    """The phases of a run that counts the records, and then does one thing until it ends.

    Args:
        estimate: What the whole run takes.
        workload: The thresholds to be answered well.
        n: The number of records.
    """
    counting = min(slowness() * Work.counting(n, workload).seconds, 0.9 * estimate.seconds)
    return Phase(COUNTING, counting), Phase(ROUNDS, estimate.seconds - counting)


@runtime_checkable
class AsksForParts(Protocol):
    """A procedure that may need less than the counts of all tables of its workload."""

    def asks(self, n: int) -> Workload:
        """All that it may ask about n records, so that these tables are counted in one pass."""
        ...


@runtime_checkable
class MayOnlyMeasure(Protocol):
    """A procedure that may do without any selection."""

    @property
    def only_measures(self) -> bool:
        """Whether it asks for noisy counts alone, as a ledger of Gaussian accounting demands."""
        ...


def is_late(number: int, rounds: int) -> bool:
    """Whether the predictions of D' for what a round measures say how good D' is in the end.

    Args:
        number: The number of the round, from 1.
        rounds: How many rounds there are.

    Example:
        >>> [number for number in range(1, 9) if is_late(number, 8)]
        [7, 8]
    """
    return number > rounds - max(1, rounds // LATE_PART)
