"""Private records without a schema come in: from files, data frames and tables of databases.

Columns of a type that has no spelling (lists, bytes) are set aside by that type, which the source
declares. As everywhere, no cell is refused, and no message tells what a file or a driver says.
"""

import math
from collections.abc import Collection, Iterable, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from thresher.data.cells import Cells, PersonCells
from thresher.data.engines.connecting import engine_for, is_connectable
from thresher.data.engines.engine import NO_IDS, Engine
from thresher.data.persons import PersonIds
from thresher.data.private import Progress
from thresher.data.reading import ids_in, open_batches
from thresher.data.spelled import Spelled, SpelledCounts
from thresher.errors import DataError
from thresher.schema import Schema
from thresher.schema.cells import number_of
from thresher.schema.coding import spellings_of
from thresher.schema.draft.survey import survey_feature
from thresher.schema.feature import Codes
from thresher.schema.labels import is_label
from thresher.wording import shown


def read_cells(
    source: Any,
    columns: Collection[str] | None = None,
    progress: Progress | None = None,
    *,
    line_breaks_in_cells: bool = False,
    person: str | None = None,
    case_sensitive_ids: bool = False,
) -> Cells | PersonCells:
    """Read private records for a private draft of their schema.

    Args:
        source: What `thresher.read` takes, or what `thresher.connect` does.
        columns: The columns to read; None for all that the source declares.
        progress: Called with the number of records read so far.
        line_breaks_in_cells: As for `thresher.read`.
        person: The column that says whose row it is, if a person can have several.
        case_sensitive_ids: As for `thresher.read`.

    Example:
        >>> import pandas as pd
        >>> read_cells(pd.DataFrame({"sex": ["F", "M"], "age": [30, 41]}), ["age"]).schema.names
        ('age',)
        >>> read_cells(pd.DataFrame({"who": ["a", "a"], "age": [30, 41]}), person="who")
        PersonCells(1 persons, 1 columns)
    """
    if person is not None and person in (columns or ()):
        raise DataError(f"{person!r} says whose row it is and cannot be a feature: leave it out")
    if is_connectable(source):
        return _of_table(engine_for(source), columns, progress, person)
    ids = None if person is None else ids_in(source, person, case_sensitive_ids)
    with ExitStack() as stack:
        wanted = columns if columns is None or person is None else [*columns, person]
        opened = open_batches(source, stack, wanted, line_breaks_in_cells=line_breaks_in_cells)
        if columns is None:
            _refuse_private_names(opened.described, opened.columns, opened.names_in_records)
        if person is not None and person not in opened.columns:
            raise DataError(f"{opened.described} lacks the column {person!r} with ids")
        listed = opened.columns if columns is None else columns
        names = [name for name in listed if name != person]
        _refuse_missing(opened.described, opened.columns, names)
        reading = _Reading(names, ids)
        for batch in opened.batches:
            reading.take(batch)
            if progress:
                progress(reading.rows)
    return reading.cells(opened.described)


class _Reading:
    """Cells that are being read: added up, or row by row if there are ids of persons."""

    def __init__(self, names: Sequence[str], ids: PersonIds | None) -> None:
        self.rows = 0
        self._names, self._ids = names, ids
        self._counts = {name: SpelledCounts(Spelled.of(name)) for name in names if is_label(name)}
        self._codes: dict[str, list[Codes]] = {name: [] for name in self._counts}

    def take(self, batch: Any) -> None:
        """Read a batch."""
        for name in list(self._counts):
            counts = self._counts[name]
            try:
                codes = counts.column.encode(batch.column(name))
            except DataError:  # of a declared type that has no spelling
                del self._counts[name]
                continue
            if self._ids is None:
                counts.add(codes)
            else:
                self._codes[name].append(codes)
        if self._ids is not None:
            self._ids.add(batch.column(self._ids.name))
        self.rows += len(batch)

    def cells(self, described: str) -> Cells | PersonCells:
        """All that was read."""
        if not self.rows:
            raise DataError(f"{described} holds no records")
        schema = _scale(described, self._counts)
        unreadable = tuple(name for name in self._names if name not in self._counts)
        if self._ids is None:
            counted = {name: counts.of_texts() for name, counts in self._counts.items()}
            return Cells(schema, self.rows, counted, unreadable)
        columns = {name: counts.column for name, counts in self._counts.items()}
        codes = {name: np.concatenate(self._codes[name]) for name in columns}
        return PersonCells(schema, self._ids.column(), columns, codes, unreadable)


def _of_table(
    engine: Engine,
    columns: Collection[str] | None,
    progress: Progress | None,
    person: str | None,
) -> Cells:
    """The cells of a table of a database, as they are in one moment."""
    if person is not None:
        raise DataError(f"{engine.described}: {NO_IDS}")
    declared = engine.columns()
    if columns is None:
        _refuse_private_names(engine.described, declared, False)
    names = list(declared if columns is None else columns)
    _refuse_missing(engine.described, declared, names)
    readable = [name for name in names if is_label(name) and _is_spelled(name, declared[name].kind)]
    schema = _scale(engine.described, readable)
    counted = engine.spelled(readable, progress)
    n = sum(counted[readable[0]].values())
    if not n:
        raise DataError(f"{engine.described} holds no records")
    return Cells(schema, n, counted, tuple(name for name in names if name not in readable))


def _is_spelled(name: str, kind: Any) -> bool:
    """Whether cells of a type have a spelling."""
    import pyarrow as pa

    if kind is None:
        return False
    try:
        spellings_of(name, pa.array([], kind))
    except DataError:
        return False
    return True


def _scale(described: str, names: Iterable[str]) -> Schema:
    features = [survey_feature(name) for name in names]
    if not features:
        raise DataError(f"{described} has no column that could be a feature")
    return Schema(features)


def _refuse_missing(described: str, columns: Collection[str], names: Iterable[str]) -> None:
    for name in names:
        if name not in columns:
            raise DataError(f"{described} has no column {shown(name)}: see its header")


def _refuse_private_names(described: str, columns: Iterable[str], in_records: bool) -> None:
    """Refuse to take names for public that are a part of the records."""
    if in_records:
        raise DataError(
            f"{described}: its records name their columns, so that a name can tell about a "
            "single record: list the columns to describe (--columns)"
        )
    if any(math.isfinite(number_of(name)) for name in columns):
        raise DataError(
            f"{described}: a column has a number for its name. If there is no header line, "
            "the names are somebody's record: add one, or list the columns to describe (--columns)"
        )
