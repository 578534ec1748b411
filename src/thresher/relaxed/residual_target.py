"""Residuals of marginal tables as a target: D' is fitted to correlated noise correctly.

Tables that were put together from measured residuals have noise that is correlated between their
cells, and between tables. But the noise of the residuals is independent, and in the residual space
over A it has the same variance σ_A² in every direction. So the misfit is, over all A,

    Σ_A |H_A·(M_A(D') - M̂_A)|² / σ_A²,

where H_A takes the margins out. For a table over S and E = M_S(D') - M̂_S, the residuals over all
A ⊆ S come from one look at the table. With Mean_B, which replaces each cell by the mean over the
axes that are not in B, the term of A is Σ_{B⊆A} (-1)^|A∖B|·Mean_B times a factor. So the terms of
all A are Σ_B ω_B·Mean_B E: a few margins of the table, and no more work than that.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.errors import ParameterError
from thresher.privacy.measurements import ResidualMeasurement
from thresher.queries.threshold import Threshold
from thresher.relaxed.nonzero_kernels import subtract
from thresher.relaxed.nonzeros import Gradient
from thresher.relaxed.rows import RelaxedRows
from thresher.relaxed.standardised import Residuals
from thresher.relaxed.tables import TableOnRows
from thresher.relaxed.targets import SLAB_BYTES, TableTarget
from thresher.schema import Schema
from thresher.tables.contrasts import answer_variances, joined, subsets

Axes = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class ResidualTarget(TableTarget):
    """Noisy residuals over some subsets of a table's features.

    Attributes:
        schema: The features of D'.
        threshold: The marginal (r = k) over all of them.
        answers: The noisy table, as far as the residuals determine it.
        sigma: The standard deviation of the noise in a cell of this table.
        noises: For each subset of the axes whose residual counts here, the standard deviation of
            its noise in every direction, as a fraction.

    Example:
        >>> from thresher.schema import IntegerRange
        >>> schema = Schema([IntegerRange(name="a", low=0, high=1, nulls=0)])
        >>> table, noises = np.array([0.7, 0.3]), {(0,): 0.1}
        >>> target = ResidualTarget(schema, Threshold(("a",)), table, 0.1, noises)
        >>> rows = RelaxedRows(np.array([[0.5], [0.5]], np.float32), (2,))
        >>> len(target), round(target.residuals(rows).misfit, 4)
        (1, 8.0)
    """

    noises: Mapping[Axes, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.threshold.r != self.threshold.k or not self.noises:
            raise ParameterError("residuals are of a marginal (r = k), and of at least one")
        if not all(noise > 0.0 and np.isfinite(noise) for noise in self.noises.values()):
            raise ParameterError("noises must be positive and finite")

    def __len__(self) -> int:
        return sum(prod(self._shape[axis] - 1 for axis in axes) for axes in self.noises)

    @cached_property
    def _shape(self) -> tuple[int, ...]:
        return self.threshold.shape(self.schema)

    @cached_property
    def _factors(self) -> dict[Axes, float]:
        """The ω_B, for all subsets of the axes."""
        every = tuple(range(len(self._shape)))
        found = dict.fromkeys(subsets(every), 0.0)
        for axes, noise in self.noises.items():
            others = prod(self._shape[axis] for axis in every if axis not in axes)
            for kept in subsets(axes):
                found[kept] += (-1) ** (len(axes) - len(kept)) * others / noise**2
        return found

    def _by_nonzeros(
        self, rows: RelaxedRows, gradient: Gradient | None, weight: float
    ) -> Residuals:
        differences = rows.nonzeros.marginal(self._features)
        found, pull = self._weighed(differences, gradient is not None)
        if gradient is not None:
            rows.nonzeros.pull_back(self._features, pull, 2.0 * weight, gradient)
        return found

    def _by_products(
        self, rows: RelaxedRows, gradient: Gradient | None, weight: float
    ) -> Residuals:
        table = TableOnRows(rows, self.schema, self.threshold)
        slabs = list(table.slabs(SLAB_BYTES))
        differences = np.concatenate([table.slab(leading).reshape(-1) for leading in slabs])
        found, pull = self._weighed(differences, gradient is not None)
        if gradient is not None:
            pull *= np.float32(2.0 * weight)
            by_leading = pull.reshape(table.cells)
            for leading in slabs:
                table.pull_back_slab(
                    leading, by_leading[leading.start : leading.stop], gradient.columns
                )
            table.finish_pull_back(gradient.columns)
        return found

    def _weighed(
        self, table: NDArray[np.float32], with_pull: bool
    ) -> tuple[Residuals, NDArray[np.float32]]:
        """The misfit of a table of D', which is overwritten, and half of its derivatives."""
        squares, largest = subtract(table, self._flat)
        table = table.reshape(self._shape)
        every = tuple(range(table.ndim))
        means: dict[Axes, NDArray[Any]] = {every: table}
        misfit = self._factors[every] * squares
        for axes in sorted(self._factors, key=len, reverse=True)[1:]:
            # From the smallest mean that is known and has one axis more.
            above = min(
                (known for known in means if len(known) == len(axes) + 1 and {*axes} < {*known}),
                key=lambda known: means[known].size,
            )
            [place] = (place for place, axis in enumerate(above) if axis not in axes)
            means[axes] = means[above].mean(axis=place, dtype=np.float64)
            copies = table.size // max(1, means[axes].size)
            misfit += self._factors[axes] * copies * float((means[axes] ** 2).sum())
        largest = max(largest / self.sigma, self._largest(means))
        if with_pull:
            table *= np.float32(self._factors[every])
            for axes, part in self._together(means).items():
                others = [axis for axis in every if axis not in axes]
                table += np.expand_dims(part.astype(np.float32), others)
        return Residuals(len(self), max(misfit, 0.0), largest), table

    def _largest(self, means: Mapping[Axes, NDArray[Any]]) -> float:
        """The largest cell of the residuals over fewer features, in units of its noise.

        They have few cells, so that a mean over all cells does not show how well they fit.
        """
        largest = 0.0
        for axes, noise in self.noises.items():
            if len(axes) == len(self._shape):
                continue
            residual = np.zeros([self._shape[axis] for axis in axes])
            for kept in subsets(axes):
                others = [place for place, axis in enumerate(axes) if axis not in kept]
                sign = (-1) ** (len(axes) - len(kept))
                residual += sign * np.expand_dims(means[kept], others)
            copies = prod(self._shape) // residual.size
            varied = prod(1.0 - 1.0 / self._shape[axis] for axis in axes)
            cell = noise * sqrt(varied)
            largest = max(largest, copies * float(np.abs(residual).max()) / cell)
        return largest

    def _together(self, means: Mapping[Axes, NDArray[Any]]) -> dict[Axes, NDArray[Any]]:
        """Means times their factors, the smaller ones added to larger ones, which cost the least.

        What is left are tables with one axis less than all.
        """
        by_size = sorted(means, key=len)[:-1]
        added = {axes: self._factors[axes] * np.asarray(means[axes]) for axes in by_size}
        for axes in by_size:
            above = next((larger for larger in by_size if {*axes} < {*larger}), None)
            if above is not None:
                others = [place for place, axis in enumerate(above) if axis not in axes]
                added[above] = added[above] + np.expand_dims(added.pop(axes), others)
        return added


def residual_targets(
    measured: Sequence[ResidualMeasurement], schema: Schema, largest: int | None = None
) -> list[ResidualTarget]:
    """Measured residuals as targets, each residual in exactly one.

    There is a target for each table over features that no other has all of. A residual belongs to
    the target with the fewest cells that has its features.

    Args:
        measured: The residuals, with features in the schema's order; with each, those over all of
            its subsets.
        schema: The features.
        largest: The most cells of a table that D' is fitted to. Residuals of larger ones are
            left out.

    Example:
        >>> from thresher.schema import IntegerRange
        >>> schema = Schema(IntegerRange(name=x, low=0, high=1, nulls=0) for x in "ab")
        >>> contrasts = {("a",): [-20], ("b",): [10], ("a", "b"): [[4]]}
        >>> measured = [
        ...     ResidualMeasurement(Threshold(names), np.array(found), sigma=3.0, n=100)
        ...     for names, found in contrasts.items()
        ... ]
        >>> [target] = residual_targets(measured, schema)
        >>> target.noises
        {(0,): 0.03, (1,): 0.03, (0, 1): 0.03}
    """
    by_features = {
        m.threshold.features: m
        for m in measured
        if largest is None or m.threshold.query_count(schema) <= largest
    }
    contrasts = {features: m.contrasts for features, m in by_features.items()}
    targets = []
    for whole, members in _shared_out(list(by_features), schema).items():
        total, sizes = by_features[whole].n, Threshold(whole).shape(schema)
        shares = (joined(whole, sizes, contrasts, total) / total).astype(np.float32)
        noises = {
            tuple(whole.index(name) for name in features): by_features[features].noise
            for features in sorted(members, key=len)
        }
        sigma = _cell_noise(whole, sizes, by_features)
        targets.append(ResidualTarget(schema, Threshold(whole), shares, sigma, noises))
    return targets


def _shared_out(
    known: Sequence[tuple[str, ...]], schema: Schema
) -> dict[tuple[str, ...], list[tuple[str, ...]]]:
    """For each set of features that is part of no other, the sets whose residuals it stands for."""
    by_size = sorted(known, key=lambda f: (-len(f), Threshold(f).query_count(schema)))
    having: dict[str, set[int]] = {}
    wholes: list[tuple[str, ...]] = []
    members: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for features in by_size:
        above = set.intersection(*(having.get(name, set()) for name in features))
        if not above:
            for name in features:
                having.setdefault(name, set()).add(len(wholes))
            above = {len(wholes)}
            wholes.append(features)
        least = min(above, key=lambda i: (Threshold(wholes[i]).query_count(schema), i))
        members.setdefault(wholes[least], []).append(features)
    return members


def _cell_noise(
    features: tuple[str, ...],
    sizes: Sequence[int],
    measured: Mapping[tuple[str, ...], ResidualMeasurement],
) -> float:
    """The standard deviation of the noise in a cell of a table, as a fraction."""
    factors = answer_variances(sizes, [1] * len(sizes), len(sizes))
    return sqrt(
        sum(
            factor * measured[tuple(features[i] for i in axes)].noise ** 2
            for axes, factor in factors.items()
            if axes
        )
    )
