"""The public description of a table of people, and how its cells become codes."""

from typing import TYPE_CHECKING

from thresher.lazy import attach

if TYPE_CHECKING:
    from thresher.schema.features import (
        Bins,
        Boolean,
        Categorical,
        Codes,
        Dates,
        Feature,
        IntegerRange,
    )
    from thresher.schema.schema import Schema
    from thresher.schema.views import View
else:
    __getattr__, __dir__ = attach(
        __name__,
        {
            "thresher.schema.features": (
                "Bins Boolean Categorical Codes Dates Feature IntegerRange"
            ),
            "thresher.schema.schema": "Schema",
            "thresher.schema.views": "View",
        },
    )

__all__ = [
    "Bins", "Boolean", "Categorical", "Codes", "Dates", "Feature", "IntegerRange", "Schema",
    "View",
]  # fmt: skip
