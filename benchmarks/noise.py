"""How fast is exact noise? Draws per second on one core, beside OpenDP's and numpy's normal.

Run with `python -m benchmarks.noise`. The figure that travels between machines is the ratio.
numpy's normal is not private noise, only the yardstick for what a draw could cost.
"""

import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import opendp.prelude as dp

from thresher.privacy.noise import discrete_gaussian
from thresher.privacy.randomness import SystemRandomness

SIGMAS = (0.3, 0.5, 1.0, 2.5, 10.0, 100.0, 1e3, 1e4, 1e6)
DRAWS = 2_000_000
OPENDP_DRAWS = 50_000


def rate(draw: Callable[[], object], draws: int) -> float:
    """Draws per second of one run."""
    start = time.perf_counter()
    draw()
    return draws / (time.perf_counter() - start)


def main() -> None:
    """Print one line per σ."""
    dp.enable_features("contrib")
    source = SystemRandomness()
    generator = np.random.default_rng(0)
    zeros = [0] * OPENDP_DRAWS
    discrete_gaussian(Fraction(1), 1, source)  # compile
    print("    sigma   thresher/s     opendp/s   ratio      numpy/s   ratio")
    for sigma in SIGMAS:
        variance = Fraction(sigma) ** 2
        space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
        oracle = dp.m.make_gaussian(*space, scale=sigma)
        ours = rate(lambda v=variance: discrete_gaussian(v, DRAWS, source), DRAWS)
        theirs = rate(lambda o=oracle: o(zeros), OPENDP_DRAWS)
        floats = rate(lambda s=sigma: generator.normal(0, s, DRAWS), DRAWS)
        print(
            f"{sigma:>9g} {ours:>12,.0f} {theirs:>12,.0f} {ours / theirs:>7.1f}"
            f" {floats:>12,.0f} {ours / floats:>7.3f}"
        )


if __name__ == "__main__":
    main()
