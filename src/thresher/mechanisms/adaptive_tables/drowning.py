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


def is_drowned(rows: RelaxedRows, measured: Sequence[Measurement], workload: Workload) -> bool:
    """Whether noise drowns what the tables could say of D', which then stays as it is.

    The standard deviation of the noise is nowhere small beside the largest answers, which are those
    of independent features, and noise explains every difference from the noisy cells.

    Args:
        rows: D' near the product of what is beyond noise.
        measured: What was measured.
        workload: The thresholds to be answered.
    """
    source = RowsAndTables.of(rows, workload.schema, None, measured)
    least = min((table.sigma for table in source.tables.values()), default=0.0)
    largest = [float(rows.block(i).mean(axis=1).max()) for i in range(len(rows.sizes))]

    def limit(threshold: Threshold) -> float:
        part = DROWNING if threshold.r == threshold.k else DROWNING_OF_SOME
        matches = np.array([largest[workload.schema.index(name)] for name in threshold.features])
        return part * float(threshold_by_counting(matches, threshold.r))

    return least >= max(map(limit, workload)) and noise_explains(source.differences())
