"""How the features of a table are split in two groups, so that a matrix product gives the table.

Split the k features of a threshold in two groups, leading and trailing. On one row, at least r
of k match if r of the trailing group do, or exactly r - i of them while at least i of the leading
group do. So with F_i = P(at least i of the leading group), E_j = P(exactly j of the trailing
group) and G_r = P(at least r of the trailing group),

    T_r(y) = mean over rows of  G_r[y_trailing] + Σ_i F_i[y_leading] · E_{r-i}[y_trailing] ,

a matrix product of leading cells × rows with rows × trailing cells. For r = k, r = 1, and for any
r when a group is a single feature, the sum has one term. Unlike in the inclusion–exclusion form,
no large terms cancel. The identity also holds for numbers outside the simplex.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod

from thresher.tables.slabs import SLAB_CELLS

# One cell of a group costs about as much as this many multiply-adds per row in a matrix product.
_GROUP_CELL_COST = 25


@dataclass(frozen=True)
class TableSplit:
    """One way to split a table, and the match counts that each side needs for it.

    Attributes:
        leading: How many values each leading feature has.
        trailing: How many values each trailing feature has; empty when k = 1.
        r: How many of all the features must match.
    """

    leading: tuple[int, ...]
    trailing: tuple[int, ...]
    r: int

    @cached_property
    def terms(self) -> range:
        """The i of the sum: at least i leading features match, and exactly r - i trailing ones."""
        return range(max(1, self.r - len(self.trailing)), min(len(self.leading), self.r) + 1)

    @property
    def has_base(self) -> bool:
        """Whether the trailing group alone can have r matches, so that there is a term G_r."""
        return self.r <= len(self.trailing)

    @property
    def leading_from_below(self) -> bool:
        """Whether F_i takes less work as 1 - P(fewer than i) than as P(i or more)."""
        return self.terms[-1] < len(self.leading) - self.terms[0] + 1

    @property
    def leading_window(self) -> tuple[int, int]:
        """The counts of leading matches that F_i is made of."""
        if self.leading_from_below:
            return 0, self.terms[-1] - 1
        return self.terms[0], len(self.leading)

    @property
    def trailing_window(self) -> tuple[int, int]:
        """The counts of trailing matches that E_{r-i} and 1 - G_r are made of."""
        return 0 if self.has_base else self.r - self.terms[-1], self.r - self.terms[0]

    @property
    def cells(self) -> tuple[int, int]:
        """Number of leading and of trailing cells."""
        return prod(self.leading), prod(self.trailing)

    @cached_property
    def cost(self) -> int:
        """Work for each row, in multiply-adds of a matrix product."""
        leading, trailing = self.cells
        low, high = self.leading_window
        group_work = leading * (high - low + 1)
        low, high = self.trailing_window
        group_work += trailing * (high - low + 1)
        # The product of every slab reads the whole trailing side again.
        group_work += len(self.terms) * trailing * (leading * trailing // SLAB_CELLS)
        return len(self.terms) * leading * trailing + _GROUP_CELL_COST * group_work


@lru_cache(maxsize=1 << 12)
def split_table(shape: tuple[int, ...], r: int) -> TableSplit:
    """Split a table's features where the work is least.

    Args:
        shape: How many values each of the threshold's features has.
        r: How many of them must match.

    Example:
        >>> split_table((50, 40, 2), r=3).leading
        (50,)
    """
    cuts = range(1, max(2, len(shape)))
    splits = [TableSplit(shape[:cut], shape[cut:], r) for cut in cuts]
    return min(splits, key=lambda split: split.cost)
