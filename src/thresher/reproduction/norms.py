"""Errors in three norms: the largest (ℓ∞, the paper's), the mean (ℓ1) and the quadratic mean (ℓ2).

Not private, and nothing of it is for publication. The mean and the root mean square are over all
consistent queries of the workload, so they do not grow with their number.

A marginal of D' needs no walk. Let p be the shares of the records and q the answers of D', which
are not negative and add up to 1. Where p = 0, the errors are q, so

    Σ|p - q| = Σ_{p>0} |p - q| + 1 - Σ_{p>0} q,
    Σ(p - q)² = Σ_{p>0} (p - q)² + Σ q² - Σ_{p>0} q²,

and Σ q² is the mean, over all pairs of rows of D', of the product over features of the inner
products of their probability vectors.
"""

import math
from dataclasses import dataclass
from functools import cache

import numba
import numpy as np
import numpy.typing as npt

from thresher.data import Records
from thresher.data.exact import exact_table
from thresher.evaluation.searched import largest_error
from thresher.queries import Threshold, Workload
from thresher.release.sources import AnswerSource, SyntheticRows
from thresher.tables import slabs_of
from thresher.tables.listing import Listable


@dataclass(frozen=True)
class Norms:
    """How wrong the answers to a workload are, in three norms.

    Attributes:
        by_threshold: The largest error of each threshold, in order.
        mean: The mean of the absolute errors of all queries.
        root_mean_square: The root of the mean of their squares.

    Example:
        >>> Norms((0.1, 0.3), mean=0.01, root_mean_square=0.02).largest
        0.3
    """

    by_threshold: tuple[float, ...]
    mean: float
    root_mean_square: float

    @property
    def largest(self) -> float:
        """The present error."""
        return max(self.by_threshold)


@dataclass(frozen=True)
class _Sums:
    """Of one threshold: the largest error, the sum of errors, and that of their squares."""

    largest: float
    absolute: float
    squared: float


def norms_of(source: AnswerSource, records: Records, workload: Workload) -> Norms:
    """Compare answers with the truth in three norms. Not for publication.

    Args:
        source: Where the answers come from.
        records: The private records.
        workload: The thresholds to compare on.

    Example:
        >>> import thresher as th
        >>> data = th.datasets.adult()
        >>> work = th.Workload(data.schema, [th.Threshold(("sex",))])
        >>> zeros = th.All0(epsilon=1.0).fit(data, work)
        >>> round(norms_of(zeros.source, data, work).mean, 9)
        0.5
    """
    sums = []
    # A source that limits the answers of D' by tables is a kind of SyntheticRows, too.
    squares = _Squares(source) if type(source) is SyntheticRows else None
    for threshold in workload:
        if squares is not None and threshold.r == threshold.k:
            sums.append(_listed(squares, records, threshold))
        else:
            sums.append(_walked(source, records, threshold))
    queries = workload.query_count
    return Norms(
        tuple(one.largest for one in sums),
        math.fsum(one.absolute for one in sums) / queries,
        math.sqrt(math.fsum(one.squared for one in sums) / queries),
    )


def _walked(source: AnswerSource, records: Records, threshold: Threshold) -> _Sums:
    """All cells, slab by slab."""
    truth, answers = exact_table(records, threshold), source.table(threshold)
    largest, absolute, squared = 0.0, 0.0, 0.0
    for slab in slabs_of(threshold.shape(records.schema)):
        told = np.ascontiguousarray(answers(slab)).reshape(-1)
        found = _gaps(truth(slab).reshape(-1), told, records.n)
        largest = max(largest, float(found[0]))
        absolute += float(found[1])
        squared += float(found[2])
    return _Sums(largest, absolute, squared)


class _Squares:
    """D', and the sums of squares of its marginals."""

    def __init__(self, source: SyntheticRows) -> None:
        self.source = source
        self._products = cache(self._inner_products)

    def _inner_products(self, feature: str) -> npt.NDArray[np.float32]:
        rows = self.source.rows
        block = rows.block(self.source.schema.index(feature))
        return np.asarray(block.T @ block)

    def of(self, features: tuple[str, ...]) -> float:
        """Σ q² over all cells of a marginal."""
        product = self._products(features[0]).copy()
        for feature in features[1:]:
            product *= self._products(feature)
        return float(product.mean(dtype=np.float64))


def _listed(squares: _Squares, records: Records, threshold: Threshold) -> _Sums:
    """The cells with records, and what D' has elsewhere in all."""
    answers = squares.source.table(threshold)
    if not isinstance(answers, Listable):
        return _walked(squares.source, records, threshold)
    [table] = records.counts([threshold.features])
    shares, told = table.counts / records.n, np.asarray(answers.at(table.cells), dtype=np.float64)
    gaps = np.abs(shares - told)
    elsewhere = max(0.0, 1.0 - float(told.sum()))
    squared_elsewhere = max(0.0, squares.of(threshold.features) - float((told**2).sum()))
    return _Sums(
        largest_error(table, answers, records.n),
        float(gaps.sum()) + elsewhere,
        float((gaps**2).sum()) + squared_elsewhere,
    )


@numba.njit(cache=True, nogil=True)
def _gaps(counts, answers, n):  # type: ignore[no-untyped-def]
    largest, absolute, squared = 0.0, 0.0, 0.0
    for i in range(counts.size):
        gap = abs(counts[i] / n - np.float64(answers[i]))
        largest = max(largest, gap)
        absolute += gap
        squared += gap * gap
    return largest, absolute, squared
