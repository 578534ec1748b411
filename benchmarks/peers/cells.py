"""What is run: tables × workloads × ε × mechanisms × seeds, what tells most first."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations, product

import thresher as th
from benchmarks.accuracy import Workloads, historical, prespecified
from benchmarks.peers.contestants import CONTESTANTS
from benchmarks.tables import load, tables

EPSILONS = (1.0, 0.1, 10.0, 0.01)
SEEDS = 3
SIZES = {  # k, r, and how many thresholds; None for all
    "3-way x 16": (3, 3, 16),
    "1-of-3 x 64": (3, 1, 64),
    "3-way x 64": (3, 3, 64),
    "pairs x 64": (2, 2, 64),
    "2-of-4 x 64": (4, 2, 64),
    "all 3-way": (3, 3, None),
}
HISTORY = "history of 64"
"""64 thresholds of the past; what is asked are 64 of the future, from the same distribution."""
PREDICTION = "3-way with target"
"""All 3-way marginals that have the feature to predict; a fifth of the records is left out."""
WORKLOADS = (*SIZES, HISTORY, PREDICTION)
QUICK = ("churn", "stackoverflow", "fertility")


@dataclass(frozen=True)
class Cell:
    """One run: a mechanism on a table with a workload, at an ε, with a seed."""

    data: str
    workload: str
    epsilon: float
    mechanism: str
    seed: int


def workloads_of(name: str, schema: th.Schema, target: str) -> Workloads:
    """How a workload is drawn; all its thresholds if there are not as many as it wants."""
    if name == HISTORY:
        return historical(64)
    if name == PREDICTION:
        return lambda schema, n, seed: (work := _with_target(schema, target), work)
    k, r, size = SIZES[name]
    if size is None or size >= math.comb(len(schema), k):
        return lambda schema, n, seed: (work := th.Workload.all(schema, k, r), work)
    return prespecified(k, r, size)


def _with_target(schema: th.Schema, target: str) -> th.Workload:
    others = (name for name in schema.names if name != target)
    return th.Workload(schema, [th.Threshold((target, *two)) for two in combinations(others, 2)])


def together(cells: Iterable[Cell]) -> Iterator[tuple[Cell, ...]]:
    """Cells that one fit serves: a mechanism that is not told the workload is fitted once.

    Records that a classifier is tested on are left out of a fit, so those cells are apart.
    """
    groups: dict[Cell, list[Cell]] = {}
    for cell in cells:
        fit = cell
        if not CONTESTANTS[cell.mechanism].is_told and cell.workload != PREDICTION:
            fit = replace(cell, workload="any")
        groups.setdefault(fit, []).append(cell)
    yield from map(tuple, groups.values())


def planned(quick: bool) -> Iterator[Cell]:
    """All cells, in the order in which they are run: a bit of everything first."""
    if quick:
        yield from _of("3-way x 16", 1.0, 0, QUICK)
        return
    for workload, epsilon, seed in sorted(product(WORKLOADS, EPSILONS, range(SEEDS)), key=_rank):
        yield from _of(workload, epsilon, seed, tables())


def _rank(one: tuple[str, float, int]) -> int:
    workload, epsilon, seed = one
    return WORKLOADS.index(workload) + 2 * EPSILONS.index(epsilon) + 3 * seed


def _of(workload: str, epsilon: float, seed: int, names: tuple[str, ...]) -> Iterator[Cell]:
    for data in names:
        if not _repeats(data, workload):
            for mechanism in CONTESTANTS:
                yield Cell(data, workload, epsilon, mechanism, seed)


def _repeats(data: str, workload: str) -> bool:
    """Whether a table has too few features for another workload than a smaller one has."""
    smaller = {"3-way x 64": 16, "all 3-way": 64, HISTORY: 64}.get(workload)
    return smaller is not None and math.comb(_features(data), 3) <= smaller


@cache
def _features(data: str) -> int:
    return len(load(data).schema)
