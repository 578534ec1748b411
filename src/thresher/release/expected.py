"""The future error to expect of a release: by its variances, which are public."""

import math
import random
from collections.abc import Iterable

from thresher.errors import QueryError
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.release.release import Release

DRAWN, SEED = 16, 0
"""Of each threshold, so many queries are looked at, drawn by this seed. Both are public."""


def expected_future_error(
    release: Release, thresholds: Iterable[Threshold], weights: Iterable[float]
) -> tuple[float, float]:
    """The mean, over thresholds, of the largest error to expect among their queries.

    It is the paper's future error, forecast: the largest of N errors with standard deviation s is
    about s·√(2 ln N), with the largest s of some queries. Thresholds of which the release has
    no margin of error are left out.

    Args:
        release: The release.
        thresholds: What will be asked.
        weights: How often each of them.

    Returns:
        The error, infinite if nothing is known; and the share of thresholds that were left out.
    """
    variances = release.source.variances(release.measurements, release.workload)
    total, known, asked = 0.0, 0.0, 0.0
    for threshold, weight in zip(thresholds, weights, strict=True):
        asked += weight
        work = Workload(release.schema, [threshold])
        source = random.Random(SEED)
        drawn = [work.query(source.randrange(work.query_count)) for _ in range(DRAWN)]
        try:
            variance = max(variances.of(query).value for query in drawn)
        except QueryError:
            continue  # noisy tables answer what was measured, and nothing else
        if variance < math.inf:
            known += weight
            largest = math.sqrt(2 * math.log(max(2, work.query_count)) * variance)
            total += weight * min(1.0, largest)
    return (total / known if known else math.inf), 1 - known / asked
