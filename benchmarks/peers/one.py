"""One fit in a separate process: `python -m benchmarks.peers.one CELLS`, a list of cells in JSON.

All cells have the same mechanism, table, ε and seed: one fit serves them all. It prints a line of
JSON: for each cell, what was measured, or why nothing was.
"""

import json
import re
import resource
import sys
import time
import warnings
from collections.abc import Sequence
from typing import Any

import thresher as th
from benchmarks.peers.cells import PREDICTION, Cell, workloads_of
from benchmarks.peers.contestants import CONTESTANTS
from benchmarks.peers.fitted import Task
from benchmarks.peers.measures import measured
from benchmarks.peers.prediction import predicted, split
from benchmarks.tables import TARGETS, load

OK = "ok"


def run(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Fit once and measure each cell; a fault is a status."""
    first, target = cells[0], TARGETS.get(cells[0].data, "")
    data, test = load(first.data), None
    if first.workload == PREDICTION:
        data, test = split(data, first.seed)
    tasks = []
    for cell in cells:
        drawn = workloads_of(cell.workload, data.schema, target)
        tasks.append(Task(data, *drawn(data.schema, data.n, cell.seed), cell.epsilon, cell.seed))
    began = time.process_time()
    try:
        fitted = CONTESTANTS[first.mechanism].fit(tasks[0])
    except Exception as fault:  # whatever a peer raises is a row, not the end of the benchmark
        return [{"status": _status(fault)}] * len(cells)
    seconds = time.process_time() - began
    rows = []
    for task in tasks:
        try:
            found = {**measured(fitted, task)}
            if test is not None:
                found |= predicted(fitted, data, test, target)
        except Exception as fault:
            rows.append({"status": _status(fault)})
            continue
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        rows.append({"status": OK, **found, "cpu_seconds": seconds, "peak_megabytes": peak})
    return rows


def _status(fault: Exception) -> str:
    if isinstance(fault, th.ResourceError):
        return "does not fit"
    if isinstance(fault, th.QueryError):
        return "no answers"
    return f"failed: {type(fault).__name__}: {_end_of(fault)}"


def _end_of(fault: Exception) -> str:
    """The end of a message, where the cause is if a peer wraps its faults; without paths."""
    return re.sub(r"\S*/\S+", "…", " ".join(str(fault).split()))[-120:]


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # peers warn of their dependencies
    print(json.dumps(run([Cell(**cell) for cell in json.loads(sys.argv[1])])))
