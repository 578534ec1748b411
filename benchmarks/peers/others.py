"""Peers that are not on PyPI. Their users install them; these adapters import them if present.

dpsynth (google/dpsynth at cf8075f, 0.3.0) was run with Python 3.12, mbi 2.0.0 and dp-accounting
0.6 of PyPI. The adapter for Private-GSD, which pins a jax of 2023, was written from its public
interface and was not run. GEM is research code without an interface that could be imported.
"""

from typing import Any

import numpy as np

from benchmarks.peers.budgets import added_or_removed, replaced_by_noise_alone
from benchmarks.peers.fitted import Columns, Fitted, Task, answers_from, records_as_fitted


def dpsynth_aim(task: Task) -> Fitted:
    """AIM with Gaussian accounting, of google/dpsynth."""
    from dpsynth.discrete_mechanisms import AIMGDPConfig

    return _dpsynth(task, AIMGDPConfig(workload=task.marginals))


def dpsynth_swift(task: Task) -> Fitted:
    """SWIFT, of google/dpsynth."""
    from dpsynth.discrete_mechanisms import SWIFTConfig

    return _dpsynth(task, SWIFTConfig(workload=task.marginals))


def _dpsynth(task: Task, config: Any) -> Fitted:
    """A mechanism that buys Gaussian noise alone, also for its choices; for one added record."""
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_enable_compilation_cache", False)
    import mbi
    from dpsynth.discrete_mechanisms import DiscreteConfig

    data, names = task.data, task.names
    domain = mbi.Domain.fromdict({name: data.schema[name].size for name in names})
    records = mbi.Dataset({name: data.codes(name).astype(np.int64) for name in names}, domain)
    rho = added_or_removed(replaced_by_noise_alone(data, task.epsilon))
    mechanism = DiscreteConfig(mechanism=config).configure(zcdp_rho=rho)
    model = mechanism(np.random.default_rng(task.seed), records).model

    def sample(count: int, seed: int) -> Columns:
        drawn = model.synthetic_data(rows=count).to_dict()
        return {name: np.asarray(drawn[name]) for name in names}

    return Fitted(answers_from(lambda wanted: model.project(wanted).values, data.schema), sample)


def private_gsd(task: Task) -> Fitted:
    """Private-GSD. It measures all pairs, with noise for one replaced record already."""
    import pandas as pd
    from genetic_sd import GSDSynthesizer

    data, names = task.data, task.names
    frame = pd.DataFrame({name: data.codes(name).astype(np.int64) for name in names})
    about = {
        name: {"type": "int", "lower": 0, "upper": data.schema[name].size - 1} for name in names
    }
    synthesizer = GSDSynthesizer(epsilon=task.epsilon, delta=1 / data.n**2)
    synthesizer.fit(frame, meta_data=about, seed=task.seed)
    drawn = synthesizer.sample()
    return records_as_fitted({name: drawn[name].to_numpy(np.int64) for name in names}, data.schema)
