"""How near to the minimum Relaxed Projection comes: hundreds of noisy tables, 10^6 cells and more.

The targets are noisy tables of ADULT that contradict each other, as noisy tables do, so that no D'
meets them all. Beside each optimiser's misfit after so many iterations stands how far that is, in
per cent, above the least misfit that any of them has reached in this run, and its time.
"""

import time

import thresher as th
from thresher.mechanisms.adaptive_tables.start import near_product
from thresher.mechanisms.projector import targets_of
from thresher.relaxed.projection import Stopping, project

TABLES = 200
EPSILON = 1.0
CHECKPOINTS = (10, 30, 100, 300)


def main() -> None:
    """Print one line per optimiser and checkpoint."""
    data = th.datasets.adult()
    work = th.Workload.random(data.schema, 3, size=TABLES, seed=0, max_queries=data.n)
    singles = [th.Threshold((name,)) for name in data.schema.names]
    randomness = th.InsecureSeededRandomness(0)
    budget = th.Budget.from_epsilon(EPSILON, 1 / data.n**2)
    curator = th.Curator(data, budget, randomness=randomness)
    measured = curator.measure([*singles, *work], rho=budget.rho)
    targets = targets_of(measured, data.schema)
    start = near_product(measured[: len(singles)], data.schema, 1000, seed=0)
    cells = sum(len(target) for target in targets)
    print(f"{len(targets)} noisy tables of ADULT, {cells:,} cells, n' = 1000, eps = {EPSILON}")
    never = Stopping(misfit=0.0, progress=0.0, iterations=max(CHECKPOINTS))
    found: dict[str, list[tuple[int, float, float]]] = {}
    for name in ("accelerated", "adam"):
        began = time.process_time()
        reached: list[tuple[int, float, float]] = []

        def note(
            iteration: int,
            misfit: float,
            _: object,
            began: float = began,
            reached: list[tuple[int, float, float]] = reached,
        ) -> None:
            if iteration in CHECKPOINTS:
                reached.append((iteration, misfit, time.process_time() - began))

        project(start, targets, name, never, record=note)
        found[name] = reached
    best = min(misfit for reached in found.values() for _, misfit, _ in reached)
    print(f"{'optimiser':>12} {'iterations':>10} {'misfit':>8} {'above the best':>15} {'cpu s':>7}")
    for name, reached in found.items():
        for iteration, misfit, seconds in reached:
            above = 100 * (misfit / best - 1)
            print(f"{name:>12} {iteration:10} {misfit:8.4f} {above:14.2f}% {seconds:7.1f}")


if __name__ == "__main__":
    main()
