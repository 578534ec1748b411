"""Accuracy of every mechanism at the same budget: maximum errors over seeds, with standard errors.

Run `python -m benchmarks.accuracy [part of a case's name …] [--seeds 5] [--data loans_like]` from
the root of the repository; without a name it runs all cases. Data of your own: `--data people.csv
--schema schema.json`. (δ = 1/n², replace-one neighbours,
tight conversion, the workloads of the authors' measurements where they are at hand beside the
repository.) A case is a workload and an ε; each cell of the table is the maximum error over all
queries of the workload and, in brackets, the mean over thresholds of the maximum error. For
histories it is future error on 64 thresholds drawn anew: here the mean over thresholds counts.

AIM, of OpenDP, is run too where `opendp[mbi]` is installed and `--aim` is given: minutes a fit.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

import thresher as th
from benchmarks.peers.fitted import Task
from benchmarks.peers.opendp import aim
from benchmarks.peers.ours import release_of
from benchmarks.tables.sources import shared
from thresher.data.records import Records
from thresher.errors import ResourceError
from thresher.evaluation.errors import Errors, errors_of
from thresher.mechanisms import MECHANISMS
from thresher.tables import AnswersOf

WORKLOADS = shared("workloads.json")

Workloads = Callable[[th.Schema, int, int], tuple[th.Workload, th.Workload]]
"""From a schema, n and a seed: what is fitted, and what is asked."""


@dataclass(frozen=True)
class Case:
    """Workloads to be fitted and asked at one ε, and the goal set for it, if there is one."""

    name: str
    epsilon: float
    workloads: Workloads
    goal: float | None = None


def prespecified(k: int, r: int, size: int, filtered: bool = False) -> Workloads:
    """Random thresholds, asked as they were fitted."""

    def drawn(schema: th.Schema, n: int, seed: int) -> tuple[th.Workload, th.Workload]:
        listed = json.loads(WORKLOADS.read_text("utf-8")) if WORKLOADS else {}
        known = listed.get(f"k{k}_W{size}_seed{seed}", [["no such feature"]])
        if not filtered and {name for features in known for name in features} <= {*schema.names}:
            work = th.Workload(schema, [th.Threshold(features, r) for features in known])
        else:
            most = n if filtered else None
            work = th.Workload.random(schema, k, r, size=size, seed=seed, max_queries=most)
        return work, work

    return drawn


def historical(size: int) -> Workloads:
    """A geometric history, and 64 future 3-way marginals drawn from the same distribution."""

    def drawn(schema: th.Schema, n: int, seed: int) -> tuple[th.Workload, th.Workload]:
        distribution = th.FeatureDistribution.geometric(schema, seed=seed)
        past = th.threshold_workload(distribution, 3, size=size, seed=seed)
        future = th.draw_thresholds(distribution, 3, size=64, seed=1000 + seed)
        return past, th.Workload(schema, dict.fromkeys(future))

    return drawn


def cases() -> Iterator[Case]:
    """Every case, the quick ones of a kind first."""
    goals = {(0.1, 16): 0.022, (0.1, 64): 0.035, (0.1, 256): 0.045}
    goals |= {(1.0, 16): 0.0030, (1.0, 64): 0.0055, (1.0, 256): 0.009}
    for epsilon in (0.1, 1.0):
        for size in (1, 4, 16, 64, 256):
            name = f"3-of-3 x {size}"
            yield Case(name, epsilon, prespecified(3, 3, size), goals.get((epsilon, size)))
    for epsilon, goal in ((0.1, 0.040), (1.0, 0.012)):
        yield Case("1-of-3 x 64", epsilon, prespecified(3, 1, 64), goal)
    for epsilon in (0.1, 1.0):
        yield Case("2-of-4 x 64", epsilon, prespecified(4, 2, 64))
        yield Case("5-of-5 x 64, at most n cells", epsilon, prespecified(5, 5, 64, filtered=True))
        for size in (4, 16, 64):
            yield Case(f"history of {size}, future of 64", epsilon, historical(size))


@dataclass
class Found:
    """The errors of one mechanism in one case, by seed, and what they took."""

    errors: list[Errors]
    seconds: list[float]

    def __str__(self) -> str:
        if not self.errors:
            return f"{'does not fit':>32}"
        largest = [e.max for e in self.errors]
        means = [e.mean_max for e in self.errors]
        return f"{with_error(largest)} ({with_error(means)}) {np.mean(self.seconds):5.0f} s"


def with_error(values: Sequence[float]) -> str:
    """A mean with its standard error."""
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{np.mean(values):.4f}±{error:.4f}"


def main() -> None:
    """Print one line per case and mechanism, as soon as it is known."""
    parser = argparse.ArgumentParser(description="Errors of every mechanism at the same budget.")
    parser.add_argument("names", nargs="*", help="parts of the names of cases, such as '1-of-3'")
    parser.add_argument("--epsilon", type=float, help="only this ε")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--data", default="adult", help="adult, loans_like, or a file of records")
    parser.add_argument("--schema", help="the schema of a file of records")
    parser.add_argument("--mechanism", action="append", help="only this one; may be repeated")
    parser.add_argument("--aim", action="store_true", help="also AIM of OpenDP, minutes a fit")
    given = parser.parse_args()
    if given.schema:
        data = th.read(given.data, th.Schema.load(given.schema))
    elif given.data in ("adult", "loans_like"):
        data = (
            th.datasets.adult()
            if given.data == "adult"
            else th.datasets.loans_like(seed=0, version=1)
        )
    else:
        parser.error("--data is adult, loans_like, or a file with its --schema")
    print(f"{given.data}: n = {data.n}, delta = 1/n², {given.seeds} seeds, mean ± standard error")
    print(f"{'case':30} {'eps':>4} {'goal':>7} {'mechanism':>19} {'max error':>14} (mean max) cpu")
    wanted = given.mechanism or [name for name in MECHANISMS if name != "auto"]
    for case in cases():
        # With a space after it, "3-of-3 x 1 " is not "3-of-3 x 16".
        if given.names and not any(part in f"{case.name} " for part in given.names):
            continue
        if given.epsilon and given.epsilon != case.epsilon:
            continue
        goal = f"{case.goal:.4f}" if case.goal and given.data == "adult" else "-"
        for name in [*wanted, *(["opendp_aim"] if given.aim else [])]:
            found = errors_in(case, name, data, given.seeds)
            print(f"{case.name:30} {case.epsilon:4} {goal:>7} {name:>19} {found}", flush=True)


def errors_in(case: Case, mechanism: str, data: Records, seeds: int) -> Found:
    """Fit and ask one case with one mechanism, seed by seed."""
    found = Found([], [])
    for seed in range(seeds):
        past, asked = case.workloads(data.schema, data.n, seed)
        began = time.process_time()
        try:
            answers = answers_of(mechanism, case.epsilon, data, past, seed)
        except ResourceError:
            return Found([], [])
        found.seconds.append(time.process_time() - began)
        try:
            found.errors.append(errors_of(answers, data, asked))
        except th.QueryError:
            return Found([], [])  # tables of the past have no answers to other thresholds
    return found


def answers_of(
    mechanism: str, epsilon: float, data: Records, work: th.Workload, seed: int
) -> AnswersOf:
    """The answers of one fit; the noise is seeded, for it is an experiment."""
    if mechanism == "opendp_aim":
        return aim(Task(data, work, work, epsilon, seed)).answers
    return release_of(mechanism, data, work, epsilon, seed).source.table


if __name__ == "__main__":
    main()
