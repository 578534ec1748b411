"""Fit `auto` to public tables, ask random queries of every kind, and count how margins did.

    python -m benchmarks.margins                   the tables that no constant was chosen on
    python -m benchmarks.margins churn vote        these tables
    python -m benchmarks.margins --tuning          the tables that constants were chosen on

Fits are stored in a folder, so that a second run only asks.
"""

import argparse
from pathlib import Path

from benchmarks.margins.measuring import Coverage, coverages, store, summary
from benchmarks.margins.releases import records, releases
from benchmarks.tables import HELD_OUT, TUNING, tables


def main() -> None:
    """Print one line per release, and the table of all."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks.margins",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", help="names of tables")
    parser.add_argument("--tuning", action="store_true", help="the tables of the constants")
    parser.add_argument("--queries", type=int, default=300, help="of each kind and release")
    parser.add_argument("--rows", type=int, default=500, help="synthetic rows of each release")
    parser.add_argument("--seed", type=int, default=2, help="of workloads, noise and queries")
    parser.add_argument("--fits", type=Path, default=Path("build/margins"), help="their folder")
    parser.add_argument("--results", type=Path, help="a CSV file for all figures")
    given = parser.parse_args()
    wanted = given.names or (TUNING if given.tuning else HELD_OUT)
    rows: list[Coverage] = []
    for name in (name for name in wanted if name in tables()):
        data = records(name)
        for case, release in releases(name, given.fits, given.seed, given.rows):
            found = [*coverages(name, str(case), data, release, given.queries, given.seed)]
            inside = sum(row.inside for row in found) / sum(row.answers for row in found)
            print(f"{name}, n = {data.n:,}, {case}: {inside:.1%} inside", flush=True)
            rows += found
    print(*summary(rows), sep="\n")
    if given.results:
        store(rows, given.results)


if __name__ == "__main__":
    main()
