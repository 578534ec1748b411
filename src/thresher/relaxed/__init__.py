"""D', the relaxed synthetic data: its rows, their answers, and Relaxed Projection (Algorithm 3)."""

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
