"""Inside the wall: at most G rows of each person are used, and each counts its part.

Which rows of a person are dropped may depend on that person's rows alone. Otherwise replacing one
person could change which rows of others are used, and no sensitivity would hold. So the choice is
not made by the order of a file, nor by anything that several persons share. Every row has a hash of
the person's id, of the row's codes, and of which copy it is among the person's equal rows. The G
rows with the smallest hashes are kept. Copies of a row are alike, so it makes no difference which
of them is called the first. The choice is the same in every file format and engine.

The hash has a key, which need not be secret. Any rule that looks at one person's rows only would
keep the promise, even one that everybody can predict. The key, made of the schema's fingerprint and
the name of the column, is there for accuracy: the choice has nothing to do with what rows say, so
the rows kept are like those dropped.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thresher.data.cells import Cells, PersonCells
from thresher.data.persons import Hashes, PersonData, PersonRows, persons_in
from thresher.data.private import FeatureSet, PrivateData, Progress
from thresher.data.records import Records
from thresher.errors import DataError, ParameterError, ResourceError
from thresher.privacy.measurements import TotalMeasurement
from thresher.privacy.unit import MOST_UNITS, Unit
from thresher.schema import Schema
from thresher.schema.feature import Codes
from thresher.tables.sparse import SparseTable

_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False, repr=False)
class KeptRows:
    """The rows of all persons that are used, weighted; as private as the records.

    It offers what private data do. Its `n` is the sum of all weights.

    Attributes:
        schema: The description of the columns.
        groups: Rows of equal weight, with this weight.
    """

    schema: Schema
    groups: tuple[tuple[int, Records], ...]

    @property
    def n(self) -> int:
        """What every table adds up to, in counted parts."""
        return sum(weight * rows.n for weight, rows in self.groups)

    def counts(
        self, feature_sets: Sequence[FeatureSet], progress: Progress | None = None
    ) -> list[SparseTable]:
        """Count marginal tables. Not private."""
        of_groups = [rows.counts(feature_sets) for _, rows in self.groups]
        if progress:
            progress(sum(rows.n for _, rows in self.groups))
        return [
            SparseTable.of_cells(
                tables[0].shape,
                np.concatenate([table.cells for table in tables]),
                np.concatenate(
                    [
                        weight * table.counts
                        for (weight, _), table in zip(self.groups, tables, strict=True)
                    ]
                ),
            )
            for tables in zip(*of_groups, strict=True)
        ]


def kept_rows(data: PersonData, unit: Unit) -> KeptRows:
    """Use at most G rows of each person. Not private: for the wall and for evaluation.

    Args:
        data: Rows with ids of persons.
        unit: How many rows of a person are used, and how they are counted.

    Example:
        >>> import pandas as pd
        >>> from thresher.data import read
        >>> from thresher.schema import IntegerRange
        >>> schema = Schema([IntegerRange(name="age", low=0, high=9, nulls=0)])
        >>> visits = pd.DataFrame({"who": ["a", "a", "a", "b"], "age": [1, 2, 2, 3]})
        >>> data = read(visits, schema, person="who")
        >>> kept_rows(data, Unit(person="who", rows_per_person=2, counting="rows")).n
        3
        >>> kept_rows(data, Unit(person="who", rows_per_person=2)).n  # two persons of 2 parts each
        4
    """
    rows = _together(list(data.person_rows()))
    order, weights = _kept(rows, f"{data.schema.fingerprint} {unit.person}", unit)
    groups = []
    for weight in np.unique(weights):
        members = order[weights == weight]
        columns = [column[members] for column in rows.columns]
        groups.append((int(weight), Records(data.schema, columns)))
    return KeptRows(data.schema, tuple(groups))


def kept_cells(data: PersonCells, unit: Unit) -> Cells:
    """The same for rows without a schema, of which single cells are counted. Not private.

    A cell that only dropped rows have is not there at all. The key has the names of the columns,
    and rows are told apart by hashes of what is written in their cells.

    Example:
        >>> import pandas as pd
        >>> from thresher.data.cell_reading import read_cells
        >>> visits = pd.DataFrame({"who": ["a", "a", "b"], "age": [1, 2, 2]})
        >>> data = read_cells(visits, person="who")
        >>> kept_cells(data, Unit(person="who", rows_per_person=2)).columns["age"]
        {'1': 1, '2': 3}
    """
    [rows] = data.person_rows()
    return data.of_rows(*_kept(rows, f"{list(data.columns)} {unit.person}", unit))


def _kept(
    rows: PersonRows, said: str, unit: Unit
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.int64]]:
    """The places of the rows that are used, and how many parts each of them counts."""
    key = hashlib.blake2b(said.encode(), digest_size=8)
    order = ordered_by_hash(rows, int.from_bytes(key.digest(), "little"))
    persons = rows.persons[order]
    is_first = np.ones(len(order), dtype=np.bool_)
    is_first[1:] = (persons[1:] != persons[:-1]).any(axis=1)
    starts = np.flatnonzero(is_first)
    sizes = np.diff(starts, append=len(order))
    rank = np.arange(len(order)) - np.repeat(starts, sizes)
    used = np.repeat(np.minimum(sizes, unit.rows_per_person), sizes)
    is_kept = rank < unit.rows_per_person
    by_persons = unit.counting == "persons"
    weights = unit.parts // used[is_kept] if by_persons else np.ones_like(used[is_kept])
    return order[is_kept], weights


def check_person(data: PrivateData, unit: Unit) -> None:
    """Refuse, before anything is paid for, data that do not fit a unit."""
    column = data.person if isinstance(data, PersonData) else None
    if unit.person is None:
        if column is not None:
            raise ParameterError(
                f"the data were read with ids of persons ({column!r}), but the unit is one record: "
                f"give unit=Unit(person={column!r}, rows_per_person=…), or read them without ids"
            )
    elif not isinstance(data, PersonData):
        raise DataError(
            f"{type(data).__name__} cannot tell whose a row is: read the rows from a file or a "
            f"data frame, with person={unit.person!r}"
        )
    elif column != unit.person:
        raise DataError(
            f"the data were read without the ids of persons in {unit.person!r}: read them with "
            f"person={unit.person!r}"
        )
    # No data reach this limit, so that it tells nothing where their number is private.
    if max(data.n, persons_in(data)) > MOST_UNITS:
        raise ResourceError("up to 2^40 records can be counted")


def public_total(data: PrivateData, unit: Unit) -> TotalMeasurement | None:
    """The number of records or persons, if it is public."""
    if not unit.total_is_public:
        return None
    return TotalMeasurement(persons_in(data) if unit.person else data.n, 0.0)


def ordered_by_hash(rows: PersonRows, key: int) -> npt.NDArray[np.intp]:
    """The places of rows, person by person, those of a person in the order of their hashes."""
    hashes = row_hashes(rows, key)
    whose = (rows.persons[:, 1], rows.persons[:, 0])
    # Different rows of one hash (once in 10^19 pairs) are told apart by their codes.
    alike = np.lexsort((*rows.columns, hashes, *whose))
    copies = _copies(rows, alike)
    hashes[alike] = _mixed(hashes[alike] + _ODD * (copies.astype(np.uint64) + np.uint64(1)))
    return alike[np.lexsort((hashes[alike], *(part[alike] for part in whose)))]


def _copies(rows: PersonRows, alike: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Which copy each row is among the equal rows of its person; these stand side by side."""
    before, after = alike[:-1], alike[1:]
    is_new = np.ones(len(alike), dtype=np.bool_)
    is_new[1:] = (rows.persons[before] != rows.persons[after]).any(axis=1)
    for column in rows.columns:
        is_new[1:] |= column[before] != column[after]
    starts = np.flatnonzero(is_new)
    return np.arange(len(alike)) - np.repeat(starts, np.diff(starts, append=len(alike)))


def row_hashes(rows: PersonRows, key: int) -> Hashes:
    """A hash of each row: of its codes and whose it is."""
    hashes = _mixed(rows.persons[:, 0] ^ np.uint64(key))
    hashes = _mixed(hashes ^ rows.persons[:, 1])
    for column in rows.columns:
        hashes = _mixed(hashes + _ODD * (column.astype(np.uint64) + np.uint64(1)))
    return hashes


def _mixed(words: Hashes) -> Hashes:
    """The mixing step of SplitMix64 (Steele, Lea and Flood 2014), which loses nothing."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def _together(batches: Sequence[PersonRows]) -> PersonRows:
    if len(batches) == 1:
        return batches[0]
    columns: list[Codes] = [
        np.concatenate(parts) for parts in zip(*(batch.columns for batch in batches), strict=True)
    ]
    return PersonRows(tuple(columns), np.concatenate([batch.persons for batch in batches]))
