"""Level-wise selection against Gumbel noise per query: run `python -m benchmarks.selection`.

One process, one core, real randomness. The reference is OSAS in NumPy: a Gumbel variable for every
query, then `argpartition`; once with NumPy's own fast generator, which no release may use, and once
with ours. The scores lean towards 0, as the errors of a fitted D' do.
"""

from collections.abc import Callable
from fractions import Fraction
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from thresher.privacy.ladder import selection_rate
from thresher.privacy.randomness import SystemRandomness
from thresher.privacy.selection import levelwise_selection, oneshot_adaptive_selection

QUERIES = 10**7
SLAB = 10**6
COUNT = 256
RHO = Fraction(1, 100)
REPEATS = 3


def oneshot_numpy(scores: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.intp]:
    """OSAS with NumPy's own generator."""
    scale = 1 / float(selection_rate(RHO / COUNT))
    noisy = scores + generator.gumbel(scale=scale, size=scores.size)
    return np.argpartition(noisy, scores.size - COUNT)[scores.size - COUNT :]


def seconds(run: Callable[[], object]) -> float:
    """The best of a few runs, the first of which, uncounted, compiles or loads the kernel."""
    run()
    times = []
    for _ in range(REPEATS):
        start = perf_counter()
        run()
        times.append(perf_counter() - start)
    return min(times)


def main() -> None:
    """Print the times and their ratios."""
    generator, randomness = np.random.default_rng(0), SystemRandomness()
    scores = np.floor(generator.exponential(20.0, QUERIES)).astype(np.int64)
    slabs = [scores[start : start + SLAB] for start in range(0, QUERIES, SLAB)]

    ours = seconds(lambda: levelwise_selection(slabs, COUNT, RHO, randomness))
    fast = seconds(lambda: oneshot_numpy(scores, generator))
    safe = seconds(lambda: oneshot_adaptive_selection(scores, COUNT, RHO, randomness))
    few = seconds(lambda: levelwise_selection(slabs[:1], COUNT, RHO, randomness))
    many = seconds(lambda: levelwise_selection(slabs[:1], COUNT, RHO, randomness, implicit=10**12))

    print(f"{QUERIES:,} listed scores, K = {COUNT}, best of {REPEATS}")
    print(f"  level-wise, both passes           {ours:7.3f} s")
    print(f"  OSAS, NumPy's generator           {fast:7.3f} s   {fast / ours:5.1f} x")
    print(f"  OSAS, system randomness           {safe:7.3f} s   {safe / ours:5.1f} x")
    print(f"{SLAB:,} listed scores")
    print(f"  level-wise, both passes           {few:7.3f} s")
    print(f"  the same and 10^12 implicit ones  {many:7.3f} s   {many / few:5.1f} x")


if __name__ == "__main__":
    main()
