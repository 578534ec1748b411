"""Ways to answer a workload under differential privacy.

A `Mechanism` is a set of parameters. `resolve(n, rho, workload)` checks them and makes a
`Procedure` with a plan; `fit(data, workload)` resolves, checks what the run will take, runs the
procedure through budgeted access to the records, and makes a release.
"""

from thresher.mechanisms.adaptive_tables import AdaptiveTables
from thresher.mechanisms.auto import Auto
from thresher.mechanisms.baselines import All0, GaussianJoint, GaussianPerQuery
from thresher.mechanisms.mechanism import Mechanism
from thresher.mechanisms.procedure import Outcome, Procedure, Progress
from thresher.mechanisms.rap import RAP
from thresher.mechanisms.residual import Residual

MECHANISMS: dict[str, type[Mechanism]] = {
    mechanism.name: mechanism
    for mechanism in (Auto, AdaptiveTables, RAP, All0, GaussianPerQuery, GaussianJoint, Residual)
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
    "Outcome",
    "Procedure",
    "Progress",
    "Residual",
]
