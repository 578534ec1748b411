"""Counting once: the pass over a file, a round after it, memory, and a whole fit, as n grows.

The files are Parquet, made here from ADULT: each record is drawn from ADULT, and each of its cells
is replaced with probability 1/10 by that of another record, so that there are ever more distinct
ones. The seed is fixed. Each measurement is a process of its own. Times are processor time of all
its threads, after a small trial that compiles the kernels; memory is its largest.

    python -m benchmarks counting            n = 5·10⁴ to 5·10⁷ (ten minutes, 0.5 GB of disk)
    python -m benchmarks.counting 50000      other numbers of records
"""

import json
import lzma
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numba
import numpy as np

import thresher as th

RECORDS = (50_000, 500_000, 5_000_000, 50_000_000)
FRESH = 0.1
"""The probability that a cell comes from another record."""
EPSILON = 1.0


def main() -> None:
    """Print a line for each n, and the phases of a fit of the largest."""
    sizes = tuple(map(int, sys.argv[1:])) if sys.argv[0].endswith("counting.py") else RECORDS
    print("64 3-way marginals of ADULT resampled; seconds of processor time, GiB of memory")
    print(f"{'':>11} | {'before: read and count':^22} | {'now: one pass':^20} |{'':>7}| a round:")
    print(f"{'n':>11} | {'seconds':>14} {'memory':>7} | {'seconds':>12} {'memory':>7} | ratio | "
          "before     now")  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        for n in sizes:
            path = Path(folder, f"{n}.parquet")
            _alone("make", path, n)
            old, new = _alone("before", path), _alone("now", path)
            print(
                f"{n:11,} | {old['count']:14.2f} {old['memory']:7.2f} |"
                f" {new['count']:12.2f} {new['memory']:7.2f} |{new['count'] / old['count']:6.2f} |"
                f"{old['round']:7.2f} {new['round']:7.2f}",
                flush=True,
            )
        fit = _alone("fit", path)
    print(
        f"\nauto at ε = {EPSILON:g} on the file of {sizes[-1]:,} records, {fit['rounds']} rounds:"
    )
    for phase in ("reading and counting", "selecting and measuring", "projection", "all"):
        print(f"  {phase:24} {fit[phase]:8.1f} s of processor time")
    print(f"  {'elapsed':24} {fit['elapsed']:8.1f} s; said before: {fit['estimate']}")
    print(f"  {'memory':24} {fit['memory']:8.2f} GiB; present error {fit['error']:.5f}")


def _alone(task: str, path: Path, *more: object) -> dict[str, Any]:
    """Run a task in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.counting", task, str(path), *map(str, more)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def make(path: str, n: str) -> dict[str, Any]:
    """Write a Parquet file of n records."""
    import pyarrow as pa
    import pyarrow.csv as pa_csv
    import pyarrow.parquet as pq

    source = as_file(files("thresher.data").joinpath("adult.csv.xz"))
    with source as packed, lzma.open(packed) as text:
        adult = pa_csv.read_csv(text).combine_chunks()
    columns = {
        name: column.dictionary_encode() if pa.types.is_string(column.type) else column
        for name, column in zip(adult.column_names, adult.columns, strict=True)
    }
    rng, left, writer = np.random.default_rng(0), int(n), None
    while left:
        rows = min(left, 1 << 20)
        drawn = rng.integers(len(adult), size=rows)
        part = {}
        for name, column in columns.items():
            fresh = np.flatnonzero(rng.random(rows) < FRESH)
            places = drawn.copy()
            places[fresh] = rng.integers(len(adult), size=len(fresh))
            part[name] = column.take(pa.array(places))
        table = pa.table(part)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
        left -= rows
    assert writer is not None
    writer.close()
    return {}


def before(path: str) -> dict[str, Any]:
    """As it was: all records are read and coded, and each round counts each table again."""
    work = _workload()
    public = _round_of(th.Curator(th.datasets.adult(), th.Budget.from_rho(10**6)))
    _tally(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int32))
    start = time.process_time()
    columns = _read_whole(path)
    sizes = {name: work.schema[name].size for name in work.schema.names}

    def counted() -> None:
        for threshold in work:
            cells = columns[threshold.features[0]].astype(np.int64)
            for name in threshold.features[1:]:
                cells *= sizes[name]
                cells += columns[name]
            _tally(cells, np.zeros(threshold.query_count(work.schema), dtype=np.int32))

    counted()
    whole = time.process_time() - start
    return {"count": whole, "round": public + _seconds(counted), "memory": _memory()}


def now(path: str) -> dict[str, Any]:
    """One pass over the file, then rounds."""
    work = _workload()
    th.read(path, work.schema, in_memory=False).counts([("sex",)])  # compiles, and warms the cache
    data = th.read(path, work.schema, in_memory=False)
    curator = th.Curator(data, th.Budget.from_rho(10**6))
    curator.will_ask(work)
    counting = _seconds(lambda: curator.measure([th.Threshold(("sex",))], rho=1))
    return {"count": counting, "round": _round_of(curator), "memory": _memory()}


def fit(path: str) -> dict[str, Any]:
    """A whole fit of `auto`, with its phases."""
    from thresher.data.files import RecordFiles
    from thresher.mechanisms.projector import Projector
    from thresher.privacy.curator import Curator

    work, spent = _workload(), dict[str, float]()
    _watch(RecordFiles, "counts", spent)
    _watch(Projector, "__call__", spent)
    _watch(Curator, "_carry_out", spent)
    said: list[str] = []
    began, start = time.perf_counter(), time.process_time()
    data = th.read(path, work.schema, in_memory=False)
    release = th.Auto(epsilon=EPSILON).fit(data, work, expect=lambda e: said.append(str(e)))
    whole, elapsed = time.process_time() - start, time.perf_counter() - began
    return {
        "reading and counting": spent["counts"],
        "selecting and measuring": spent["_carry_out"] - spent["counts"],
        "projection": spent["__call__"],
        "all": whole,
        "elapsed": elapsed,
        "estimate": said[0],
        "memory": _memory(),
        "rounds": release.settings["rounds"],
        "error": th.present_error(release, data),
    }


def _workload() -> th.Workload:
    return th.Workload.random(th.datasets.adult_schema(), k=3, size=64, seed=0)


def _read_whole(path: str) -> dict[str, Any]:
    import pyarrow.parquet as pq

    schema = th.datasets.adult_schema()
    parts: dict[str, list[Any]] = {name: [] for name in schema.names}
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=1 << 17, columns=list(schema.names)):
            for feature in schema:
                parts[feature.name].append(feature.encode(batch.column(feature.name)))
    return {name: np.concatenate(part) for name, part in parts.items()}


def _round_of(curator: th.Curator) -> float:
    """The seconds of a selection among all tables, after one that compiles."""
    from thresher.relaxed.rows import RelaxedRows
    from thresher.release.sources import SyntheticRows

    work = _workload()
    rows = RelaxedRows.uniform(work.schema.sizes, 1000, np.random.default_rng(0))
    answers, handicaps = SyntheticRows(rows, work.schema).table, [0] * len(work)

    def select() -> None:
        curator.select_table(list(work), answers, handicaps, rho=1)

    select()
    return min(_seconds(select) for _ in range(3))


def _seconds(action: Callable[[], object]) -> float:
    start = time.process_time()
    action()
    return time.process_time() - start


def _memory() -> float:
    """The largest memory of this process so far, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def _watch(kind: type, name: str, spent: dict[str, float]) -> None:
    """Add up the seconds that a method takes."""
    method = getattr(kind, name)

    def timed(*given: Any, **named: Any) -> Any:
        start = time.process_time()
        try:
            return method(*given, **named)
        finally:
            spent[name] = spent.get(name, 0.0) + time.process_time() - start

    setattr(kind, name, timed)


@numba.njit(cache=True, nogil=True)
def _tally(cells, counts):  # type: ignore[no-untyped-def]
    for cell in cells:
        counts[cell] += 1


TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    "make": make, "before": before, "now": now, "fit": fit,
}  # fmt: skip

if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] in TASKS:
        print(json.dumps(TASKS[sys.argv[1]](*sys.argv[2:])))
    else:
        main()
