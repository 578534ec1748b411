"""A release beside the truth and the baselines at the same budget. Not for publication."""

from thresher.data.known import counted_ahead
from thresher.data.private import PrivateData
from thresher.errors import ResourceError
from thresher.evaluation.errors import Errors, as_counted, errors_of
from thresher.mechanisms.baselines import All0, GaussianJoint, GaussianPerQuery
from thresher.mechanisms.residual import Residual
from thresher.privacy.randomness import InsecureSeededRandomness
from thresher.queries.workload import Workload
from thresher.release import Release

BASELINES = (All0, GaussianPerQuery, GaussianJoint, Residual)


def compare(
    release: Release, records: PrivateData, workload: Workload, seed: int
) -> dict[str, Errors]:
    """The errors of a release and of every baseline that fits into memory, by name.

    Args:
        release: The release.
        records: The private records it was made from.
        workload: The queries to compare on.
        seed: Seeds the baselines' noise: an experiment, not a release.

    Example:
        >>> import thresher as th
        >>> data = th.datasets.adult()
        >>> work = th.Workload(data.schema, [th.Threshold(("sex", "race"))])
        >>> release = th.GaussianJoint(epsilon=1.0).fit(data, work)
        >>> list(compare(release, data, work, seed=0))
        ['release', 'all0', 'gaussian_per_query', 'gaussian_joint', 'residual']
    """
    records = counted_ahead(records, (threshold.features for threshold in workload))
    truth = as_counted(release, records)
    compared = {"release": errors_of(release.source.table, truth, workload)}
    for kind in BASELINES:
        baseline = kind(rho=release.budget.rho)
        try:
            randomness = InsecureSeededRandomness(seed)
            fitted = baseline.fit(
                records, workload, unit=release.unit, randomness=randomness, progress=False
            )
        except ResourceError:
            continue
        compared[kind.name] = errors_of(fitted.source.table, truth, workload)
    return compared
