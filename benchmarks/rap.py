"""RAP as in the paper, on ADULT and on a stand-in for LOANS: time, memory and present error.

Each case is a process of its own, so that its peak memory is its own. The authors' figures are
those of their implementation on one idle core of this kind of machine (an issue of this project
states them); the workloads are theirs where they are at hand beside the repository, and random
ones of the same kind elsewhere.
"""

import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

WORKLOADS = Path(__file__).parents[2] / "shared" / "data" / "workloads.json"


@dataclass(frozen=True)
class Case:
    """One fit, and what the authors' implementation is known to take or to achieve."""

    data: str
    k: int
    r: int
    size: int
    rounds: int
    queries_per_round: int
    seed: int
    cores: int
    authors: str = "-"
    epsilon: float = 0.1


ADULT = [
    Case("adult", 3, 3, 16, 4, 16, 0, 1, "0.123, 314 s"),
    Case("adult", 3, 3, 64, 16, 4, 0, 1, "0.168"),
    Case("adult", 3, 3, 64, 16, 4, 1, 1, "0.153"),
    Case("adult", 3, 3, 64, 16, 4, 2, 1, "0.158"),
    Case("adult", 3, 3, 64, 4, 64, 0, 1, "0.261, 567 s for two rounds"),
    Case("adult", 3, 3, 64, 4, 64, 1, 1, "0.232"),
    Case("adult", 3, 3, 64, 4, 64, 2, 1, "0.266"),
    Case("adult", 3, 1, 64, 16, 16, 0, 1, "0.217"),
    Case("adult", 3, 1, 64, 16, 16, 1, 1, "0.177"),
    Case("adult", 4, 4, 64, 16, 16, 0, 2, "0.34"),
    Case("adult", 4, 2, 64, 16, 16, 0, 2, "0.28"),
    Case("adult", 4, 1, 64, 16, 16, 0, 2, "0.57"),
]
LOANS = [
    Case("loans_like", 3, 1, 64, 64, 4, 0, 2, "28,000 queries/s on an RTX 3090"),
    Case("loans_like", 4, 1, 64, 16, 16, 0, 2, "28,000 queries/s on an RTX 3090"),
]


def main() -> None:
    """Print one line per case."""
    print(
        f"{'case':52} {'cores':>5} {'wall s':>7} {'cpu s':>7} {'GiB':>5} {'queries/s':>10} ", end=""
    )
    print(f"{'error':>6}  authors")
    for case in ADULT + LOANS:
        environment = {
            **{key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")},
            "NUMBA_NUM_THREADS": str(case.cores),
            "THRESHER_CORES": str(case.cores),
        }
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.rap", json.dumps(asdict(case))],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        name = (
            f"{case.data}, {case.size} x {case.r}-of-{case.k}, "
            f"(T,K) = ({case.rounds},{case.queries_per_round}), seed {case.seed}"
        )
        if done.returncode:
            print(f"{name:52} failed: {done.stderr.strip().splitlines()[-1]}")
            continue
        found = json.loads(done.stdout)
        print(
            f"{name:52} {case.cores:5} {found['wall']:7.1f} {found['cpu']:7.1f} "
            f"{found['memory']:5.2f} {found['queries'] / found['wall']:10.3g} "
            f"{found['error']:6.3f}  {case.authors}",
            flush=True,
        )


def run(case: Case) -> dict[str, float]:
    """Fit one case twice, briefly first, so that kernels are compiled, and then in earnest."""
    import thresher as th
    from thresher.evaluation import present_error

    data = (
        th.datasets.adult() if case.data == "adult" else th.datasets.loans_like(seed=0, version=1)
    )
    work = _workload(case, data.schema)

    def fit(workload: th.Workload, rounds: int) -> th.Release:
        rap = th.RAP(
            epsilon=case.epsilon,
            accounting="paper",
            rounds=rounds,
            queries_per_round=case.queries_per_round,
            seed=case.seed,
        )
        return rap.fit(data, workload, randomness=th.InsecureSeededRandomness(case.seed))

    smallest = min(work, key=lambda threshold: threshold.query_count(data.schema))
    fit(th.Workload(data.schema, [smallest]), rounds=2)
    wall, cpu = time.perf_counter(), time.process_time()
    release = fit(work, case.rounds)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    error = present_error(release, data)
    return {
        "wall": wall,
        "cpu": cpu,
        "memory": memory,
        "queries": work.query_count,
        "error": error,
    }


def _workload(case: Case, schema):  # type: ignore[no-untyped-def]
    import thresher as th

    name = f"k{case.k}_W{case.size}_seed{case.seed}"
    if case.data == "adult" and WORKLOADS.is_file():
        listed = json.loads(WORKLOADS.read_text("utf-8"))
        if name in listed:
            return th.Workload(schema, [th.Threshold(f, case.r) for f in listed[name]])
    return th.Workload.random(schema, case.k, case.r, size=case.size, seed=case.seed)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(run(Case(**json.loads(sys.argv[1])))))
    else:
        main()
