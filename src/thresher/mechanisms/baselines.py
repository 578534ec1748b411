"""The baselines: All-0, and the Gaussian mechanism as in the paper and with joint sensitivity."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from thresher.mechanisms.checkpoint import Fits
from thresher.mechanisms.estimate import Estimate, Work, counting_memory
from thresher.mechanisms.mechanism import Mechanism
from thresher.mechanisms.procedure import Outcome, Progress, counting_and_rounds
from thresher.privacy.access import Access
from thresher.progress import Phase
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.release.sources import NoisyTables, Zeros


@dataclass(frozen=True, kw_only=True)
class All0(Mechanism):
    """Answers 0 to everything, and spends nothing.

    Example:
        >>> import thresher as th
        >>> data = th.datasets.adult()
        >>> work = th.Workload.random(data.schema, k=3, size=4, seed=0)
        >>> All0(epsilon=1.0).fit(data, work).answer("sex=Female")
        0.0
    """

    name: ClassVar[str] = "all0"
    never_selects: ClassVar[bool] = True

    def resolve(self, n: int, rho: Fraction, workload: Workload) -> "ZerosProcedure":
        """There is nothing to settle."""
        return ZerosProcedure()


@dataclass(frozen=True, kw_only=True)
class GaussianPerQuery(Mechanism):
    """The Gaussian mechanism as in the paper (GM): the budget is split over all m queries.

    Example:
        >>> import thresher as th
        >>> data = th.datasets.adult()
        >>> work = th.Workload(data.schema, [th.Threshold(("sex", "income"))])
        >>> len(GaussianPerQuery(epsilon=1.0).fit(data, work).measurements)
        1
    """

    name: ClassVar[str] = "gaussian_per_query"
    never_selects: ClassVar[bool] = True

    def resolve(self, n: int, rho: Fraction, workload: Workload) -> "GaussianProcedure":
        """Measure every query of every threshold with its share of the budget."""
        return GaussianProcedure(self.name, rho, workload, workload.thresholds, jointly=False)


@dataclass(frozen=True, kw_only=True)
class GaussianJoint(Mechanism):
    """The Gaussian mechanism with joint sensitivity: every marginal table is measured whole.

    Replacing one record changes two cells of a marginal table by one, whatever its size. So the
    noise grows with the number of tables, not with the number of queries. Tables of thresholds
    with r < k follow from the noisy marginals over the same features.

    Example:
        >>> import thresher as th
        >>> data = th.datasets.adult()
        >>> work = th.Workload(data.schema, [th.Threshold(("sex", "income"))])
        >>> [table] = GaussianJoint(rho=1).fit(data, work).measurements
        >>> table.sigma, table.counts.shape
        (1.0, (2, 2))
    """

    name: ClassVar[str] = "gaussian_joint"
    never_selects: ClassVar[bool] = True

    def resolve(self, n: int, rho: Fraction, workload: Workload) -> "GaussianProcedure":
        """Measure the marginal over each threshold's features."""
        marginals = tuple(dict.fromkeys(Threshold(t.features) for t in workload))
        return GaussianProcedure(self.name, rho, workload, marginals, jointly=True)


@dataclass(frozen=True)
class ZerosProcedure:
    """Looks at nothing and answers 0."""

    name: str = All0.name
    cost: Fraction = Fraction(0)

    @property
    def settings(self) -> dict[str, Any]:
        """There are none."""
        return {}

    def phases(self, n: int) -> tuple[Phase, ...]:
        """There are none."""
        return ()

    def estimate(self, n: int) -> Estimate:
        """Nothing to wait for."""
        return Estimate(0.0, 0, "")

    def run(self, access: Access, progress: Progress, fits: Fits | None = None) -> Outcome:
        """Nothing is measured."""
        return Outcome(Zeros(), ())


@dataclass(frozen=True)
class GaussianProcedure:
    """Measures tables once; the noisy tables are the answers.

    Attributes:
        name: The mechanism's name.
        cost: The ρ that it spends.
        workload: The thresholds to be answered.
        tables: The tables to be measured.
        jointly: Whether noise is for each table as a whole, or for each of its queries.
    """

    name: str
    cost: Fraction
    workload: Workload
    tables: tuple[Threshold, ...]
    jointly: bool

    @property
    def settings(self) -> dict[str, Any]:
        """There are none."""
        return {}

    def phases(self, n: int) -> tuple[Phase, ...]:
        """Counting, and measuring."""
        counting, rest = counting_and_rounds(self.estimate(n), self.workload, n)
        return counting, replace(rest, name="measuring")

    def estimate(self, n: int) -> Estimate:
        """Noise for every query, and room for two tables of them."""
        queries = self.workload.query_count
        work = Work.counting(n, self.workload) + Work.drawing(queries)
        return Estimate(
            seconds=work.here(),
            memory=24 * queries + counting_memory(n, self.workload),
            advice="take fewer or smaller thresholds, or rap, which never holds all queries",
        )

    def run(self, access: Access, progress: Progress, fits: Fits | None = None) -> Outcome:
        """Measure all tables at once."""
        measured = access.measure(self.tables, rho=self.cost, jointly=self.jointly)
        return Outcome(NoisyTables.of(measured, access.schema), tuple(measured))
