"""The synthetic data set D': it answers any query."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from thresher.privacy.measurements import Measurement
from thresher.queries.query import Query
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.relaxed.heavy_cells import SparseRows
from thresher.relaxed.row_answers import answer_queries, row_table
from thresher.relaxed.rows import RelaxedRows
from thresher.release.sources.fitted_variances import FittedVariances
from thresher.schema import Schema
from thresher.tables import Answers


@dataclass(frozen=True, eq=False)
class SyntheticRows:
    """Answers of the relaxed rows D', for a mechanism that selects single queries (RAP).

    Attributes:
        rows: D'.
        schema: The features.
        prediction_error: How far D' was from measurements before it was fitted to them, at 95 %.

    Example:
        >>> import numpy as np
        >>> from thresher.data import datasets
        >>> schema = datasets.adult_schema()
        >>> rows = RelaxedRows.uniform(schema.sizes, 10, np.random.default_rng(0))
        >>> source = SyntheticRows(rows, schema)
        >>> [women] = source.queries([Query.parse("sex=Female", schema)])
        >>> 0 < women < 1
        True
    """

    kind: ClassVar[str] = "rows"

    rows: RelaxedRows
    schema: Schema
    prediction_error: float | None = None

    @cached_property
    def sparse(self) -> SparseRows:
        """The nonzero numbers of D', shared by the tables of all thresholds."""
        return SparseRows(self.rows)

    def table(self, threshold: Threshold) -> Answers:
        """By matrix products; the answers of a marginal can be listed."""
        return row_table(self.rows, self.schema, threshold, self.sparse)

    def queries(self, queries: Iterable[Query]) -> Iterator[float]:
        """In batches."""
        return answer_queries(self.rows, self.schema, queries)

    def check(self, query: Query) -> None:
        """Any query has an answer."""

    def variances(self, measurements: Sequence[Measurement], workload: Workload) -> FittedVariances:
        """By what D' was fitted to. The prediction error is about the workload's queries."""
        return FittedVariances(
            self.schema, self.rows, measurements, workload.thresholds, self.prediction_error
        )

    def answerable(self, features: tuple[str, ...]) -> tuple[str, ...]:
        """The same features: D' answers any query."""
        return features

    def parameters(self) -> Mapping[str, Any]:
        """The prediction error, under the name that it has in the folder format."""
        return {"miss": self.prediction_error}
