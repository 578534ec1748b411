"""Records in files too large for memory: read batch by batch whenever something is counted.

A fit counts once, so the files are read once, and only the columns that its tables need. They must
not change between opening and counting: the number of records is public from the beginning, and the
promise is about one data set. A file with another size or time of change is refused.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from thresher.data.batches import Batches, refuse_missing
from thresher.data.counting import TableCounter
from thresher.data.paths import ENDINGS, open_paths
from thresher.data.private import FeatureSet, Progress
from thresher.errors import DataError
from thresher.parallel import in_order
from thresher.schema import Schema
from thresher.tables.sparse import SparseTable

if TYPE_CHECKING:
    import pyarrow as pa

CHANGED = "changed after it was opened: read the records again when nobody writes to them"


@dataclass(frozen=True)
class StampedFile:
    """A file, and what the system says of it when it changes."""

    path: Path
    size: int
    modified: int
    inode: int

    @classmethod
    def of(cls, path: Path) -> "StampedFile":
        """The file as it is now."""
        try:
            found = path.stat()
        except OSError as fault:
            raise DataError(f"{path} cannot be read: {fault.strerror}") from None
        return cls(path, found.st_size, found.st_mtime_ns, found.st_ino)

    def check(self) -> None:
        """Refuse a file that is not as it was."""
        if StampedFile.of(self.path) != self:
            raise DataError(f"{self.path} {CHANGED}")


@dataclass(frozen=True, repr=False, eq=False)
class RecordFiles:
    r"""n private records over a public schema, in files that are read when something is counted.

    `thresher.read` makes these of large files.

    Attributes:
        schema: The public description of the columns.
        files: The files, as they were when they were opened.
        n: The number of records, which is public.
        line_breaks_in_cells: Whether a quoted cell of a CSV file may go on over several lines.

    Example:
        >>> import tempfile
        >>> from thresher.data.reading import read
        >>> from thresher.schema import IntegerRange
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "people.csv")
        ...     _ = path.write_text("age\n30\n41\n30\n")
        ...     schema = Schema([IntegerRange(name="age", low=0, high=99, nulls=0)])
        ...     people = read(path, schema, in_memory=False)
        ...     print(people, people.counts([("age",)])[0].counts)
        RecordFiles(3 records in 1 file, 1 features, 100 one-hot columns) [2 1]
    """

    schema: Schema
    files: tuple[StampedFile, ...]
    n: int
    line_breaks_in_cells: bool = False

    def __post_init__(self) -> None:
        self._check_types()
        for file in self.files:
            file.check()

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        number = len(self.files)
        return (
            f"RecordFiles({self.n} records in {number} file{'s' * (number > 1)}, "
            f"{len(self.schema)} features, {self.schema.width} one-hot columns)"
        )

    def __iter__(self) -> NoReturn:
        raise TypeError("records are private and are not iterated; ask queries instead")

    def counts(
        self, feature_sets: Sequence[FeatureSet], progress: Progress | None = None
    ) -> list[SparseTable]:
        """Count marginal tables. Not private: for the privacy wall and for evaluation."""
        from thresher.data.batch_coding import BatchCoder

        counter = TableCounter(self.schema, feature_sets, rows=self.n)
        names = counter.features or self.schema.names[:1]
        coder = BatchCoder(self.schema, names)

        def count(batch: "pa.RecordBatch") -> int:
            counter.add(coder.codes(batch))
            return len(batch)

        with self._opened(names) as opened:
            rows = 0
            for counted in in_order(count, opened.batches):
                rows += counted
                if progress:
                    progress(rows)
        for file in self.files:
            file.check()
        if rows != self.n:
            raise DataError(f"{opened.described} {CHANGED}")
        return counter.tables()

    @contextmanager
    def _opened(self, names: Sequence[str]) -> "Iterator[Batches]":
        with ExitStack() as stack:
            for file in self.files:
                file.check()
            yield open_paths(
                [file.path for file in self.files],
                stack,
                names,
                line_breaks_in_cells=self.line_breaks_in_cells,
            )

    def _check_types(self) -> None:
        """Refuse at once what would be refused when a first batch is coded."""
        from thresher.data.batch_coding import BatchCoder

        coder, names = BatchCoder(self.schema), self.schema.names
        for file in self.files:
            with ExitStack() as stack:
                opened = open_paths(
                    file.path, stack, names, line_breaks_in_cells=self.line_breaks_in_cells
                )
                refuse_missing(opened.described, opened.columns, names)
                for batch in opened.batches:
                    coder.codes(batch.slice(0, 1))
                    break


def stamped(paths: Sequence[Path]) -> tuple[StampedFile, ...]:
    """Files as they are now."""
    return tuple(StampedFile.of(path) for path in paths)


def bytes_per_record(schema: Schema) -> int:
    """The bytes that a coded record takes.

    Example:
        >>> from thresher.data.datasets import adult_schema
        >>> bytes_per_record(adult_schema())
        14
    """
    return sum(feature.dtype.itemsize for feature in schema)


def rows_in_metadata(files: Sequence[StampedFile]) -> int | None:
    """The number of records in Parquet files, which say it; None for other files."""
    if not all(file.path.name.lower().endswith(ENDINGS["Parquet"]) for file in files):
        return None
    from thresher.data.parquet import row_count

    return sum(row_count(file.path) for file in files)
