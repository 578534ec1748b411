"""Figure "Memory": which workloads fit under a cap, ours and with all queries at once.

It is about the last data set of a scale, which is the larger one: LOANS or what stands in for it.

The original implementation enumerates all queries and evaluates them in parallel. Its way is
rendered here in NumPy: the queries as an array of one-hot columns, and

- non-adaptive: the products of all queries on all rows of D', which a gradient needs;
- adaptive: the errors and the noise of all queries, for one selection.

Each run is a process of its own under a limit on its data (RLIMIT_DATA, so Linux and macOS only).
It fits, or it does not.
"""

import json
import resource
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from thresher.data.exact import exact_answers
from thresher.relaxed.rows import RelaxedRows, offsets_of
from thresher.reproduction import plots
from thresher.reproduction.data import records_of
from thresher.reproduction.paper_figure import Context, PaperFigure
from thresher.reproduction.running import Result, Sources, Task
from thresher.reproduction.scales import Scale
from thresher.reproduction.tasks import ALL, Fit, PresentFit, sizes_within

Way = Literal["ours", "held"]

OURS, HELD = "ours", "all queries at once"
WAYS: dict[Way, str] = {"ours": OURS, "held": HELD}
ROWS_LOOKED_AT = 4
"""Of D', where it is evaluated row by row: each takes the same memory, and 1000 take hours."""
MODULE = "thresher.reproduction.memory"


@dataclass(frozen=True, kw_only=True)
class MemoryProbe(PresentFit):
    """One workload under a cap on memory: does it fit?

    Attributes:
        way: How queries are evaluated.
        cap_mib: The cap, in MiB of data.
    """

    kind: ClassVar[str] = "memory"
    later: ClassVar[frozenset[str]] = Fit.later

    way: Way
    cap_mib: int

    @property
    def cost(self) -> float:
        """A process of its own has to start."""
        return 5 + super().cost

    def run(self, sources: Sources) -> Result:
        """Whether it fits, and the peak memory if so."""
        told = json.dumps([self.parameters, dict(sources)])
        done = subprocess.run(
            [sys.executable, "-m", MODULE, told], capture_output=True, text=True, check=False
        )
        found: Result = {"fits": False, "peak": None}
        if done.returncode == 0:
            found = json.loads(done.stdout)
        records = records_of(self.data, sources)
        return {**found, "queries": self.workload(records).query_count}

    def run_here(self, sources: Sources) -> Result:
        """The work itself, in the process that has the cap."""
        limit = self.cap_mib * 2**20
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        if self.way == "ours":
            records = records_of(self.data, sources)
            workload = self.workload(records)
            self.fitted(records, workload, self.mechanism_for(workload))
        else:
            self._hold_all(sources)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return {"fits": True, "peak": peak // 1024}

    def _hold_all(self, sources: Sources) -> None:
        records = records_of(self.data, sources)
        schema, rng = records.schema, np.random.default_rng(self.seed)
        offsets = offsets_of(schema.sizes)
        columns, truth = [], []
        for threshold in self.workload(records):
            starts = [offsets[schema.index(name)] for name in threshold.features]
            cells = np.indices(threshold.shape(schema), dtype=np.int32).reshape(threshold.k, -1)
            columns.append((cells + np.array(starts, dtype=np.int32)[:, None]).T)
            truth.append(exact_answers(records, threshold).reshape(-1) / records.n)
        queries, answers = np.concatenate(columns), np.concatenate(truth)
        rows = RelaxedRows.uniform(schema.sizes, self.synthetic_rows, rng).columns
        if self.queries_per_round == ALL:
            products = rows[queries[:, 0]]
            for place in range(1, self.k):
                products *= rows[queries[:, place]]
            told = products.mean(axis=1)
        else:
            told = np.zeros(len(queries), dtype=np.float32)
            for row in rows.T[:ROWS_LOOKED_AT]:
                told += np.prod(row[queries], axis=1) / self.synthetic_rows
        noisy = np.abs(told - answers) + rng.gumbel(size=len(queries))
        np.argpartition(noisy, -1)


def probes(scale: Scale, way: Way, pair: tuple[int, int]) -> list[MemoryProbe]:
    """One line: a way at one (T, K). All queries on all rows need smaller workloads, too."""
    grid = scale.memory
    small = grid.filtered_sizes if way == "held" and pair[1] == ALL else ()
    return [
        MemoryProbe(
            data=data,
            epsilon=scale.runtime.epsilon,
            k=scale.marginals.k,
            r=scale.marginals.k,
            size=size,
            rounds=pair[0],
            queries_per_round=pair[1],
            synthetic_rows=grid.synthetic_rows,
            seed=seed,
            way=way,
            cap_mib=grid.cap_mib,
            filtered=filtered,
        )
        for data in scale.data[-1:]
        for filtered, sizes in ((True, small), (False, grid.sizes))
        for size in sizes_within(data, scale.marginals.k, sizes)
        for seed in range(grid.repetitions)
    ]


def lines(scale: Scale) -> dict[str, list[MemoryProbe]]:
    """Both ways, adaptive and not."""
    pairs = {"non-adaptive": (1, ALL), "adaptive": scale.runtime.pair}
    return {
        f"{name}, {words}": probes(scale, way, pair)
        for name, pair in pairs.items()
        for way, words in WAYS.items()
    }


def tasks(scale: Scale) -> Sequence[Task]:
    """All lines."""
    return [task for line in lines(scale).values() for task in line]


def collected(context: Context) -> pd.DataFrame:
    """For each line and workload whether every repetition fits, and the largest peak."""
    parts = []
    for label, wanted in lines(context.scale).items():
        rows: list[dict[str, Any]] = [
            {
                "data": task.parameters["data"], "size": task.parameters["size"], "line": label,
                "filtered": task.parameters["filtered"], "fits": bool(result["fits"]),
                "peak": result["peak"], "queries": result["queries"],
            }
            for task, result in context.found(wanted)
        ]  # fmt: skip
        parts.append(pd.DataFrame(rows))
    every = pd.concat(parts, ignore_index=True)
    grouped = every.groupby(["data", "line", "filtered", "size"])
    return grouped.agg(
        fits=("fits", "all"), peak_mib=("peak", "max"), queries=("queries", "mean")
    ).reset_index()


def draw(context: Context) -> None:
    """Peak memory of what fits; a line ends where a workload does not fit."""
    found = collected(context)
    context.table("memory", found)
    grid = context.scale.memory
    for data in context.scale.data[-1:]:
        title = context.title(
            data, f"peak memory under a cap of {grid.cap_mib} MiB; a line ends where none fits"
        )
        with plots.page(1, 1, title=title, width=5.6, height=2.8) as (figure, [[axes]]):
            curves = []
            for style, label in enumerate(lines(context.scale)):
                here = found[(found["data"] == data) & (found["line"] == label) & found["fits"]]
                here = here.sort_values("queries")
                x, y = list(here["queries"]), list(here["peak_mib"])
                curves.append(plots.Curve(label, x, y, style))
            plots.draw_curves(axes, curves)
            plots.counts_axis(axes, "m, queries of the workload")
            axes.axhline(grid.cap_mib, color=plots.BLACK, linewidth=0.8)
            axes.set_ylabel("peak memory (MiB)")
            plots.legend_below(figure, axes, 2)
            context.save(figure, context.name("memory", data))


FIGURE = PaperFigure(
    "memory",
    "the largest workloads under a cap on memory, ours and with all queries at once",
    tasks,
    draw,
)


def main(told: str) -> None:
    """Run one probe under its cap, and print what it found."""
    parameters, sources = json.loads(told)
    parameters.pop("kind", None)
    sys.stdout.write(json.dumps(MemoryProbe(**parameters).run_here(sources)))


if __name__ == "__main__":
    main(sys.argv[1])
