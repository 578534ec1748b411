"""The numbers that the paper prints, and what they say about its experiments.

The paper's figures are images, but its appendix prints the coefficients of four regressions of
present error: by workload size and by number of queries, on ADULT and on LOANS. From these alone
follows which workloads x4 = 1 stands for, and RAP's error at every size. Run

    python -m thresher.reproduction.paper_numbers

for the derivation as a table; docs/reproduction-appendix.md explains it.
"""

import math
import statistics
import sys
from dataclasses import dataclass
from typing import Literal

from thresher.data import datasets
from thresher.queries import Workload
from thresher.queries.subsets import Subsets
from thresher.schema import Schema

DataName = Literal["adult", "loans"]

EPSILONS = (0.01, 0.1, 1.0)
REPETITIONS = 4
K = 3

BY_SIZE: dict[DataName, tuple[float, ...]] = {
    "adult": (
        0.0320, -0.0066, -0.0248, 0.0650, -0.0528, -0.0600,
        0.0280, -0.0309, -0.0277, -0.0036, 0.0052, 0.0040,
    ),
    "loans": (
        0.0372, -0.0113, -0.0282, 0.0966, -0.0767, -0.0882,
        0.0215, -0.0273, -0.0275, -0.0039, 0.0039, 0.0051,
    ),
}  # fmt: skip
"""β0 to β11 of "Present Error vs. Workload Size", as printed."""

BY_QUERIES: dict[DataName, tuple[float, ...]] = {
    "adult": (
        -0.3210, 0.2882, 0.3014, 0.0472, -0.0390, -0.0436,
        0.1198, -0.1237, -0.1189, -0.0127, 0.0123, 0.0124,
    ),
    "loans": (
        -0.6398, 0.5254, 0.5873, 0.0779, -0.0618, -0.0709,
        0.1453, -0.1293, -0.1474, -0.0240, 0.0195, 0.0227,
    ),
}  # fmt: skip
"""β0 to β11 of "Present Error vs. Number of Queries", as printed."""

OBSERVATIONS: dict[DataName, int] = {"adult": 126, "loans": 144}
SIZES: dict[DataName, tuple[int, ...]] = {
    "adult": (1, 4, 16, 64, 256),
    "loans": (1, 4, 16, 64, 256, 1024),
}
"""The workload sizes that were repeated. ADULT has the whole space as well, once."""

RECORDS: dict[DataName, int] = {"adult": 48_842, "loans": 42_535}
SIMULATIONS = 30


@dataclass(frozen=True)
class Line:
    """One of the six lines of a regression: one ε, and x4 = 0 or 1."""

    intercept: float
    slope: float

    def at(self, log_size: float) -> float:
        """The present error at the natural logarithm of a size."""
        return self.intercept + self.slope * log_size


def line_of(coefficients: tuple[float, ...], epsilon: float, x4: int) -> Line:
    """The line of one ε and one value of x4.

    Example:
        >>> line = line_of(BY_SIZE["adult"], 0.1, x4=1)
        >>> round(line.intercept, 4), round(line.slope, 4)
        (0.0225, 0.0138)
    """
    level = EPSILONS.index(epsilon)

    def part(first: int) -> float:
        base = coefficients[first]
        return base + (coefficients[first + level] if level else 0.0)

    return Line(part(0) + x4 * part(6), part(3) + x4 * part(9))


def paper_error(data: DataName, epsilon: float, size: int, *, filtered: bool = False) -> float:
    """RAP's least present error by the paper's regression on the workload size.

    Args:
        data: ADULT or LOANS.
        epsilon: One of the three that the paper tried.
        size: |W|, the number of 3-way marginals.
        filtered: Whether large marginals were left out. x4 = 0 is *filtered*.

    Example:
        >>> [round(paper_error("adult", epsilon, 64), 3) for epsilon in EPSILONS]
        [0.315, 0.08, 0.03]
        >>> [round(paper_error("adult", epsilon, 16), 4) for epsilon in EPSILONS]
        [0.2302, 0.0608, 0.0225]
    """
    return line_of(BY_SIZE[data], epsilon, 0 if filtered else 1).at(math.log(size))


def whole_space(schema: Schema, max_queries: int | None) -> int:
    """The number of 3-way marginals of a schema that the filter leaves."""
    return Subsets(schema, K, max_queries).total


def sizes_of(data: DataName, *, filtered: bool) -> list[int]:
    """The sizes of all workloads of one ε: four repetitions, and the whole of ADULT once."""
    sizes = [size for size in SIZES[data] for _ in range(REPETITIONS)]
    if data == "adult":
        sizes.append(whole_space(schema_of(data), RECORDS[data] if filtered else None))
    return sizes


def schema_of(data: DataName) -> Schema:
    """The public schema of a data set."""
    return datasets.adult_schema() if data == "adult" else datasets.loans_schema()


def implied_mean_log_queries(data: DataName, x4: int) -> float:
    """The mean of ln m over the workloads with one value of x4, by the printed coefficients.

    With all interactions, a regression is six separate lines, and each goes through the means of
    its observations. Both regressions have the same errors, so a + b·mean(ln |W|) =
    c + d·mean(ln m). The three values of ε are taken together, so that the steepest lines, which
    rounding changes least, count most.

    Example:
        >>> [round(implied_mean_log_queries("loans", x4), 1) for x4 in (0, 1)]
        [13.0, 16.2]
    """
    log_sizes = [math.log(size) for size in sizes_of(data, filtered=x4 == 0)]
    rises, slopes = 0.0, 0.0
    for epsilon in EPSILONS:
        by_queries = line_of(BY_QUERIES[data], epsilon, x4)
        error = line_of(BY_SIZE[data], epsilon, x4).at(statistics.fmean(log_sizes))
        rises += error - by_queries.intercept
        slopes += by_queries.slope
    return rises / slopes


@dataclass(frozen=True)
class Simulated:
    """The mean of ln m over one simulated set of workloads: its mean and its deviation."""

    mean: float
    deviation: float


def simulated_mean_log_queries(
    data: DataName, *, filtered: bool, simulations: int = SIMULATIONS
) -> Simulated:
    """The mean of ln m over random workloads as many and as large as the paper's.

    Args:
        data: ADULT or LOANS; their schemas are public.
        filtered: Whether marginals with more queries than records are left out.
        simulations: How many sets of workloads are drawn.
    """
    schema, limit = schema_of(data), RECORDS[data] if filtered else None
    means = []
    for simulation in range(simulations):
        logs = [
            math.log(
                Workload.random(
                    schema, K, size=size, seed=1000 * simulation + number, max_queries=limit
                ).query_count
            )
            for number, size in enumerate(sizes_of(data, filtered=filtered))
        ]
        means.append(statistics.fmean(logs))
    return Simulated(statistics.fmean(means), statistics.stdev(means))


def derivation(simulations: int = SIMULATIONS) -> str:
    """The whole derivation as Markdown tables."""
    lines = [
        "| data set | x4 | mean ln m by the printed coefficients | filtered, simulated "
        "| unfiltered, simulated |",
        "|---|---|---|---|---|",
    ]
    for data in SIZES:
        both = [
            simulated_mean_log_queries(data, filtered=filtered, simulations=simulations)
            for filtered in (True, False)
        ]
        told = " | ".join(f"{one.mean:.2f} ± {one.deviation:.2f}" for one in both)
        for x4 in (0, 1):
            implied = implied_mean_log_queries(data, x4)
            lines.append(f"| {data.upper()} | {x4} | {implied:.2f} | {told} |")
    lines += [
        "",
        "| data set | \\|W\\| | workloads | ε = 0.01 | 0.1 | 1 |",
        "|---|---|---|---|---|---|",
    ]
    for data, sizes in SIZES.items():
        for size in sizes:
            for filtered in (False, True):
                errors = " | ".join(
                    f"{paper_error(data, epsilon, size, filtered=filtered):.4f}"
                    for epsilon in EPSILONS
                )
                word = "filtered" if filtered else "unfiltered"
                lines.append(f"| {data.upper()} | {size} | {word} | {errors} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(derivation())
