"""What is asked: thresholds, single queries, workloads, and the analysts' language."""

from thresher.queries.language import ParseError, parse
from thresher.queries.query import Condition, Query
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Filtered, Workload

__all__ = ["Condition", "Filtered", "ParseError", "Query", "Threshold", "Workload", "parse"]
