"""What a mechanism sees of the private data: public facts, and verbs that each cost budget."""

from collections.abc import Collection, Sequence
from fractions import Fraction
from typing import Protocol

from thresher.privacy.budget import Amount
from thresher.privacy.measurements import Measurement
from thresher.queries.query import Query
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.schema import Schema
from thresher.tables import AnswersOf


class Access(Protocol):
    """Budgeted access to private records. Whoever holds it never holds the records."""

    @property
    def n(self) -> int:
        """The number of records, which is public."""
        ...

    @property
    def schema(self) -> Schema:
        """The description of the columns, which is public."""
        ...

    @property
    def spent(self) -> Fraction:
        """The ρ of all calls so far."""
        ...

    @property
    def remaining(self) -> Fraction:
        """The ρ that calls from here on can cost."""
        ...

    def select(
        self,
        workload: Workload,
        answers_of: AnswersOf,
        count: int,
        excluding: Collection[Query] = (),
        *,
        rho: Amount,
    ) -> list[Query]:
        """Choose the queries of a workload that the public answers get most wrong, privately."""
        ...

    def select_table(
        self,
        tables: Sequence[Threshold],
        answers_of: AnswersOf,
        handicaps: Sequence[int],
        *,
        weights_of: AnswersOf | None = None,
        rho: Amount,
    ) -> Threshold:
        """Choose, privately, the table whose worst answer is furthest off, less its handicap."""
        ...

    def measure(
        self, targets: Sequence[Query | Threshold], *, rho: Amount, jointly: bool = True
    ) -> list[Measurement]:
        """Answer queries, or all cells of marginal tables, with discrete Gaussian noise."""
        ...

    def choose(self, workload: Workload, candidates: Sequence[AnswersOf], *, rho: Amount) -> int:
        """Choose, privately, the answers whose worst error on a workload is smallest."""
        ...
