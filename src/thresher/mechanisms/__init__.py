"""Ways to answer a workload under differential privacy, all by one protocol: `fit`."""

from thresher.mechanisms.adaptive_tables import AdaptiveTables
from thresher.mechanisms.auto import Auto
from thresher.mechanisms.baselines import All0, GaussianJoint, GaussianPerQuery
from thresher.mechanisms.mechanism import Mechanism, Progress
from thresher.mechanisms.rap import RAP

MECHANISMS: dict[str, type[Mechanism]] = {
    mechanism.name: mechanism
    for mechanism in (Auto, AdaptiveTables, RAP, All0, GaussianPerQuery, GaussianJoint)
}

__all__ = [
    "MECHANISMS",
    "RAP",
    "AdaptiveTables",
    "All0",
    "Auto",
    "GaussianJoint",
    "GaussianPerQuery",
    "Mechanism",
    "Progress",
]
