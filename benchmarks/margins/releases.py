"""The releases that are asked: fits of `auto` to public tables, stored so that they are made once.

Margins follow from a release alone, so a change of the uncertainty model needs no new fit.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import thresher as th
from benchmarks.tables import load
from thresher.queries.subsets import Subsets

MOST_RECORDS = 50_000
MOST_QUERIES = 1 << 18


@dataclass(frozen=True)
class Case:
    """A workload of random thresholds, and the ε of the release that is fitted for it."""

    k: int
    r: int
    size: int
    epsilon: float

    def __str__(self) -> str:
        return f"{self.size} {self.r}-of-{self.k}, ε = {self.epsilon:g}"

    def workload(self, schema: th.Schema, seed: int) -> th.Workload:
        """Fewer thresholds where the table has few features."""
        size = min(self.size, Subsets(schema, self.k, MOST_QUERIES).total)
        return th.Workload.random(
            schema, self.k, self.r, size=size, seed=seed, max_queries=MOST_QUERIES
        )


CASES = (Case(3, 3, 32, 1.0), Case(2, 2, 16, 0.3), Case(4, 2, 12, 1.0), Case(3, 3, 4, 0.5))


def records(name: str) -> th.Records:
    """A public table, or always the same 50,000 of its records."""
    data = load(name)
    if data.n <= MOST_RECORDS:
        return data
    chosen = np.random.default_rng(17).choice(data.n, MOST_RECORDS, replace=False)
    return th.Records(data.schema, [column[chosen] for column in data.columns])


def releases(name: str, folder: Path, seed: int, rows: int) -> Iterator[tuple[Case, th.Release]]:
    """One release of a table per case, from the folder if it is there."""
    data = None
    for place, case in enumerate(CASES):
        path = folder / f"{name}-{seed}-{place}"
        if not path.exists():
            data = data or records(name)
            work = case.workload(data.schema, seed)
            auto = th.Auto(epsilon=case.epsilon, synthetic_rows=rows, seed=seed)
            made = auto.fit(data, work, randomness=th.InsecureSeededRandomness(seed))
            folder.mkdir(parents=True, exist_ok=True)
            made.save(path)
        yield case, th.load(path)
