"""Measure and draw the README's picture: `python docs/images/errors.py` (some 20 minutes).

Writes `errors.csv`, one line per fit, and `errors.svg` beside this file. Runs whose line is there
already are skipped. Noise is seeded, so that the same code gives the same numbers.
"""

import csv
from pathlib import Path
from statistics import mean

import thresher as th
from thresher.evaluation import errors_of
from thresher.report.dots import errors

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
STYLE = """
svg { background: #fff; font: 11px "Liberation Sans", Arial, sans-serif; }
text { fill: #1b1f24; } .level { stroke: #dfe3e8; stroke-width: .8; } .faint { opacity: .55; }
"""


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
    svg = str(errors(labels, drawn))
    svg = svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    svg = svg.replace("<title>", f"<style>{STYLE}</style><title>", 1)
    picture.write_text(svg + "\n", encoding="utf-8")
    for i, label in enumerate(labels):
        numbers = " | ".join(f"{values[i]:.3f}" for values in drawn.values())
        print(f"| {label} | {numbers} |")  # noqa: T201


if __name__ == "__main__":
    draw(measure(HERE / "errors.csv"), HERE / "errors.svg")
