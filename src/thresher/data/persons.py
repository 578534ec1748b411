"""Whose row it is: the ids of persons, for data in which a person can have several rows.

An id is compared by its spelling (see `thresher.schema.cells`) and is kept as a 128-bit hash of it,
so equal ids are equal in every file and engine. Two of 10⁹ different ids have the same hash with a
probability below 10⁻²⁰.

A row without an id, ids that differ only in capitals, and numbers too long to be told apart are
faults in how the data are written. They are refused while the data are read, before anything is
paid for. A message names the column, never an id.
"""

import hashlib
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from thresher.data.private import PrivateData
from thresher.errors import DataError
from thresher.schema.cells import LARGEST_INTEGER, UNREADABLE
from thresher.schema.feature import Codes

if TYPE_CHECKING:
    import pyarrow as pa

Hashes = npt.NDArray[np.uint64]
"""A hash of 128 bits in each row, as two words."""


@dataclass(frozen=True, eq=False, repr=False)
class PersonRows:
    """Some coded rows, and whose they are; as private as the records.

    Attributes:
        columns: The codes, a column for each feature of the schema.
        persons: The hash of each row's id.
    """

    columns: tuple[Codes, ...]
    persons: Hashes


@runtime_checkable
class PersonData(PrivateData, Protocol):
    """Private data that know whose each row is."""

    @property
    def person(self) -> str | None:
        """The name of the column with the ids, if there is one."""
        ...

    @property
    def persons(self) -> int:
        """The number of persons."""
        ...

    def person_rows(self) -> Iterator[PersonRows]:
        """All rows in batches of any size and order, for the privacy wall only. Not private."""
        ...


def persons_in(data: PrivateData) -> int:
    """The number of persons; without ids, each record is a person."""
    return data.persons if isinstance(data, PersonData) else data.n


@dataclass(frozen=True, eq=False, repr=False)
class PersonColumn:
    """The ids of all rows.

    Attributes:
        name: The name of the column.
        hashes: The hash of each row's id.
        count: The number of different ids.
    """

    name: str
    hashes: Hashes
    count: int


class PersonIds:
    """Reads a column of ids, batch by batch.

    Args:
        name: The name of the column.
        case_sensitive: Whether ids that differ only in capitals are different persons. If not,
            such ids are an error: somebody has to say which of the two is meant.
        numbers_as_text: Whether numbers arrive as the text of the nearest double, as from JSON
            lines. Long ones are then an error, as floats are.

    Example:
        >>> import pyarrow as pa
        >>> ids = PersonIds("patient")
        >>> ids.add(pa.array([" 7", "8", "7"]))
        >>> ids.column().count
        2
    """

    def __init__(
        self, name: str, case_sensitive: bool = False, *, numbers_as_text: bool = False
    ) -> None:
        self.name, self._case_sensitive = name, case_sensitive
        self._numbers_as_text = numbers_as_text
        self._parts: list[Hashes] = []
        self._distinct: list[Hashes] = []

    def add(self, cells: "pa.Array") -> None:
        """Read the next cells of the column."""
        encoded = self._spelled(cells).dictionary_encode()
        ids: list[str | None] = encoded.dictionary.to_pylist()
        if encoded.null_count or any(not text or text == UNREADABLE for text in ids):
            raise DataError(
                f"the column {self.name!r} has cells without an id: give every row the id of a "
                "person, or leave out the rows without one"
            )
        if self._numbers_as_text and any(_may_be_rounded(str(text)) for text in ids):
            raise self._rounded()
        exact = hashes_of(ids)
        folded = hashes_of([_folded(str(text)) for text in ids])
        self._distinct.append(np.concatenate([exact, folded], axis=1))
        self._parts.append(exact[np.asarray(encoded.indices)])

    def column(self) -> PersonColumn:
        """All ids that were read."""
        hashes = np.concatenate(self._parts)
        self._parts.clear()
        distinct = np.unique(np.concatenate(self._distinct), axis=0)
        if not self._case_sensitive and len(np.unique(distinct[:, 2:], axis=0)) < len(distinct):
            raise DataError(
                f"the column {self.name!r} has ids that differ only in capitals, blanks, leading "
                "zeros or forms of a letter: spell the ids of a person alike, or say that they are "
                "different persons (case_sensitive_ids)"
            )
        return PersonColumn(self.name, hashes, len(distinct))

    def _rounded(self) -> DataError:
        return DataError(
            f"the column {self.name!r} has numbers of more than 15 digits, which are rounded: "
            "keep such ids as text, with a letter in it"
        )

    def _spelled(self, cells: "pa.Array") -> "pa.Array":
        import pyarrow as pa
        import pyarrow.compute as pc

        from thresher.schema.coding import bare, numbers_of, spellings_of

        cells = bare(self.name, cells)
        if pa.types.is_integer(cells.type):
            return cells.cast(pa.string())  # all digits, as text has them
        if pa.types.is_decimal(cells.type):
            digits = pc.replace_substring_regex(cells.cast(pa.string()), r"(\.\d*?)0+$", r"\1")
            return pc.replace_substring_regex(digits, r"\.$", "")
        if pa.types.is_floating(cells.type):
            longest = np.abs(numbers_of(self.name, cells))
            if np.any(longest[~np.isnan(longest)] >= LARGEST_INTEGER):
                raise self._rounded()
        return pc.cast(spellings_of(self.name, cells), pa.large_string())


def _may_be_rounded(text: str) -> bool:
    """Whether a text can be what is left of a long number that was read as a double."""
    return text.isdecimal() and int(text) >= LARGEST_INTEGER and int(float(text)) == int(text)


def _folded(text: str) -> str:
    """An id without what people write in different ways."""
    letters = unicodedata.normalize("NFKC", text).casefold()
    seen = "".join(letter for letter in letters if unicodedata.category(letter) != "Cf")
    folded = " ".join(seen.split())
    return folded.lstrip("0") or folded


def hashes_of(texts: "Sequence[str | None]") -> Hashes:
    """A hash of 128 bits for each of some texts.

    Example:
        >>> one, other, same = hashes_of(["a", "b", "a"]).tolist()
        >>> one == same, one == other
        (True, False)
    """
    joined = b"".join(
        hashlib.blake2b(str(text).encode(), digest_size=16).digest() for text in texts
    )
    return np.frombuffer(joined, dtype="<u8").reshape(-1, 2).astype(np.uint64)
