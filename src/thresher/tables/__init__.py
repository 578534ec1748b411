"""Everything is a marginal table: counting, slabs, and the step to r-of-k tables."""

from thresher.tables.counts import (
    RecordMarginals,
    check_fits,
    exact_answer,
    exact_answers,
    exact_count,
    exact_slabs,
    exact_table,
)
from thresher.tables.slabs import MEMORY_CEILING, Slab, slabs_of
from thresher.tables.threshold_table import (
    Answers,
    AnswersOf,
    Marginals,
    Table,
    ThresholdTable,
    coefficient,
    threshold_slabs,
)

__all__ = [
    "MEMORY_CEILING",
    "Answers",
    "AnswersOf",
    "Marginals",
    "RecordMarginals",
    "Slab",
    "Table",
    "ThresholdTable",
    "check_fits",
    "coefficient",
    "exact_answer",
    "exact_answers",
    "exact_count",
    "exact_slabs",
    "exact_table",
    "slabs_of",
    "threshold_slabs",
]
