"""Public records as the start of D': present error with and without, over seeds.

Run `python -m benchmarks.public_start [--seeds 3] [--mechanism rap …]` from the root of the
repository. ADULT is split in two ways, into records that count as public and private ones:

- a *random tenth* is public: the public records are like the private ones;
- those *born abroad* are public, a tenth as well: they are not.

What the public records alone would answer stands beside it.
"""

import argparse
import time

import numpy as np
from numpy.typing import NDArray

import thresher as th
from benchmarks.accuracy import with_error
from thresher.data.exact import exact_answers
from thresher.evaluation.errors import errors_of
from thresher.mechanisms import MECHANISMS

EPSILONS, MARGINALS = (0.1, 1.0), 64
ALONE, WITHOUT, WITH = "public alone", "without", "with public"


def split(data: th.Records, kind: str, seed: int) -> tuple[th.Records, th.Records]:
    """The public part of ADULT, and the private one."""
    if kind == "random tenth":
        is_public = np.random.default_rng(seed).random(data.n) < 0.1
    else:
        home = data.schema["native-country"].labels.index("United-States")
        is_public = data.codes("native-country") != home
    return part(data, is_public), part(data, ~is_public)


def part(data: th.Records, kept: NDArray[np.bool_]) -> th.Records:
    """Some of the records."""
    return th.Records(data.schema, [column[kept] for column in data.columns])


def errors_alone(public: th.Records, private: th.Records, work: th.Workload) -> tuple[float, float]:
    """The errors of the public shares: the largest, and the mean over thresholds of the largest."""
    largest = [
        np.abs(exact_answers(public, t) / public.n - exact_answers(private, t) / private.n).max()
        for t in work
    ]
    return max(largest), float(np.mean(largest))


def main() -> None:
    """Print one line per split, ε, mechanism and start."""
    parser = argparse.ArgumentParser(description="Public records as the start of D'.")
    parser.add_argument("--mechanism", action="append", help="rap, tables or auto")
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    data = th.datasets.adult()
    print(f"{MARGINALS} 3-way marginals of ADULT, n' = 1000, {given.seeds} seeds")
    heads = f"{'public':>13} {'eps':>4} {'mechanism':>9} {'start':>13}"
    print(f"{heads}  max error (mean of maxima) cpu s")
    for kind in ("random tenth", "born abroad"):
        parts = [split(data, kind, seed) for seed in range(given.seeds)]
        works = [
            th.Workload.random(data.schema, 3, size=MARGINALS, seed=seed)
            for seed in range(given.seeds)
        ]
        alone = [errors_alone(*both, work) for both, work in zip(parts, works, strict=True)]
        tell(kind, "-", "-", ALONE, [(*errors, 0.0) for errors in alone])
        for epsilon in EPSILONS:
            for name in given.mechanism or ("rap", "auto"):
                for start in (WITHOUT, WITH):
                    found = [
                        fitted(name, epsilon, *both, work, seed, start == WITH)
                        for seed, (both, work) in enumerate(zip(parts, works, strict=True))
                    ]
                    tell(kind, str(epsilon), name, start, found)


def fitted(
    name: str,
    epsilon: float,
    public: th.Records,
    private: th.Records,
    work: th.Workload,
    seed: int,
    starts_public: bool,
) -> tuple[float, float, float]:
    """The errors of a fit, and its seconds."""
    given = {"public": public} if starts_public else {}
    mechanism = MECHANISMS[name](epsilon=epsilon, seed=seed, **given)
    began = time.process_time()
    release = mechanism.fit(
        private, work, randomness=th.InsecureSeededRandomness(seed), progress=False
    )
    seconds = time.process_time() - began
    errors = errors_of(release.source.table, private, work)
    return errors.max, errors.mean_max, seconds


def tell(
    kind: str, epsilon: str, name: str, start: str, found: list[tuple[float, float, float]]
) -> None:
    """A line of the table: means, with their standard errors."""
    largest, means, seconds = zip(*found, strict=True)
    print(
        f"{kind:>13} {epsilon:>4} {name:>9} {start:>13}  {with_error(largest)} "
        f"({with_error(means)}) {np.mean(seconds):.0f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
