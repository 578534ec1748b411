"""Peers that are not on PyPI. Their users install them; these adapters import them if present.

dpsynth (google/dpsynth at cf8075f, 0.3.0) was run with Python 3.12, mbi 2.0.0 and dp-accounting
0.6 of PyPI. Private-GSD (giusevtr/private_gsd at f6150d7, whose extra `cpu` pins jax 0.4.6) was run
with Python 3.11, jax 0.4.26 and NumPy 1.26. GEM is research code without an interface that could be
imported.
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


GSD_ROWS = 2000
"""Synthetic records of Private-GSD at most. By default it makes n, in 30 or 40 generations each: on
5,594 records 250 s of processor time, where 2,000 did as well in 110 s."""


def private_gsd(task: Task) -> Fitted:
    """Private-GSD, which is not told what will be asked: it measures all pairs of all features.

    Its noise is Gaussian alone, of sensitivity √2/n a marginal: for one replaced record already.
    That holds for categories, which it measures once and cell by cell. It measures integers at
    three levels, and overwrites their bin edges on the way (at f6150d7): values fall together,
    and with 7, 9 or 30 of them one record is in four cells of a marginal, so its noise is too
    small. The categories are given, for else it takes them from the records.
    """
    import pandas as pd
    from genetic_sd import GSDSynthesizer
    from snsynth.transform import LabelTransformer, TableTransformer

    data = task.data
    names = data.schema.names
    frame = pd.DataFrame({name: data.codes(name).astype(np.int64) for name in names})
    labels = [LabelTransformer(nullable=False) for _ in names]
    for name, label in zip(names, labels, strict=True):
        label.fit(range(data.schema[name].size))
    synthesizer = GSDSynthesizer(epsilon=task.epsilon, delta=1 / data.n**2)
    synthesizer.rho = replaced_by_noise_alone(data, task.epsilon)
    synthesizer.fit(
        frame,
        categorical_columns=list(names),
        transformer=TableTransformer(labels),
        N_prime=min(data.n, GSD_ROWS),
        seed=task.seed,
    )
    drawn = synthesizer.sample()
    return records_as_fitted({name: drawn[name].to_numpy(np.int64) for name in names}, data.schema)
