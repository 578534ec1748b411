"""The wall: the only code where private counts meet randomness."""

from thresher.privacy.budget import Account, Budget, PrivacyWarning, epsilon_of, rho_of
from thresher.privacy.curator import Curator
from thresher.privacy.ledger import Ledger
from thresher.privacy.measurements import Measurement, QueryMeasurement, TableMeasurement
from thresher.privacy.randomness import InsecureSeededRandomness, Randomness, SystemRandomness

__all__ = [
    "Account",
    "Budget",
    "Curator",
    "InsecureSeededRandomness",
    "Ledger",
    "Measurement",
    "PrivacyWarning",
    "QueryMeasurement",
    "Randomness",
    "SystemRandomness",
    "TableMeasurement",
    "epsilon_of",
    "rho_of",
]
