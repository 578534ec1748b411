"""Estimators of mbi 2, fitted to the noisy tables of our joint Gaussian: `pip install 'mbi>=2'`.

mbi has no mechanism. The noise is thresher's, so no budget has to be converted.
"""

import numpy as np

from benchmarks.peers.fitted import Columns, Fitted, Task, answers_from
from benchmarks.peers.ours import release_of
from thresher.privacy.measurements import measured_tables


def mixture(task: Task) -> Fitted:
    """A mixture of 100 product distributions, the nearest relative of D'; mbi's defaults."""
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_enable_compilation_cache", False)
    import mbi
    import optax
    from mbi.extensions.mixture_of_products import MixtureOfProductsEstimator

    data = task.data
    noisy = release_of("gaussian_joint", data, task.work, task.epsilon, task.seed)
    measured = [
        mbi.LinearMeasurement(m.counts.ravel().astype(float), m.threshold.features, m.sigma)
        for m in measured_tables(noisy.measurements)
    ]
    domain = mbi.Domain.fromdict({name: data.schema[name].size for name in task.names})
    estimator = MixtureOfProductsEstimator(optimizer=optax.adam(0.1), seed=task.seed)
    model = estimator.estimate(domain, measured, known_total=float(data.n))

    def sample(count: int, seed: int) -> Columns:
        records = model.synthetic_data(rows=count).to_dict()
        return {name: np.asarray(records[name]) for name in task.names}

    return Fitted(answers_from(lambda names: model.project(names).values, data.schema), sample)
