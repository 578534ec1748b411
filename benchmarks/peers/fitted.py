"""What a fit has to offer to be measured: answers and, where it has them, synthetic records."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import thresher as th
from thresher.data.exact import exact_table
from thresher.data.records import Records
from thresher.schema.features import Codes
from thresher.tables import Answers, AnswersOf, Slab, Table, ThresholdTable
from thresher.tables.threshold_table import Axes

Columns = Mapping[str, Codes]


@dataclass(frozen=True)
class Task:
    """What is to be fitted, and what will be asked.

    Attributes:
        data: The records.
        work: The thresholds that the mechanism is told.
        asked: The thresholds that are asked: the same, or those of the future.
        epsilon: The budget, for one replaced record and δ = 1/n².
        seed: Of the noise, where the mechanism takes a seed.
    """

    data: Records
    work: th.Workload
    asked: th.Workload
    epsilon: float
    seed: int

    @property
    def names(self) -> list[str]:
        """The features that a model must have: all of them if the future may ask for any."""
        if self.asked is not self.work:
            return list(self.data.schema.names)
        wanted = {name for threshold in self.work for name in threshold.features}
        return [name for name in self.data.schema.names if name in wanted]

    @property
    def marginals(self) -> list[tuple[str, ...]]:
        """The feature sets of the thresholds, each once, in the order of the schema."""
        index = self.data.schema.index
        return list(dict.fromkeys(tuple(sorted(t.features, key=index)) for t in self.work))


@dataclass(frozen=True)
class Fitted:
    """The outcome of a fit.

    Attributes:
        answers: The answers to any threshold.
        sample: So many synthetic records, by seed; None if the mechanism makes none.
    """

    answers: AnswersOf
    sample: Callable[[int, int], Columns] | None = None


def answers_from(project: Callable[[Sequence[str]], npt.ArrayLike], schema: th.Schema) -> AnswersOf:
    """The answers of a model that gives the marginal over any features.

    Marginals are scaled to add up to 1, because n is public. Values past the schema's, which a
    peer may add for the unknown, are cut off.
    """

    def answers_of(threshold: th.Threshold) -> Answers:
        shape = threshold.shape(schema)
        counts = np.asarray(project(threshold.features), float)[tuple(map(slice, shape))]
        shares = np.ascontiguousarray(counts / counts.sum())
        return ThresholdTable(_Marginals(shares), threshold.k, threshold.r)

    return answers_of


def records_as_fitted(columns: Columns, schema: th.Schema) -> Fitted:
    """The answers of synthetic records, which are drawn from again for a sample."""
    count = len(next(iter(columns.values())))
    absent = np.zeros(count, np.int64)
    records = Records(schema, [np.asarray(columns.get(name, absent)) for name in schema.names])

    def answers_of(threshold: th.Threshold) -> Answers:
        counts = exact_table(records, threshold)
        return lambda slab: counts(slab) / count

    def sample(rows: int, seed: int) -> Columns:
        chosen = np.random.default_rng(seed).choice(count, rows, replace=rows > count)
        return {name: np.asarray(codes)[chosen] for name, codes in columns.items()}

    return Fitted(answers_of, sample)


class _Marginals:
    """Marginals of one table, by summing axes out."""

    def __init__(self, shares: Table) -> None:
        self.shares = shares

    def marginal(self, axes: Axes, slab: Slab) -> Table:
        """The part of a marginal table that lies in a slab."""
        others = tuple(axis for axis in range(self.shares.ndim) if axis not in axes)
        summed = np.asarray(self.shares.sum(axis=others))
        return summed[slab.index].copy()
