"""Tables that are measured jointly, by their residuals, for whoever measures whole tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from thresher.mechanisms.residual.precisions import ResidualPlan
from thresher.privacy.access import Access
from thresher.privacy.amounts import Amount
from thresher.privacy.measurements import ResidualMeasurement, TableMeasurement
from thresher.queries.condition import Condition
from thresher.queries.query import Query
from thresher.queries.threshold import Threshold
from thresher.release.sources.residual_tables import ResidualTables, ResidualVariances
from thresher.schema import Schema

ROUNDING = 1 / 12
"""The variance of what rounding to whole counts adds to the noise."""


@dataclass(frozen=True, eq=False)
class JointTables:
    """Noisy tables that agree with each other.

    Attributes:
        tables: The marginals that were asked for.
        residuals: What was measured. `targets_of` makes D' fit these, whose noise is independent,
            rather than the tables, whose noise is not.
        schema: The features.
    """

    tables: tuple[Threshold, ...]
    residuals: tuple[ResidualMeasurement, ...]
    schema: Schema

    @cached_property
    def source(self) -> ResidualTables:
        """Answers from the residuals alone."""
        return ResidualTables.of(self.residuals, self.schema)

    def sigma(self, table: Threshold) -> float:
        """The standard deviation of the noise in every cell of a table, in counts."""
        cell = Query([Condition(name, [0]) for name in table.features], table.r)
        variance, _ = ResidualVariances(self.source).of(cell)
        return float(variance**0.5 * self.residuals[0].n)

    def measurements(self) -> list[TableMeasurement]:
        """Each table as if it had been measured by itself, rounded to whole counts.

        So it can stand in a release, be pooled with other measurements, and limit answers.
        """
        return [self._measurement(table) for table in self.tables]

    def _measurement(self, table: Threshold) -> TableMeasurement:
        noisy = self.source.counts(table)
        counts = np.rint(noisy.counts).astype(np.int64)
        sigma = float((self.sigma(table) ** 2 + ROUNDING) ** 0.5)
        return TableMeasurement(table, np.ascontiguousarray(counts), sigma, noisy.n)


def measure_jointly(
    access: Access,
    tables: Sequence[Threshold],
    *,
    rho: Amount,
    plan: ResidualPlan | None = None,
) -> JointTables:
    """Measure marginal tables by their residuals, which tables with common features share.

    Args:
        access: The budgeted access.
        tables: The marginals (r = k).
        rho: What all of them spend together.
        plan: What is measured, and how precisely; if not given, the best for the maximum error
            over these tables.

    Returns:
        The noisy tables.

    Example:
        >>> import thresher as th
        >>> from thresher.privacy import Budget, Curator
        >>> curator = Curator(th.datasets.adult(), Budget.from_rho(1))
        >>> pairs = [Threshold(("sex", "income")), Threshold(("sex", "race"))]
        >>> joint = measure_jointly(curator, pairs, rho=1)
        >>> one, other = joint.measurements()
        >>> bool(abs(one.counts.sum(axis=1) - other.counts.sum(axis=1)).max() < 10)
        True
        >>> round(joint.sigma(pairs[1]), 2)  # 1.41 if the two were measured one by one
        1.16
    """
    plan = ResidualPlan.of(tables, access.schema) if plan is None else plan
    measured = access.measure_residuals(plan.marginals, plan.precisions, rho=rho)
    return JointTables(tuple(tables), tuple(measured), access.schema)
