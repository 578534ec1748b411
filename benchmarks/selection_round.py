"""One selection round of RAP on ADULT: ours beside the paper's way in JAX, on one core.

Both evaluate all queries of 64 random 3-way marginals on D' (n' = 1000), compare them with the
exact answers, and choose 16. The paper's way makes dense tables by einsum and adds Gumbel noise to
every query. Its exact answers are given to it for free; ours are counted anew.
"""

import os

# Read once by each library when it is loaded, so they must be set before the imports below.
os.environ |= dict.fromkeys(
    ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "THRESHER_CORES"], "1"
)
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import time
from collections.abc import Callable

import numpy as np

import thresher as th
from thresher.relaxed.rows import RelaxedRows
from thresher.release.sources import SyntheticRows

COUNT = 16
ROUNDS = 3


def best_of(action: Callable[[], object]) -> float:
    """Seconds of processor time of the fastest of a few rounds, after one that compiles."""
    action()
    taken = []
    for _ in range(ROUNDS):
        began = time.process_time()
        action()
        taken.append(time.process_time() - began)
    return min(taken)


def main() -> None:
    """Print the two times and their ratio."""
    data = th.datasets.adult()
    work = th.Workload.random(data.schema, k=3, size=64, seed=0)
    rows = RelaxedRows.uniform(data.schema.sizes, 1000, np.random.default_rng(0))
    curator = th.Curator(data, th.Budget.from_rho(1000))
    answers = SyntheticRows(rows, data.schema).table
    ours = best_of(lambda: curator.select(work, answers, COUNT, rho=1))
    print(f"{work.query_count:,} queries, K = {COUNT}, seconds of processor time, best of {ROUNDS}")
    print(f"  ours, counting included   {ours:7.3f}")
    try:
        import jax
        import jax.numpy as jnp

        from benchmarks import paper_way
    except ModuleNotFoundError as missing:
        print(f"  the paper's way skipped: {missing} (pip install jax optax)")
        return
    exact = [jnp.asarray(th.exact_answers(data, t) / data.n, jnp.float32) for t in work]
    blocks = [
        [jnp.asarray(rows.block(data.schema.index(name)).T) for name in threshold.features]
        for threshold in work
    ]
    errors_of = jax.jit(lambda truth, factors: jnp.abs(truth - paper_way.table(factors)))
    keys = iter(jax.random.split(jax.random.key(0), ROUNDS + 1))

    def round_in_jax() -> object:
        errors = jnp.concatenate(
            [errors_of(t, b).ravel() for t, b in zip(exact, blocks, strict=True)]
        )
        noisy = errors + 0.01 * jax.random.gumbel(next(keys), errors.shape)
        return jax.lax.top_k(noisy, COUNT)[1].block_until_ready()

    theirs = best_of(round_in_jax)
    print(f"  the paper's way in JAX    {theirs:7.3f}   {theirs / ours:.1f} x")


if __name__ == "__main__":
    main()
