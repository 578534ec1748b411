"""Relaxed Projection (Algorithm 3) as mechanisms use it: from measurements to a new D'."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from thresher.privacy.measurements import (
    Measurement,
    measured_queries,
    measured_residuals,
    measured_tables,
)
from thresher.relaxed.projection import Projection, Stopping, project
from thresher.relaxed.residual_target import residual_targets
from thresher.relaxed.row_answers import selected_queries
from thresher.relaxed.rows import RelaxedRows
from thresher.relaxed.targets import QueryTargets, TableTarget, Target
from thresher.schema import Schema

OnIteration = Callable[[int, int, float, RelaxedRows], None]
"""Called with the round, the iteration within it (0: before the first), the misfit and D'.

The D' is valid during the call only.
"""


@dataclass(frozen=True)
class Projector:
    """How D' is fitted to noisy answers.

    Attributes:
        optimizer: `"accelerated"`, `"sparse"` to keep D' sparse, `"adam"` for the paper's, or
            `"softmax"` for Softmax rows.
        stopping: When the fit is good enough.
        on_iteration: Called after every iteration. For research: an experiment can follow D' on
            its way without changing it.

    Example:
        >>> from thresher.privacy.measurements import QueryMeasurement
        >>> from thresher.queries import Condition, Query
        >>> from thresher.schema.features import IntegerRange
        >>> schema = Schema([IntegerRange(name="a", low=0, high=1, nulls=0)])
        >>> half = QueryMeasurement(Query([Condition("a", [0])]), count=90, sigma=1.0, n=100)
        >>> start = RelaxedRows.uniform(schema.sizes, 10, np.random.default_rng(0))
        >>> Projector()(start, [half], schema).reason
        'noise'
    """

    optimizer: str = "accelerated"
    stopping: Stopping = field(default_factory=Stopping)
    on_iteration: OnIteration | None = field(default=None, repr=False)

    def __call__(
        self, rows: RelaxedRows, measured: Iterable[Measurement], schema: Schema, number: int = 1
    ) -> Projection:
        """Fit D' to measurements, starting from where it is.

        Args:
            rows: D' before.
            measured: All measurements that it should agree with.
            schema: The features.
            number: The number of the round, for `on_iteration`.
        """
        watch = self.on_iteration

        def record(iteration: int, misfit: float, latest: RelaxedRows) -> None:
            if watch is not None:
                watch(number, iteration, misfit, latest)

        targets = targets_of(measured, schema)
        return project(rows, targets, self.optimizer, self.stopping, record)


def targets_of(measured: Iterable[Measurement], schema: Schema) -> list[Target]:
    """Measurements in the form that `project` takes: all single queries together, then each table.

    Residuals are put together to tables.

    Args:
        measured: The measurements.
        schema: The features.
    """
    listed = list(measured)
    queries = measured_queries(listed)
    targets: list[Target] = []
    if queries:
        answers = np.array([m.answer for m in queries])
        sigma = np.array([m.noise for m in queries])
        selected = selected_queries((m.query for m in queries), schema)
        targets.append(QueryTargets(selected, answers, sigma))
    for m in measured_tables(listed):
        table = m.answers.astype(np.float32)
        targets.append(TableTarget(schema, m.threshold, table, m.noise))
    return [*targets, *residual_targets(measured_residuals(listed), schema)]
