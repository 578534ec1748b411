"""The counts that a Curator holds: asked of the data once, and the source of every score and count.

A fit asks about the same features round after round. So the Curator has the tables over the
workload's largest feature sets counted together, once, when the first request has been paid for.
Every table over fewer features, every r-of-k table and every query follows from them, and no round
costs anything that grows with the number of records. These tables are as private as the records:
they go to a request that has been paid for, and nowhere else.
"""

import math
from collections.abc import Iterable

import numpy as np

from thresher.data.cells import Cells, PersonCells
from thresher.data.exact import count_in
from thresher.data.persons import PersonData
from thresher.data.private import FeatureSet, PrivateData
from thresher.data.viewed import views_among
from thresher.errors import DataError
from thresher.privacy.measurements import TotalMeasurement
from thresher.privacy.persons import check_person, kept_cells, kept_rows, public_total
from thresher.privacy.unit import Unit
from thresher.queries.query import Query
from thresher.queries.rewriting import on_columns
from thresher.queries.threshold import Threshold
from thresher.schema import Schema, View
from thresher.tables import Answers, RememberedSums, SparseTable, threshold_counts

MOST_DERIVED = 8 << 20
"""The most pairs of tables over fewer features that are kept for the next round: 128 MiB."""


MOST_SUMMED = 1 << 24
"""The most cells of sums of margins that are kept for the next round: 64 or 128 MiB."""


class CountedTables:
    """Marginal tables of private data, counted when they are first needed.

    Args:
        data: The private data.
        unit: What one of the protected units is, and how it is counted.
        views: Views beyond those of the data's schema. They are public, and are counted by adding
            up counts of the features.

    Attributes:
        unit: The same.

    Example:
        >>> from thresher.data import datasets
        >>> counted = CountedTables(datasets.adult())
        >>> counted.count_together([("sex", "race"), ("sex",)])
        >>> counted.over(("sex",)).shape
        (2,)
    """

    def __init__(
        self, data: PrivateData, unit: Unit | None = None, views: Iterable[View] = ()
    ) -> None:
        self.unit = unit if unit is not None else Unit()
        check_person(data, self.unit)
        self._data = data
        # Whoever holds the data's schema cannot change what the wall goes by.
        self._schema = Schema.from_json(data.schema.with_views(views).as_json())
        self._counted: PrivateData | None = None if self.unit.person else data
        self._measured = public_total(data, self.unit)
        self._tables: dict[FeatureSet, SparseTable] = {}
        self._holding: dict[str, list[FeatureSet]] = {name: [] for name in self._schema.names}
        self._above: dict[FeatureSet, FeatureSet] = {}
        self._derived: dict[FeatureSet, SparseTable] = {}
        self._pairs_derived = 0
        self._sums = RememberedSums(MOST_SUMMED)

    @property
    def schema(self) -> Schema:
        """The description of the columns, which is public; for the wall alone."""
        return self._schema

    @property
    def measured_total(self) -> TotalMeasurement | None:
        """The public number of records, persons or rows; None before it has been measured."""
        return self._measured

    @measured_total.setter
    def measured_total(self, measured: TotalMeasurement) -> None:
        self._measured = measured

    @property
    def total(self) -> int:
        """What all counts are out of, in counted parts: a public number, never the true one."""
        assert self._measured is not None  # the Curator refuses requests before it is known
        return self._measured.n * self.unit.parts

    @property
    def has_cells(self) -> bool:
        """Whether the records have no schema yet, so that only their cells can be asked about."""
        return isinstance(self._data, Cells | PersonCells)

    def cells(self) -> Cells:
        """The cells of records without a schema, as private as the records."""
        counted = self._all_counted()
        assert isinstance(counted, Cells)  # the Curator refuses requests that need them
        return counted

    def exact_total(self) -> int:
        """The true number of records, persons or rows, as private as the records."""
        return self._all_counted().n // self.unit.parts

    def one_way(self) -> list[SparseTable]:
        """The counts of all records, whatever the unit, by each feature: to recognise the data."""
        single = [(name,) for name in self.schema.names]
        if self.unit.person:
            return self._data.counts(single)
        self.count_together(single)
        return [self.over(features) for features in single]

    def rows_of_persons(self) -> list[int]:
        """How many persons have one row, two rows, and so on: to recognise data with ids."""
        if not isinstance(self._data, PersonData) or not self.unit.person:
            return []
        ids = np.concatenate([rows.persons for rows in self._data.person_rows()])
        _, sizes = np.unique(ids, axis=0, return_counts=True)
        numbers: list[int] = np.bincount(sizes).tolist()
        return numbers

    @property
    def records(self) -> int:
        """The true number of records, as private as the records unless they are the unit."""
        return self._data.n

    def _all_counted(self) -> PrivateData:
        """What is counted: all records, or some rows of each person, which are found once."""
        if self._counted is None:
            assert isinstance(self._data, PersonData)  # checked at the start
            if isinstance(self._data, PersonCells):
                self._counted = kept_cells(self._data, self.unit)
            else:
                self._counted = kept_rows(self._data, self.unit)
        return self._counted

    def count_together(self, feature_sets: Iterable[FeatureSet]) -> None:
        """Count, in one pass over the records, what some feature sets need and is not there."""
        source = self._all_counted()
        wanted = {self._in_order(self.schema.bases(features)) for features in feature_sets}
        lacking = maximal(features for features in wanted if not self._known_above(features))
        if not lacking:
            return
        tables = source.counts(lacking)
        for features, table in zip(lacking, tables, strict=True):
            self._check(features, table)
            self._check_same_data(features, table)
        for features, table in zip(lacking, tables, strict=True):
            self._tables[features] = table
            for name in features:
                self._holding[name].append(features)

    def over(self, features: FeatureSet) -> SparseTable:
        """The marginal table over some features, in their order."""
        derived = self._derived.get(features)
        if derived is None:
            columns = self.schema.bases(features)
            above = self._known_above(self._in_order(columns))
            derived = self._tables[above].onto(tuple(above.index(name) for name in columns))
            derived = derived.seen_through(views_among(self.schema, features))
            if self._pairs_derived + len(derived) <= MOST_DERIVED:
                self._pairs_derived += 0 if derived is self._tables[above] else len(derived)
                self._derived[features] = derived
        return derived

    def answers(self, threshold: Threshold) -> Answers:
        """The exact counts of all consistent queries of a threshold, for any slab.

        Sums of margins are kept for the next round. They are as private as the tables.
        """
        features, r = threshold.features, threshold.r
        return threshold_counts(self.over(features), r, self._sums, (features, r))

    def count(self, query: Query) -> int:
        """The exact count of one query."""
        asked = on_columns(query, self.schema)
        return count_in(self.over(asked.threshold.features), asked)

    def _known_above(self, features: FeatureSet) -> FeatureSet:
        """The smallest counted table that has some features, or () if there is none."""
        if features in self._tables:
            return features
        if features not in self._above:
            rarest = min(features, key=lambda name: len(self._holding[name]))
            known = [had for had in self._holding[rarest] if set(features) <= set(had)]
            if not known:
                return ()
            self._above[features] = min(known, key=lambda had: len(self._tables[had]))
        return self._above[features]

    def _in_order(self, features: Iterable[str]) -> FeatureSet:
        """The features in the schema's order, so that one set of them has one table."""
        return tuple(sorted(features, key=self.schema.index))

    def _check(self, features: FeatureSet, table: SparseTable) -> None:
        """Refuse what is not a table of this many records: another program may have counted it."""
        shape = tuple(self.schema[name].size for name in features)
        cells, counts = np.asarray(table.cells), np.asarray(table.counts)
        is_sound = (
            table.shape == shape
            and cells.dtype == counts.dtype == np.int64
            and cells.shape == counts.shape
            and cells.ndim == 1
            and bool((np.diff(cells) > 0).all())
            and bool((counts > 0).all())
            and (not len(cells) or (cells[0] >= 0 and cells[-1] < math.prod(shape)))
        )
        if not is_sound:
            raise DataError(f"the counts over {', '.join(features)} are not a table of the schema")
        if table.total != self._all_counted().n:
            raise DataError(
                "the number of records changed while they were being counted: try again when "
                "nobody writes to the data"
            )

    def _check_same_data(self, features: FeatureSet, table: SparseTable) -> None:
        """Refuse a table whose features are counted otherwise than they were before."""
        for axis, name in enumerate(features):
            if self._holding[name]:
                before, now = self.over((name,)), table.onto((axis,))
                if not (
                    np.array_equal(before.cells, now.cells)
                    and np.array_equal(before.counts, now.counts)
                ):
                    raise DataError(
                        "the records changed since they were first counted: go on with the data "
                        "that this began with"
                    )


def maximal(feature_sets: Iterable[FeatureSet]) -> list[FeatureSet]:
    """The feature sets that are part of no other, in a fixed order.

    Example:
        >>> maximal([("a",), ("a", "b"), ("c",)])
        [('a', 'b'), ('c',)]
    """
    kept: list[FeatureSet] = []
    larger: list[set[str]] = []
    of_size: dict[int, list[FeatureSet]] = {}
    for features in set(feature_sets):
        of_size.setdefault(len(features), []).append(features)
    for size in sorted(of_size, reverse=True):  # sets of one size are not part of each other
        new = [s for s in sorted(of_size[size]) if not any(set(s) <= known for known in larger)]
        kept += new
        larger += map(set, new)
    return kept
