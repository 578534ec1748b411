"""D', the relaxed synthetic data: its rows, their answers, and Relaxed Projection (Algorithm 3)."""

from typing import TYPE_CHECKING

from thresher.lazy import attach

if TYPE_CHECKING:
    from thresher.relaxed.projection import OPTIMISERS, Projection, Stopping, project
    from thresher.relaxed.rows import RelaxedRows
    from thresher.relaxed.selected import SelectedQueries, answers
    from thresher.relaxed.tables import (
        TableOnRows,
        TableQueries,
        marginal,
        threshold_slabs,
        threshold_table,
    )
    from thresher.relaxed.targets import QueryTargets, TableTarget, Target
else:
    __getattr__, __dir__ = attach(
        __name__,
        {
            "thresher.relaxed.projection": "OPTIMISERS Projection Stopping project",
            "thresher.relaxed.rows": "RelaxedRows",
            "thresher.relaxed.selected": "SelectedQueries answers",
            "thresher.relaxed.tables": (
                "TableOnRows TableQueries marginal threshold_slabs threshold_table"
            ),
            "thresher.relaxed.targets": "QueryTargets TableTarget Target",
        },
    )

__all__ = [
    "OPTIMISERS",
    "Projection",
    "QueryTargets",
    "RelaxedRows",
    "SelectedQueries",
    "Stopping",
    "TableOnRows",
    "TableQueries",
    "TableTarget",
    "Target",
    "answers",
    "marginal",
    "project",
    "threshold_slabs",
    "threshold_table",
]
