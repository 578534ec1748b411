"""The mechanism for who does not want to choose one: the best by the evidence, by public facts."""

import dataclasses
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from thresher.mechanisms.adaptive_tables import AdaptiveTables
from thresher.mechanisms.estimate import Estimate
from thresher.mechanisms.mechanism import Mechanism, Outcome, Progress
from thresher.mechanisms.rap import RAP, Selection
from thresher.privacy.access import Access
from thresher.queries.workload import Workload


@dataclass(frozen=True, kw_only=True)
class Auto(Mechanism):
    """Adaptive tables, unless there is no table worth measuring; then RAP.

    A release says which mechanism made it. Settings that only RAP has ask for RAP.

    Attributes:
        rounds: As of the mechanism that is chosen; by its own rule if not given.
        queries_per_round: As of RAP.
        synthetic_rows: n', the number of relaxed rows.
        selection: As of RAP.
        optimizer: As of RAP.
        seed: Seeds the random start of D', which is public and protects nothing.

    Example:
        >>> import thresher as th
        >>> data = th.datasets.adult()
        >>> work = th.Workload.random(data.schema, k=2, size=3, seed=0)
        >>> Auto(epsilon=1.0, rounds=2, synthetic_rows=50).fit(data, work).mechanism
        'tables'
    """

    name: ClassVar[str] = "auto"

    rounds: int | None = None
    queries_per_round: int | None = None
    synthetic_rows: int = 1000
    selection: Selection | None = None
    optimizer: str | None = None
    seed: int = 0

    def resolved(self, n: int, rho: Fraction, workload: Workload) -> Mechanism:
        """The mechanism chosen, with its parameters settled."""
        given = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        given = {name: value for name, value in given.items() if value is not None}
        tables = AdaptiveTables(**_known_to(AdaptiveTables, given))
        asks_for_rap = {"queries_per_round", "selection", "optimizer"} & given.keys()
        if asks_for_rap or not tables.can_measure(n, rho, workload):
            return RAP(**given).resolved(n, rho, workload)
        return tables.resolved(n, rho, workload)

    def run(
        self, curator: Access, rho: Fraction, workload: Workload, progress: Progress
    ) -> Outcome:
        """What the mechanism chosen does."""
        return self.resolved(curator.n, rho, workload).run(curator, rho, workload, progress)

    def estimate(self, n: int, rho: Fraction, workload: Workload) -> Estimate:
        """What the mechanism chosen takes."""
        return self.resolved(n, rho, workload).estimate(n, rho, workload)


def _known_to(kind: type[Mechanism], settings: dict[str, Any]) -> dict[str, Any]:
    known = {field.name for field in dataclasses.fields(kind)}
    return {name: value for name, value in settings.items() if name in known}
