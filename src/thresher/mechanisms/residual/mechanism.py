"""The mechanism `residual`: every residual of the workload's tables, measured once."""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from thresher.errors import ResourceError
from thresher.mechanisms.checkpoint import Fits
from thresher.mechanisms.estimate import Estimate, Work, counting_memory
from thresher.mechanisms.mechanism import Mechanism
from thresher.mechanisms.procedure import Outcome, Progress, counting_and_rounds
from thresher.mechanisms.residual.precisions import ResidualPlan
from thresher.privacy.access import Access
from thresher.privacy.measurements import contrast_count
from thresher.progress import Phase
from thresher.queries.workload import Workload
from thresher.release.sources import ResidualTables

MOST_PARTS = 1 << 20
"""The most subsets of the features of all thresholds, which take some seconds to go through."""

EACH = Work(5e-4)
"""What a residual takes, apart from drawing its noise."""


@dataclass(frozen=True, kw_only=True)
class Residual(Mechanism):
    """Measures what each table says beyond its margins, and puts the tables together from that.

    Tables with common features share the residuals of these, which are paid for once. The
    precisions are the best for the maximum error over the workload. All noisy tables agree
    with each other. Nothing is adaptive and no D' is fitted, so this is a strong baseline.

    Example:
        >>> import thresher as th
        >>> data = th.datasets.adult()
        >>> work = th.Workload(data.schema, [th.Threshold(("sex", "income"))])
        >>> release = Residual(rho=1).fit(data, work)
        >>> answer = release.answer("sex=Female, income=>50K")
        >>> answer.error_bar < 2 / data.n
        True
    """

    name: ClassVar[str] = "residual"
    never_selects: ClassVar[bool] = True

    def resolve(self, n: int, rho: Fraction, workload: Workload) -> "ResidualProcedure":
        """Refuse what has too many residuals; their precisions are found when they are needed."""
        if sum(1 << threshold.k for threshold in workload) > MOST_PARTS:
            raise ResourceError(
                f"the {len(workload)} tables have too many residuals, one for each subset of their "
                "features: take fewer features in each threshold, or another mechanism"
            )
        return ResidualProcedure(rho, workload)


@dataclass(frozen=True)
class ResidualProcedure:
    """Measures all residuals at once.

    Attributes:
        cost: The ρ that it spends.
        workload: The thresholds to be answered.
    """

    cost: Fraction
    workload: Workload
    name: ClassVar[str] = Residual.name

    @property
    def settings(self) -> dict[str, Any]:
        """There are none."""
        return {}

    @cached_property
    def plan(self) -> ResidualPlan:
        """What is measured, and how precisely."""
        return ResidualPlan.of(self.workload, self.workload.schema)

    def phases(self, n: int) -> tuple[Phase, ...]:
        """Counting, and measuring."""
        counting, rest = counting_and_rounds(self.estimate(n), self.workload, n)
        return counting, replace(rest, name="measuring")

    def estimate(self, n: int) -> Estimate:
        """Noise for every contrast, and room for two copies of them and a table."""
        schema = self.workload.schema
        contrasts = sum(contrast_count(marginal, schema) for marginal in self.plan.marginals)
        largest = max(threshold.query_count(schema) for threshold in self.workload)
        work = Work.counting(n, self.workload) + Work.drawing(contrasts)
        work += EACH.times(len(self.plan.marginals))
        return Estimate(
            seconds=work.here(),
            memory=16 * contrasts + 40 * largest + counting_memory(n, self.workload),
            advice="take fewer or smaller thresholds, or rap, which never holds all queries",
        )

    def run(self, access: Access, progress: Progress, fits: Fits | None = None) -> Outcome:
        """Measure all residuals at once."""
        plan = self.plan
        if not plan.marginals:  # every feature has a single value, so the tables are known
            return Outcome(ResidualTables.of((), access.schema), ())
        measured = access.measure_residuals(plan.marginals, plan.precisions, rho=self.cost)
        return Outcome(ResidualTables.of(measured, access.schema), tuple(measured))
