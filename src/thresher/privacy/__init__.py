"""The wall: the only code where private counts meet randomness."""

from typing import TYPE_CHECKING

from thresher.lazy import attach

if TYPE_CHECKING:
    from thresher.privacy.budget import Account, Budget, PrivacyWarning, epsilon_of, rho_of
    from thresher.privacy.curator import Curator
    from thresher.privacy.ledger import Ledger
    from thresher.privacy.measurements import Measurement, QueryMeasurement, TableMeasurement
    from thresher.privacy.randomness import InsecureSeededRandomness, Randomness, SystemRandomness
    from thresher.privacy.unit import Unit
else:
    __getattr__, __dir__ = attach(
        __name__,
        {
            "thresher.privacy.budget": "Account Budget PrivacyWarning epsilon_of rho_of",
            "thresher.privacy.curator": "Curator",
            "thresher.privacy.ledger": "Ledger",
            "thresher.privacy.measurements": "Measurement QueryMeasurement TableMeasurement",
            "thresher.privacy.randomness": "InsecureSeededRandomness Randomness SystemRandomness",
            "thresher.privacy.unit": "Unit",
        },
    )

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
    "Unit",
    "epsilon_of",
    "rho_of",
]
