"""How wrong answers are, present and future. It looks at private data: not for publication."""

from thresher.evaluation.errors import Errors, errors_of, present_error
from thresher.evaluation.future import FutureError, future_error

__all__ = ["Errors", "FutureError", "errors_of", "future_error", "present_error"]
