"""Exact answers to whole workloads, beside evaluating the predicate per query and row.

The reference is vectorised numpy: for one query, how many of its k conditions each row meets, and
how many rows meet at least r. It runs on a random sample of the queries and is extrapolated; the
sample also checks our answers. Peak memory is that of the whole process.
"""

import resource
import sys
import time
from collections.abc import Sequence

import numpy as np

from thresher import (
    Query,
    Records,
    Threshold,
    Workload,
    datasets,
    exact_answers,
    exact_slabs,
)

SAMPLE = 400


def main() -> None:
    """Print one line per workload."""
    adult, loans = datasets.adult(), datasets.loans_like(seed=0, version=1)
    exact_answers(adult, Workload.all(adult.schema, 1)[0])  # compile
    print(f"{'workload':<38}{'queries':>15}{'ours':>10}{'numpy':>12}{'ratio':>10}{'peak':>10}")
    report("all 3-way marginals of ADULT", adult, Workload.all(adult.schema, 3))
    report(
        "64 random 1-of-3 of loans_like",
        loans,
        Workload.random(loans.schema, 3, 1, size=64, seed=0),
    )
    report(
        "64 random 1-of-4 of loans_like, slabs",
        loans,
        Workload.random(loans.schema, 4, 1, size=64, seed=0),
        walk=True,
    )


def report(title: str, records: Records, work: Workload, walk: bool = False) -> None:
    """Answer a workload, and print the time beside the reference's."""
    rng = np.random.default_rng(0)
    ids = [int(share * work.query_count) for share in rng.random(SAMPLE)]
    start = time.perf_counter()
    maxima = [walked_maximum(records, t) if walk else whole_maximum(records, t) for t in work]
    ours = time.perf_counter() - start
    queries = [work.query(query_id) for query_id in ids]
    start = time.perf_counter()
    sampled = by_predicate(records, queries)
    theirs = (time.perf_counter() - start) / SAMPLE * work.query_count
    if walk:
        for query_id, count in zip(ids, sampled, strict=True):
            assert count <= maxima[work.locate(query_id)[0]]
    else:
        check(records, work, ids, sampled)
    print(
        f"{title:<38}{work.query_count:>15,}{ours:>8.2f} s{theirs:>10,.0f} s"
        f"{theirs / ours:>10,.0f}{peak_memory():>6.2f} GiB",
        flush=True,
    )


def whole_maximum(records: Records, threshold: Threshold) -> int:
    """The largest count of a threshold, from its whole table."""
    return int(exact_answers(records, threshold).max())


def walked_maximum(records: Records, threshold: Threshold) -> int:
    """The largest count of a threshold, slab by slab."""
    return max(int(counts.max()) for _, counts in exact_slabs(records, threshold))


def by_predicate(records: Records, queries: Sequence[Query]) -> list[int]:
    """The counts of queries, each by one pass of its predicate over all rows."""
    counts = []
    for query in queries:
        matches = np.zeros(records.n, dtype=np.uint8)
        for condition in query.conditions:
            matches += records.codes(condition.feature) == condition.codes[0]
        counts.append(int(np.count_nonzero(matches >= query.r)))
    return counts


def check(records: Records, work: Workload, ids: list[int], sampled: list[int]) -> None:
    """Compare the sample with the tables."""
    for query_id, count in zip(ids, sampled, strict=True):
        position, cell = work.locate(query_id)
        assert exact_answers(records, work[position]).reshape(-1)[cell] == count


def peak_memory() -> float:
    """The most memory this process has held, in GiB."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30


if __name__ == "__main__":
    main()
