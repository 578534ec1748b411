"""What every kind of source gives: its columns' names, and its records in batches."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thresher.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

CHUNK_ROWS = 1 << 17
"""The most records in a batch."""


@dataclass(frozen=True)
class Batches:
    """A source of records, opened.

    Attributes:
        described: The source's name in messages.
        columns: The names of all its columns, read or not.
        batches: The records.
        names_in_records: Whether it is the records that name the columns, each its own.

    Example:
        >>> Batches("x.csv", ["age"], iter(())).columns
        ['age']
    """

    described: str
    columns: list[str]
    batches: "Iterator[pa.RecordBatch]"
    names_in_records: bool = False


def among(columns: list[str], wanted: Collection[str] | None) -> list[str]:
    """The columns that are wanted, in their order; all of them if `wanted` is None.

    Example:
        >>> among(["a", "b", "c"], ["c", "a"])
        ['a', 'c']
    """
    chosen = set(columns if wanted is None else wanted)
    return [name for name in columns if name in chosen]


def refuse_duplicates(described: str, columns: list[str], wanted: Collection[str] | None) -> None:
    """Raise if two columns have the same name.

    The name is told only if the schema has it: of a file without a header line, the names are a
    record.

    Example:
        >>> refuse_duplicates("x.csv", ["age", "sex", "age"], wanted=["age"])
        Traceback (most recent call last):
        thresher.errors.DataError: x.csv: columns 1 and 3 have the same name ('age'): rename one
    """
    if len(set(columns)) == len(columns):
        return
    name = next(name for name, times in Counter(columns).items() if times > 1)
    first = columns.index(name)
    second = columns.index(name, first + 1)
    named = f" ({name!r})" if name in (wanted or ()) else ""
    raise DataError(
        f"{described}: columns {first + 1} and {second + 1} have the same name{named}: rename one"
    )


def refuse_missing(described: str, columns: Collection[str], wanted: Collection[str]) -> None:
    """Raise if a column of the schema is not there.

    Example:
        >>> refuse_missing("x.csv", ["Age", "sex"], wanted=["age", "sex"])
        Traceback (most recent call last):
        thresher.errors.DataError: x.csv lacks the column 'age' of the schema among its 2: mind \
capitals and blanks in 'age'
    """
    there = set(columns)
    missing = [name for name in wanted if name not in there]
    if missing:
        spelled = {name.strip().casefold() for name in there}
        near = [name for name in missing if name.casefold() in spelled]
        raise DataError(
            f"{described} lacks the column{'s' * (len(missing) > 1)} "
            f"{', '.join(map(repr, missing))} of the schema among its {len(columns)}: "
            + _advice(near, len(columns), len(wanted))
        )


def _advice(near: Sequence[str], found: int, wanted: int) -> str:
    if near:
        return f"mind capitals and blanks in {near[0]!r}"
    if found == 1 < wanted:
        return (
            "its header line is not separated by commas, semicolons, tabs or vertical bars; save "
            "the file as CSV, with a header line"
        )
    return "is there a header line?"
