"""How wrong answers are: present error (Definition 3.1 of the paper). It touches private data.

Nothing computed here is private, and nothing of it is for publication.
"""

from dataclasses import dataclass

import numba
import numpy as np

from thresher.data.exact import exact_table
from thresher.data.known import counted_ahead
from thresher.data.persons import PersonData
from thresher.data.private import PrivateData
from thresher.data.viewed import counts_of
from thresher.evaluation.bounded import can_be_bounded, largest_bounded_error, rows_behind
from thresher.evaluation.searched import largest_error
from thresher.parallel import in_order
from thresher.privacy.persons import check_person, kept_rows
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.release import Release
from thresher.tables import AnswersOf, Table, slabs_of
from thresher.tables.listing import Listable
from thresher.tables.sparse import check_countable


@dataclass(frozen=True)
class Errors:
    """How wrong the answers to a workload are. Not for publication.

    Attributes:
        by_threshold: The maximum error of each threshold, in order.

    Example:
        >>> errors = Errors((0.1, 0.3))
        >>> errors.max, errors.mean_max
        (0.3, 0.2)
    """

    by_threshold: tuple[float, ...]

    @property
    def max(self) -> float:
        """The present error: the maximum over all queries."""
        return max(self.by_threshold)

    @property
    def mean_max(self) -> float:
        """The mean over thresholds of the maximum error."""
        return sum(self.by_threshold) / len(self.by_threshold)


def errors_of(answers_of: AnswersOf, records: PrivateData, workload: Workload) -> Errors:
    """Compare answers with the truth, threshold by threshold. Not for publication.

    The largest error of a marginal is searched if the answers can be listed, and that of a large
    r-of-k table if they are those of D'. Other tables are walked slab by slab.

    Args:
        answers_of: The answers, such as those of `release.source.table`.
        records: The private records.
        workload: The thresholds to compare on.

    Example:
        >>> import thresher as th
        >>> data = th.datasets.adult()
        >>> work = th.Workload(data.schema, [th.Threshold(("sex",)), th.Threshold(("race",))])
        >>> zeros = th.All0(epsilon=1.0).fit(data, work)
        >>> [round(error, 3) for error in errors_of(zeros.source.table, data, work).by_threshold]
        [0.668, 0.855]
    """
    schema = workload.schema
    known = counted_ahead(records, (schema.bases(threshold.features) for threshold in workload))

    def worst(threshold: Threshold) -> float:
        answers = answers_of(threshold)
        if threshold.r == threshold.k and isinstance(answers, Listable):
            check_countable(threshold.shape(workload.schema), threshold)
            [table] = counts_of(known, schema, [threshold.features])
            return largest_error(table, answers, known.n)
        sparse = rows_behind(answers)
        if sparse is not None and can_be_bounded(threshold, workload.schema, sparse):
            [table] = counts_of(known, schema, [threshold.features])
            return largest_bounded_error(
                table, threshold, sparse, workload.schema, known.n, _largest_gap
            )
        truth = exact_table(known, threshold, schema)
        gaps = (
            float(_largest_gap(truth(slab).reshape(-1), _flat(answers(slab)), known.n))
            for slab in slabs_of(threshold.shape(workload.schema))
        )
        return max(gaps)

    return Errors(tuple(in_order(worst, workload)))


def _flat(table: Table) -> Table:
    return np.ascontiguousarray(table).reshape(-1)


# Without a promise that no gap is NaN, the compiler takes one cell after the other.
@numba.njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def _largest_gap(counts, answers, n):  # type: ignore[no-untyped-def]
    worst = 0.0
    for i in range(counts.size):
        worst = max(worst, abs(counts[i] / n - np.float64(answers[i])))
    return worst


def present_error(
    release: Release, records: PrivateData, workload: Workload | None = None
) -> float:
    """The maximum error of a release over all queries of a workload. Not for publication.

    Args:
        release: The release.
        records: The private records it was made from.
        workload: The workload; that of the release if not given.

    Example:
        >>> import thresher as th
        >>> data = th.datasets.adult()
        >>> work = th.Workload(data.schema, [th.Threshold(("sex",))])
        >>> present_error(th.GaussianJoint(rho=1).fit(data, work), data) < 0.001
        True
    """
    truth = as_counted(release, records)
    return errors_of(release.source.table, truth, workload or release.workload).max


def as_counted(release: Release, records: PrivateData) -> PrivateData:
    """The records as a release counted them: all, or some rows of each person. Not private."""
    check_person(records, release.unit)
    if release.unit.person is None or not isinstance(records, PersonData):
        return records
    return kept_rows(records, release.unit)
