"""How near the estimated time of a fit comes to the processor time that it takes.

Run `python -m benchmarks.estimates [name of a table …]` from the root of the repository. Each fit
runs in a new process, which has to load compiled kernels as a command does. Compiling them is not
counted: they are on disk after the first run.
"""

import argparse
import os
import sys
import time
from fractions import Fraction

import numpy as np

import thresher as th
from benchmarks.tables import load
from thresher.mechanisms import MECHANISMS
from thresher.mechanisms.mechanism import Mechanism
from thresher.privacy.budget import Budget
from thresher.queries.subsets import Subsets

TABLES = ("adult", "adult_5000", "churn", "vote", "birthdays", "loans_2018")
SHAPES = ((2, 2, 16), (3, 3, 16), (3, 3, 64), (3, 2, 8), (3, 1, 32))
"""Features of a threshold, how many must match, and how many thresholds."""

NAMES = ("auto", "rap", "residual", "gaussian_joint")
LONGEST = 100.0
"""Fits of a longer estimate, in seconds, are left out."""


def main() -> None:
    """Print a line for each fit, and how many estimates were within a factor of 2."""
    parser = argparse.ArgumentParser(description="Estimated and true processor time of fits.")
    parser.add_argument("names", nargs="*", default=TABLES, help="names of tables")
    given = parser.parse_args()
    ratios: dict[str, list[float]] = {name: [] for name in NAMES}
    for name in given.names:
        data = load(name)
        for k, r, size in SHAPES:
            if Subsets(data.schema, k, data.n).total < size:
                continue
            work = th.Workload.random(data.schema, k, r, size=size, seed=1, max_queries=data.n)
            for epsilon in (0.1, 1.0):
                rho = Budget.from_epsilon(epsilon, Fraction(1, data.n**2)).rho
                for kind in NAMES:
                    mechanism = MECHANISMS[kind](rho=rho)
                    expected = mechanism.resolve(data.n, rho, work).estimate(data.n).seconds
                    if expected > LONGEST:
                        continue
                    taken = _taken(mechanism, data, work)
                    ratios[kind].append(expected / taken)
                    case = f"{name} {r}-of-{k} x {size} ε={epsilon} {kind}"
                    print(f"{case}: {expected:.2f} s for {taken:.2f} s", flush=True)
    for kind, values in ratios.items():
        near = np.mean(np.abs(np.log2(values)) <= 1)
        print(f"{kind}: {near:.0%} of {len(values)} within twice; median ×{np.median(values):.2f}")


def _taken(mechanism: Mechanism, data: th.Records, work: th.Workload) -> float:
    """The processor seconds of a fit in a new process."""
    sys.stdout.flush()
    reading, writing = os.pipe()
    if os.fork() == 0:
        begin = time.process_time()
        mechanism.fit(data, work, randomness=th.InsecureSeededRandomness(1), progress=False)
        os.write(writing, repr(time.process_time() - begin).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told:
        taken = float(told.read())
    os.wait()
    return taken


if __name__ == "__main__":
    main()
