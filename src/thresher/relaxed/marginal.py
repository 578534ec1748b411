"""The marginal table of D' over some features: in slabs, or as a list of its heavy cells."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from thresher.queries.threshold import Threshold
from thresher.relaxed.heavy_cells import SparseRows
from thresher.relaxed.rows import RelaxedRows
from thresher.relaxed.tables import TableOnRows, nonzeros_take_less
from thresher.schema import Schema
from thresher.tables.listing import Cells, ListedAnswers
from thresher.tables.slabs import Slab, slabs_of
from thresher.tables.threshold_table import Table

STEP = 32.0
"""A multiply-add of the search takes as long as so many of a matrix product."""

CELL = 100.0
"""Looking at a cell of a walked table takes as long as so many multiply-adds of a product."""


WORTH_TRYING = 0.25
"""If the search has taken this part of the time of a walk, it is given up, and the table walked."""


class WalkedTable:
    """The answers of D' to all consistent queries of a threshold, slab by slab.

    Args:
        rows: D'; must not change while this object is used.
        schema: The features of D'.
        threshold: The threshold.

    Attributes:
        rows: D'.
    """

    def __init__(self, rows: RelaxedRows, schema: Schema, threshold: Threshold) -> None:
        self.rows = rows
        self._table = TableOnRows(rows, schema, threshold)

    def __call__(self, slab: Slab) -> Table:
        """The answers to the cells of a slab."""
        width = self._table.cells[1]
        leading = range(slab.first // width, -(-(slab.first + slab.size) // width))
        start = slab.first - leading.start * width
        cells = self._table.slab(leading).reshape(-1)[start : start + slab.size]
        return cells.reshape(slab.shape)


class MarginalOnRows:
    """The marginal table of D' over some features, in slabs or as a list.

    In slabs, an answer is a float32 sum, by a matrix product or, for a whole table, by the nonzero
    entries of D'. Where a search found it, it is a sum in double precision, rounded to float32. So
    the two can differ in the last digits of float32.

    Args:
        sparse: D', with its nonzero numbers.
        schema: The features of D'.
        threshold: The threshold, with r = k.
    """

    def __init__(self, sparse: SparseRows, schema: Schema, threshold: Threshold) -> None:
        self._sparse, self._schema, self._threshold = sparse, schema, threshold
        self._features = [schema.index(name) for name in threshold.features]

    @cached_property
    def _walked(self) -> WalkedTable:
        """Made when the first slab is asked for: it can take much more memory than a list."""
        return WalkedTable(self._sparse.rows, self._schema, self._threshold)

    def __call__(self, slab: Slab) -> Table:
        """The answers to the cells of a slab."""
        rows = self._sparse.rows
        if slab.shape == self._threshold.shape(self._schema) and nonzeros_take_less(
            rows, self._schema, self._threshold
        ):
            return rows.nonzeros.marginal(self._features).reshape(slab.shape)
        return self._walked(slab)

    def listed(self, least: float) -> ListedAnswers:
        """All cells with at least so much mass: by search, or by walking if that is faster."""
        cells = self._threshold.query_count(self._schema)
        walking = cells * (self._sparse.rows.count + CELL)
        if all(self._sparse.columns(feature).are_shares for feature in self._features):
            most_steps = WORTH_TRYING * walking / STEP
            found = self._sparse.heavy_cells(self._features, least, most_steps)
            if found is not None:
                return ListedAnswers(found[0], found[1].astype(np.float32))
        return self._listed_by_walking(np.float32(least))

    def _listed_by_walking(self, least: np.float32) -> ListedAnswers:
        cells, answers = [], []
        for slab in slabs_of(self._threshold.shape(self._schema)):
            here = self._walked(slab).reshape(-1)
            large = np.flatnonzero(here >= least)
            cells.append(large + slab.first)
            answers.append(here[large])
        return ListedAnswers(np.concatenate(cells), np.concatenate(answers))

    def at(self, cells: Cells) -> NDArray[np.float32]:
        """The masses of some cells."""
        return self._sparse.masses_at(self._features, cells).astype(np.float32)
