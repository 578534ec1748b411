"""Marginal tables, sparse and in slabs, and the step from them to r-of-k tables."""

from typing import TYPE_CHECKING

from thresher.lazy import attach

if TYPE_CHECKING:
    from thresher.tables.slabs import MEMORY_CEILING, Slab, slabs_of
    from thresher.tables.sparse import SparseTable, threshold_counts
    from thresher.tables.threshold_table import (
        Answers,
        AnswersOf,
        Marginals,
        RememberedSums,
        Table,
        ThresholdTable,
        check_fits,
        coefficient,
    )
else:
    __getattr__, __dir__ = attach(
        __name__,
        {
            "thresher.tables.slabs": "MEMORY_CEILING Slab slabs_of",
            "thresher.tables.sparse": "SparseTable threshold_counts",
            "thresher.tables.threshold_table": (
                "Answers AnswersOf Marginals RememberedSums Table ThresholdTable check_fits "
                "coefficient"
            ),
        },
    )

__all__ = [
    "MEMORY_CEILING",
    "Answers",
    "AnswersOf",
    "Marginals",
    "RememberedSums",
    "Slab",
    "SparseTable",
    "Table",
    "ThresholdTable",
    "check_fits",
    "coefficient",
    "slabs_of",
    "threshold_counts",
]
