"""Private records that have no schema yet: how often each cell occurs, column by column.

A private draft asks about one column at a time, so this is all that it needs. Where a person can
have several rows, these stay together until the wall has chosen which of them count.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from thresher.data.persons import PersonColumn, PersonRows, hashes_of
from thresher.data.private import FeatureSet, Progress
from thresher.data.spelled import Spelled, SpelledCounts
from thresher.errors import DataError
from thresher.schema import Schema
from thresher.schema.cells import number_of
from thresher.schema.draft.survey import can_be_category, survey_code
from thresher.schema.feature import Codes
from thresher.tables.sparse import SparseTable

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, repr=False, eq=False)
class Cells:
    """The cells of n private records, without the way in which they belong together.

    Only the number of records, the names of the columns and the schema may be told. The schema is
    the public scale of `thresher.schema.draft.survey`, one feature for each column.

    Example:
        >>> import pandas as pd
        >>> from thresher.data.cell_reading import read_cells
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


@dataclass(frozen=True, repr=False, eq=False)
class PersonCells:
    """The cells of private rows, of which a person can have several.

    Attributes:
        schema: As that of `Cells`.
        ids: Whose each row is.
        columns: The columns.
        codes: The cells of each column, as codes of it.
        unreadable: The columns that cannot be features.
    """

    schema: Schema
    ids: PersonColumn
    columns: Mapping[str, Spelled]
    codes: Mapping[str, Codes]
    unreadable: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"PersonCells({self.persons} persons, {len(self.columns)} columns)"

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.ids.hashes)

    @property
    def person(self) -> str:
        """The name of the column with the ids."""
        return self.ids.name

    @property
    def persons(self) -> int:
        """The number of persons."""
        return self.ids.count

    def person_rows(self) -> Iterator[PersonRows]:
        """All rows, for the privacy wall only. Not private.

        Codes depend on what other records say, so a hash stands in the place of each cell, which
        depends on its text alone.
        """
        hashed = (
            hashes_of(list(column.texts))[:, 0][self.codes[name]]
            for name, column in self.columns.items()
        )
        yield PersonRows(tuple(hashed), self.ids.hashes)

    def of_rows(self, rows: npt.NDArray[np.intp], weights: Counts) -> Cells:
        """The cells of some rows, each as often as its weight says. Not private: for the wall."""
        counted = {}
        for name, column in self.columns.items():
            counts = SpelledCounts(column)
            counts.add(self.codes[name][rows], weights)
            counted[name] = counts.of_texts()
        return Cells(self.schema, int(weights.sum()), counted, self.unreadable)

    def counts(
        self, feature_sets: Sequence[FeatureSet], progress: Progress | None = None
    ) -> NoReturn:
        """Refused: which rows of a person count is for the wall to say."""
        raise DataError("rows of persons without a schema are counted behind the wall only")
