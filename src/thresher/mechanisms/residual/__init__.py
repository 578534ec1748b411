"""Measuring residuals: as a mechanism of its own, and for whoever measures tables jointly."""

from thresher.mechanisms.residual.mechanism import Residual
from thresher.mechanisms.residual.precisions import ResidualPlan

__all__ = ["Residual", "ResidualPlan"]
