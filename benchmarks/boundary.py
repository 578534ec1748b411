"""Whole fits of workloads with 10^9 to 10^17 queries: time, memory, and errors beside baselines.

`python -m benchmarks.boundary [row …]` runs all rows, or those named. Each row is a separate
process, so that its peak memory is that of this fit alone. Kernels are compiled or loaded by a tiny
fit before the clock starts. The joint Gaussian cannot be run on so many queries. Its error is the
median of the largest noise of all cells, by the normal distribution.
"""

import json
import math
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    """One fit at ε = 1 with default parameters.

    Attributes:
        data: ADULT or `loans_like`.
        k: Features of each marginal.
        size: How many marginals, drawn at random; None for all of them.
        mechanism: The mechanism.
    """

    data: str
    k: int
    size: int | None
    mechanism: str


ROWS = {
    "loans-5-rap": Row("loans_like", 5, 64, "rap"),
    "loans-5": Row("loans_like", 5, 64, "auto"),
    "loans-8": Row("loans_like", 8, 64, "auto"),
    "adult-5-rap": Row("adult", 5, 64, "rap"),
    "adult-5": Row("adult", 5, 64, "auto"),
    "adult-5-all": Row("adult", 5, None, "auto"),
    "loans-3-all": Row("loans_like", 3, None, "auto"),
}


def main() -> None:
    """Print one line for each row."""
    wanted = sys.argv[1:] or list(ROWS)
    unknown = [name for name in wanted if name not in ROWS]
    if unknown:
        sys.exit(f"there is no row {unknown[0]!r}; there are: {', '.join(ROWS)}")
    print(
        "row            queries  thresholds   said   took  wall (s)   said   peak (GiB)   "
        "evaluated   max: fit   All-0   Gaussian   mean of maxima: fit   All-0"
    )
    for name in wanted:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.boundary", "--run", name],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            print(f"{name}: failed\n{done.stderr}", flush=True)
            continue
        found = json.loads(done.stdout.splitlines()[-1])
        print(
            f"{name:12} {found['queries']:9.2g} {found['thresholds']:11}"
            f" {found['said']:6.0f} {found['cpu']:6.0f} {found['wall']:9.0f}"
            f" {found['said_memory']:6.2f} {found['memory']:12.2f} {found['evaluating']:9.1f} s"
            f" {found['error']:10.4f} {found['all0']:7.4f} {found['gaussian']:10.4f}"
            f" {found['mean']:21.4f} {found['all0_mean']:7.4f}"
            f"   {found['mechanism']}, {found['measured']} measured",
            flush=True,
        )


def run(row: Row, seed: int = 0) -> dict[str, Any]:
    """Fit and evaluate in this process."""
    import thresher as th
    from thresher.evaluation import errors_of
    from thresher.release.sources import Zeros

    data = th.datasets.adult() if row.data == "adult" else th.datasets.loans_like(seed=0, version=1)
    work = (
        th.Workload.all(data.schema, row.k)
        if row.size is None
        else th.Workload.random(data.schema, k=row.k, size=row.size, seed=seed)
    )
    kind = th.RAP if row.mechanism == "rap" else th.Auto
    _warm_up(kind)
    mechanism, said = kind(epsilon=1.0, seed=seed), []
    wall, cpu = time.perf_counter(), time.process_time()
    release = mechanism.fit(
        data, work, randomness=th.InsecureSeededRandomness(seed), expect=said.append
    )
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    began = time.process_time()
    errors = errors_of(release.source.table, data, work)
    evaluating = time.process_time() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    zeros = errors_of(Zeros().table, data, work)
    return {
        "queries": work.query_count,
        "thresholds": len(work),
        "mechanism": release.mechanism,
        "measured": len(release.measurements),
        "said": said[0].seconds,
        "said_memory": said[0].memory / 2**30,
        "wall": wall,
        "cpu": cpu,
        "evaluating": evaluating,
        "memory": memory,
        "error": errors.max,
        "mean": errors.mean_max,
        "all0": zeros.max,
        "all0_mean": zeros.mean_max,
        "gaussian": largest_noise(work.query_count, len(work), release.budget.rho) / data.n,
    }


def _warm_up(kind: Any) -> None:
    """Compile or load the kernels of searches, fits and weights, on tables of a few features."""
    import thresher as th
    from thresher.evaluation import errors_of

    data = th.datasets.adult()
    work = th.Workload.random(data.schema, k=5, size=2, seed=1)
    settings = {"epsilon": 1.0, "rounds": 2, "synthetic_rows": 50}
    release = kind(**settings).fit(data, work, randomness=th.InsecureSeededRandomness(0))
    errors_of(release.source.table, data, work)


def largest_noise(cells: int, tables: int, rho: Any) -> float:
    """The median, in counts, of the largest noise of a Gaussian mechanism on whole tables.

    Args:
        cells: All cells of all tables. Nearly all are empty, and answers are at least 0, so noise
            below 0 does no harm there.
        tables: The number of tables, which share ρ.
        rho: The budget.
    """
    sigma = math.sqrt(tables / float(rho))
    low, high = 0.0, 40.0
    for _ in range(100):
        middle = (low + high) / 2
        if cells * math.erfc(middle / math.sqrt(2)) / 2 > math.log(2):
            low = middle
        else:
            high = middle
    return sigma * low


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        print(json.dumps(run(ROWS[sys.argv[2]])))
    else:
        main()
