"""Run the benchmark, or a part of it, and draw its table.

    python -m benchmarks.peers --minutes 60                    go on where it was left
    python -m benchmarks.peers --only mechanism=auto,rap --only data=churn --only epsilon=1
    python -m benchmarks.peers --rerun auto                    auto once more, at this commit
    python -m benchmarks.peers --page                          the section of docs/accuracy.md

Keys of `--only` are data, workload, epsilon, mechanism and seed. Peers that cannot be installed
beside each other are run from two environments, one after the other, into the same file.
"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.peers.cells import Cell, planned
from benchmarks.peers.contestants import CONTESTANTS
from benchmarks.peers.results import CELL, Results
from benchmarks.peers.running import Caps, present_commit, run_all

DOCS = Path(__file__).parents[2] / "docs"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is not stored yet."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks.peers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--minutes", type=float, default=10.0, help="start no run after so long")
    parser.add_argument("--only", action="append", default=[], metavar="KEY=VALUE[,VALUE]")
    parser.add_argument("--quick", action="store_true", help="three tables, one workload, one seed")
    parser.add_argument("--rerun", action="append", default=[], metavar="MECHANISM")
    parser.add_argument("--seconds", type=int, default=240, help="cap on a run's processor time")
    parser.add_argument("--megabytes", type=int, default=6000, help="cap on a run's memory")
    parser.add_argument("--results", type=Path, default=DOCS / "peers.csv")
    parser.add_argument("--page", action="store_true", help="draw the results, and run nothing")
    given = parser.parse_args(arguments)
    results = Results(given.results)
    if given.page:
        from benchmarks.peers.page import draw

        draw(results, DOCS)
        return
    try:
        wanted = _filter(given.only)
    except ValueError as fault:
        parser.error(str(fault))
    here = {name for name, one in CONTESTANTS.items() if one.is_here()}
    for name in CONTESTANTS.keys() - here:
        print(f"{name} is left out: {CONTESTANTS[name].install}")
    commit = present_commit()
    again = [
        cell
        for cell, row in results.rows.items()
        if cell.mechanism in given.rerun and row["commit"] != commit and cell.mechanism in here
    ]
    new = (c for c in planned(given.quick) if c.mechanism in here and c not in results.rows)
    cells = filter(wanted, again if given.rerun else new)
    run_all(cells, results, Caps(given.seconds, given.megabytes), given.minutes)


def _filter(only: Sequence[str]) -> Callable[[Cell], bool]:
    """What `--only` lets through."""
    allowed = {}
    for one in only:
        key, _, values = one.partition("=")
        if key not in CELL or not values:
            raise ValueError(f"--only {one}: write KEY=VALUE, with a key of {', '.join(CELL)}")
        numbers = float if key in ("epsilon", "seed") else str
        allowed[key] = {numbers(value) for value in values.split(",")}
    return lambda cell: all(getattr(cell, key) in values for key, values in allowed.items())


if __name__ == "__main__":
    main()
