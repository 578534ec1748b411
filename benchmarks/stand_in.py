"""How like the real loans `loans_like` is: skew and dependence, beside an extract of the loans.

Run `python -m benchmarks.stand_in --lending-club FILE` from the root of the repository. It looks at
the 24 columns that the extract has. Without the file, only the stand-ins are described.
"""

import argparse
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

import thresher as th
from thresher.data.datasets import LENDING_CLUB_SIZES

COLUMNS = tuple(LENDING_CLUB_SIZES)
EVERY = 20
"""One of so many of the 2,024 3-way marginals is looked at."""


def entropy(counts: NDArray[np.integer]) -> float:
    """Of a distribution, given by counts, in nats."""
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())


def dependence(data: th.Records) -> list[float]:
    """The mutual information of every pair, as a share of the smaller entropy of the two.

    Few records in many cells look dependent, so the usual bias (Miller 1955) is taken off.
    """
    found = []
    for pair in combinations(COLUMNS, 2):
        one, other, joint = (table.counts for table in data.counts([(pair[0],), (pair[1],), pair]))
        bias = (len(joint) - np.count_nonzero(one) - np.count_nonzero(other) + 1) / (2 * data.n)
        alone = entropy(one), entropy(other)
        found.append(max(0.0, sum(alone) - entropy(joint) - bias) / min(alone))
    return found


def main() -> None:
    """Print one block for each data set."""
    parser = argparse.ArgumentParser(description="The stand-in for LOANS beside real loans.")
    parser.add_argument(
        "--lending-club", metavar="FILE", help="the extract of Lending Club's loans"
    )
    given = parser.parse_args()
    sets = {
        "version 1": th.datasets.loans_like(seed=0, version=1),
        "version 2": th.datasets.loans_like(seed=0, version=2),
    }
    if given.lending_club is not None:
        sets = {"extract": th.datasets.lending_club(given.lending_club), **sets}
    marginals = [list(names) for names in combinations(COLUMNS, 3)][::EVERY]
    for name, data in sets.items():
        commonest = [table.counts.max() / data.n for table in data.counts([(c,) for c in COLUMNS])]
        tables = data.counts([tuple(names) for names in marginals])
        largest = [table.counts.max() / data.n for table in tables]
        filled = [np.count_nonzero(table.counts) for table in tables]
        print(name)
        print("  commonest value, quarters    ", quantiles(commonest, 0.25, 0.5, 0.75))
        print("  dependence, 50 %, 95 %, most ", quantiles(dependence(data), 0.5, 0.95, 1))
        print("  largest cell, 50 %, 90 %, most", quantiles(largest, 0.5, 0.9, 1))
        print("  cells with records, median   ", int(np.median(filled)))


def quantiles(values: list[float], *levels: float) -> str:
    """Some quantiles of a list."""
    return ", ".join(f"{value:.3f}" for value in np.quantile(values, levels))


if __name__ == "__main__":
    main()
