"""Tables of DuckDB, streamed as Arrow batches in one query.

Categories are looked up by DuckDB, which does so once per entry of a column's dictionary. Numbers
cross over without being copied, and are coded here: measured, that takes less than an expression.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from thresher.data.counting import BATCH_ROWS
from thresher.data.engines.address import Address
from thresher.data.engines.dialects import DuckDB
from thresher.data.engines.engine import CodedBatch, Column, StreamingEngine, checked, code_of_arrow
from thresher.data.engines.faults import driver, masked
from thresher.data.engines.pushdown import code_expression
from thresher.errors import DataError
from thresher.schema.features import Feature

SQL = DuckDB()
PLAIN = {
    "boolean": pa.bool_(), "tinyint": pa.int8(), "smallint": pa.int16(), "integer": pa.int32(),
    "bigint": pa.int64(), "utinyint": pa.uint8(), "usmallint": pa.uint16(),
    "uinteger": pa.uint32(), "ubigint": pa.uint64(), "float": pa.float32(),
    "double": pa.float64(), "null": pa.null(), "date": pa.date32(), "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"), "timestamp_s": pa.timestamp("s"),
    "timestamp_ms": pa.timestamp("ms"), "timestamp_ns": pa.timestamp("ns"),
    "timestamp with time zone": pa.timestamp("us", "UTC"),
}  # fmt: skip
"""Types whose cells arrive as Arrow's."""

TEXT = {"varchar", "uuid", "enum"}
DIGITS = {"hugeint", "uhugeint", "decimal", "bignum"}
"""Numbers that need not be doubles: they arrive as text, which is rounded once, here."""


@dataclass(frozen=True)
class DuckDBFile(StreamingEngine):
    """A table in a file of DuckDB, which is opened for reading whenever it is needed.

    Attributes:
        address: Where it is.
    """

    address: Address

    @property
    def described(self) -> str:
        """The table's name in messages."""
        return str(self.address)

    def columns(self) -> dict[str, Column]:
        """The columns of the table."""
        with self._opened() as relation:
            return relation.columns()

    def count(self) -> int:
        """The number of records."""
        with self._opened() as relation:
            return relation.count()

    def coded(self, features: Sequence[Feature]) -> Iterator[CodedBatch]:
        """All records in batches, by one query."""
        with self._opened() as relation:
            yield from relation.coded(features)

    @contextmanager
    def _opened(self) -> Iterator["DuckDBRelation"]:
        duckdb = driver("duckdb", "duckdb")
        with masked(
            f"{self.described} cannot be opened: it is not a file of DuckDB, a newer version of "
            "DuckDB wrote it, or another program is writing to it"
        ):
            connection = duckdb.connect(str(self._path()), read_only=True)
        try:
            yield relation_of(connection, self.address.table, self.described)
        finally:
            connection.close()

    def _path(self) -> Path:
        """`duckdb:///file.db` is in the current folder, or else the absolute path `/file.db`."""
        rest = self.address.rest
        for path in (Path(rest.removeprefix("/")), Path(rest)):
            if path.is_file():
                return path
        raise DataError(f"there is no file for {self.described}")


def relation_of(connection: Any, table: Sequence[str], described: str) -> "DuckDBRelation":
    """A table of a connection.

    Example:
        >>> import duckdb
        >>> connection = duckdb.connect()
        >>> _ = connection.execute("CREATE TABLE people (age INTEGER)")
        >>> relation_of(connection, ["people"], "people").columns()["age"].kind
        DataType(int32)
    """
    with masked(f"{described}: there is no such table, or it is a view of a table that is gone"):
        return DuckDBRelation(connection.sql(f"SELECT * FROM {SQL.table(table)}"), described)


@dataclass(frozen=True)
class DuckDBRelation(StreamingEngine):
    """A relation of DuckDB: a table or a query, lazily.

    Attributes:
        relation: The relation.
        described: Its name in messages.
    """

    relation: Any = field(repr=False)
    described: str = "the DuckDB relation"

    def columns(self) -> dict[str, Column]:
        """The columns of the relation."""
        with masked(f"{self.described}: its columns cannot be read"):
            listed = zip(self.relation.columns, self.relation.types, strict=True)
            return {name: _column(name, kind) for name, kind in listed}

    def count(self) -> int:
        """The number of records."""
        with masked(f"{self.described}: its records cannot be counted"):
            return int(self.relation.aggregate("count(*)").fetchall()[0][0])

    def coded(self, features: Sequence[Feature]) -> Iterator[CodedBatch]:
        """All records in batches, by one query."""
        columns = checked(self.described, self.columns(), features)
        codes = [code_expression(feature, columns[feature.name], SQL) for feature in features]
        asked = ", ".join(
            f"{_sized(code, feature) if code else columns[feature.name].raw} AS c{place}"
            for place, (feature, code) in enumerate(zip(features, codes, strict=True))
        )
        for batch in self._batches(asked):
            yield CodedBatch({
                feature.name: np.asarray(cells) if code
                else code_of_arrow(feature, columns[feature.name], cells)
                for feature, code, cells in zip(features, codes, batch.columns, strict=True)
            })  # fmt: skip

    def _batches(self, asked: str) -> Iterator[pa.RecordBatch]:
        words = f"{self.described} cannot be read: was it changed or closed in the meantime?"
        with masked(words):
            reader = self.relation.project(asked).to_arrow_reader(BATCH_ROWS)
        try:
            while True:
                with masked(words):
                    try:
                        batch = reader.read_next_batch()
                    except StopIteration:
                        return
                yield batch
        finally:
            reader.close()


def _column(name: str, kind: Any) -> Column:
    cell, named = SQL.name(name), str(kind.id)
    if named in TEXT and str(kind) != "JSON":
        return Column(pa.string(), str(kind), f"CAST({cell} AS VARCHAR)")
    if named in DIGITS:
        return Column(pa.float64(), str(kind), f"CAST({cell} AS VARCHAR)", digits=True)
    return Column(PLAIN.get(named), str(kind), cell)


def _sized(code: str, feature: Feature) -> str:
    """A code in the narrowest type that has room for it: there is less to move."""
    kind = {1: "UTINYINT", 2: "USMALLINT"}.get(feature.dtype.itemsize, "UINTEGER")
    return f"CAST({code} AS {kind})"
