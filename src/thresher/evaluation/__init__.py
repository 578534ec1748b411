"""How wrong answers are, present and future. It looks at private data: not for publication."""

from typing import TYPE_CHECKING

from thresher.lazy import attach

if TYPE_CHECKING:
    from thresher.evaluation.errors import Errors, errors_of, present_error
    from thresher.evaluation.future import FutureError, future_error
else:
    __getattr__, __dir__ = attach(
        __name__,
        {
            "thresher.evaluation.errors": "Errors errors_of present_error",
            "thresher.evaluation.future": "FutureError future_error",
        },
    )

__all__ = ["Errors", "FutureError", "errors_of", "future_error", "present_error"]
