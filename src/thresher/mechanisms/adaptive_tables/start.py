"""The first D' of adaptive tables: near the product of the noisy one-way tables."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from thresher.privacy.measurements import Measurement, measured_tables
from thresher.relaxed.rows import RelaxedRows
from thresher.relaxed.sparsemax import sparsemax
from thresher.schema import Schema

RECORD_SHARE = 0.3
"""How much of a row of the first D' is one record that is drawn from the product.

The paper's random start has chance correlations of about 1/√n' between features. At n' = 1000 that
is more than the error we want: 0.045 in place of 0.035 (64 marginals of ADULT, ε = 0.1).
"""


def near_product(
    one_way: Sequence[Measurement], schema: Schema, rows: int, seed: int
) -> RelaxedRows:
    """Relaxed rows near the product of noisy one-way tables.

    The product is all that one-way tables say. But if all rows were equal, they would all have the
    same gradient and stay equal. So each row leans towards a record of its own, drawn from the
    product.

    Args:
        one_way: Measured one-way tables; a feature without one starts as uniform.
        schema: The features.
        rows: How many rows.
        seed: Of the records drawn.

    Example:
        >>> from thresher.data.datasets import adult_schema
        >>> near_product([], adult_schema(), rows=10, seed=0).count
        10
    """
    rng = np.random.default_rng(seed)
    known = {m.threshold.features[0]: m.answers for m in measured_tables(one_way)}
    blocks = []
    for feature in schema:
        noisy = known.get(feature.name, np.full(feature.size, 1.0 / feature.size))
        shares = _nearest_probabilities(noisy)
        block = np.repeat(((1 - RECORD_SHARE) * shares)[:, None], rows, axis=1)
        block[rng.choice(feature.size, size=rows, p=shares), np.arange(rows)] += RECORD_SHARE
        blocks.append(block)
    columns = np.ascontiguousarray(np.concatenate(blocks), dtype=np.float32)
    return RelaxedRows(columns, schema.sizes)


def _nearest_probabilities(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The nearest point of the simplex: Sparsemax of one feature in one row."""
    column = np.ascontiguousarray(values[:, None], dtype=np.float32)
    sparsemax(column, np.array([0, len(values)], dtype=np.int64))
    projected = column[:, 0].astype(np.float64)
    return np.asarray(projected / projected.sum())
