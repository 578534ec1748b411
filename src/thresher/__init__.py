"""Answers to very many r-of-k queries about sensitive records, under differential privacy."""

from typing import TYPE_CHECKING

from thresher.lazy import attach

if TYPE_CHECKING:
    from thresher.data import Records, connect, datasets, read
    from thresher.data.drafting import draft_schema
    from thresher.data.exact import exact_answer, exact_answers, exact_slabs
    from thresher.drafting import Declared, PrivateDraft, draft_schema_privately
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
    from thresher.evaluation import FutureError, future_error, present_error
    from thresher.mechanisms import (
        RAP,
        AdaptiveTables,
        All0,
        Auto,
        GaussianJoint,
        GaussianPerQuery,
        Residual,
    )
    from thresher.mechanisms.tuning import Grid, Tuned, tune
    from thresher.planning import Forecast, plan
    from thresher.privacy import (
        Budget,
        Curator,
        InsecureSeededRandomness,
        Ledger,
        PrivacyWarning,
        Unit,
    )
    from thresher.queries import (
        Condition,
        Drift,
        FeatureDistribution,
        History,
        Query,
        Threshold,
        Workload,
        augment,
        draw_thresholds,
        drifted,
        threshold_workload,
        total_variation,
    )
    from thresher.release import Release
    from thresher.release.answer import Answer
    from thresher.release.folder import load
    from thresher.schema import Schema, View
    from thresher.schema.features import Bins, Boolean, Categorical, Dates, Feature, IntegerRange
else:
    __getattr__, __dir__ = attach(
        __name__,
        {
            "thresher.data": "Records connect read",
            "thresher.data.datasets": "datasets",
            "thresher.data.drafting": "draft_schema",
            "thresher.data.exact": "exact_answer exact_answers exact_slabs",
            "thresher.drafting": "Declared PrivateDraft draft_schema_privately",
            "thresher.errors": (
                "BudgetError DataError LedgerError ParameterError QueryError "
                "ReleaseError ResourceError SchemaError ThresherError"
            ),
            "thresher.evaluation": "FutureError future_error present_error",
            "thresher.mechanisms": (
                "RAP AdaptiveTables All0 Auto GaussianJoint GaussianPerQuery Residual"
            ),
            "thresher.mechanisms.tuning": "Grid Tuned tune",
            "thresher.planning": "Forecast plan",
            "thresher.privacy": (
                "Budget Curator InsecureSeededRandomness Ledger PrivacyWarning Unit"
            ),
            "thresher.queries": (
                "Condition Drift FeatureDistribution History Query Threshold Workload augment "
                "draw_thresholds drifted threshold_workload total_variation"
            ),
            "thresher.release": "Release",
            "thresher.release.answer": "Answer",
            "thresher.release.folder": "load",
            "thresher.schema": "Schema View",
            "thresher.schema.features": "Bins Boolean Categorical Dates Feature IntegerRange",
        },
    )

__all__ = [
    "RAP",
    "AdaptiveTables",
    "All0",
    "Answer",
    "Auto",
    "Bins",
    "Boolean",
    "Budget",
    "BudgetError",
    "Categorical",
    "Condition",
    "Curator",
    "DataError",
    "Dates",
    "Declared",
    "Drift",
    "Feature",
    "FeatureDistribution",
    "Forecast",
    "FutureError",
    "GaussianJoint",
    "GaussianPerQuery",
    "Grid",
    "History",
    "InsecureSeededRandomness",
    "IntegerRange",
    "Ledger",
    "LedgerError",
    "ParameterError",
    "PrivacyWarning",
    "PrivateDraft",
    "Query",
    "QueryError",
    "Records",
    "Release",
    "ReleaseError",
    "Residual",
    "ResourceError",
    "Schema",
    "SchemaError",
    "ThresherError",
    "Threshold",
    "Tuned",
    "Unit",
    "View",
    "Workload",
    "augment",
    "connect",
    "datasets",
    "draft_schema",
    "draft_schema_privately",
    "draw_thresholds",
    "drifted",
    "exact_answer",
    "exact_answers",
    "exact_slabs",
    "future_error",
    "load",
    "plan",
    "present_error",
    "read",
    "threshold_workload",
    "total_variation",
    "tune",
]
