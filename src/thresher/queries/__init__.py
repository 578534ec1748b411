"""What is asked: thresholds, single queries, workloads, and the analysts' language."""

from typing import TYPE_CHECKING

from thresher.lazy import attach

if TYPE_CHECKING:
    from thresher.queries.condition import Condition
    from thresher.queries.distributions import FeatureDistribution
    from thresher.queries.draws import draw_thresholds, threshold_workload
    from thresher.queries.drift import Drift, drifted, total_variation
    from thresher.queries.history import History, augment, small_history
    from thresher.queries.language import ParseError
    from thresher.queries.query import Query
    from thresher.queries.threshold import Threshold
    from thresher.queries.workload import Filtered, Workload
else:
    __getattr__, __dir__ = attach(
        __name__,
        {
            "thresher.queries.condition": "Condition",
            "thresher.queries.distributions": "FeatureDistribution",
            "thresher.queries.draws": "draw_thresholds threshold_workload",
            "thresher.queries.drift": "Drift drifted total_variation",
            "thresher.queries.history": "History augment small_history",
            "thresher.queries.language": "ParseError",
            "thresher.queries.query": "Query",
            "thresher.queries.threshold": "Threshold",
            "thresher.queries.workload": "Filtered Workload",
        },
    )

__all__ = [
    "Condition",
    "Drift",
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
