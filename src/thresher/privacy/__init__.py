"""The wall: the only code where private counts meet randomness."""

from thresher.privacy.budget import Account, Budget, PrivacyWarning, epsilon_of, rho_of
from thresher.privacy.curator import Curator, Measurement
from thresher.privacy.ledger import Ledger
from thresher.privacy.randomness import InsecureSeededRandomness, Randomness, SystemRandomness

__all__ = [
    "Account",
    "Budget",
    "Curator",
    "InsecureSeededRandomness",
    "Ledger",
    "Measurement",
    "PrivacyWarning",
    "Randomness",
    "SystemRandomness",
    "epsilon_of",
    "rho_of",
]
