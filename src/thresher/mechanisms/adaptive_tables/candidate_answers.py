"""What D' answers to the candidates of a round."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from thresher.queries.threshold import Threshold
from thresher.relaxed.rows import RelaxedRows
from thresher.release.sources import SyntheticRows
from thresher.schema import Schema
from thresher.tables import Answers
from thresher.tables.slabs import SLAB_CELLS


class CandidateAnswers:
    """Tables of D' for a selection among thousands of small marginals.

    A table is computed from the nonzero entries of D', or by matrix products if that takes fewer
    steps. The two differ in the last digits of float32.

    Args:
        rows: D'; must not change while this object is used.
        schema: The features.

    Example:
        >>> from thresher.data.datasets import adult_schema
        >>> from thresher.tables import slabs_of
        >>> rows = RelaxedRows.from_codes(adult_schema().sizes, np.zeros((2, 14), int))
        >>> table = CandidateAnswers(rows, adult_schema()).table(Threshold(("sex", "income")))
        >>> table(next(slabs_of((2, 2)))).tolist()
        [[1.0, 0.0], [0.0, 0.0]]
    """

    def __init__(self, rows: RelaxedRows, schema: Schema) -> None:
        self._rows, self._schema = rows, schema
        self._source = SyntheticRows(rows, schema)

    def table(self, threshold: Threshold) -> Answers:
        """The answers to a marginal. Those of a large one can be listed."""
        cells = threshold.query_count(self._schema)
        features = [self._schema.index(name) for name in threshold.features]
        if cells > SLAB_CELLS or self._rows.nonzeros.work(features, with_gradient=False) > cells:
            return self._source.table(threshold)

        @cache
        def whole() -> NDArray[np.float32]:
            shape = threshold.shape(self._schema)
            return self._rows.nonzeros.marginal(features).reshape(shape)

        return lambda slab: whole()[slab.index]
