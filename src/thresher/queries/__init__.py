"""What is asked: thresholds, single queries, workloads, and the analysts' language."""

from thresher.queries.condition import Condition
from thresher.queries.distributions import FeatureDistribution
from thresher.queries.draws import draw_thresholds, threshold_workload
from thresher.queries.drift import drifted, total_variation
from thresher.queries.history import History, augment, small_history
from thresher.queries.language import ParseError
from thresher.queries.query import Query
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Filtered, Workload

__all__ = [
    "Condition",
    "FeatureDistribution",
    "Filtered",
    "History",
    "ParseError",
    "Query",
    "Threshold",
    "Workload",
    "augment",
    "draw_thresholds",
    "drifted",
    "small_history",
    "threshold_workload",
    "total_variation",
]
