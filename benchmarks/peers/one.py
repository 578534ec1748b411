"""One run in a separate process: `python -m benchmarks.peers.one CELL`, a cell in JSON.

It prints a line of JSON: what was measured, or why nothing was.
"""

import json
import re
import resource
import sys
import time
import warnings
from typing import Any

import thresher as th
from benchmarks.peers.cells import Cell, workloads_of
from benchmarks.peers.contestants import CONTESTANTS
from benchmarks.peers.fitted import Task
from benchmarks.peers.measures import measured
from benchmarks.tables import TARGETS, load

OK = "ok"


def run(cell: Cell) -> dict[str, Any]:
    """Fit and measure; a fault is a status."""
    data = load(cell.data)
    work, asked = workloads_of(cell.workload, data.schema)(data.schema, data.n, cell.seed)
    task = Task(data, work, asked, cell.epsilon, cell.seed)
    began = time.process_time()
    try:
        fitted = CONTESTANTS[cell.mechanism].fit(task)
        seconds = time.process_time() - began
        found = measured(fitted, task, TARGETS[cell.data])
    except th.ResourceError:
        return {"status": "does not fit"}
    except th.QueryError:
        return {"status": "no answers"}
    except Exception as fault:  # whatever a peer raises is a row, not the end of the benchmark
        return {"status": f"failed: {type(fault).__name__}: {_end_of(fault)}"}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"status": OK, **found, "cpu_seconds": seconds, "peak_megabytes": peak}


def _end_of(fault: Exception) -> str:
    """The end of a message, where the cause is if a peer wraps its faults; without paths."""
    return re.sub(r"\S*/\S+", "…", " ".join(str(fault).split()))[-120:]


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # peers warn of their dependencies
    print(json.dumps(run(Cell(**json.loads(sys.argv[1])))))
