"""The tables that may be measured for a workload."""

from collections.abc import Collection, Iterator
from itertools import combinations
from math import comb

from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.schema import Schema

MOST_SUBSETS = 5000
"""The most subsets of one size of a threshold's features that are listed.

A wide threshold has too many; of those, only the smaller sizes are listed.
"""


def candidates_of(workload: Workload, largest: int) -> dict[Threshold, int]:
    """The candidates of the rounds: marginals over two or more features of some threshold.

    A table of an r-of-k threshold is a sum of marginals over r or more of its features. So the
    same candidates serve every r.

    Args:
        workload: The thresholds.
        largest: The most cells of a candidate.

    Returns:
        The candidates with their numbers of cells.

    Example:
        >>> from thresher.data.datasets import adult_schema
        >>> work = Workload(adult_schema(), [Threshold(("sex", "race", "education-num"))])
        >>> [table.features for table in candidates_of(work, largest=40)]
        [('education-num', 'sex'), ('race', 'sex')]
    """
    found = {}
    for threshold in workload:
        for table in subsets_of(threshold, workload.schema):
            cells = table.query_count(workload.schema)
            if 1 < cells <= largest:
                found[table] = cells
    return found


def smallest_pairs(
    workload: Workload, known: Collection[Threshold], largest: int
) -> dict[Threshold, int]:
    """The smallest table over two features of each threshold of which no pair is known.

    Args:
        workload: The thresholds.
        known: Tables that are candidates or measured in any case.
        largest: The most cells of such a table. A threshold without one gets none.

    Returns:
        The tables with their numbers of cells.

    Example:
        >>> from thresher.data.datasets import adult_schema
        >>> work = Workload(adult_schema(), [Threshold(("age", "fnlwgt", "hours-per-week"))])
        >>> [table.features for table in smallest_pairs(work, known=(), largest=10**6)]
        [('age', 'hours-per-week')]
    """
    sets = {frozenset(table.features) for table in known}
    found = {}
    for threshold in workload:
        if threshold.k == 1 or frozenset(threshold.features) in sets:
            continue
        pairs = list(marginals_of(threshold, 2, workload.schema))
        if any(frozenset(pair.features) in sets for pair in pairs):
            continue
        cells = {pair: pair.query_count(workload.schema) for pair in pairs}
        smallest = min(pairs, key=lambda pair: cells[pair])
        if 1 < cells[smallest] <= largest:
            found[smallest] = cells[smallest]
    return found


def subsets_of(threshold: Threshold, schema: Schema) -> Iterator[Threshold]:
    """The marginals over two or more features of a threshold, in the schema's order."""
    for size in range(2, threshold.k + 1):
        if comb(threshold.k, size) > MOST_SUBSETS:
            break
        yield from marginals_of(threshold, size, schema)


def workload_tables_of(threshold: Threshold, schema: Schema) -> Iterator[Threshold]:
    """The tables that a threshold's answers need most.

    A marginal needs itself. An r-of-k table is a sum of marginals over r and more features, so it
    needs those over r features, or over two if r = 1: one-way tables are measured in any case.

    Example:
        >>> from thresher.data.datasets import adult_schema
        >>> threshold = Threshold(("sex", "race", "income"), r=2)
        >>> [table.features for table in workload_tables_of(threshold, adult_schema())]
        [('race', 'sex'), ('race', 'income'), ('sex', 'income')]
    """
    size = threshold.k if threshold.r == threshold.k else max(2, threshold.r)
    return marginals_of(threshold, size if comb(threshold.k, size) <= MOST_SUBSETS else 2, schema)


def marginals_of(threshold: Threshold, size: int, schema: Schema) -> Iterator[Threshold]:
    """The marginals over so many of a threshold's features, in the schema's order."""
    return map(Threshold, combinations(sorted(threshold.features, key=schema.index), size))


def one_way_tables(workload: Workload) -> tuple[tuple[Threshold, ...], tuple[Threshold, ...]]:
    """The one-way tables of what the workload names, views too, and those of other features."""
    named = {name for threshold in workload for name in threshold.features}
    names = (name for name in workload.schema.all_names if name in {*workload.schema.names, *named})
    tables = [Threshold((name,)) for name in names]
    return (
        tuple(table for table in tables if table.features[0] in named),
        tuple(table for table in tables if table.features[0] not in named),
    )
