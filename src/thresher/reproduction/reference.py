"""RAP in the paper's way: JAX, automatic differentiation, Adam and Sparsemax. For times only.

JAX and optax are no dependencies of thresher, and the reference itself (`paper_way`) stands in the
repository's `benchmarks` folder. Where one of them is missing, the run is skipped and says so. The
Gumbel noise has the right scale, √(K/ρ)/n, not the printed one. Compilation counts: a round has
more queries than the one before, and so is compiled anew.
"""

import importlib
import os
import time
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from thresher.data import Records
from thresher.data.exact import exact_answers
from thresher.mechanisms import RAP
from thresher.queries import Workload
from thresher.relaxed.rows import RelaxedRows, offsets_of
from thresher.reproduction.data import records_of
from thresher.reproduction.running import Result, Sources, UnavailableError
from thresher.reproduction.tasks import PresentFit

Array = npt.NDArray[Any]

# XLA reads them once, when JAX is first imported.
ONE_THREAD = {
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}

HOW = (
    "the reference of the paper's way needs JAX, optax and the repository's benchmarks folder: "
    "`pip install jax optax` and run in a checkout with PYTHONPATH=."
)


@dataclass(frozen=True, kw_only=True)
class ReferenceFit(PresentFit):
    """Fit marginals in the paper's way, with a fixed number of Adam's iterations a round."""

    kind: ClassVar[str] = "reference"

    iterations: int

    @property
    def cost(self) -> float:
        """By six fits to ADULT: 88 s with 50 iterations on 4 marginals, 235 s with 200 on 64."""
        return self.rounds * (3.3 + 0.044 * self.iterations + 0.04 * self.size)

    def run(self, sources: Sources) -> Result:
        """How long it takes."""
        for name, value in ONE_THREAD.items():
            os.environ.setdefault(name, value)
        try:
            importlib.import_module("jax")
            paper_way = importlib.import_module("benchmarks.paper_way")
        except ImportError:
            raise UnavailableError(HOW) from None
        records = records_of(self.data, sources)
        workload = self.workload(records)
        rap = self.mechanism_for(workload)
        assert isinstance(rap, RAP)
        rho = float(rap.budget_for(records).rho) / self.rounds
        began = time.process_time()
        self._fit(records, workload, rho, paper_way)
        seconds = time.process_time() - began
        return {"queries": workload.query_count, "seconds": round(seconds, 3)}

    def _fit(self, records: Records, workload: Workload, rho: float, paper_way: Any) -> None:
        rng = np.random.default_rng(self.noise_seed)
        schema, n, count = records.schema, records.n, self.queries_per_round
        offsets = offsets_of(schema.sizes)
        truth = np.concatenate([exact_answers(records, t).reshape(-1) / n for t in workload])
        start = RelaxedRows.uniform(schema.sizes, self.synthetic_rows, rng)
        rows: Any = start.columns.T.copy()
        left = np.ones(truth.size, dtype=bool)
        columns: list[list[int]] = []
        answers: list[float] = []
        for _ in range(self.rounds):
            told = self._answers(rows, workload, offsets, paper_way)
            noisy = np.abs(truth - told) + rng.gumbel(
                scale=np.sqrt(count / rho) / n, size=told.size
            )
            chosen = np.argpartition(np.where(left, noisy, -np.inf), -count)[-count:]
            left[chosen] = False
            noise = rng.normal(0.0, np.sqrt(count / rho) / n, count)
            answers += list(truth[chosen] + noise)
            for query_id in chosen:
                conditions = workload.query(int(query_id)).conditions
                columns.append(
                    [int(offsets[schema.index(c.feature)]) + c.codes[0] for c in conditions]
                )
            iterate, adam = paper_way.adam_iteration(
                np.array(columns), np.array(answers), schema.sizes
            )
            state = adam.init(rows)
            for _ in range(self.iterations):
                rows, state = iterate(rows, state)
            rows.block_until_ready()

    def _answers(self, rows: Any, workload: Workload, offsets: Array, paper_way: Any) -> Array:
        """The answers of D' to all queries, table by table, as dense products."""
        parts = []
        for threshold in workload:
            places = [workload.schema.index(name) for name in threshold.features]
            blocks = [rows[:, offsets[i] : offsets[i + 1]] for i in places]
            parts.append(np.asarray(paper_way.table(blocks)).reshape(-1))
        return np.concatenate(parts)
