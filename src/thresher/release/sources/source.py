"""What every source of answers offers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Protocol

from thresher.privacy.measurements import Measurement
from thresher.queries.query import Query
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.relaxed.rows import RelaxedRows
from thresher.release.uncertainty import Variances
from thresher.tables import Answers


class AnswerSource(Protocol):
    """Public answers to queries, and the variances of their errors."""

    kind: ClassVar[str]
    """What it is, in words; a release folder states it."""

    @property
    def rows(self) -> RelaxedRows | None:
        """The relaxed rows D', if answers come from any."""
        ...

    @property
    def prediction_error(self) -> float | None:
        """How far D' was from measurements before it was fitted to them, at 95 %, if known."""
        ...

    def table(self, threshold: Threshold) -> Answers:
        """The answers to all consistent queries of a threshold, for any slab."""
        ...

    def queries(self, queries: Iterable[Query]) -> Iterator[float]:
        """The answers to single queries, in order, one after the other."""
        ...

    def check(self, query: Query) -> None:
        """Raise a QueryError unless it can answer a query, whose features and codes are right."""
        ...

    def variances(self, measurements: Sequence[Measurement], workload: Workload) -> Variances:
        """The variances of the errors of its answers.

        Args:
            measurements: Everything that was measured for the release.
            workload: The thresholds that the release was fitted for.
        """
        ...

    def answerable(self, features: tuple[str, ...]) -> tuple[str, ...] | None:
        """The features that a query must name to be about these: the same, or more of them.

        None if no query about these features has an answer of any use.
        """
        ...

    def parameters(self) -> Mapping[str, Any]:
        """What a release folder must state, apart from rows and measurements, to restore it."""
        ...
