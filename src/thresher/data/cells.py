"""Private records that have no schema yet: how often each cell occurs, column by column.

A private draft asks about one column at a time, so this is all that it needs. Columns of a type
that has no spelling (lists, bytes) are set aside by that type, which the source declares.
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from thresher.data.batches import Batches
from thresher.data.private import FeatureSet, Progress
from thresher.data.reading import open_batches
from thresher.errors import DataError
from thresher.schema import Schema
from thresher.schema.cells import number_of
from thresher.schema.draft.survey import can_be_category, survey_code, survey_feature
from thresher.schema.labels import is_label
from thresher.tables.sparse import SparseTable
from thresher.wording import shown

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, repr=False, eq=False)
class Cells:
    """The cells of n private records, without the way in which they belong together.

    Only the number of records, the names of the columns and the schema may be told. The schema is
    the public scale of `thresher.schema.draft.survey`, one feature for each column.

    Example:
        >>> import pandas as pd
        >>> read_cells(pd.DataFrame({"sex": ["F", "M", None]}))
        Cells(3 records, 1 columns)
    """

    schema: Schema
    n: int
    columns: Mapping[str, Mapping[str, int]]
    unreadable: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Cells({self.n} records, {len(self.columns)} columns)"

    def __iter__(self) -> NoReturn:
        raise TypeError("records are private and are not iterated")

    def values(self, name: str) -> tuple[list[str], Counts]:
        """The texts of a column that can be categories, in order, and their cells. Not private."""
        kept = sorted(text for text in self.columns[name] if can_be_category(text))
        counts = [self.columns[name][text] for text in kept]
        return kept, np.array(counts, dtype=np.int64)

    def numbers(self, name: str) -> tuple[npt.NDArray[np.float64], Counts]:
        """The finite numbers of a column, ascending, and their cells. Not private."""
        counted: Counter[float] = Counter()
        for text, cells in self.columns[name].items():
            number = number_of(text)
            if np.isfinite(number):
                counted[number] += cells
        ascending = sorted(counted)
        counts = [counted[number] for number in ascending]
        return np.array(ascending, dtype=np.float64), np.array(counts, dtype=np.int64)

    def counts(
        self, feature_sets: Sequence[FeatureSet], progress: Progress | None = None
    ) -> list[SparseTable]:
        """Count tables of single columns. Not private: for the privacy wall."""
        if any(len(features) != 1 for features in feature_sets):
            raise DataError("records without a schema are counted column by column only")
        return [self._survey(name) for (name,) in feature_sets]

    def _survey(self, name: str) -> SparseTable:
        counted: Counter[int] = Counter()
        for text, cells in self.columns[name].items():
            counted[survey_code(text)] += cells
        codes = np.array(sorted(counted), dtype=np.int64)
        counts = np.array([counted[int(code)] for code in codes], dtype=np.int64)
        return SparseTable((self.schema[name].size,), codes, counts)


def read_cells(
    source: Any,
    columns: Collection[str] | None = None,
    progress: Progress | None = None,
    *,
    line_breaks_in_cells: bool = False,
) -> Cells:
    """Read private records for a private draft of their schema.

    Args:
        source: What `thresher.read` takes.
        columns: The columns to read; None for all that the source declares.
        progress: Called with the number of records read so far.
        line_breaks_in_cells: As for `thresher.read`.

    Example:
        >>> import pandas as pd
        >>> read_cells(pd.DataFrame({"sex": ["F", "M"], "age": [30, 41]}), ["age"]).schema.names
        ('age',)
    """
    from thresher.schema.coding import spellings_of

    with ExitStack() as stack:
        opened = open_batches(source, stack, columns, line_breaks_in_cells=line_breaks_in_cells)
        if columns is None:
            _refuse_private_names(opened)
        names = opened.columns if columns is None else list(columns)
        for name in names:
            if name not in opened.columns:
                raise DataError(f"{opened.described} has no column {shown(name)}: see its header")
        counted: dict[str, Counter[str]] = {name: Counter() for name in names}
        unreadable = {name for name in names if not is_label(name)}
        rows = 0
        for batch in opened.batches:
            for name in names:
                if name in unreadable:
                    continue
                try:
                    spelled = spellings_of(name, batch.column(name))
                except DataError:  # of a declared type that has no spelling
                    unreadable.add(name)
                else:
                    _add(counted[name], spelled)
            rows += len(batch)
            if progress:
                progress(rows)
    if not rows:
        raise DataError(f"{opened.described} holds no records")
    readable = {name: counted[name] for name in names if name not in unreadable}
    if not readable:
        raise DataError(f"{opened.described} has no column that could be a feature")
    schema = Schema([survey_feature(name) for name in readable])
    return Cells(schema, rows, readable, tuple(name for name in names if name in unreadable))


def _refuse_private_names(opened: Batches) -> None:
    """Refuse to take names for public that are a part of the records."""
    if opened.names_in_records:
        raise DataError(
            f"{opened.described}: its records name their columns, so that a name can tell about a "
            "single record: list the columns to describe (--columns)"
        )
    if any(math.isfinite(number_of(name)) for name in opened.columns):
        raise DataError(
            f"{opened.described}: a column has a number for its name. If there is no header line, "
            "the names are somebody's record: add one, or list the columns to describe (--columns)"
        )


def _add(counted: Counter[str], spelled: Any) -> None:
    for pair in spelled.value_counts().to_pylist():
        counted[pair["values"] or ""] += pair["counts"]
