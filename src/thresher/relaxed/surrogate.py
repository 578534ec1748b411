"""Surrogate queries, readable: the paper's polynomial threshold query in three equal forms.

Each function takes the match probabilities of one query, an array (k × rows) with entries of D',
and gives φ̂(x) for every row x. On one-hot rows all of them equal the query's predicate: they are
the paper's equivalent extended differentiable queries. On probabilities they are polynomials that
give the probability of at least r of k independent matches.

The kernels run the dynamic programme, and are tested against these forms. `row_answers` calls it
here where queries are few.
"""

from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.errors import ParameterError

Probabilities = NDArray[np.floating[Any]]


def _check_threshold(matches: Probabilities, r: int) -> None:
    if not 1 <= r <= matches.shape[0]:
        raise ParameterError(f"r={r}: a query on k={matches.shape[0]} features needs 1 <= r <= k")


def product_query(matches: Probabilities) -> Probabilities:
    """φ̂_T, the product query: the surrogate of a k-way marginal query (r = k).

    Example:
        >>> float(product_query(np.array([[0.5], [0.5]]))[0])
        0.25
    """
    product: Probabilities = np.prod(matches, axis=0)
    return product


def generalized_product_query(
    matches: Probabilities, positive: tuple[int, ...], negated: tuple[int, ...]
) -> Probabilities:
    """φ̂_{T+,T-}: the positive features match, and the negated do not.

    Example:
        >>> float(generalized_product_query(np.array([[0.5], [0.2]]), (0,), (1,))[0])
        0.4
    """
    return product_query(matches[list(positive)]) * product_query(1.0 - matches[list(negated)])


def threshold_by_partitions(matches: Probabilities, r: int) -> Probabilities:
    """Definition of the polynomial threshold query: every way to have at least r matches.

    Example:
        >>> float(threshold_by_partitions(np.array([[0.5], [0.5], [0.5]]), 2)[0])
        0.5
    """
    _check_threshold(matches, r)
    features = range(matches.shape[0])
    total: Probabilities = np.zeros_like(matches[0])
    for size in range(r, len(features) + 1):
        for positive in combinations(features, size):
            negated = tuple(set(features) - set(positive))
            total = total + generalized_product_query(matches, positive, negated)
    return total


def threshold_by_inclusion_exclusion(matches: Probabilities, r: int) -> Probabilities:
    """The paper's faster form: product queries only, and the complement where r is small.

    At least r of k match unless at least r' = k - r + 1 of them do not, so the sum is only needed
    for r > k/2.

    Example:
        >>> float(threshold_by_inclusion_exclusion(np.array([[0.5], [0.5], [0.5]]), 2)[0])
        0.5
    """
    _check_threshold(matches, r)
    k = matches.shape[0]
    if 2 * r <= k:
        return 1.0 - threshold_by_inclusion_exclusion(1.0 - matches, k - r + 1)
    total: Probabilities = np.zeros_like(matches[0])
    for size in range(r, k + 1):
        coefficient = (-1) ** (size - r) * comb(size - 1, size - r)
        for subset in combinations(range(k), size):
            total = total + coefficient * product_query(matches[list(subset)])
    return total


def threshold_by_counting(matches: Probabilities, r: int) -> Probabilities:
    """Poisson-binomial dynamic programme: O(k·r) for each row, so that k = 20 is no trouble.

    It counts matches or mismatches, whichever needs fewer states, as the kernels do.

    Example:
        >>> float(threshold_by_counting(np.full((20, 1), 0.5), 10)[0])
        0.5880985260009766
    """
    _check_threshold(matches, r)
    k = matches.shape[0]
    count_mismatches = k - r + 1 <= r
    states = k - r + 1 if count_mismatches else r
    counts = np.zeros((states, *matches.shape[1:]), matches.dtype)
    counts[0] = 1.0
    for match in matches:
        not_counted = match if count_mismatches else 1.0 - match
        if states > 1:
            counts[1:] = counts[1:] * not_counted + counts[:-1] * (1.0 - not_counted)
        counts[0] *= not_counted
    fewer: Probabilities = counts.sum(axis=0) if states > 1 else counts[0]
    return fewer if count_mismatches else 1.0 - fewer


def threshold_gradient(matches: Probabilities, r: int) -> Probabilities:
    """Derivatives of φ̂_{T,r} by each match: P(exactly r - 1 of the others match).

    Example:
        >>> threshold_gradient(np.array([[0.5], [0.25]]), 2).ravel().tolist()
        [0.25, 0.5]
    """
    _check_threshold(matches, r)
    gradient = np.empty_like(matches)
    for position in range(matches.shape[0]):
        others = np.delete(matches, position, axis=0)
        at_least_r_less_one = threshold_by_counting(others, r - 1) if r > 1 else 1.0
        at_least_r = threshold_by_counting(others, r) if r <= len(others) else 0.0
        gradient[position] = at_least_r_less_one - at_least_r
    return gradient
