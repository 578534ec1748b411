"""Match counts of a group of features, for every combination of their values and every row.

The building block of whole tables. For a group of g features and a cell c (one value for each),
E_j[c, row] is the probability that exactly j of the group's features take the cell's values. One
feature extends a group by the step of the Poisson-binomial dynamic programme

    E'_j[(c, v)] = E_j[c] · (1 - x_v) + E_{j-1}[c] · x_v ,

and its transpose carries derivatives back. Only the window of counts j that a table needs is
computed. The first feature of a group needs no arithmetic (E_1 = x, E_0 = 1 - x), so tables of one
or two features do without compiled kernels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class MatchCounts:
    """E_j[c, row] of a group of features, with the steps that led to it.

    Attributes:
        windows: After 0, 1, …, g features, the window of E (states × cells × rows), float32. Each
            has only the cells that the cells asked for are made of.
        lows: The smallest count j in each window.
        begins: The first cell in each window.
        blocks: The features' columns of D'.
    """

    windows: tuple[Array, ...]
    lows: tuple[int, ...]
    begins: tuple[int, ...]
    blocks: tuple[Array, ...]

    @property
    def last(self) -> Array:
        """The window of E over the cells asked for (states × cells × rows)."""
        return self.windows[-1]

    def pull_back(self, pull: Array, into: Sequence[Array]) -> None:
        """Add to each of `into`, like `blocks`, the derivatives that `pull` by `last` imply."""
        for last in range(len(self.blocks) - 1, 0, -1):
            pull = self._pull_back_one(last, pull, into[last])
        if self.blocks:
            first = into[0][self.begins[1] : self.begins[1] + pull.shape[1]]
            for count, given in enumerate(pull, start=self.lows[1]):
                if count:
                    first += given
                else:
                    first -= given

    def _pull_back_one(self, last: int, pull: Array, into: Array) -> Array:
        """Take the feature at position `last` off: its derivatives, and those of the rest."""
        # numba takes half a second to import: only tables of three features or more need it.
        from thresher.relaxed.counting_kernels import retract

        counts, block = self.windows[last], self.blocks[last]
        pull_counts = np.zeros_like(counts)
        low, new_low = self.lows[last : last + 2]
        first, begin = self.begins[last : last + 2]
        retract(counts, low, first, block, begin, new_low, pull, pull_counts, into)
        return pull_counts


def count_matches(
    blocks: Sequence[Array], low: int, high: int, cells: range | None = None
) -> MatchCounts:
    """P(exactly j matches) for j in low..high, for every cell of a group and every row.

    Args:
        blocks: The columns of D' of each feature of the group (values × n'), at least one.
        low: Smallest count of interest.
        high: Largest count of interest, at most the number of features.
        cells: Which cells, in C order of the group's values; all when left out.

    Returns:
        The counts, ready to be differentiated.

    Example:
        >>> first = np.array([[0.5], [0.5]], np.float32)
        >>> second = np.array([[0.25], [0.75]], np.float32)
        >>> count_matches([first, second], 2, 2).last.ravel().tolist()
        [0.125, 0.375, 0.125, 0.375]
    """
    total = int(np.prod([len(block) for block in blocks]))
    spans = [range(total) if cells is None else cells]
    for block in reversed(blocks):
        spans.append(range(spans[-1].start // len(block), -(-spans[-1].stop // len(block))))
    spans.reverse()
    windows: list[Array] = [np.ones((1, 1, blocks[0].shape[1]), np.float32)]
    lows = [0]
    for done, block in enumerate(blocks, start=1):
        new_low = max(0, low - (len(blocks) - done))
        counts = range(new_low, min(done, high) + 1)
        if done == 1:
            windows.append(_of_one_feature(block[spans[1].start : spans[1].stop], counts))
        else:
            windows.append(
                _extended(windows[-1], lows[-1], spans[done - 1], block, spans[done], counts)
            )
        lows.append(new_low)
    begins = tuple(span.start for span in spans)
    return MatchCounts(tuple(windows), tuple(lows), begins, tuple(blocks))


def _of_one_feature(block: Array, counts: range) -> Array:
    """The window of E for a group of one feature."""
    if counts == range(1, 2):
        return block[None]
    return np.stack([block if count else np.float32(1.0) - block for count in counts])


def _extended(
    window: Array, low: int, cells: range, block: Array, new_cells: range, counts: range
) -> Array:
    """The window of E for a group with one more feature."""
    # numba takes half a second to import: only tables of three features or more need it.
    from thresher.relaxed.counting_kernels import extend

    extended = np.empty((len(counts), len(new_cells), block.shape[1]), np.float32)
    extend(window, low, cells.start, block, new_cells.start, counts.start, extended)
    return extended
