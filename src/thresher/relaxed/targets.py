"""Targets of Relaxed Projection: noisy answers that D' should agree with, and their misfit.

The misfit is the mean, over all noisy answers a_i, of the squared standardised residual
((q̂_i(D') - a_i) / σ_i)². Minimising it is maximum likelihood for Gaussian noise. If D' were the
true data set, its misfit would be about 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from thresher.errors import ParameterError
from thresher.parallel import cores, in_order
from thresher.queries.threshold import Threshold
from thresher.relaxed.rows import RelaxedRows
from thresher.relaxed.selected import SelectedQueries, answers, pull_back
from thresher.relaxed.tables import TableOnRows
from thresher.schema import Schema

# Working memory for one slab of a table.
_SLAB_BYTES = 256 * 2**20
# Below this many products of a cell and a row, a second thread takes longer to start than to help.
_WORTH_SHARING = 200_000_000


@dataclass(frozen=True)
class Residuals:
    """How far D' is from some noisy answers, in units of their noise.

    Attributes:
        count: How many answers.
        misfit: Sum of squared standardised residuals; over all targets together, their mean.
        largest: The largest of their absolute values.
    """

    count: int
    misfit: float
    largest: float


class Target(Protocol):
    """Noisy answers to some queries."""

    def __len__(self) -> int:
        """How many queries."""
        ...

    def residuals(
        self, rows: RelaxedRows, gradient: NDArray[np.float32] | None = None, weight: float = 1.0
    ) -> Residuals:
        """Residuals at D'; the gradient of weight × misfit is added to `gradient`."""
        ...


@dataclass(frozen=True, eq=False)
class QueryTargets:
    """Noisy answers to selected queries.

    Attributes:
        queries: The queries.
        answers: Their noisy answers, as fractions of records.
        sigma: Standard deviation of the noise in each answer, as a fraction; one, or one each.

    Example:
        >>> targets = QueryTargets(SelectedQueries.of([[0]], r=1), np.array([0.7]), sigma=0.1)
        >>> rows = RelaxedRows(np.array([[0.5], [0.5]], np.float32), (2,))
        >>> round(targets.residuals(rows).misfit, 6)
        4.0
    """

    queries: SelectedQueries
    answers: NDArray[np.float64]
    sigma: float | NDArray[np.float64]

    def __post_init__(self) -> None:
        if self.answers.shape != (len(self.queries),):
            raise ParameterError(
                f"answers has shape {self.answers.shape}; {len(self.queries)} queries need "
                f"({len(self.queries)},)"
            )
        if np.shape(self.sigma) not in ((), self.answers.shape):
            raise ParameterError("sigma must be one number, or one for each query")
        if not (np.all(np.asarray(self.sigma) > 0.0) and np.all(np.isfinite(self.sigma))):
            raise ParameterError("sigma must be positive and finite for every query")

    def __len__(self) -> int:
        return len(self.queries)

    def residuals(
        self, rows: RelaxedRows, gradient: NDArray[np.float32] | None = None, weight: float = 1.0
    ) -> Residuals:
        """Residuals at D'; the gradient of weight × misfit is added to `gradient`."""
        standardised = (answers(rows, self.queries) - self.answers) / self.sigma
        if gradient is not None:
            pull_back(rows, self.queries, 2.0 * weight * standardised / self.sigma, gradient)
        largest = float(np.abs(standardised).max(initial=0.0))
        return Residuals(len(self), float(standardised @ standardised), largest)


@dataclass(frozen=True, eq=False)
class TableTarget:
    """Noisy answers to all consistent queries of a threshold.

    Attributes:
        schema: The features of D'.
        threshold: The threshold.
        answers: The noisy table, one axis per feature (or flattened in that order).
        sigma: Standard deviation of the noise in every answer, as a fraction.

    Example:
        >>> from thresher.schema import IntegerRange
        >>> schema = Schema([IntegerRange(name="a", low=0, high=1, nulls=0)])
        >>> target = TableTarget(schema, Threshold(("a",)), np.array([0.7, 0.3]), sigma=0.1)
        >>> rows = RelaxedRows(np.array([[0.5], [0.5]], np.float32), (2,))
        >>> round(target.residuals(rows).misfit, 4)
        8.0
    """

    schema: Schema
    threshold: Threshold
    answers: NDArray[np.float32] | NDArray[np.float64]
    sigma: float

    def __post_init__(self) -> None:
        if not (self.sigma > 0.0 and np.isfinite(self.sigma)):
            raise ParameterError(f"sigma={self.sigma}: must be positive and finite")
        if self.answers.size != self.threshold.query_count(self.schema):
            raise ParameterError(
                f"answers has {self.answers.size} cells; {self.threshold} has "
                f"{self.threshold.query_count(self.schema)}"
            )

    def __len__(self) -> int:
        return self.answers.size

    def residuals(
        self, rows: RelaxedRows, gradient: NDArray[np.float32] | None = None, weight: float = 1.0
    ) -> Residuals:
        """Residuals at D'; the gradient of weight × misfit is added to `gradient`."""
        table = TableOnRows(rows, self.schema, self.threshold)
        wanted = self.answers.reshape(table.cells)
        total, largest = 0.0, 0.0
        for leading in table.slabs(_SLAB_BYTES):
            residual = table.slab(leading)
            residual -= wanted[leading.start : leading.stop]
            flat = residual.ravel()
            total += float(np.dot(flat, flat))
            largest = max(largest, float(flat.max()), -float(flat.min()))
            if gradient is not None:
                residual *= np.float32(2.0 * weight / self.sigma**2)
                table.pull_back_slab(leading, residual, gradient)
        if gradient is not None:
            table.finish_pull_back(gradient)
        return Residuals(len(self), total / self.sigma**2, largest / self.sigma)


@dataclass(frozen=True, eq=False)
class Misfit:
    """The function that Relaxed Projection minimises: mean squared standardised residual.

    Attributes:
        targets: All that D' should agree with.
        sizes: How many values each feature has.

    Example:
        >>> queries = SelectedQueries.of([[0], [1]], r=1)
        >>> misfit = Misfit((QueryTargets(queries, np.array([0.7, 0.3]), 0.1),), sizes=(2,))
        >>> round(misfit.residuals(np.array([[0.5], [0.5]], np.float32)).misfit, 4)
        4.0
    """

    targets: Sequence[Target]
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self) == 0:
            raise ParameterError("targets is empty: there is nothing to project on")

    def __len__(self) -> int:
        return sum(len(target) for target in self.targets)

    def residuals(
        self, columns: NDArray[np.float32], gradient: NDArray[np.float32] | None = None
    ) -> Residuals:
        """The misfit at D' = `columns` (d' × n'); its gradient is written to `gradient`."""
        rows = RelaxedRows(columns, self.sizes)
        if gradient is not None:
            gradient.fill(0.0)

        def added_up(share: Sequence[Target], into: NDArray[np.float32] | None) -> list[Residuals]:
            return [target.residuals(rows, into, 1.0 / len(self)) for target in share]

        # Large tables are shared out among the cores, and each core adds to a separate gradient.
        # Kernels for single queries use all cores themselves, so they run here.
        tables = [target for target in self.targets if isinstance(target, TableTarget)]
        shares = _fair_shares(tables, rows.count)
        shared = {id(target) for share in shares for target in share}
        parts = added_up([t for t in self.targets if id(t) not in shared], gradient)
        partial = [None if gradient is None else np.zeros_like(gradient) for _ in shares]
        if shares:
            for found in in_order(lambda i: added_up(shares[i], partial[i]), range(len(shares))):
                parts += found
        for share_of_gradient in partial:
            if gradient is not None and share_of_gradient is not None:
                gradient += share_of_gradient
        return Residuals(
            count=len(self),
            misfit=sum(part.misfit for part in parts) / len(self),
            largest=max(part.largest for part in parts),
        )


def _fair_shares(tables: list[TableTarget], rows: int) -> list[list[TableTarget]]:
    """The tables in one group per core, of about equal work; no groups if the work is too small.

    The groups depend only on the tables and the number of cores, so a run can be repeated exactly.
    """
    if cores() == 1 or rows * sum(len(table) for table in tables) < _WORTH_SHARING:
        return []
    shares: list[list[TableTarget]] = [[] for _ in range(cores())]
    work = [0] * len(shares)
    for table in sorted(tables, key=len, reverse=True):
        least = work.index(min(work))
        shares[least].append(table)
        work[least] += len(table)
    return [share for share in shares if share]
