"""How near forecasts (`thresher plan`) come to the errors of real fits, on public tables.

Run `python -m benchmarks.forecast [name of a table …] [--tuning]` from the root of the repository.
Without a name it runs all tables that were not used to make the forecast (`--tuning`: those that
were). A case is a table, a workload and an ε; each is one fit by `auto` with its default settings,
δ = 1/n². A ratio is the forecast over what the fit had: of the largest error, of the typical error
(the median over cells with 1 % of the people or more), and of the margins of error of a typical
cell, of the share of a value and of an r-of-k answer. The forecast is made twice, the second time
with the share of each value of each feature taken for public, to two digits. Beside both stands a
formula: the noise of the joint Gaussian mechanism, σ·√(2 ln m) for the largest of m errors and
0.67·σ for the median.
"""

import argparse
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

import thresher as th
from benchmarks.tables import HELD_OUT, TUNING, load
from thresher.planning.forecast import SEEDS
from thresher.planning.stand_in import stand_in
from thresher.planning.trial import MARGINS, Trials, errors_found
from thresher.privacy.budget import Budget
from thresher.privacy.unit import Unit
from thresher.queries.subsets import Subsets

SHAPES = ((2, 2, 16), (3, 3, 16), (3, 2, 8))
"""Features of a threshold, how many must match, and how many thresholds."""

EPSILONS = (0.1, 1.0)
GOAL = 1.5


def workloads(data: th.Records) -> Iterator[th.Workload]:
    """Random thresholds of at most n queries; fewer of them where a table has few columns."""
    for k, r, size in SHAPES:
        size = min(size, Subsets(data.schema, k, data.n).total)
        if size:
            yield th.Workload.random(data.schema, k, r, size=size, seed=1, max_queries=data.n)


def main() -> None:
    """Print one line per case, and how many forecasts came near."""
    parser = argparse.ArgumentParser(description="Forecasts beside real fits.")
    parser.add_argument("names", nargs="*", help="names of tables; all if not given")
    parser.add_argument("--tuning", action="store_true", help="the tables that were used")
    given = parser.parse_args()
    ratios: dict[str, list[float]] = {}
    for name in given.names or (TUNING if given.tuning else HELD_OUT):
        data = load(name)
        people = {
            words: [stand_in(data.schema, data.n, seed, shares) for seed in SEEDS]
            for words, shares in (("", None), (", shares known", _shares(data)))
        }
        for work in workloads(data):
            for epsilon in EPSILONS:
                found = _ratios(data, work, epsilon, people)
                for kind, ratio in found.items():
                    ratios.setdefault(kind, []).append(ratio)
                case = f"{work[0].r}-of-{work[0].k} x {len(work)} ε={epsilon}"
                told = ", ".join(f"{kind} ×{ratio:.2f}" for kind, ratio in found.items())
                print(f"{name} n={data.n} {case}: {told}", flush=True)
    for kind, values in ratios.items():
        off = np.abs(np.log(values))
        near, nearly = (f"{np.mean(off <= math.log(most)):.0%}" for most in (GOAL, 2.0))
        middle = np.median(values)
        print(f"{kind}: {len(values)} fits, {near} within {GOAL} times, {nearly} within twice; "
              f"median ×{middle:.2f}")  # fmt: skip


def _shares(data: th.Records) -> dict[str, np.ndarray]:
    """How frequent each value is, to two digits."""
    found = {}
    for feature in data.schema:
        counts = np.bincount(data.codes(feature.name), minlength=feature.size)
        found[feature.name] = np.array([float(f"{count / data.n:.1e}") for count in counts])
    return found


def _ratios(
    data: th.Records, work: th.Workload, epsilon: float, people: dict[str, list[th.Records]]
) -> dict[str, float]:
    """Forecasts over what one fit had."""
    budget = Budget.from_epsilon(epsilon, Fraction(1, data.n**2))
    release = th.Auto(epsilon=epsilon).fit(
        data, work, randomness=th.InsecureSeededRandomness(7), progress=False
    )
    had = errors_found(release, data, work)
    found = {}
    for words, some in people.items():
        trials = Trials(th.Auto(), work, data.n, Unit(), some)
        fit = trials.tried(trials.untried(budget))
        for kind in ("largest", "typical", *MARGINS):
            forecast, true = fit.expected(kind), getattr(had, kind)
            if forecast is not None and true is not None:
                found[kind + words] = forecast / true
    sigma = math.sqrt(len(work) / float(budget.rho)) / data.n
    found["largest by formula"] = sigma * math.sqrt(2 * math.log(work.query_count)) / had.largest
    found["typical by formula"] = 0.67 * sigma / had.typical
    return found


if __name__ == "__main__":
    main()
