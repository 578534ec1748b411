"""How precisely to measure each residual, so that the largest error over a workload is smallest.

The answers to a threshold (S, r) have noise of variance V_S = Σ_{A⊆S} a_SA/s_A, where s_A is the
precision of the residual over A and a_SA is known (`tables.contrasts.answer_variances`). One of m
tables has N cells. With probability about 1 - 1/m, all its errors are below √(2·ln(N·m)·V_S), which
is what it may contribute to a bound of the largest error over all tables. Measuring costs
Σ_A p_A·s_A. So we minimise

    max over S of w_S·Σ_{A⊆S} a_SA/s_A,    w_S = 2·ln(m·cells of S),    where Σ_A p_A·s_A = 1.

(The median of the largest error over 16 to 364 3-way marginals of ADULT is then within 0.1 % of the
least that any precisions give. With 2·ln(cells of S) in place of w_S it is up to 5 % above that.)

For fixed weights μ_S that add up to 1, the least Σ_S μ_S·w_S·V_S is at s_A ∝ √(b_A/p_A), where
b_A = Σ_S μ_S·w_S·a_SA. It is a lower bound of the minimum for all μ, and for the best μ the two are
equal, because the problem is convex. Multiplying each μ_S by its w_S·V_S over the mean makes
the bound larger; a dozen times are usually enough to come within a thousandth.

If units are replaced, the cost depends on which features change (`privacy.residuals`). The cost
above is half of its mean over replacements by a row that is drawn uniformly, and the wall charges
for the largest, which was 1 to 2 % more on ADULT, and 3 to 5 % for 64 random triples of 30 and 42
features with few values. Where it has to charge for a bound (256 triples of 42 features), it was
18 %. Precisions that are the best for the largest cost itself were tried: 1 % less noise, for 60
times the work.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from thresher.privacy.residual_sensitivity import squared_sensitivity
from thresher.privacy.residuals import LARGEST_PRECISION
from thresher.privacy.unit import Unit
from thresher.queries.threshold import Threshold
from thresher.schema import Schema
from thresher.tables.contrasts import answer_variances, subsets

GAP = 1e-3
"""How far the largest variance may be above its minimum, in parts of it."""

MOST_STEPS = 1000
DIGITS = 20
"""Binary digits of a precision. A fit is resumed only if it asks for the same, and the last digits
of what is computed depend on the machine."""

LEAST_PART = 2.0**-30
"""No precision is a smaller part of the largest, so that every table can be put together."""


@dataclass(frozen=True)
class ResidualPlan:
    """Which residuals are measured, and how precisely.

    Attributes:
        schema: The features.
        marginals: The residuals, by their marginals, with features in the schema's order.
        precisions: Their precisions in relation to each other, as `Access.measure_residuals` takes
            them.

    Example:
        >>> from thresher.data import datasets
        >>> schema = datasets.adult_schema()
        >>> plan = ResidualPlan.of([Threshold(("sex", "income"))], schema)
        >>> [marginal.features for marginal in plan.marginals]
        [('sex',), ('income',), ('sex', 'income')]
        >>> [sigma] = plan.sigmas([Threshold(("sex", "income"))], Fraction(1), Unit())
        >>> round(sigma, 2)  # 1 if the table were measured whole
        0.87
    """

    schema: Schema
    marginals: tuple[Threshold, ...]
    precisions: tuple[int, ...]

    @classmethod
    def of(
        cls,
        thresholds: Iterable[Threshold],
        schema: Schema,
        also: Mapping[Threshold, float] | None = None,
        most: int | None = None,
    ) -> "ResidualPlan":
        """The best precisions for the maximum error over some thresholds.

        Args:
            thresholds: The thresholds.
            schema: The features.
            also: Other thresholds whose answers should not be much worse: for each, how many times
                the largest error over `thresholds` its errors may be.
            most: The most features of a residual, if those of more are not measured. What they
                would add to errors is left out.
        """
        asked = dict.fromkeys(thresholds, 1.0)
        problem = _Problem.of({**(also or {}), **asked}, schema, most)
        precisions = problem.solved()
        parts = np.maximum(precisions / precisions.max(initial=1e-300), LEAST_PART)
        marginals = (
            Threshold(tuple(schema.all_names[i] for i in features))
            for features in problem.residuals
        )
        return cls(schema, tuple(marginals), _whole(parts))

    @classmethod
    def by_size(cls, tables: Iterable[Threshold], schema: Schema) -> "ResidualPlan":
        """All residuals of some tables, those of as many features with the same precision.

        An answer to an r-of-k threshold adds up residuals of every size. With m_j residuals of j
        features and precisions s_j, Σ 1/s_j is least for a given Σ m_j·s_j if s_j ∝ 1/√m_j.

        Args:
            tables: The tables.
            schema: The features.

        Example:
            >>> from thresher.data import datasets
            >>> pairs = [Threshold(pair) for pair in (("sex", "race"), ("sex", "income"))]
            >>> plan = ResidualPlan.by_size(pairs, datasets.adult_schema())
            >>> [round(p / max(plan.precisions), 2) for p in plan.precisions]
            [0.82, 0.82, 0.82, 1.0, 1.0]
        """
        varied = (
            tuple(sorted(schema.index(n) for n in table.features if schema[n].size > 1))
            for table in tables
        )
        residuals = sorted({part for whole in varied for part in subsets(whole) if part}, key=_rank)
        sizes = np.array([len(part) for part in residuals], np.intp)
        parts = 1 / np.sqrt(np.bincount(sizes)[sizes])
        marginals = (Threshold(tuple(schema.all_names[i] for i in part)) for part in residuals)
        return cls(schema, tuple(marginals), _whole(parts / parts.max(initial=1e-300)))

    def sigmas(self, thresholds: Sequence[Threshold], rho: Fraction, unit: Unit) -> list[float]:
        """The standard deviation of the noise in each cell of the tables of some thresholds.

        Args:
            thresholds: Thresholds among those that the plan is for.
            rho: What all measurements spend.
            unit: What neighbours differ in.
        """
        sets = [tuple(map(self.schema.index, m.features)) for m in self.marginals]
        squared = squared_sensitivity(sets, self.schema.all_sizes, self.precisions, unit)
        scale = float(squared / (2 * rho))
        problem = _Problem.of(dict.fromkeys(thresholds, 1.0), self.schema)
        known = dict(zip(sets, self.precisions, strict=True))
        given = np.array([known[features] for features in problem.residuals], dtype=np.float64)
        found: list[float] = np.sqrt(scale * problem.variances(given)).tolist()
        return found


@dataclass(frozen=True, eq=False)
class _Problem:
    """V_S as sums over the entries (S, A, a_SA) of a sparse matrix.

    Attributes:
        residuals: The features of each residual, as places in the schema, ascending.
        costs: The p_A of each.
        weights: The w_S of each threshold.
        of_threshold: The threshold of each entry.
        of_residual: The residual of each entry.
        factors: The a_SA of each entry.
    """

    residuals: list[tuple[int, ...]]
    costs: npt.NDArray[np.float64]
    weights: npt.NDArray[np.float64]
    of_threshold: npt.NDArray[np.intp]
    of_residual: npt.NDArray[np.intp]
    factors: npt.NDArray[np.float64]

    @classmethod
    def of(
        cls, allowed: Mapping[Threshold, float], schema: Schema, most: int | None = None
    ) -> "_Problem":
        thresholds = list(allowed)
        sizes = np.array(schema.all_sizes)
        alike: dict[tuple[int, int], list[int]] = {}
        for position, threshold in enumerate(thresholds):
            alike.setdefault((threshold.k, threshold.r), []).append(position)
        known: dict[tuple[int, ...], int] = {}
        rows, columns, factors = [], [], []
        for (k, r), positions in alike.items():
            features = [
                sorted(schema.index(name) for name in thresholds[i].features) for i in positions
            ]
            shapes = sizes[np.array(features)].T
            for places, factor in answer_variances(shapes, [1] * k, r).items():
                if most is not None and len(places) > most:
                    continue
                for i, some, size in zip(
                    positions, features, np.broadcast_to(factor, len(positions)), strict=True
                ):
                    residual = tuple(some[place] for place in places)
                    # The total is known, and a feature with a single value has no residual.
                    if residual and all(sizes[feature] > 1 for feature in residual):
                        rows.append(i)
                        columns.append(known.setdefault(residual, len(known)))
                        factors.append(size)
        cells = np.array([threshold.query_count(schema) for threshold in thresholds], np.float64)
        tables = sum(times == 1.0 for times in allowed.values())
        return cls(
            list(known),
            np.array([math.prod(1 - 1 / sizes[i] for i in residual) for residual in known]),
            2 * np.log(np.maximum(cells * tables, 2)) / np.square([*allowed.values()]),
            np.array(rows, np.intp),
            np.array(columns, np.intp),
            np.array(factors),
        )

    def variances(self, precisions: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The V_S."""
        parts = self.factors / precisions[self.of_residual]
        return np.bincount(self.of_threshold, parts, len(self.weights)).astype(np.float64)

    def solved(self) -> npt.NDArray[np.float64]:
        """The best precisions."""
        shares = np.full(len(self.weights), 1 / len(self.weights))
        for _ in range(MOST_STEPS):
            parts = self.factors * (shares * self.weights)[self.of_threshold]
            together = np.bincount(self.of_residual, parts, len(self.residuals))
            precisions = np.sqrt(together / self.costs)
            precisions = np.maximum(precisions, LEAST_PART * precisions.max(initial=0.0))
            weighted = self.weights * self.variances(precisions)
            mean = float(shares @ weighted)
            if weighted.max() <= (1 + GAP) * mean:
                break
            shares *= weighted / mean
            shares /= shares.sum()
        return precisions


def _rank(residual: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    """Residuals of few features come first."""
    return len(residual), residual


def _whole(parts: npt.NDArray[np.float64]) -> tuple[int, ...]:
    """Parts of the largest precision, rounded to a few digits.

    Example:
        >>> _whole(np.array([1.0, 1 - 1e-15, 2.0**-30]))
        (1099511627776, 1099511627776, 1024)
    """
    digits, exponents = np.frexp(parts * LARGEST_PRECISION)
    rounded = np.ldexp(np.rint(np.ldexp(digits, DIGITS)), exponents - DIGITS)
    return tuple(np.rint(rounded).astype(int).tolist())
