"""A first draft of a schema, read off the data, for a person to review.

What is read off private data is not private: a draft tells the range and the categories that
occur. It is a starting point for the curator, and says so for each feature.
"""

from typing import TYPE_CHECKING

from thresher.lazy import attach

if TYPE_CHECKING:
    from thresher.schema.draft.drafting import Draft
    from thresher.schema.draft.guess import LeftOut
    from thresher.schema.draft.warning import WARNING
else:
    __getattr__, __dir__ = attach(
        __name__,
        {
            "thresher.schema.draft.drafting": "Draft",
            "thresher.schema.draft.guess": "LeftOut",
            "thresher.schema.draft.warning": "WARNING",
        },
    )

__all__ = ["WARNING", "Draft", "LeftOut"]
