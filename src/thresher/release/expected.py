"""The future error to expect of a release: by its variances, which are public."""

import math
from collections.abc import Iterable

from thresher.errors import QueryError
from thresher.queries.threshold import Threshold
from thresher.release.release import Release
from thresher.release.uncertainty import QueryKind


def expected_future_error(
    release: Release, thresholds: Iterable[Threshold], weights: Iterable[float]
) -> tuple[float, float]:
    """The mean, over thresholds, of the largest error to expect among their queries.

    It is the paper's future error, forecast: the largest of N errors with standard deviation s is
    about s·√(2 ln N). Thresholds of which the release has no margin of error are left out.

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
        try:
            kind = QueryKind(threshold.features, (1,) * threshold.k, threshold.r)
            variance = variances.of_kind(kind)
        except QueryError:
            continue  # noisy tables answer what was measured, and nothing else
        if variance < math.inf:
            cells = max(2, threshold.query_count(release.schema))
            known += weight
            total += weight * min(1.0, math.sqrt(2 * math.log(cells) * variance))
    return (total / known if known else math.inf), 1 - known / asked
