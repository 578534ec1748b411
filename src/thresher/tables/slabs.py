"""Slabs: a large table cut into boxes that are small, and contiguous in C order."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from thresher.errors import ParameterError

MEMORY_CEILING = 2 << 30
"""Bytes that a table, or the work on one, may take unless the caller says otherwise."""

SLAB_CELLS = 1 << 20
"""Cells of a slab where memory does not ask for fewer: a few megabytes stay in the cache."""


@dataclass(frozen=True)
class Slab:
    """A box of a table: single indices on the first axes, a range on one, the rest whole.

    Such a box is one contiguous run of the table in C order, and so is its image when axes are
    summed out.

    Attributes:
        table: The shape of the whole table.
        ranges: The indices of the box, axis by axis.

    Example:
        >>> [slab.first for slab in slabs_of((2, 3, 4), cells=8)]
        [0, 8, 12, 20]
    """

    table: tuple[int, ...]
    ranges: tuple[range, ...]

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The shape of the box."""
        return tuple(len(indices) for indices in self.ranges)

    @cached_property
    def first(self) -> int:
        """The place of the first cell in the whole table, in C order."""
        place = 0
        for size, indices in zip(self.table, self.ranges, strict=True):
            place = place * size + indices.start
        return place

    @property
    def index(self) -> tuple[slice, ...]:
        """What picks the box out of the whole table."""
        return tuple(slice(indices.start, indices.stop) for indices in self.ranges)

    @cached_property
    def size(self) -> int:
        """The number of cells."""
        return math.prod(self.shape)

    def onto(self, axes: Sequence[int]) -> "Slab":
        """The image of the box in the table over some of the axes."""
        return Slab(tuple(self.table[a] for a in axes), tuple(self.ranges[a] for a in axes))


def slabs_of(shape: Sequence[int], cells: int = SLAB_CELLS) -> Iterator[Slab]:
    """Cut a table into slabs of at most `cells` cells each, in C order."""
    if cells < 1:
        raise ParameterError(f"a slab needs room for at least one cell, not {cells}")
    shape = tuple(shape)
    axis = 0  # the axis along which slabs are ranges; those before it are single indices
    while axis < len(shape) - 1 and math.prod(shape[axis + 1 :]) > cells:
        axis += 1
    step = max(1, cells // math.prod(shape[axis + 1 :]))
    whole = tuple(range(size) for size in shape[axis + 1 :])
    for prefix in _indices(shape[:axis]):
        fixed = tuple(range(i, i + 1) for i in prefix)
        for start in range(0, shape[axis], step):
            yield Slab(shape, (*fixed, range(start, min(start + step, shape[axis])), *whole))


def _indices(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    if not shape:
        yield ()
        return
    for i in range(shape[0]):
        for rest in _indices(shape[1:]):
            yield (i, *rest)
