"""Marginal tables in slabs, and the step from them to the table of an r-of-k threshold."""

from typing import TYPE_CHECKING

from thresher.lazy import attach

if TYPE_CHECKING:
    from thresher.tables.slabs import MEMORY_CEILING, Slab, slabs_of
    from thresher.tables.threshold_table import (
        Answers,
        AnswersOf,
        Marginals,
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
            "thresher.tables.threshold_table": (
                "Answers AnswersOf Marginals Table ThresholdTable check_fits coefficient"
            ),
        },
    )

__all__ = [
    "MEMORY_CEILING",
    "Answers",
    "AnswersOf",
    "Marginals",
    "Slab",
    "Table",
    "ThresholdTable",
    "check_fits",
    "coefficient",
    "slabs_of",
]
