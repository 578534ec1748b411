"""Answers to very many r-of-k queries about sensitive records, under differential privacy."""

from thresher.data import Records, datasets, read
from thresher.data.draft import draft_schema
from thresher.errors import (
    BudgetError,
    DataError,
    LedgerError,
    ParameterError,
    QueryError,
    ReleaseError,
    ResourceError,
    SchemaError,
    ThresherError,
)
from thresher.features import Bins, Categorical, Feature, IntegerRange
from thresher.queries import Condition, Query, Threshold, Workload
from thresher.schema import Schema
from thresher.tables import exact_answer, exact_answers, exact_slabs

__all__ = [
    "Bins",
    "BudgetError",
    "Categorical",
    "Condition",
    "DataError",
    "Feature",
    "IntegerRange",
    "LedgerError",
    "ParameterError",
    "Query",
    "QueryError",
    "Records",
    "ReleaseError",
    "ResourceError",
    "Schema",
    "SchemaError",
    "ThresherError",
    "Threshold",
    "Workload",
    "datasets",
    "draft_schema",
    "exact_answer",
    "exact_answers",
    "exact_slabs",
    "read",
]
