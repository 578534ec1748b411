"""The mechanisms of thresher."""

from collections.abc import Mapping
from typing import Any

import numpy as np

import thresher as th
from benchmarks.peers.fitted import Columns, Fitted, Task
from thresher.data.records import Records
from thresher.mechanisms import MECHANISMS
from thresher.relaxed.rounding import round_rows

OURS: dict[str, tuple[str, Mapping[str, Any]]] = {
    "all0": ("all0", {}),
    "gaussian_joint": ("gaussian_joint", {}),
    "residual": ("residual", {}),
    "rap": ("rap", {}),
    "auto": ("auto", {}),
    "auto_mean": ("auto", {"optimise": "mean"}),
}
"""By the name in the benchmark: the mechanism, and its parameters other than defaults."""


def is_here(name: str) -> bool:
    """Whether this version of thresher has the mechanism, with these parameters."""
    kind, settings = OURS[name]
    return kind in MECHANISMS and settings.keys() <= MECHANISMS[kind].__dataclass_fields__.keys()


def release_of(
    name: str, data: Records, work: th.Workload, epsilon: float, seed: int
) -> th.Release:
    """One fit; the noise is seeded, for it is an experiment."""
    mechanism, settings = OURS.get(name, (name, {}))
    kind = MECHANISMS[mechanism]
    public_seed = {"seed": seed} if "seed" in kind.__dataclass_fields__ else {}
    chosen = kind(epsilon=epsilon, **public_seed, **settings)
    randomness = th.InsecureSeededRandomness(seed)
    return chosen.fit(data, work, randomness=randomness, progress=False)


def fit(name: str, task: Task) -> Fitted:
    """One mechanism of thresher, fitted."""
    release = release_of(name, task.data, task.work, task.epsilon, task.seed)
    rows = release.source.rows
    if rows is None:
        return Fitted(release.source.table)

    def sample(count: int, seed: int) -> Columns:
        codes = round_rows(rows, count, np.random.default_rng(seed))
        return dict(zip(task.data.schema.names, codes.T, strict=True))

    return Fitted(release.source.table, sample)
