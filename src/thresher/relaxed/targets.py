"""Targets of Relaxed Projection: noisy answers that D' should agree with, and their misfit.

The misfit is the mean, over all noisy answers a_i, of the squared standardised residual
((q̂_i(D') - a_i) / σ_i)². Minimising it is maximum likelihood for Gaussian noise. If D' were the
true data set, its misfit would be about 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from thresher.errors import ParameterError
from thresher.parallel import in_order
from thresher.queries.threshold import Threshold
from thresher.relaxed.nonzero_kernels import subtract
from thresher.relaxed.nonzeros import Gradient
from thresher.relaxed.rows import RelaxedRows, ViewOf
from thresher.relaxed.selected import SelectedQueries, answers, pull_back
from thresher.relaxed.split import split_table
from thresher.relaxed.standardised import Residuals
from thresher.relaxed.tables import TableOnRows
from thresher.schema import Schema

# Working memory for one slab of a table.
SLAB_BYTES = 256 * 2**20
# Below this many products of a cell and a row, a second thread takes longer to start than to help.
_WORTH_SHARING = 200_000_000
# So many groups of tables can be worked on at the same time.
_SHARES = 4


@dataclass(frozen=True)
class Work:
    """What a table takes on each row of D', in multiply-adds of a matrix product.

    Attributes:
        per_row: The work.
        is_sparse: Whether it is least if only the nonzero entries of D' are used.
    """

    per_row: float
    is_sparse: bool


class Target(Protocol):
    """Noisy answers to some queries."""

    def __len__(self) -> int:
        """How many queries."""
        ...

    def residuals(
        self, rows: RelaxedRows, gradient: Gradient | None = None, weight: float = 1.0
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
        self, rows: RelaxedRows, gradient: Gradient | None = None, weight: float = 1.0
    ) -> Residuals:
        """Residuals at D'; the gradient of weight × misfit is added to `gradient`."""
        standardised = (answers(rows, self.queries) - self.answers) / self.sigma
        if gradient is not None:
            slopes = 2.0 * weight * standardised / self.sigma
            pull_back(rows, self.queries, slopes, gradient.columns)
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
        self, rows: RelaxedRows, gradient: Gradient | None = None, weight: float = 1.0
    ) -> Residuals:
        """Residuals at D'; the gradient of weight × misfit is added to `gradient`."""
        if self.work(rows, gradient is not None).is_sparse:
            return self._by_nonzeros(rows, gradient, weight)
        return self._by_products(rows, gradient, weight)

    def work(self, rows: RelaxedRows, with_gradient: bool) -> "Work":
        """The less of the work for one row: by matrix products, or by the nonzero entries of D'."""
        dense = (3.0 if with_gradient else 1.0) * self._products
        if self.threshold.r < self.threshold.k:
            return Work(dense, is_sparse=False)
        sparse = rows.nonzeros.work(self._features, with_gradient)
        return Work(min(sparse, dense), is_sparse=sparse < dense)

    @cached_property
    def _features(self) -> tuple[int, ...]:
        return tuple(self.schema.index(name) for name in self.threshold.features)

    @cached_property
    def _products(self) -> int:
        return split_table(self.threshold.shape(self.schema), self.threshold.r).cost

    @cached_property
    def _flat(self) -> NDArray[np.float32]:
        return np.ascontiguousarray(self.answers, np.float32).reshape(-1)

    def _by_nonzeros(
        self, rows: RelaxedRows, gradient: Gradient | None, weight: float
    ) -> Residuals:
        residual = rows.nonzeros.marginal(self._features)
        total, largest = subtract(residual, self._flat)
        if gradient is not None:
            pull = residual.reshape(self.threshold.shape(self.schema))
            slope = 2.0 * weight / self.sigma**2
            rows.nonzeros.pull_back(self._features, pull, slope, gradient)
        return Residuals(len(self), total / self.sigma**2, largest / self.sigma)

    def _by_products(
        self, rows: RelaxedRows, gradient: Gradient | None, weight: float
    ) -> Residuals:
        table = TableOnRows(rows, self.schema, self.threshold)
        width = table.cells[1]
        total, largest = 0.0, 0.0
        for leading in table.slabs(SLAB_BYTES):
            residual = table.slab(leading)
            wanted = self._flat[leading.start * width : leading.stop * width]
            squares, deviation = subtract(residual.reshape(-1), wanted)
            total, largest = total + squares, max(largest, deviation)
            if gradient is not None:
                residual *= np.float32(2.0 * weight / self.sigma**2)
                table.pull_back_slab(leading, residual, gradient.columns)
        if gradient is not None:
            table.finish_pull_back(gradient.columns)
        return Residuals(len(self), total / self.sigma**2, largest / self.sigma)


@dataclass(frozen=True, eq=False)
class Misfit:
    """The function that Relaxed Projection minimises: mean squared standardised residual.

    Attributes:
        targets: All that D' should agree with.
        sizes: How many values each feature has.
        views: Views of features, which targets may be about.

    Example:
        >>> queries = SelectedQueries.of([[0], [1]], r=1)
        >>> misfit = Misfit((QueryTargets(queries, np.array([0.7, 0.3]), 0.1),), sizes=(2,))
        >>> round(misfit.residuals(np.array([[0.5], [0.5]], np.float32)).misfit, 4)
        4.0
    """

    targets: Sequence[Target]
    sizes: tuple[int, ...]
    views: tuple[ViewOf, ...] = ()

    def __post_init__(self) -> None:
        if len(self) == 0:
            raise ParameterError("targets is empty: there is nothing to project on")

    def __len__(self) -> int:
        return self._count

    @cached_property
    def _count(self) -> int:
        return sum(len(target) for target in self.targets)

    def residuals(
        self, columns: NDArray[np.float32], gradient: NDArray[np.float32] | None = None
    ) -> Residuals:
        """The misfit at D' = `columns` (d' × n'); its gradient is written to `gradient`."""
        rows = RelaxedRows.extended(columns, self.sizes, self.views)
        if gradient is None or not self.views:
            return self._residuals(rows, gradient)
        by_all = np.empty_like(rows.columns)
        found = self._residuals(rows, by_all)
        gradient[:] = by_all[: len(gradient)]
        starts = rows.offsets
        # A view's column is a sum of columns of its base, so its derivative is one by each of them.
        for view, start in zip(self.views, starts[len(self.sizes) :], strict=False):
            begin, end = starts[view.feature : view.feature + 2]
            gradient[begin:end] += by_all[start + view.groups]
        return found

    def _residuals(self, rows: RelaxedRows, gradient: NDArray[np.float32] | None) -> Residuals:
        if gradient is not None:
            gradient.fill(0.0)
        shares = self._shares(rows, gradient is not None)

        def added_up(number: int) -> tuple[list[Residuals], NDArray[np.float32] | None]:
            into = None
            if gradient is not None:
                into = Gradient(np.zeros_like(gradient) if number else gradient, rows.sizes)
            found = [target.residuals(rows, into, 1.0 / len(self)) for target in shares[number]]
            if into is None:
                return found, None
            into.collect()
            return found, into.columns

        # The first share may have kernels that use all cores themselves.
        parts, _ = added_up(0)
        for found, derivatives in in_order(added_up, range(1, len(shares))):
            parts += found
            if gradient is not None and derivatives is not None:
                gradient += derivatives
        return Residuals(
            count=len(self),
            misfit=sum(part.misfit for part in parts) / len(self),
            largest=max(part.largest for part in parts),
        )

    def _shares(self, rows: RelaxedRows, with_gradient: bool) -> list[list[Target]]:
        """Single queries first, and the tables, in groups of about equal work if it is large.

        The groups do not depend on the number of cores, nor does then the sum of their gradients.
        """
        tables = [target for target in self.targets if isinstance(target, TableTarget)]
        others = [target for target in self.targets if not isinstance(target, TableTarget)]
        work = {id(table): table.work(rows, with_gradient).per_row for table in tables}
        if rows.count * sum(work.values()) < _WORTH_SHARING:
            return [[*others, *tables]]
        shares: list[list[Target]] = [[] for _ in range(_SHARES)]
        loads = [0.0] * _SHARES
        for table in sorted(tables, key=lambda table: work[id(table)], reverse=True):
            least = loads.index(min(loads))
            shares[least].append(table)
            loads[least] += work[id(table)]
        return [others, *shares]
