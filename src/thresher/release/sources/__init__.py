"""Where a release's answers come from: synthetic rows, noisy tables, residuals, or nothing."""

from thresher.release.sources.correction import LEAST_TOLERANCE
from thresher.release.sources.joint_tables import joint_table
from thresher.release.sources.noisy_tables import NoisyTables
from thresher.release.sources.pooling import margins_of
from thresher.release.sources.residual_tables import ResidualTables
from thresher.release.sources.rows_and_tables import TOLERANCE, RowsAndTables
from thresher.release.sources.source import AnswerSource
from thresher.release.sources.synthetic_rows import SyntheticRows
from thresher.release.sources.zeros import Zeros

__all__ = [
    "LEAST_TOLERANCE",
    "TOLERANCE",
    "AnswerSource",
    "NoisyTables",
    "ResidualTables",
    "RowsAndTables",
    "SyntheticRows",
    "Zeros",
    "joint_table",
    "margins_of",
]
