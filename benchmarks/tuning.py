"""Choosing T and K measured: each search against the rule, all within the same total budget.

Run `python -m benchmarks.tuning [case …]` from the root of the repository. Beside them stands what
the paper reports, the best of the whole grid with the whole budget for every trial: nobody can
have that, as it spends the budget sixteen times and looks at the records to find the best.
"""

import sys
import time
from dataclasses import dataclass

import numpy as np

from thresher.data import Records, datasets
from thresher.evaluation import present_error
from thresher.mechanisms.rap import RAP
from thresher.mechanisms.tuning import Grid, tune
from thresher.privacy import InsecureSeededRandomness
from thresher.queries import Workload

SEARCHES = ("rule", "diagonal", "grid")
SEEDS = range(3)


@dataclass(frozen=True)
class Case:
    """What is fitted: so many records of ADULT, and a random workload."""

    records: int
    thresholds: int
    k: int
    epsilon: float
    with_unpaid: bool = True  # minutes a seed with all of ADULT

    def data(self, seed: int) -> Records:
        """The records: all of them, or a random sample."""
        adult = datasets.adult()
        if self.records == adult.n:
            return adult
        rows = np.random.default_rng(seed).choice(adult.n, self.records, replace=False)
        return Records(adult.schema, [adult.codes(name)[rows] for name in adult.schema.names])


CASES = {
    "adult": Case(records=48_842, thresholds=64, k=3, epsilon=1.0, with_unpaid=False),
    "low": Case(records=48_842, thresholds=64, k=3, epsilon=0.1, with_unpaid=False),
    "small": Case(records=2_000, thresholds=16, k=2, epsilon=1.0),
}


def errors_of_case(case: Case, seed: int) -> dict[str, tuple[float, float, str]]:
    """For each search the present error, the seconds, and what it chose."""
    data = case.data(seed)
    work = Workload.random(data.schema, k=case.k, size=case.thresholds, seed=seed)
    rap = RAP(epsilon=case.epsilon)
    found = {}
    for search in SEARCHES:
        began = time.perf_counter()
        tuned = tune(data, work, rap, search=search, randomness=InsecureSeededRandomness(seed))
        seconds = time.perf_counter() - began
        error = present_error(tuned.release, data)
        found[search] = (error, seconds, f"{tuned.chosen} of {len(tuned.trials)}")
        print(
            f"  seed {seed} {search:8} {error:.4f} {seconds:6.1f} s  {found[search][2]}", flush=True
        )
    if case.with_unpaid:
        began = time.perf_counter()
        best = min(
            (
                present_error(
                    RAP(
                        epsilon=case.epsilon,
                        rounds=setting.rounds,
                        queries_per_round=setting.queries_per_round,
                    ).fit(data, work, randomness=InsecureSeededRandomness(seed)),
                    data,
                ),
                str(setting),
            )
            for setting in Grid().settings()
        )
        found["unpaid"] = (best[0], time.perf_counter() - began, best[1])
        print(
            f"  seed {seed} unpaid   {best[0]:.4f} {found['unpaid'][1]:6.1f} s  {best[1]}",
            flush=True,
        )
    return found


def main(wanted: list[str] | None = None) -> None:
    """Mean present error over seeds, for every case and search."""
    for name in wanted or list(CASES):
        case = CASES[name]
        print(
            f"{name}: n = {case.records}, {case.thresholds} random {case.k}-way marginals, "
            f"epsilon {case.epsilon}",
            flush=True,
        )
        results = [errors_of_case(case, seed) for seed in SEEDS]
        for search in results[0]:
            errors = [found[search][0] for found in results]
            seconds = np.mean([found[search][1] for found in results])
            print(
                f"  {search:8} mean {np.mean(errors):.4f}  ({min(errors):.4f} to {max(errors):.4f})"
                f"  {seconds:.0f} s"
            )


if __name__ == "__main__":
    main(sys.argv[1:])
