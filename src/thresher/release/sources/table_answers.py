"""Answers from noisy marginal tables, wherever their counts come from."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thresher.queries.query import Query
from thresher.queries.threshold import Threshold
from thresher.schema import Schema
from thresher.tables import Answers, Slab, Table, ThresholdTable
from thresher.tables.threshold_table import Axes


@dataclass(frozen=True, eq=False)
class NoisyCounts:
    """The noisy counts that answer a threshold.

    Attributes:
        counts: An axis per feature, in the threshold's order.
        n: What they are out of.
        is_itself: Whether they are the table of the threshold, and not the marginal behind it.
    """

    counts: npt.NDArray[Any]
    n: int
    is_itself: bool


class TableAnswers(ABC):
    """Answers to the queries about noisy tables, limited to [0, 1]."""

    schema: Schema

    @abstractmethod
    def counts(self, threshold: Threshold) -> NoisyCounts:
        """The noisy counts that answer a threshold; a QueryError if there are none."""

    @abstractmethod
    def check(self, query: Query) -> None:
        """Raise a QueryError unless a table that was measured has the answer."""

    def table(self, threshold: Threshold) -> Answers:
        """The noisy table itself, or the r-of-k table that follows from a noisy marginal."""
        noisy = self.counts(threshold)
        counts_of = (
            (lambda slab: noisy.counts[slab.index])
            if noisy.is_itself
            else ThresholdTable(_NoisyMarginals(noisy.counts), threshold.k, threshold.r)
        )
        return lambda slab: np.clip(counts_of(slab) / noisy.n, 0.0, 1.0)

    def queries(self, queries: Iterable[Query]) -> Iterator[float]:
        """Sums of cells."""
        return map(self._query, queries)

    def _query(self, query: Query) -> float:
        query.check(self.schema)
        self.check(query)
        noisy = self.counts(query.threshold)
        allowed = [list(condition.codes) for condition in query.conditions]
        if query.r == query.k or noisy.is_itself:
            total = noisy.counts[np.ix_(*allowed)].sum() if all(allowed) else 0
        else:
            matches = np.zeros(noisy.counts.shape, dtype=np.int16)
            for axis, codes in enumerate(allowed):
                meets = np.zeros(noisy.counts.shape[axis], dtype=np.int16)
                meets[codes] = 1
                matches += np.expand_dims(meets, [a for a in range(query.k) if a != axis])
            total = noisy.counts[matches >= query.r].sum()
        return min(1.0, max(0.0, float(total) / noisy.n))


@dataclass(frozen=True)
class _NoisyMarginals:
    """Marginals of one noisy table, by summing axes out."""

    counts: npt.NDArray[Any]

    def marginal(self, axes: Axes, slab: Slab) -> Table:
        others = tuple(axis for axis in range(self.counts.ndim) if axis not in axes)
        summed = self.counts.sum(axis=others) if others else self.counts
        return summed[slab.index].copy()
