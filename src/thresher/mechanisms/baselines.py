"""The baselines: All-0, and the Gaussian mechanism as in the paper and with joint sensitivity."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from thresher.mechanisms.estimate import Estimate
from thresher.mechanisms.mechanism import Mechanism, Outcome, Progress
from thresher.privacy.access import Access
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.release.sources import NoisyTables, Zeros

DRAWS_PER_SECOND = 1e6


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
    is_free: ClassVar[bool] = True

    def run(
        self, curator: Access, rho: Fraction, workload: Workload, progress: Progress
    ) -> Outcome:
        """There is nothing to do."""
        return Zeros(), []

    def estimate(self, n: int, rho: Fraction, workload: Workload) -> Estimate:
        """Nothing."""
        return Estimate(0.0, 0, "")


@dataclass(frozen=True, kw_only=True)
class GaussianPerQuery(Mechanism):
    """The Gaussian mechanism as in the paper (GM): the budget is split over all m queries."""

    name: ClassVar[str] = "gaussian_per_query"

    def run(
        self, curator: Access, rho: Fraction, workload: Workload, progress: Progress
    ) -> Outcome:
        """Measure every query of every threshold on its own."""
        measured = curator.measure(workload.thresholds, rho=rho, jointly=False)
        return NoisyTables.of(measured, curator.schema), measured

    def estimate(self, n: int, rho: Fraction, workload: Workload) -> Estimate:
        """Noise for every query, and room for two tables of them."""
        return _estimate(workload)


@dataclass(frozen=True, kw_only=True)
class GaussianJoint(Mechanism):
    """The Gaussian mechanism with joint sensitivity: every marginal table is measured whole.

    A replaced record moves two cells of a marginal table by one, whatever its size, so the noise
    does not grow with the number of queries but with the number of tables. Tables of thresholds
    with r < k follow from the noisy marginals over the same features.
    """

    name: ClassVar[str] = "gaussian_joint"

    def run(
        self, curator: Access, rho: Fraction, workload: Workload, progress: Progress
    ) -> Outcome:
        """Measure the marginal over each threshold's features."""
        marginals = list(dict.fromkeys(Threshold(t.features) for t in workload))
        measured = curator.measure(marginals, rho=rho)
        return NoisyTables.of(measured, curator.schema), measured

    def estimate(self, n: int, rho: Fraction, workload: Workload) -> Estimate:
        """Noise for every cell, and room for two tables of them."""
        return _estimate(workload)


def _estimate(workload: Workload) -> Estimate:
    return Estimate(
        seconds=workload.query_count / DRAWS_PER_SECOND,
        memory=24 * workload.query_count,
        advice="take fewer or smaller thresholds, or rap, which never holds all queries",
    )
