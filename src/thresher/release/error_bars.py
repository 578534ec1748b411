"""The former home of three names; import them from the modules below."""

from thresher.release.answer import Answer
from thresher.release.prediction_error import detectable_error, prediction_error_of

__all__ = ["Answer", "detectable_error", "prediction_error_of"]
