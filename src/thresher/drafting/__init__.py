"""A schema found in the records under differential privacy, where no code book exists."""

from typing import TYPE_CHECKING

from thresher.lazy import attach

if TYPE_CHECKING:
    from thresher.drafting.declared import Declared
    from thresher.drafting.private import PrivateDraft, draft_schema_privately
else:
    __getattr__, __dir__ = attach(
        __name__,
        {
            "thresher.drafting.declared": "Declared",
            "thresher.drafting.private": "PrivateDraft draft_schema_privately",
        },
    )

__all__ = ["Declared", "PrivateDraft", "draft_schema_privately"]
