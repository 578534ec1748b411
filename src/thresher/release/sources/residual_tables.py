"""Tables that are put together from measured residuals: the answers of the mechanism `residual`."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from thresher.errors import QueryError
from thresher.privacy.measurements import Measurement, ResidualMeasurement, measured_residuals
from thresher.queries.condition import Condition
from thresher.queries.query import Query
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.release.sources.table_answers import NoisyCounts, TableAnswers
from thresher.release.uncertainty import Variance
from thresher.schema import Schema
from thresher.tables.contrasts import answer_variances, joined, subsets
from thresher.tables.threshold_table import coefficient

MOST_KEPT = 1 << 24
"""The most cells of tables that are kept for the next query: 128 MiB."""


@dataclass(frozen=True, eq=False)
class ResidualTables(TableAnswers):
    """Noisy tables that agree with each other, limited to [0, 1].

    A table over some features follows from the residuals over all of their subsets. So there are
    answers to thresholds whose features are among those of a table that was measured in this way.

    Attributes:
        residuals: The measured residuals, by their features in the schema's order.
        schema: The features.
    """

    kind: ClassVar[str] = "residuals"
    rows: ClassVar[None] = None
    prediction_error: ClassVar[None] = None

    residuals: Mapping[tuple[str, ...], ResidualMeasurement]
    schema: Schema
    _kept: dict[tuple[str, ...], npt.NDArray[np.float64]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, measurements: Iterable[Measurement], schema: Schema) -> "ResidualTables":
        """With the residuals among some measurements, whose features are in the schema's order."""
        return cls({m.threshold.features: m for m in measured_residuals(measurements)}, schema)

    def residual(self, features: Iterable[str]) -> ResidualMeasurement:
        """The residual over some features, which was measured."""
        return self.residuals[self._in_order(features)]

    def check(self, query: Query) -> None:
        """Raise a QueryError unless the residuals over all of its features were measured."""
        self._checked(query.threshold)

    def counts(self, threshold: Threshold) -> NoisyCounts:
        """The table over the threshold's features, in their order."""
        features = self._checked(threshold)
        n = next(iter(self.residuals.values())).n
        axes = [features.index(name) for name in threshold.features]
        return NoisyCounts(
            np.transpose(self._table(features, n), axes), n, threshold.r == threshold.k
        )

    def noise(self, threshold: Threshold) -> float:
        """The standard deviation of the noise in every answer to a threshold."""
        cell = Query([Condition(name, [0]) for name in threshold.features], threshold.r)
        return math.sqrt(ResidualVariances(self).of(cell).value)

    def cell(self, query: Query) -> float:
        """The noisy answer to a query with one value per feature, not limited to [0, 1]."""
        codes = {c.feature: c.codes[0] for c in query.conditions}
        features = self._in_order(codes)
        n = next(iter(self.residuals.values())).n
        total = 0.0
        for size in range(query.r, query.k + 1):
            for names in combinations(features, size):
                cell = self._table(names, n)[tuple(codes[name] for name in names)]
                total += coefficient(size, query.r) * float(cell)
        return total / n

    def has(self, features: tuple[str, ...]) -> bool:
        """Whether the residuals over all subsets of some features, in order, were measured."""
        varied = tuple(name for name in features if self.schema[name].size > 1)
        return bool(self.residuals) and all(
            tuple(varied[i] for i in places) in self.residuals
            for places in subsets(tuple(range(len(varied))))
            if places
        )

    def variances(
        self, measurements: Sequence[Measurement], workload: Workload
    ) -> "ResidualVariances":
        """By the noise of the residuals."""
        return ResidualVariances(self)

    def answerable(self, features: tuple[str, ...]) -> tuple[str, ...] | None:
        """The same features, if there is a table over them."""
        return features if self.has(self._in_order(features)) else None

    def parameters(self) -> Mapping[str, float | None]:
        """None needed."""
        return {}

    def _checked(self, threshold: Threshold) -> tuple[str, ...]:
        features = self._in_order(threshold.features)
        if not self.has(features):
            raise QueryError(
                f"this release has no answers for {threshold}: it has residuals of its workload's "
                "tables only; a release with synthetic rows answers any query"
            )
        return features

    def _in_order(self, features: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted(features, key=self.schema.index))

    @cached_property
    def _contrasts(self) -> dict[tuple[str, ...], npt.NDArray[np.int64]]:
        return {features: m.contrasts for features, m in self.residuals.items()}

    def _table(self, features: tuple[str, ...], n: int) -> npt.NDArray[np.float64]:
        """A table, kept for the next query. Threads may ask at once, so copies are gone through."""
        kept = self._kept.get(features)
        if kept is not None:
            return kept
        sizes = Threshold(features).shape(self.schema)
        table = joined(features, sizes, self._contrasts, n)
        for oldest in list(self._kept):
            if table.size + sum(t.size for t in list(self._kept.values())) <= MOST_KEPT:
                break
            self._kept.pop(oldest, None)
        self._kept[features] = table
        return table


@dataclass(frozen=True, eq=False)
class ResidualVariances:
    """The variances of answers from residuals, whose noise is independent."""

    source: ResidualTables

    def of(self, query: Query, answer: float | None = None) -> Variance:
        """The noise of every residual, times what it adds to the answer.

        The total, the residual over no feature, adds a public share: the uncertainty model takes
        care of its noise.
        """
        names = [condition.feature for condition in query.conditions]
        allowed = [len(condition.codes) for condition in query.conditions]
        sizes = [self.source.schema[name].size for name in names]
        variance = 0.0
        for places, factor in answer_variances(sizes, allowed, query.r).items():
            if not places or not factor:
                continue
            features = self.source._in_order(names[i] for i in places)
            measured = self.source.residuals.get(features)
            variance += math.inf if measured is None else factor * measured.noise**2
        return Variance(variance, is_estimated=False)
