"""Measure and draw the README's picture: `python docs/images/errors.py` (some 20 minutes).

Writes `errors.csv`, one line per fit, and `errors.svg` beside this file. Runs whose line is there
already are skipped. Noise is seeded, so that the same code gives the same numbers.
"""

import csv
from pathlib import Path
from statistics import mean

import matplotlib
import matplotlib.pyplot as plt

import thresher as th
from thresher.evaluation import errors_of

HERE = Path(__file__).parent
KINDS = {
    "tables (auto)": th.Auto,
    "RAP": th.RAP,
    "All-0": th.All0,
    "Gaussian per query": th.GaussianPerQuery,
    "Gaussian joint": th.GaussianJoint,
}
WORKLOADS = ((4, 3), (16, 3), (64, 3), (256, 3), (64, 2), (64, 1))
EPSILONS = (0.1, 1.0)
SEEDS = (0, 1, 2)
HEAD = ("mechanism", "epsilon", "thresholds", "r", "k", "seed", "queries", "max_error")
MARKS = dict(zip(KINDS, "oxs^D", strict=True))


def measure(store: Path) -> list[list[str]]:
    """Fit and evaluate whatever is missing; all lines of the store."""
    if not store.exists():
        store.write_text(",".join(HEAD) + "\n")
    data = th.datasets.adult()
    with store.open() as file:
        done = {tuple(line[:6]) for line in csv.reader(file)}
    for seed in SEEDS:
        for size, r in WORKLOADS:
            work = th.Workload.random(data.schema, k=3, r=r, size=size, seed=seed)
            for epsilon in EPSILONS:
                for name, kind in KINDS.items():
                    key = (name, f"{epsilon:g}", str(size), str(r), "3", str(seed))
                    if key in done:
                        continue
                    noise = th.InsecureSeededRandomness(seed)
                    release = kind(epsilon=epsilon).fit(data, work, randomness=noise)
                    worst = errors_of(release.source.table, data, work).max
                    with store.open("a") as file:
                        csv.writer(file, lineterminator="\n").writerow(
                            (*key, work.query_count, f"{worst:.6f}")
                        )
    with store.open() as file:
        return list(csv.reader(file))[1:]


def draw(lines: list[list[str]], picture: Path) -> None:
    """Draw the mean over seeds of the largest error, one row per workload and ε."""
    rows = [(epsilon, size, r) for epsilon in EPSILONS for size, r in WORKLOADS]
    labels = [f"ε = {epsilon:g}, {size} thresholds, {r} of 3" for epsilon, size, r in rows]
    drawn = {
        name: [
            mean(
                float(line[7])
                for line in lines
                if line[:4] == [name, f"{epsilon:g}", str(size), str(r)]
            )
            for epsilon, size, r in rows
        ]
        for name in KINDS
    }
    # The same numbers give the same file.
    matplotlib.rcParams |= {"svg.hashsalt": "errors", "svg.fonttype": "none"}
    figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
    for name, values in drawn.items():
        axes.plot(values, labels, MARKS[name], markersize=5, label=name)
    axes.set_xscale("log")
    axes.invert_yaxis()
    axes.grid(color="#dfe3e8")
    axes.set_xlabel("largest error, mean over seeds")
    figure.legend(loc="outside upper center", ncols=len(KINDS), frameon=False)
    figure.savefig(picture, metadata={"Date": None})
    for i, label in enumerate(labels):
        numbers = " | ".join(f"{values[i]:.3f}" for values in drawn.values())
        print(f"| {label} | {numbers} |")  # noqa: T201


if __name__ == "__main__":
    draw(measure(HERE / "errors.csv"), HERE / "errors.svg")
