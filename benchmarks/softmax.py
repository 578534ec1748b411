"""Softmax rows beside Sparsemax rows: present error and processor time of RAP, over seeds.

Run `python -m benchmarks.softmax [--lending-club FILE] [--data adult …] [--seeds 3]` from the root
of the repository. Rows and optimiser change together, so the paper's Adam on Sparsemax rows stands
between the default and Adam on the logits of Softmax rows.
"""

import argparse
import time

import numpy as np

import thresher as th
from benchmarks.accuracy import with_error
from thresher.evaluation.errors import errors_of

EPSILONS = (0.1, 1.0)
MARGINALS = 16
FEWER, FEWER_ROWS = 10_000, 250
"""Records of `loans_like`, and rows of D', because its 4,427 columns are slow to fit."""

KINDS = {"accelerated": "Sparsemax", "adam": "Sparsemax, Adam", "softmax": "Softmax, Adam"}


def main() -> None:
    """Print one line per data set, ε and kind of rows."""
    parser = argparse.ArgumentParser(description="Softmax rows beside Sparsemax rows.")
    parser.add_argument("--data", action="append", help="adult, loans_like, lending-club or all")
    parser.add_argument(
        "--lending-club", metavar="FILE", help="the extract of Lending Club's loans"
    )
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    print(f"RAP by rule, {MARGINALS} 3-way marginals, {given.seeds} seeds")
    print(f"{'data':>13} {'eps':>4} {'rows':>16}  max error        (mean of maxima)  cpu s")
    for name in given.data or ("adult", "loans_like", "lending-club"):
        if name == "lending-club" and given.lending_club is None:
            print("lending-club is left out: give --lending-club FILE")
            continue
        data = data_named(name, given.lending_club)
        for epsilon in EPSILONS:
            for optimizer, rows in KINDS.items():
                found = [fitted(data, epsilon, optimizer, seed) for seed in range(given.seeds)]
                largest, means, seconds = zip(*found, strict=True)
                print(
                    f"{name:>13} {epsilon:4} {rows:>16}  {with_error(largest)} "
                    f"({with_error(means)})  {np.mean(seconds):.0f}",
                    flush=True,
                )


def data_named(name: str, lending_club: str | None) -> th.Records:
    """The records of a data set."""
    if name == "lending-club" and lending_club is not None:
        return th.datasets.lending_club(lending_club)
    return th.datasets.adult() if name == "adult" else th.datasets.loans_like(seed=0, n=FEWER)


def fitted(
    data: th.Records, epsilon: float, optimizer: str, seed: int
) -> tuple[float, float, float]:
    """The largest error, the mean over thresholds of the largest, and the seconds of a fit."""
    work = th.Workload.random(data.schema, k=3, size=MARGINALS, seed=seed)
    began = time.process_time()
    rows = FEWER_ROWS if data.n == FEWER else 1000
    release = th.RAP(epsilon=epsilon, optimizer=optimizer, seed=seed, synthetic_rows=rows).fit(
        data, work, randomness=th.InsecureSeededRandomness(seed), progress=False
    )
    seconds = time.process_time() - began
    errors = errors_of(release.source.table, data, work)
    return errors.max, errors.mean_max, seconds


if __name__ == "__main__":
    main()
