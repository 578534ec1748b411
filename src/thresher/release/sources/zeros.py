"""All-0: the baseline that answers 0 to everything."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from thresher.privacy.measurements import Measurement
from thresher.queries.query import Query
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.release.uncertainty import Unknown
from thresher.tables import Answers
from thresher.tables.listing import Zero


@dataclass(frozen=True)
class Zeros:
    """All-0: the answer to everything is 0, with no margin of error.

    Example:
        >>> from thresher.queries import Condition
        >>> list(Zeros().queries([Query([Condition("sex", [0])])]))
        [0.0]
    """

    kind: ClassVar[str] = "zeros"
    rows: ClassVar[None] = None
    prediction_error: ClassVar[None] = None

    def table(self, threshold: Threshold) -> Answers:
        """Zeros."""
        return Zero()

    def queries(self, queries: Iterable[Query]) -> Iterator[float]:
        """Zeros."""
        return (0.0 for _ in queries)

    def check(self, query: Query) -> None:
        """Any query has an answer."""

    def variances(self, measurements: Sequence[Measurement], workload: Workload) -> Unknown:
        """Nothing is known: no record was looked at."""
        return Unknown()

    def answerable(self, features: tuple[str, ...]) -> None:
        """None: an answer of 0 tells nothing."""
        return

    def parameters(self) -> Mapping[str, float | None]:
        """None needed."""
        return {}
