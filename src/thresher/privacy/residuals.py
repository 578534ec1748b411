"""Measuring the residuals of marginal tables: what each table says beyond its margins.

The residual over a set A of features is the marginal table M_A with its margins taken out along
every axis: H_A·M_A, where H_A projects on the tables whose margins along every axis are 0. It is
measured by its Helmert contrasts, the products of M_A with vectors b that form an orthogonal basis
of that space (`tables.contrasts`). They are whole numbers. Each gets independent discrete Gaussian
noise of variance |b|²/s_A, where s_A is the precision of A.

Proof of what it costs. Between two neighbours, let the tables M_A differ by Δ_A. The contrast of b
moves by <Δ_A, b>. With noise N_ℤ(0, |b|²/s_A) it is <Δ_A, b>²·s_A/(2·|b|²)-zCDP (Canonne, Kamath
and Steinke 2020, section 2: any variance, on the integers). The noise is independent, so Rényi
divergences of the same order add up, and all contrasts together cost

    Σ_A s_A/2 · Σ_b <Δ_A, b>²/|b|²  =  1/2 · Σ_A s_A·|H_A·Δ_A|²,

because the b/|b| are an orthonormal basis. That is what continuous Gaussian noise in the residual
space would cost, with nothing lost to whole numbers. `residual_sensitivity` has the maximum of the
sum over all neighbours.
"""
# ruff: noqa: D102 (each method is documented once, at `Request`)

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from thresher.data.private import FeatureSet
from thresher.errors import ParameterError, QueryError, ResourceError
from thresher.privacy.copies import copied_threshold
from thresher.privacy.counted import CountedTables
from thresher.privacy.measurements import ResidualMeasurement, contrast_count, unpacked
from thresher.privacy.noise import discrete_gaussian, variance_for
from thresher.privacy.randomness import Randomness
from thresher.privacy.request import Request, Saved, Terms, check_memory
from thresher.privacy.requests import (
    check_counted,
    checked_sigma,
    exact_counts,
    parts_of_target,
    plain,
)
from thresher.privacy.residual_sensitivity import squared_sensitivity
from thresher.privacy.unit import Unit
from thresher.queries.threshold import Threshold
from thresher.schema import Schema
from thresher.tables import check_fits
from thresher.tables.contrasts import contrasts_of, squared_norms

LARGEST_PRECISION = 2**40
MOST_RESIDUALS = 2**20
MOST_WAYS = 2**22
"""The most ways in which features of residuals can differ: 2^k for each residual of k features."""

ARRAYS_PER_TABLE = 8
"""The most arrays of the size of a table that measuring one takes at a time."""

LARGEST_NORM = 2**62
"""The largest |b|² that 64 bits hold."""


@dataclass(frozen=True, eq=False)
class MeasureResiduals(Request[list[ResidualMeasurement]]):
    """What do marginal tables say beyond their margins? See `Access.measure_residuals`.

    Proof: at the top of this module. `tests/audit/test_residuals.py` finds the same sensitivities
    by brute force.
    """

    verb: ClassVar[str] = "measure_residuals"
    marginals: tuple[Threshold, ...]
    precisions: tuple[int, ...]

    def copied(self, schema: Schema) -> Self:
        marginals = tuple(copied_threshold(marginal, schema) for marginal in self.marginals)
        return type(self)(marginals, tuple(plain(precision) for precision in self.precisions))

    def check(self, schema: Schema, unit: Unit, rho: Fraction) -> None:
        if not self.marginals or len(self.marginals) != len(self.precisions):
            raise ParameterError("name at least one marginal, and a precision for each")
        ways = sum(1 << min(marginal.k, 64) for marginal in self.marginals)
        if len(self.marginals) > MOST_RESIDUALS or ways > MOST_WAYS:
            raise ResourceError(
                "there are too many residuals, or of too many features, to find out what they cost "
                "together: take fewer tables, or tables of fewer features"
            )
        for precision in self.precisions:
            if type(precision) is not int or not 1 <= precision <= LARGEST_PRECISION:
                raise ParameterError("precisions must be whole numbers from 1 to 2^40")
        for marginal in self.marginals:
            _check_marginal(marginal, schema)
        sizes = [marginal.query_count(schema) for marginal in self.marginals]
        check_memory(8 * (2 * sum(sizes) + ARRAYS_PER_TABLE * max(sizes)))
        squared = self._squared_sensitivity(schema, unit)
        for marginal, precision in zip(self.marginals, self.precisions, strict=True):
            variance_for(rho, squared / precision * _largest_norm(marginal.shape(schema)))

    def least_variance(self, schema: Schema, unit: Unit, rho: Fraction) -> Fraction:
        # The smallest |b|² of k features is that of differences between two values of each.
        variances = zip(self._variances(schema, unit, rho), self.marginals, strict=True)
        return min(variance * (1 << marginal.k) for variance, marginal in variances)

    def parts(self) -> tuple[Any, ...]:
        return ([*map(parts_of_target, self.marginals)], self.precisions)

    def _variances(self, schema: Schema, unit: Unit, rho: Fraction) -> list[Fraction]:
        squared = self._squared_sensitivity(schema, unit)
        return [variance_for(rho, squared / precision) for precision in self.precisions]

    def _squared_sensitivity(self, schema: Schema, unit: Unit) -> Fraction:
        sets = [
            tuple(schema.index(name) for name in marginal.features) for marginal in self.marginals
        ]
        # Records that differ in a view differ in its base, too. Here, features and views may
        # differ at will, which can only move more.
        return squared_sensitivity(sets, schema.all_sizes, self.precisions, unit)

    def feature_sets(self) -> list[FeatureSet]:
        return [marginal.features for marginal in self.marginals]

    def run(
        self, counted: CountedTables, rho: Fraction, randomness: Randomness
    ) -> list[ResidualMeasurement]:
        variances = self._variances(counted.schema, counted.unit, rho)
        measured = []
        for marginal, variance in zip(self.marginals, variances, strict=True):
            # A sum that passes 2^63 wraps around, which is post-processing: see `add_noise`.
            noisy = contrasts_of(exact_counts(counted, marginal))
            norms = squared_norms(marginal.shape(counted.schema)).reshape(-1)
            noise = discrete_gaussian(variance, noisy.size, randomness, multiples=norms)
            noisy += noise.reshape(noisy.shape)
            sigma = math.sqrt(variance)
            measured.append(ResidualMeasurement(marginal, noisy, sigma, counted.total))
        return measured

    def nothing(self) -> list[ResidualMeasurement]:
        return []

    def size(self) -> int:
        # A standard deviation takes less than a hundredth of the room for a query.
        return 1 + len(self.marginals) // 100

    def table_sizes(self, schema: Schema) -> list[int]:
        return [sum(contrast_count(marginal, schema) for marginal in self.marginals)]

    def saved(self, result: list[ResidualMeasurement], schema: Schema) -> Saved:
        values = {"sigmas": [measured.sigma for measured in result]}
        return Saved(values, [np.concatenate([m.contrasts.reshape(-1) for m in result])])

    def restored(self, saved: Saved, terms: Terms) -> list[ResidualMeasurement]:
        [contrasts] = saved.tables
        [size] = self.table_sizes(terms.schema)
        if contrasts.shape != (size,) or contrasts.dtype != np.int64:
            raise ValueError("the contrasts of something else")
        variances = self._variances(terms.schema, terms.unit, terms.rho)
        kept = zip(saved.values["sigmas"], variances, strict=True)
        sigmas = [checked_sigma(sigma, variance) for sigma, variance in kept]
        return unpacked(contrasts, self.marginals, sigmas, terms.schema, terms.total)


def _check_marginal(marginal: Threshold, schema: Schema) -> None:
    if marginal.r != marginal.k:
        raise QueryError(
            f"{marginal} has no residual: only marginals (r = k) have; measure "
            f"{Threshold(marginal.features)}, from which its answers follow"
        )
    check_fits(marginal, schema)
    check_counted(marginal, schema)
    shape = marginal.shape(schema)
    if min(shape) < 2:
        raise QueryError(f"{marginal} has no residual: one of its features has a single value")
    if _largest_norm(shape) > LARGEST_NORM:
        raise ResourceError(
            f"the contrasts of {marginal} do not fit into 64 bits: name fewer features"
        )


def _largest_norm(shape: Sequence[int]) -> int:
    return math.prod(size * (size - 1) for size in shape)
