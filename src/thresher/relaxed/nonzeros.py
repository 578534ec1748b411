"""The entries of D' that are not zero, and marginal tables made from them.

A fitted D' is sparse: after 64 marginals of ADULT, a row has 9 of the 85 values of age and 2 of the
9 classes of work. If a row has z_f nonzero values of feature f, and there are d_f values, a table
takes Π z_f steps for the row in place of Π d_f multiply-adds of a matrix product. Derivatives
are needed for all values, because a value that is zero now may be wanted. Those by feature f take
d_f · Π_{g ≠ f} z_g multiply-adds.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.relaxed import nonzero_kernels as kernels

Array = NDArray[Any]

# Steps in units of one multiply-add of a large matrix product. These are ratios of one kind of work
# to another. They are not measured at run time, so that a fit has the same digits on every run.
_ADD_TO_CELL = 40.0
_MULTIPLY_ADD = 7.0
_COMBINATION = 60.0


class Gradient:
    """Derivatives by D', which kernels add up in the layout that suits them.

    Attributes:
        columns: The derivatives as D' is stored (d' × n').

    Example:
        >>> gradient = Gradient(np.zeros((3, 2), np.float32), sizes=(1, 2))
        >>> gradient.by_row(1)[0] += np.array([5.0, 6.0], np.float32)
        >>> gradient.collect()
        >>> gradient.columns.tolist()
        [[0.0, 0.0], [5.0, 0.0], [6.0, 0.0]]
    """

    def __init__(self, columns: NDArray[np.float32], sizes: tuple[int, ...]) -> None:
        self.columns = columns
        self._offsets = _offsets(sizes)
        self._by_row: dict[int, NDArray[np.float32]] = {}

    def by_row(self, feature: int) -> NDArray[np.float32]:
        """The derivatives by one feature that are kept by row (n' × values)."""
        if feature not in self._by_row:
            size = self._offsets[feature + 1] - self._offsets[feature]
            self._by_row[feature] = np.zeros((self.columns.shape[1], size), np.float32)
        return self._by_row[feature]

    def collect(self) -> None:
        """Add what was kept by row to `columns`."""
        for feature, by_row in self._by_row.items():
            begin, end = self._offsets[feature : feature + 2]
            kernels.add_transposed(self.columns[begin:end], by_row)
        self._by_row.clear()


@dataclass(frozen=True, eq=False)
class Nonzeros:
    """The nonzero entries of D', listed by feature and row.

    Attributes:
        sizes: How many values each feature has.
        starts: Where the list of each feature and row begins, and the last one ends (d × n' + 1).
        codes: The values in these lists.
        shares: The entries of D' there.

    Example:
        >>> columns = np.array([[0.5, 1], [0.5, 0], [1, 0], [0, 1]], np.float32)
        >>> Nonzeros.of(columns, (2, 2)).marginal((0, 1)).reshape(2, 2).tolist()
        [[0.25, 0.5], [0.25, 0.0]]
    """

    sizes: tuple[int, ...]
    starts: NDArray[np.int32]
    codes: NDArray[np.uint32]
    shares: NDArray[np.float32]

    @classmethod
    def of(cls, columns: NDArray[np.float32], sizes: tuple[int, ...]) -> "Nonzeros":
        """List the nonzero entries of D' (d' × n')."""
        total = int(np.count_nonzero(columns))
        starts = np.empty((len(sizes), columns.shape[1] + 1), np.int32)
        codes, shares = np.empty(total, np.uint32), np.empty(total, np.float32)
        kernels.list_rows(columns, _offsets(sizes), starts, codes, shares)
        return cls(sizes, starts, codes, shares)

    @property
    def count(self) -> int:
        """n', the number of rows."""
        return int(self.starts.shape[1]) - 1

    @cached_property
    def per_row(self) -> tuple[float, ...]:
        """The mean number of nonzero values of each feature in a row."""
        means: list[float] = ((self.starts[:, -1] - self.starts[:, 0]) / self.count).tolist()
        return tuple(means)

    def work(self, features: Sequence[int], with_gradient: bool = False) -> float:
        """About the work for one row of a marginal, in multiply-adds of a matrix product.

        Args:
            features: The features of the marginal, by position.
            with_gradient: Whether derivatives are needed, too.
        """
        asked = tuple(features), with_gradient
        work = self._works.get(asked)
        if work is None:
            work = self._works[asked] = self._work(features, with_gradient)
        return work

    @cached_property
    def _works(self) -> dict[tuple[tuple[int, ...], bool], float]:
        """What `work` has been asked before: a look at D' asks twice for each table."""
        return {}

    def _work(self, features: Sequence[int], with_gradient: bool) -> float:
        work = _ADD_TO_CELL * prod(self.per_row[feature] for feature in features)
        if with_gradient:
            for feature in features:
                others = prod(self.per_row[other] for other in features if other != feature)
                work += others * (_COMBINATION + _MULTIPLY_ADD * self.sizes[feature])
        return work

    def marginal(self, features: Sequence[int]) -> NDArray[np.float32]:
        """The marginal table over some features, as shares of rows, flat in C order.

        Args:
            features: The features in the order of the axes, by position.
        """
        walk = self._walk(features)
        table = np.zeros(walk.cells, np.float32)
        kernels.fill(
            walk.features,
            walk.strides,
            walk.last,
            walk.last_stride,
            self.starts,
            self.codes,
            self.shares,
            np.float32(1.0 / self.count),
            np.empty(walk.combinations, np.uint64),
            np.empty(walk.combinations, np.float32),
            table,
        )
        return table

    def _walk(self, features: Sequence[int]) -> "_Walk":
        """The longest lists belong to the innermost loop."""
        last = max(features, key=self.per_row.__getitem__)
        return _walk(self.sizes, tuple(features), last)

    def largest_within(
        self, features: Sequence[int], parts: Iterable[Sequence[int]]
    ) -> Iterator[NDArray[np.float32]]:
        """For each cell of some parts of a marginal, its largest cell among those it adds up.

        Args:
            features: The features of the marginal, by position.
            parts: Some of these features each.

        Yields:
            One flat table for each part.
        """
        shape = [self.sizes[feature] for feature in features]
        table = self.marginal(features)
        places, weights = _room(shape)
        part_places = np.empty_like(places)
        for part in parts:
            part_shape = [self.sizes[feature] for feature in part]
            stride_of = dict(zip(part, _strides(part_shape).tolist(), strict=True))
            largest = np.zeros(prod(part_shape), np.float32)
            kernels.raise_to_largest(
                np.array(features, np.int32),
                _strides(shape),
                np.array([stride_of.get(feature, 0) for feature in features], np.uint64),
                self.starts,
                self.codes,
                self.shares,
                places,
                part_places,
                weights,
                table,
                largest,
            )
            yield largest

    def pull_back(
        self,
        features: Sequence[int],
        pull: NDArray[np.float32],
        scale: float,
        gradient: Gradient,
    ) -> None:
        """Add to `gradient` what scale × `pull`, derivatives by a marginal, means for D'.

        Args:
            features: The features in the order of the axes, by position.
            pull: Derivatives by the cells, one axis per feature.
            scale: A factor on all of them.
            gradient: Derivatives by D'.
        """
        for axis, feature in enumerate(features):
            moved = np.ascontiguousarray(np.moveaxis(pull, axis, -1))
            kernels.pull_back(
                np.array([other for other in features if other != feature], np.int32),
                _strides(moved.shape)[:-1],
                self.starts,
                self.codes,
                self.shares,
                np.float32(scale / self.count),
                *_room(moved.shape[:-1]),
                moved.reshape(-1),
                gradient.by_row(feature),
            )


@dataclass(frozen=True, eq=False)
class _Walk:
    """The way of a kernel through the cells of a table.

    Attributes:
        features: All features but one, in the order of the loops.
        strides: From one value of each to the next in the table.
        last: The feature of the innermost loop.
        last_stride: Its stride.
        cells: How many cells the table has.
        combinations: How many values of `features` there are.
    """

    features: NDArray[np.int32]
    strides: NDArray[np.uint64]
    last: int
    last_stride: np.uint64
    cells: int
    combinations: int


@lru_cache(maxsize=1 << 14)
def _walk(sizes: tuple[int, ...], features: tuple[int, ...], last: int) -> _Walk:
    strides = _strides([sizes[feature] for feature in features])
    others = [axis for axis, feature in enumerate(features) if feature != last]
    combinations = prod(sizes[features[axis]] for axis in others)
    return _Walk(
        features=np.array([features[axis] for axis in others], np.int32),
        strides=strides[others],
        last=last,
        last_stride=strides[features.index(last)],
        cells=combinations * sizes[last],
        combinations=combinations,
    )


def _offsets(sizes: Sequence[int]) -> NDArray[np.int64]:
    return np.cumsum([0, *sizes], dtype=np.int64)


def _strides(shape: Sequence[int]) -> NDArray[np.uint64]:
    return np.array([prod(shape[axis + 1 :]) for axis in range(len(shape))], np.uint64)


def _room(shape: Sequence[int]) -> tuple[NDArray[np.uint64], NDArray[np.float32]]:
    """Room for all combinations of values of some features, and three more."""
    return np.empty(prod(shape) + 3, np.uint64), np.empty(prod(shape) + 3, np.float32)
