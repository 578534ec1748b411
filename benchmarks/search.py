"""Selection and present error on workloads whose tables are too large to walk.

Seconds of processor time on one core. D' is as RAP starts it; after four rounds of RAP; close to
the product of the one-way tables, with hardly a number that is 0, as adaptive tables start it (for
eight tables only); and a sample of records. `python -m benchmarks.search walk` looks at every cell
of the 5-way marginals of ADULT instead, which takes about a minute.

`python -m benchmarks.search thresholds` is about r < k: the largest error of 64 thresholds over
five features of ADULT. `… loans` fits RAP (16,16) on 64 1-of-4 thresholds of `loans_like` and looks
for its present error; it takes almost an hour on one core. `THRESHER_CORES=2` in the environment
uses two.
"""

import os

# Read once by each library when it is loaded, so they must be set before the imports below.
os.environ |= dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"], "1")
os.environ.setdefault("THRESHER_CORES", "1")
os.environ["NUMBA_NUM_THREADS"] = os.environ["THRESHER_CORES"]

import sys
import time
from collections.abc import Callable, Iterator

import numpy as np

import thresher as th
from thresher.evaluation import errors_of
from thresher.mechanisms.adaptive_tables.start import near_product
from thresher.privacy import searching
from thresher.relaxed.rows import RelaxedRows
from thresher.release.sources import SyntheticRows

ROWS = 1000
COUNT = 4
FEW = 8


def kinds_of_rows(data: th.Records, work: th.Workload) -> Iterator[tuple[str, RelaxedRows]]:
    """D' in several states."""
    schema = data.schema
    yield "uniform", RelaxedRows.uniform(schema.sizes, ROWS, np.random.default_rng(0))
    rap = th.RAP(epsilon=1.0, rounds=4, queries_per_round=16, synthetic_rows=ROWS)
    fitted = rap.fit(data, work, randomness=th.InsecureSeededRandomness(0)).source.rows
    assert fitted is not None
    yield "after four rounds", fitted
    curator = th.Curator(data, th.Budget.from_rho(1000))
    one_way = curator.measure([th.Threshold((name,)) for name in schema.names], rho=1000)
    yield f"near a product ({FEW})", near_product(one_way, schema, ROWS, seed=0)
    some = np.random.default_rng(0).integers(0, data.n, ROWS)
    codes = np.stack([data.codes(name)[some] for name in schema.names], axis=1)
    yield "records", RelaxedRows.from_codes(schema.sizes, codes)


def seconds(action: Callable[[], object]) -> float:
    """Processor time of one call."""
    began = time.process_time()
    action()
    return time.process_time() - began


def selection(data: th.Records, work: th.Workload, rows: RelaxedRows) -> float:
    """Seconds of a selection of a few queries, once the records are counted."""
    curator = th.Curator(data, th.Budget.from_rho(1000))
    curator.will_ask(work)
    curator.measure([th.Threshold(data.schema.names[:1])], rho=1)  # all tables are counted here
    answers = SyntheticRows(rows, data.schema).table
    return seconds(lambda: curator.select(work, answers, COUNT, rho=1))


def present_error(data: th.Records, work: th.Workload, rows: RelaxedRows) -> float:
    """Seconds of the present error, counting included."""
    answers = SyntheticRows(rows, data.schema).table
    return seconds(lambda: errors_of(answers, data, work))


def walk(data: th.Records) -> None:
    """Print the time of a selection in which every cell is looked at."""
    searching.SMALLEST_SEARCHED = 1 << 63
    work = th.Workload.random(data.schema, k=5, size=64, seed=0)
    rows = RelaxedRows.uniform(data.schema.sizes, ROWS, np.random.default_rng(0))
    selection(data, work[:1], rows)
    print(f"64 5-way of ADULT, walked: selection {selection(data, work, rows):.1f}")


def thresholds(data: th.Records) -> None:
    """Print the time of the largest error of thresholds with r < k, on two kinds of release."""
    randomness = th.InsecureSeededRandomness(0)
    for r in (2, 1):
        work = th.Workload.random(data.schema, k=5, r=r, size=64, seed=0)
        rap = th.RAP(epsilon=0.1, rounds=4, queries_per_round=16, synthetic_rows=ROWS)
        print(f"64 {r}-of-5 of ADULT, {work.query_count:.3g} queries", flush=True)
        for mechanism in (th.Auto(epsilon=1.0, synthetic_rows=ROWS), rap):
            fitting = time.process_time()
            release = mechanism.fit(data, work, randomness=randomness)
            fitting = time.process_time() - fitting
            errors_of(release.source.table, data, work[:1])  # compiles or loads the kernels
            began = time.process_time()
            worst = errors_of(release.source.table, data, work).max
            print(
                f"  {release.mechanism:16} fit {fitting:7.1f}   present error {worst:.4f} in "
                f"{time.process_time() - began:7.1f}",
                flush=True,
            )


def loans_like() -> None:
    """Print the time of RAP on 4.5e9 queries, and of its present error."""
    data = th.datasets.loans_like(seed=0, version=1)
    work = th.Workload.random(data.schema, k=4, r=1, size=64, seed=0)
    rap = th.RAP(epsilon=0.1, accounting="paper", rounds=16, queries_per_round=16)
    print(f"RAP (16,16), 64 1-of-4 of loans_like, {work.query_count:.3g} queries", flush=True)
    wall, cpu = time.perf_counter(), time.process_time()

    def told(name: str) -> None:
        print(
            f"  {name}: {time.process_time() - cpu:.0f} s of processor time, "
            f"{time.perf_counter() - wall:.0f} s",
            flush=True,
        )

    release = rap.fit(
        data,
        work,
        randomness=th.InsecureSeededRandomness(0),
        progress=lambda done, of, note: told(f"round {done} of {of}"),
    )
    told("fitted")
    error = th.present_error(release, data)
    told(f"present error {error:.4f}")


def main() -> None:
    """Print the times."""
    adult = th.datasets.adult()
    if "walk" in sys.argv[1:]:
        walk(adult)
        return
    if "thresholds" in sys.argv[1:]:
        thresholds(adult)
        return
    if "loans" in sys.argv[1:]:
        loans_like()
        return
    loans = th.datasets.loans_like(seed=0, version=1)
    for name, data, k in (
        ("64 3-way of ADULT", adult, 3),
        ("64 5-way of ADULT", adult, 5),
        ("64 5-way of loans_like", loans, 5),
        ("64 8-way of loans_like", loans, 8),
    ):
        whole = th.Workload.random(data.schema, k=k, size=64, seed=0)
        print(f"{name}, {whole.query_count:.3g} queries", flush=True)
        for kind, rows in kinds_of_rows(data, whole):
            work = whole[:FEW] if str(FEW) in kind else whole
            selection(data, work[:1], rows)  # compiles or loads the kernels
            print(
                f"  D' {kind:19} selection {selection(data, work, rows):8.3f}"
                f"   present error {present_error(data, work, rows):8.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
