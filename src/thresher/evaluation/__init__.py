"""How good answers are. Everything here touches private data: not for publication."""

from thresher.evaluation.errors import Errors, errors_of, present_error

__all__ = ["Errors", "errors_of", "present_error"]
