"""`auto`, the default: chooses between adaptive tables and RAP from public facts."""

import dataclasses
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from thresher.data.records import Records
from thresher.mechanisms.adaptive_tables import AdaptiveTables, Optimise
from thresher.mechanisms.mechanism import Mechanism
from thresher.mechanisms.procedure import Procedure
from thresher.mechanisms.rap import RAP, Selection
from thresher.queries.workload import Workload

ONLY_RAP = frozenset({"queries_per_round", "selection", "optimizer"})
"""Parameters that only RAP has. Whoever gives one gets RAP."""


@dataclass(frozen=True, kw_only=True)
class Auto(Mechanism):
    """Picks AdaptiveTables, or RAP if no threshold has a table small enough to measure.

    The choice uses only n, ρ, the schema and the workload. The release names the mechanism that
    made it. A parameter that only RAP has asks for RAP.

    Attributes:
        rounds: The number of rounds; by a public rule if not given.
        queries_per_round: As in RAP.
        synthetic_rows: n', the number of relaxed rows.
        selection: As in RAP.
        optimizer: As in RAP.
        optimise: As in AdaptiveTables.
        seed: Seeds the random start of D', which is public and protects nothing.
        public: Records that are public, which D' starts from, as in RAP and AdaptiveTables.

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
    optimise: Optimise = "max"
    seed: int = 0
    public: Records | None = None

    def resolve(self, n: int, rho: Fraction, workload: Workload) -> Procedure:
        """The procedure of the mechanism that was chosen."""
        given = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        given = {name: value for name, value in given.items() if value is not None}
        if not ONLY_RAP & given.keys():
            tables = AdaptiveTables(**_known_to(AdaptiveTables, given)).resolve(n, rho, workload)
            if tables.measures_tables:
                return tables
        return RAP(**_known_to(RAP, given)).resolve(n, rho, workload)


def _known_to(kind: type[Mechanism], settings: dict[str, Any]) -> dict[str, Any]:
    known = {field.name for field in dataclasses.fields(kind)}
    return {name: value for name, value in settings.items() if name in known}
