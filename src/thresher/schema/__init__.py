"""The public description of a table of people, and how its cells become codes."""

from typing import TYPE_CHECKING

from thresher.lazy import attach

if TYPE_CHECKING:
    from thresher.schema.features import Bins, Categorical, Codes, Feature, IntegerRange
    from thresher.schema.schema import Schema
else:
    __getattr__, __dir__ = attach(
        __name__,
        {
            "thresher.schema.features": "Bins Categorical Codes Feature IntegerRange",
            "thresher.schema.schema": "Schema",
        },
    )

__all__ = ["Bins", "Categorical", "Codes", "Feature", "IntegerRange", "Schema"]
