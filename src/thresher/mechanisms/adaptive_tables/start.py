"""The first D' of adaptive tables: near the product of the noisy one-way tables."""

from collections.abc import Sequence
from math import sqrt

import numpy as np
import numpy.typing as npt

from thresher.privacy.measurements import Measurement, ResidualMeasurement, measured_tables
from thresher.queries.threshold import Threshold
from thresher.relaxed.rows import RelaxedRows
from thresher.relaxed.sparsemax import sparsemax
from thresher.relaxed.standardised import largest_by_noise
from thresher.release.sources import ResidualTables, joint_table
from thresher.schema import Schema

RECORDS_PER_ROW = 11
"""Each row of the first D' is the mean of so many records that are drawn from the product.

The paper's random start has chance correlations of about 1/√n' between features. At n' = 1000 that
is more than the error we want: 0.045 in place of 0.035 (64 marginals of ADULT, ε = 0.1). With means
of 11 records they are about 1/11 of that. Rows of 0.3 of a record and 0.7 of the product have the
same chance correlations and gave the same errors, but no zero entries to save work with.
"""

PRIOR_RECORDS = 1.0
"""Before anything is known of a feature, its shares vary as a Dirichlet distribution with this sum
of parameters: one that has seen equal parts of so many records.

Used only where noise may drown everything. With it, on 2,500 records of five tables, largest errors
were 0.86 times as large at ε = 0.01 and as large at 0.03 (means over thresholds 0.82 and 0.90; 16
and 64 3-way marginals, three seeds), and none of 30 fits at ε = 0.01 was worse than All-0, where
five had been. 0.3, 3 and as many records as values gave nearly the same.
"""


def one_way_known(measured: Sequence[Measurement], schema: Schema) -> list[Measurement]:
    """The measurements, with a one-way table in place of the residuals of each feature.

    Args:
        measured: What was measured.
        schema: The features.
    """
    source = ResidualTables.of(measured, schema)
    alone = [features for features in source.residuals if len(features) == 1]
    others = (m for m in measured if not isinstance(m, ResidualMeasurement))
    return [*others, *(joint_table(source, Threshold(features)) for features in alone)]


def near_product(
    measured: Sequence[Measurement],
    schema: Schema,
    rows: int,
    seed: int,
    *,
    beyond_noise: bool = False,
) -> RelaxedRows:
    """Relaxed rows near the product of noisy one-way tables.

    The product is all that one-way tables say. But if all rows were equal, they would all have the
    same gradient and stay equal. So each row is the mean of a few records drawn from the product.

    The margins of larger tables count as one-way tables, too. A fit stops once it is as good as
    noise allows in the cells, which is far from what their sums tell: without this, means of a
    feature were off by up to 20 times what the noise of the table explains.

    Args:
        measured: Measured marginals; a feature in none of them starts as uniform.
        schema: The features.
        rows: How many rows.
        seed: Of the records drawn.
        beyond_noise: Whether values whose shares differ by no more than noise explains get nearly
            the same share. Otherwise the shares are the nearest to the noisy ones.

    Example:
        >>> from thresher.data.datasets import adult_schema
        >>> near_product([], adult_schema(), rows=10, seed=0).count
        10
    """
    rng = np.random.default_rng(seed)
    known = _one_way_shares(measured)
    blocks = []
    for feature in schema:
        shares, sigma = known.get(feature.name, (np.full(feature.size, 1.0 / feature.size), 0.0))
        if beyond_noise:
            shares = _beyond_noise(shares, sigma, sum(schema.sizes))
        blocks.append(_means_of_records(_nearest_probabilities(shares), rows, rng))
    columns = np.ascontiguousarray(np.concatenate(blocks), dtype=np.float32)
    return RelaxedRows(columns, schema.sizes).with_views(schema)


def _one_way_shares(
    measured: Sequence[Measurement],
) -> dict[str, tuple[npt.NDArray[np.float64], float]]:
    """The shares of each feature's values, and the standard deviation of their noise.

    All tables that have the feature count, weighted by their noise.
    """
    sums: dict[str, tuple[npt.NDArray[np.float64], float]] = {}
    for m in measured_tables(measured):
        for axis, name in enumerate(m.threshold.features):
            others = tuple(a for a in range(m.threshold.k) if a != axis)
            precision = m.counts.shape[axis] / (m.noise**2 * m.counts.size)
            shares, before = sums.get(name, (np.zeros(m.counts.shape[axis]), 0.0))
            sums[name] = shares + precision * m.answers.sum(axis=others), before + precision
    return {
        name: (shares / precision, 1.0 / sqrt(precision))
        for name, (shares, precision) in sums.items()
    }


def _beyond_noise(
    noisy: npt.NDArray[np.float64], sigma: float, values: int
) -> npt.NDArray[np.float64]:
    """The shares of one feature, as far as noise does not explain them.

    A share stays as it is if it differs from equal ones by more than the largest noise of so many
    `values`, those of all features. The others are drawn towards their common mean by as much as
    noise adds to their variance (a James-Stein estimate), and by no less than their prior
    variance asks for: that of a few noisy shares tells little. Their nearest probabilities alone
    would put all people on the few values whose noise is largest.
    """
    limit = sigma * largest_by_noise(values)
    alike = np.ones(len(noisy), dtype=bool)
    mean = 1.0 / len(noisy)
    while alike.any():
        mean = max(0.0, 1.0 - float(noisy[~alike].sum())) / int(alike.sum())
        far = alike & (np.abs(noisy - mean) > limit)
        if not far.any():
            break
        alike &= ~far
    differences = noisy[alike] - mean
    observed = float(np.square(differences).mean()) if alike.any() else 0.0
    equal = 1.0 / len(noisy)
    variance = min(max(0.0, observed - sigma**2), equal * (1.0 - equal) / (PRIOR_RECORDS + 1.0))
    shares = noisy.copy()
    shares[alike] = mean + variance / max(variance + sigma**2, 1e-300) * differences
    return shares


def _means_of_records(
    shares: npt.NDArray[np.float64], rows: int, rng: np.random.Generator
) -> npt.NDArray[np.float64]:
    """One feature of every row (values × rows). Over all rows, each value has its share.

    The values are drawn at equal distances along the cumulative shares, and dealt out at random.
    """
    draws = rows * RECORDS_PER_ROW
    cumulative = np.cumsum(shares)
    levels = (rng.random() + np.arange(draws)) * (cumulative[-1] / draws)
    drawn = np.minimum(np.searchsorted(cumulative, levels, side="right"), len(shares) - 1)
    rng.shuffle(drawn)
    block = np.zeros((len(shares), rows))
    np.add.at(block, (drawn, np.repeat(np.arange(rows), RECORDS_PER_ROW)), 1.0 / RECORDS_PER_ROW)
    return block


def _nearest_probabilities(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The nearest point of the simplex: Sparsemax of one feature in one row."""
    column = np.ascontiguousarray(values[:, None], dtype=np.float32)
    sparsemax(column, np.array([0, len(values)], dtype=np.int64))
    projected = column[:, 0].astype(np.float64)
    return np.asarray(projected / projected.sum())
