"""What speaks against a fit, said before anything is paid for: it is impossible, or wasteful."""

from collections.abc import Iterator, Sequence

from thresher.planning.trial import ExpectedFit
from thresher.privacy.statement import Statement
from thresher.queries.workload import Workload

NO_BETTER = 0.5
"""A largest error of more than this part of All-0's is hardly worth a budget."""

CELLS_PER_RECORD = 100
"""A table with more cells for each record than this is nearly empty."""

MANY_THRESHOLDS = 100_000
"""So many thresholds are more than anybody asks for by name."""


def doubts_about(
    fits: Sequence[ExpectedFit], workload: Workload, n: int, account: Statement | None
) -> Iterator[str]:
    """Every doubt in a line, with what to do about it.

    Args:
        fits: The fits that were forecast.
        workload: The thresholds.
        n: The number of records or persons.
        account: What the ledger says, if there is one.

    Example:
        >>> import thresher as th
        >>> schema = th.datasets.adult_schema()
        >>> work = th.Workload(schema, [th.Threshold(("age", "fnlwgt", "hours-per-week"))])
        >>> [doubt] = doubts_about([], work, 500, None)
        >>> doubt.startswith("1 of 1 thresholds: the table has more than 100 cells per record")
        True
    """
    for fit in fits:
        named = f"epsilon {fit.epsilon:g}"
        if fit.impossible:
            yield f"{named}: {fit.impossible}"
        if fit.errors is not None and fit.errors.largest > NO_BETTER * fit.errors.of_zeros:
            yield (
                f"{named} is too small for {n:,} people: the largest error, "
                f"{fit.errors.largest:.2g}, is near that of answering 0 to everything, "
                f"{fit.errors.of_zeros:.2g}; take a larger epsilon, or fewer thresholds"
            )
        if account is not None and fit.rho > account.remaining:
            yield (
                f"{named} costs rho {float(fit.rho):.4g}, and the ledger has "
                f"{float(account.remaining):.4g} left: it would be refused"
            )
    cells = [threshold.query_count(workload.schema) for threshold in workload]
    large = sum(count > CELLS_PER_RECORD * n for count in cells)
    if large:
        yield (
            f"{large:,} of {len(cells):,} thresholds: the table has more than {CELLS_PER_RECORD} "
            "cells per record, nearly all of them empty; coarsen the features, or take fewer at a "
            "time"
        )
    if len(cells) > MANY_THRESHOLDS:
        yield (
            f"{len(cells):,} thresholds share one budget: take those that somebody will ask for "
            "(`thresher workload from-log`, or `random --size 256`)"
        )
