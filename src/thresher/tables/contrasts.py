"""Helmert contrasts: what a marginal table says beyond its margins, in independent whole numbers.

Along an axis of d values, the contrasts of x_0, …, x_(d-1) are

    K_j = x_0 + … + x_(j-1) - j·x_j        for j = 1, …, d - 1,

products with the vectors b_j = (1, …, 1, -j, 0, …, 0). These vectors are orthogonal to each other
and to (1, …, 1), and |b_j|² = j·(j + 1). Taken along every axis of a table, contrasts are products
with b_j ⊗ b_k ⊗ …, which form an orthogonal basis of the *residual space* of the table: that of all
tables whose margins along every axis are 0. So they say the same as the residual table (the table
with its margins taken out along every axis), but there are only Π(d_i - 1) of them, each is a whole
number if counts are, and with K_0 = x_0 + … + x_(d-1) they determine the table.

Noise that is independent in each contrast, with a variance of σ²·|b|², is noise of variance σ² in
every direction of the residual space (see `privacy.residuals`).
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt


def contrasts_of(table: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The contrasts of a table along every axis; an axis of d values becomes one of d - 1.

    Example:
        >>> contrasts_of(np.array([5, 3, 1]))
        array([2, 6])
        >>> contrasts_of(np.array([[5, 3], [1, 1]]))
        array([[2]])
    """
    for axis in range(table.ndim):
        along = np.moveaxis(table, axis, -1)
        places = np.arange(1, along.shape[-1])
        before = np.cumsum(along, axis=-1)[..., :-1]
        table = np.moveaxis(before - places * along[..., 1:], -1, axis)
    return np.ascontiguousarray(table)


def squared_norms(shape: Sequence[int]) -> npt.NDArray[np.int64]:
    """|b|² for every contrast of a table of some shape.

    Example:
        >>> squared_norms((3, 2))
        array([[ 4],
               [12]])
    """
    norms = np.ones((1,) * len(shape), dtype=np.int64)
    for axis, size in enumerate(shape):
        places = np.arange(1, size, dtype=np.int64)
        norms = norms * np.expand_dims(
            places * (places + 1), [a for a in range(len(shape)) if a != axis]
        )
    return norms


def table_of(
    shape: Sequence[int], parts: Mapping[tuple[int, ...], npt.NDArray[np.int64]]
) -> npt.NDArray[np.float64]:
    """The table that has these contrasts: the inverse of `contrasts_of` on it and all its margins.

    With noisy contrasts it is the best linear unbiased estimate of the table, because contrasts
    of different margins have nothing in common.

    Args:
        shape: The shape of the table.
        parts: For every subset of the axes, ascending, the contrasts of the margin over them; for
            the empty subset, the total.

    Example:
        >>> table = np.array([[5, 3], [1, 1]])
        >>> parts = {(): np.array(10), (0,): contrasts_of(table.sum(axis=1))}
        >>> parts |= {(1,): contrasts_of(table.sum(axis=0)), (0, 1): contrasts_of(table)}
        >>> table_of((2, 2), parts).tolist()
        [[5.0, 3.0], [1.0, 1.0]]
    """
    table = np.empty(tuple(shape), dtype=np.float64)
    for axes in subsets(tuple(range(len(shape)))):
        part = np.expand_dims(parts[axes], [a for a in range(len(shape)) if a not in axes])
        table[tuple(slice(1, None) if a in axes else slice(0, 1) for a in range(len(shape)))] = part
    for axis, size in enumerate(shape):
        along = np.moveaxis(table, axis, -1)
        places = np.arange(1, size)
        mean, scaled = along[..., :1] / size, along[..., 1:] / (places + 1)
        after = np.zeros_like(along)
        after[..., :-1] = np.cumsum((scaled / places)[..., ::-1], axis=-1)[..., ::-1]
        after[..., 1:] -= scaled
        table = np.moveaxis(mean + after, -1, axis)
    return np.ascontiguousarray(table)


def joined(
    features: tuple[str, ...],
    sizes: Sequence[int],
    known: Mapping[tuple[str, ...], npt.NDArray[np.int64]],
    total: int,
) -> npt.NDArray[np.float64]:
    """The table over some features that has these contrasts, and adds up to a total.

    Args:
        features: The features.
        sizes: Their numbers of values.
        known: Contrasts by features, among them all subsets of those with more than one value, in
            the same order.
        total: What the table adds up to.

    Example:
        >>> joined(("a",), (2,), {("a",): np.array([4])}, 10).tolist()
        [7.0, 3.0]
    """
    parts = {}
    for places in subsets(tuple(range(len(features)))):
        shape = tuple(sizes[i] - 1 for i in places)
        # A feature with a single value has no contrasts.
        nothing = np.full(shape, total) if not places else np.zeros(shape, dtype=np.int64)
        parts[places] = (
            known[tuple(features[i] for i in places)] if places and all(shape) else nothing
        )
    return table_of(sizes, parts)


def subsets(members: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """All subsets, the smallest first.

    Example:
        >>> list(subsets((0, 1)))
        [(), (0,), (1,), (0, 1)]
    """
    sizes = range(len(members) + 1)
    return itertools.chain.from_iterable(itertools.combinations(members, size) for size in sizes)


def answer_variances(
    sizes: Sequence[int], allowed: Sequence[int], r: int
) -> dict[tuple[int, ...], float]:
    """What the residual over each subset of a query's features adds to the variance of its answer.

    The query asks for at least r of k conditions, each of which allows `allowed[i]` of `sizes[i]`
    values. Its indicator is a function of the k events "condition i holds". Written in these events
    less their means over the domain, the term of a subset A has the factor

        η_A = Σ_j (-1)^(|A|-j)·C(|A|, j)·P[at least r - j of the conditions outside of A hold],

    P for values that are drawn uniformly, and the event of condition i less its mean has the
    squared norm c_i·(1 - c_i/d_i). For r = k it is Π_{i∈A} c_i·(1 - c_i/d_i)·Π_{j∉A} (c_j/d_j)².

    Args:
        sizes: The features' numbers of values.
        allowed: How many of these each condition allows.
        r: How many conditions must hold.

    Returns:
        For every subset of the features, by place, the factor of its noise variance.

    Example:
        >>> answer_variances((4, 2), (1, 1), 2)
        {(): 0.015625, (0,): 0.1875, (1,): 0.03125, (0, 1): 0.375}
    """
    places = tuple(range(len(sizes)))
    shares = [meeting / size for meeting, size in zip(allowed, sizes, strict=True)]
    found = {}
    for inside in subsets(places):
        at_least = _at_least([shares[i] for i in places if i not in inside])
        k = len(inside)
        factor = sum((-1) ** (k - j) * math.comb(k, j) * at_least(r - j) for j in range(k + 1))
        norm = math.prod(allowed[i] * (1 - shares[i]) for i in inside)
        found[inside] = factor**2 * norm
    return found


def _at_least(chances: Sequence[float]) -> Callable[[int], float]:
    """The chance that at least so many of some independent events happen."""
    exactly = [1.0]
    for chance in chances:
        without = [value * (1 - chance) for value in exactly]
        with_ = [value * chance for value in exactly]
        exactly = [a + b for a, b in zip([*without, 0.0], [0.0, *with_], strict=True)]
    return lambda least: 1.0 if least <= 0 else sum(exactly[least:])
