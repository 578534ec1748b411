"""Records in a Parquet file."""

from collections.abc import Collection, Iterator
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from thresher.data import batches as shared
from thresher.data.batches import Batches, among, refuse_duplicates
from thresher.errors import DataError


def open_parquet(path: Path, stack: ExitStack, wanted: Collection[str] | None) -> Batches:
    """The records of a Parquet file, which closes with the stack.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        ...     path = Path(folder, "people.parquet")
        ...     pq.write_table(pa.table({"age": [30, 41]}), path)
        ...     open_parquet(path, stack, wanted=None).columns
        ['age']
    """
    fault = f"{path} is not a Parquet file, or it is damaged"
    try:
        file = stack.enter_context(pq.ParquetFile(path))
        columns = file.schema_arrow.names
        refuse_duplicates(str(path), columns, wanted)
        read = file.iter_batches(batch_size=shared.CHUNK_ROWS, columns=among(columns, wanted))
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        raise DataError(fault) from None

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            yield from read
        except (pa.ArrowException, OSError):
            raise DataError(fault) from None

    return Batches(str(path), columns, batches())


def row_count(path: Path) -> int:
    """The number of records of a Parquet file, without reading them.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "people.parquet")
        ...     pq.write_table(pa.table({"age": [30, 41]}), path)
        ...     row_count(path)
        2
    """
    try:
        return int(pq.read_metadata(path).num_rows)
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        raise DataError(f"{path} is not a Parquet file, or it is damaged") from None
