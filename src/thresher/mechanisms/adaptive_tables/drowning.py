"""Whether noise is so large that D' had better stay near the product it starts from."""

from collections.abc import Sequence

import numpy as np

from thresher.mechanisms.adaptive_tables.rounds import noise_explains
from thresher.privacy.measurements import Measurement
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.relaxed.rows import RelaxedRows
from thresher.relaxed.surrogate import threshold_by_counting
from thresher.release.sources import RowsAndTables

DROWNING = 0.5
"""Noise drowns marginals if its standard deviation is everywhere at least so much of the largest
answer to the workload. D' near the product of what is beyond noise is then better than one that is
fitted to noise, and corrected by it.

Largest errors with this rule over those without it (14 tables, 1 to 16 marginals of two or three
features, 134 fits for each ε): 0.65 at ε = 0.01, 0.80 at 0.03 and 0.93 at 0.1. With no limit on the
noise, which then only had to explain all differences, they were about 0.06 more.
"""

DROWNING_OF_SOME = 0.125
"""The same for r-of-k answers with r < k, which add up the noise of many cells.

Largest errors with this rule over those without it (2,500 records of five tables, 64 thresholds 1
of 3, two seeds): 0.75 at ε = 0.01, 0.85 at 0.03, 0.98 at 0.1 and 1 at 0.3; 2 of 4, one
seed: 0.71, 0.88 and 1.01. A limit of 1/4 gains half as much at 0.03; 1/16 is as good as 1/8.
"""

OF_LIMIT_AFTER_ROUNDS = 0.5
"""After a round, the least noise need only be so much of the limit, if D' stayed as it was until
then. To fit D' to the one table of a round means fitting it to all earlier noise as well.

Of 234 fits (12 tables for tuning or of no benchmark, ε = 0.003 to 0.03), 27 change. Their largest
error (mean over thresholds), in place of that with the whole limit: 0.86 times (0.72) with 0.7 of
it; 0.81 (0.62) with 0.5, in single fits 0.40 to 1.32; 0.83 (0.59) with 0.3 or none, but 1.65 in
one.
"""


def is_drowned(
    rows: RelaxedRows,
    measured: Sequence[Measurement],
    workload: Workload,
    *,
    after_rounds: bool = False,
) -> bool:
    """Whether noise drowns what the tables could say of D', which then stays as it is.

    The standard deviation of the noise is nowhere small beside the largest answers, which are those
    of independent features, and noise explains every difference from the noisy cells.

    Args:
        rows: D' near the product of what is beyond noise.
        measured: What was measured.
        workload: The thresholds to be answered.
        after_rounds: Whether rounds have measured some of it, and noise drowned all before them.
    """
    source = RowsAndTables.of(rows, workload.schema, None, measured)
    least = min((table.sigma for table in source.tables.values()), default=0.0)
    largest = [float(rows.block(i).mean(axis=1).max()) for i in range(len(rows.sizes))]

    def limit(threshold: Threshold) -> float:
        part = DROWNING if threshold.r == threshold.k else DROWNING_OF_SOME
        matches = np.array([largest[workload.schema.index(name)] for name in threshold.features])
        return part * float(threshold_by_counting(matches, threshold.r))

    of_limit = OF_LIMIT_AFTER_ROUNDS if after_rounds else 1.0
    drowned = least >= of_limit * max(map(limit, workload))
    return drowned and noise_explains(source.differences())
