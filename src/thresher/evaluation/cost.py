"""How long a comparison with the truth will take, known before it begins."""

from thresher.errors import ResourceError
from thresher.evaluation.bounded import MOST_KEPT, SMALLEST_BOUNDED
from thresher.mechanisms.baselines import GaussianJoint, GaussianPerQuery
from thresher.mechanisms.estimate import Work, available_memory
from thresher.mechanisms.residual import Residual
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.release import Release
from thresher.schema import Schema

LEFT_OPEN = 0.1
"""The part of a table that bounds leave open, for estimates. Measured was 1/20 for `auto`."""


def comparing(release: Release, workload: Workload) -> Work:
    """About the work of `compare`: the release, and the baselines that fit into memory.

    Marginals that can be searched take next to nothing.

    Args:
        release: The release.
        workload: The queries to compare on.

    Example:
        >>> import thresher as th
        >>> data = th.datasets.adult()
        >>> work = th.Workload.random(data.schema, k=5, r=2, size=64, seed=0)
        >>> release = th.All0(epsilon=1.0).fit(data, work)
        >>> comparing(release, work).seconds > 10
        True
    """
    schema, work = workload.schema, Work(0.0)
    rows = release.source.rows.count if release.source.rows is not None else 0
    for threshold in workload:
        if threshold.r < threshold.k:
            cells = threshold.query_count(schema)
            work += _of_rows(threshold, schema, rows) if rows else Work.walking(cells, 0)
            work += Work.walking(cells, 0)  # zeros, the first baseline
    queries, rho = workload.query_count, release.budget.rho
    for kind in (GaussianPerQuery, GaussianJoint, Residual):
        try:
            estimate = kind(rho=rho).resolve(release.n, rho, workload).estimate(release.n)
        except ResourceError:
            continue
        if estimate.memory < available_memory():
            work += Work.drawing(queries) + Work.walking(queries, 0)
    return work


def _of_rows(threshold: Threshold, schema: Schema, rows: int) -> Work:
    """The largest error of the answers of D', walked or bounded."""
    shape, cells = sorted(threshold.shape(schema)), threshold.query_count(schema)
    walking = Work.walking(cells, rows * cells)
    if cells < SMALLEST_BOUNDED or cells // shape[-2] > MOST_KEPT:
        return walking
    return walking.times(LEFT_OPEN + 1 / shape[-1] + 1 / shape[-2])
