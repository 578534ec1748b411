"""Relaxed Projection measured: kernels against the paper's way, and one optimiser with another.

Run `python -m benchmarks.projection` from the root of the repository. One core is used
throughout, for both sides. JAX and optax are needed for the comparison with the paper's way; it
is skipped, and says so, where they are not installed.
"""

import os

# Read once by each library when it is loaded, so they must be set before the imports below.
for _name in ("NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[_name] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_PLATFORMS"] = "cpu"
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import time  # noqa: E402
from collections.abc import Callable, Iterator, Sequence  # noqa: E402
from dataclasses import dataclass  # noqa: E402

import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

from thresher.queries import Threshold  # noqa: E402
from thresher.relaxed.optimisers import Iterate, Optimiser, PaperAdam  # noqa: E402
from thresher.relaxed.projection import OPTIMISERS, Stopping, project  # noqa: E402
from thresher.relaxed.rows import RelaxedRows, offsets_of  # noqa: E402
from thresher.relaxed.selected import SelectedQueries, answers  # noqa: E402
from thresher.relaxed.sparsemax import sparsemax  # noqa: E402
from thresher.relaxed.tables import threshold_table  # noqa: E402
from thresher.relaxed.targets import Misfit, QueryTargets, TableTarget  # noqa: E402
from thresher.schema import IntegerRange, Schema  # noqa: E402

# Like ADULT in its finest coding: 14 features, d' = 588.
SIZES = (85, 9, 100, 16, 7, 15, 6, 5, 2, 110, 90, 99, 42, 2)
ROWS = 1000
SCHEMA = Schema(
    IntegerRange(name=f"f{i}", low=0, high=size - 1, nulls=0) for i, size in enumerate(SIZES)
)


def threshold_on(features: tuple[int, ...], r: int) -> Threshold:
    """The threshold over features given by position."""
    return Threshold((SCHEMA.names[i] for i in features), r)


def best_time(action: Callable[[], object], repeats: int = 30) -> float:
    """Shortest of several runs, in milliseconds, after one to warm up."""
    action()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        action()
        times.append(time.perf_counter() - begin)
    return 1e3 * min(times)


def random_queries(count: int, k: int, r: int, seed: int) -> SelectedQueries:
    """Queries on random features and values."""
    rng = np.random.default_rng(seed)
    offsets = offsets_of(SIZES)
    features = [rng.choice(len(SIZES), k, replace=False) for _ in range(count)]
    return SelectedQueries.of(
        [[int(offsets[f] + rng.integers(SIZES[f])) for f in chosen] for chosen in features], r=r
    )


def compare_kernels() -> None:
    """Milliseconds per loss and gradient, and per whole iteration, against the paper's way."""
    try:
        import jax

        from benchmarks import paper_way
    except ImportError as missing:
        print(f"Comparison with the paper's way skipped: {missing} (pip install jax optax)")
        paper_way = None
    print(f"k = 3 product queries, d' = {sum(SIZES)}, n' = {ROWS}, one core, milliseconds")
    print("queries | loss+gradient: ours   JAX  ratio | Adam iteration: ours   JAX  ratio")
    start = RelaxedRows.uniform(SIZES, ROWS, np.random.default_rng(0))
    gradient = np.empty_like(start.columns)
    for count in (64, 1024, 4096):
        queries = random_queries(count, k=3, r=3, seed=count)
        misfit = Misfit((QueryTargets(queries, np.full(count, 0.01), 1.0),), SIZES)
        ours = best_time(lambda m=misfit: m.residuals(start.columns, gradient))
        walk = PaperAdam().iterates(misfit, start.columns)
        our_iteration = best_time(lambda w=walk: next(w))
        if paper_way is None:
            print(f"{count:7} | {ours:19.2f} {'':12} | {our_iteration:20.2f}")
            continue
        rows = jax.numpy.asarray(start.columns.T.copy())
        function = paper_way.loss_and_gradient(queries.columns, np.full(count, 0.01))
        theirs = best_time(lambda f=function, x=rows: jax.block_until_ready(f(x)), 10)
        iterate, adam = paper_way.adam_iteration(queries.columns, np.full(count, 0.01), SIZES)
        state = adam.init(rows)
        their_iteration = best_time(
            lambda i=iterate, x=rows, s=state: jax.block_until_ready(i(x, s)), 10
        )
        print(
            f"{count:7} | {ours:19.2f} {theirs:5.1f} {theirs / ours:6.1f} |"
            f" {our_iteration:20.2f} {their_iteration:5.1f} {their_iteration / our_iteration:6.1f}"
        )


def peak() -> float:
    """Multiply-adds of a large float32 matrix product on one core, in 10^9 per second."""
    matrix = np.random.default_rng(0).random((2000, 2000), dtype=np.float32)
    return 8e9 / best_time(lambda: matrix @ matrix, 5) * 1e3 / 1e9


def few_values(count: int, values: int) -> RelaxedRows:
    """Rows with a few nonzero values of each feature, as fitted rows have."""
    rng = np.random.default_rng(2)
    codes = [rng.integers(np.array(SIZES), size=(count, len(SIZES))) for _ in range(values)]
    parts = [RelaxedRows.from_codes(SIZES, drawn).columns for drawn in codes]
    return RelaxedRows(np.ascontiguousarray(sum(parts) / np.float32(values), np.float32), SIZES)


def compare_tables() -> None:
    """Seconds for all cells of 3-way tables, loss and gradient, and the share of the core's peak.

    For a sparse D' the share counts the multiply-adds that dense products would take, so it may be
    above 100 %. What the kernels for nonzero entries really take stands beside it.
    """
    rng = np.random.default_rng(1)
    dense = RelaxedRows(rng.random((sum(SIZES), ROWS), dtype=np.float32), SIZES)
    gradient = np.empty_like(dense.columns)
    chosen = [tuple(int(f) for f in rng.choice(len(SIZES), 3, replace=False)) for _ in range(64)]
    best = peak()
    print(f"\n64 random 3-way tables, loss and gradient; a large product: {best:.0f} Gmadd/s")
    starts = {"dense": dense, "8 values": few_values(ROWS, 8), "2 values": few_values(ROWS, 2)}
    for r in (3, 2, 1):
        tables = [threshold_on(features, r) for features in chosen]
        targets = [
            TableTarget(SCHEMA, t, np.zeros(t.shape(SCHEMA), np.float32), 1.0) for t in tables
        ]
        misfit = Misfit(targets, SIZES)
        for name, rows in starts.items() if r == 3 else [("dense", dense)]:
            spent = best_time(lambda m=misfit, x=rows: m.residuals(x.columns, gradient), 3) / 1e3
            as_dense = 3 * len(misfit) * ROWS / spent / 1e9
            taken = _steps(rows, tables, targets) / spent / 1e9
            print(
                f"r = {r}, {name:8}: {len(misfit):9,} queries {spent:6.3f} s, "
                f"{100 * as_dense / best:4.0f} % of the peak, {100 * taken / best:3.0f} % by steps"
            )


def _steps(rows: RelaxedRows, tables: list[Threshold], targets: Sequence[TableTarget]) -> int:
    """Multiply-adds that are really taken on all rows, for tables and all their derivatives.

    By nonzero entries, a table takes one for each combination of nonzero values of a row, and the
    derivatives by a feature one for each combination of the others and each of its values.
    """
    lengths = np.diff(rows.nonzeros.starts, axis=1).astype(np.int64)
    total = 0
    for table, target in zip(tables, targets, strict=True):
        if not target.work(rows, with_gradient=True).is_sparse:
            total += 3 * len(target) * rows.count
            continue
        features = [SCHEMA.index(name) for name in table.features]
        total += int(lengths[features].prod(axis=0).sum())
        for feature in features:
            others = [other for other in features if other != feature]
            total += SIZES[feature] * int(lengths[others].prod(axis=0).sum())
    return total


@dataclass(frozen=True)
class SoftmaxAdam:
    """Candidate: Adam on logits, with softmax for every feature (as Liu et al. 2021)."""

    rate: float = 0.1

    def iterates(self, misfit: Misfit, start: NDArray[np.float32]) -> Iterator[Iterate]:
        """Yield D' after D'."""
        offsets = offsets_of(misfit.sizes)[:-1]
        owner = np.repeat(np.arange(len(misfit.sizes)), misfit.sizes)
        logits = np.log(start + 1e-3 / np.array(misfit.sizes)[owner][:, None])
        mean, spread = np.zeros_like(logits), np.zeros_like(logits)
        gradient = np.empty_like(start)
        step = 0
        while True:
            powers = np.exp(logits - np.maximum.reduceat(logits, offsets, axis=0)[owner])
            columns = powers / np.add.reduceat(powers, offsets, axis=0)[owner]
            columns = np.ascontiguousarray(columns, np.float32)
            yield Iterate(columns, misfit.residuals(columns, gradient))
            step += 1
            slope = columns * gradient
            slope -= columns * np.add.reduceat(slope, offsets, axis=0)[owner]
            mean += 0.1 * (slope - mean)
            spread += 0.001 * (slope**2 - spread)
            scaled = np.sqrt(spread / (1 - 0.999**step)) + 1e-12
            logits = logits - self.rate * (mean / (1 - 0.9**step)) / scaled


@dataclass(frozen=True)
class SpectralProjection:
    """Candidate: projected gradient with Barzilai–Borwein steps (SPG, Birgin et al. 2000)."""

    memory: int = 5

    def iterates(self, misfit: Misfit, start: NDArray[np.float32]) -> Iterator[Iterate]:
        """Yield D' after D'."""
        offsets = offsets_of(misfit.sizes)
        columns, gradient = start.copy(), np.empty_like(start)
        here = misfit.residuals(columns, gradient)
        values = [here.misfit]
        yield Iterate(columns, here)
        size = 0.1 / float(np.abs(gradient).max())
        while True:
            move = columns - np.float32(size) * gradient
            sparsemax(move, offsets)
            move -= columns
            slope = float(np.vdot(gradient, move))
            share, reference = 1.0, max(values[-self.memory :])
            following = np.empty_like(gradient)
            while True:
                trial = columns + np.float32(share) * move
                here = misfit.residuals(trial, following)
                if here.misfit <= reference + 1e-4 * share * slope or share < 1e-6:
                    break
                share *= 0.4
            change = following - gradient
            curvature = share * float(np.vdot(move, change))
            square = share**2 * float(np.vdot(move, move))
            size = square / curvature if curvature > 0 else 10 * size
            columns, gradient = trial, following
            values.append(here.misfit)
            yield Iterate(columns, here)


def population(records: int, seed: int) -> RelaxedRows:
    """Records with skewed, correlated features: a mixture of eight kinds of people."""
    rng = np.random.default_rng(seed)
    kinds = [[rng.dirichlet(np.full(size, 0.15)) for size in SIZES] for _ in range(8)]
    kind = rng.choice(8, size=records, p=rng.dirichlet(np.ones(8)))
    codes = np.empty((records, len(SIZES)), np.int64)
    for who in range(8):
        chosen = np.flatnonzero(kind == who)
        for feature, size in enumerate(SIZES):
            codes[chosen, feature] = rng.choice(size, len(chosen), p=kinds[who][feature])
    return RelaxedRows.from_codes(SIZES, codes)


def compare_optimisers() -> None:
    """Rounds of worst queries with a warm start, as in RAP but chosen without noise."""
    candidates: dict[str, Optimiser] = {
        **OPTIMISERS,
        "softmax": SoftmaxAdam(),
        "spectral": SpectralProjection(),
    }
    people = population(2000, seed=5)
    cases = [(3, 3, 0.003), (3, 1, 0.003), (3, 3, 0.03), (4, 1, 0.01), (4, 2, 0.01)]
    print("\nFour rounds of the 32 worst of 16 tables; all errors after the last round")
    print("k r sigma | optimiser    iterations seconds  misfit max error mean error")
    for k, r, sigma in cases:
        tables = [threshold_on(features, r) for features in _small_tables(k)]
        truth = np.concatenate([threshold_table(people, SCHEMA, table).ravel() for table in tables])
        for name, optimiser in candidates.items():
            outcome = _rounds(tables, truth, sigma, optimiser)
            print(f"{k} {r} {sigma:5.3f} | {name:12} {outcome}")


def _small_tables(k: int) -> list[tuple[int, ...]]:
    rng = np.random.default_rng(k)
    small = [feature for feature, size in enumerate(SIZES) if size <= 42]
    return [tuple(int(f) for f in rng.choice(small, k, replace=False)) for _ in range(16)]


def _rounds(
    tables: list[Threshold], truth: NDArray[np.float32], sigma: float, optimiser: Optimiser
) -> str:
    rng = np.random.default_rng(0)
    rows = RelaxedRows.uniform(SIZES, ROWS, rng)
    cells = np.concatenate([_columns_of(table) for table in tables])
    taken = np.zeros(len(truth), bool)
    noisy = truth + rng.normal(0.0, sigma, len(truth))
    iterations, spent, misfit = 0, 0.0, 0.0
    for _ in range(4):
        error = np.where(taken, -1.0, np.abs(_all_answers(rows, tables) - truth))
        taken[np.argsort(-error)[:32]] = True
        queries = SelectedQueries.of(cells[taken], r=tables[0].r)
        begin = time.perf_counter()
        result = project(rows, [QueryTargets(queries, noisy[taken], sigma)], optimiser, Stopping())
        spent += time.perf_counter() - begin
        rows, misfit = result.rows, result.misfits[-1]
        iterations += len(result.misfits) - 1
    error = np.abs(_all_answers(rows, tables) - truth)
    return f"{iterations:10} {spent:7.1f} {misfit:7.2f} {error.max():9.4f} {error.mean():10.2e}"


def _columns_of(table: Threshold) -> NDArray[np.int64]:
    cells = np.array(list(np.ndindex(*table.shape(SCHEMA))))
    return cells + offsets_of(SIZES)[[SCHEMA.index(name) for name in table.features]]


def _all_answers(rows: RelaxedRows, tables: list[Threshold]) -> NDArray[np.float32]:
    return np.concatenate([threshold_table(rows, SCHEMA, table).ravel() for table in tables])


def compare_high_targets() -> None:
    """1-of-4 queries with answers near 0.95, where rows pinned at vertices stall."""
    rng = np.random.default_rng(9)
    common = rng.random((2000, len(SIZES))) < 0.55
    codes = np.where(common, 0, rng.integers(np.array(SIZES), size=common.shape))
    offsets = offsets_of(SIZES)
    queries = SelectedQueries.of(
        [offsets[rng.choice(len(SIZES), 4, replace=False)].tolist() for _ in range(64)], r=1
    )
    wanted = answers(RelaxedRows.from_codes(SIZES, codes), queries)
    start = RelaxedRows.uniform(SIZES, ROWS, rng)
    targets = [QueryTargets(queries, wanted, sigma=0.005)]
    print(f"\n64 1-of-4 queries with answers of {wanted.min():.2f} to {wanted.max():.2f}")
    for name, optimiser in OPTIMISERS.items():
        result = project(start, targets, optimiser, Stopping(progress=0.0, iterations=500))
        missed = np.abs(answers(result.rows, queries) - wanted).max()
        steps = len(result.misfits) - 1
        print(f"{name:12} largest miss {missed:.3f} after {steps} iterations ({result.reason})")


def main() -> None:
    """Kernels, then optimisers."""
    compare_kernels()
    compare_tables()
    compare_high_targets()
    compare_optimisers()


if __name__ == "__main__":
    main()
