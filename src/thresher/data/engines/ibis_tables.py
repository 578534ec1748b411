"""Table expressions of Ibis: those of DuckDB, PostgreSQL and Spark by their engines, others raw.

From another backend, the columns arrive as Arrow batches of one query and are coded here. That is
slower than coding in the database, and needs nothing of it but to send its columns.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from thresher.data.counting import BATCH_ROWS
from thresher.data.engines.address import Address
from thresher.data.engines.duckdb_tables import DuckDBRelation
from thresher.data.engines.engine import (
    CodedBatch,
    Column,
    Engine,
    StreamingEngine,
    checked,
    code_of_arrow,
)
from thresher.data.engines.faults import driver, masked
from thresher.data.engines.postgres import PostgresTable
from thresher.data.engines.spark import SparkTable
from thresher.errors import DataError
from thresher.schema.features import Feature


def engine_at(address: Address) -> Engine:
    """The engine of a table at a URL that Ibis knows."""
    ibis = driver("ibis", "sql")
    if address.scheme not in dir(ibis):
        raise DataError(f"{address}: there is no database of the kind {address.scheme!r}")
    with masked(f"{address}: there is no such database or table, or no connection to it"):
        backend = ibis.connect(address.database)
        *places, name = address.table
        table = backend.table(name, database=tuple(places) or None)
    return engine_of(table, str(address))


def engine_of(expression: Any, described: str = "the Ibis table") -> Engine:
    """The engine of an Ibis table expression."""
    ibis = driver("ibis", "sql")
    if not isinstance(expression, ibis.Table):
        raise DataError("only an Ibis table holds records: give the table, not a column of it")
    with masked(f"{described} has no connection to a database"):
        backend = expression.get_backend()
    if backend.name not in ("duckdb", "postgres", "pyspark"):
        return IbisTable(expression, described)
    with masked(f"{described} cannot be written as a query of {backend.name}"):
        query = str(ibis.to_sql(expression))
        if backend.name == "duckdb":
            return DuckDBRelation(backend.con.sql(query), described)
        if backend.name == "pyspark":
            return SparkTable(backend._session.sql(query), described)
        # Another connection than theirs: what the user's is doing must not change what we see.
        info = backend.con.info
        secret = {"password": info.password} if info.password else {}
        conninfo = driver("psycopg", "sql").conninfo
        database = conninfo.make_conninfo(**{**info.get_parameters(), **secret})
    return PostgresTable(described, f"({query})", database)


@dataclass(frozen=True)
class IbisTable(StreamingEngine):
    """A table expression of a backend for which there is no faster way.

    Attributes:
        expression: The expression.
        described: Its name in messages.
    """

    expression: Any = field(repr=False)
    described: str = "the Ibis table"

    def columns(self) -> dict[str, Column]:
        """The columns of the table."""
        with masked(f"{self.described}: its columns cannot be read"):
            return {
                name: Column(_arrow(kind), str(kind), name)
                for name, kind in self.expression.schema().items()
            }

    def count(self) -> int:
        """The number of records."""
        with masked(f"{self.described}: its records cannot be counted"):
            return int(self.expression.count().execute())

    def coded(self, features: Sequence[Feature]) -> Iterator[CodedBatch]:
        """All records in batches, by one query."""
        columns = checked(self.described, self.columns(), features)
        for batch in self._batches([feature.name for feature in features]):
            yield CodedBatch(
                {
                    feature.name: code_of_arrow(feature, columns[feature.name], cells)
                    for feature, cells in zip(features, batch.columns, strict=True)
                }
            )

    def _batches(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        words = f"{self.described} cannot be read: is the connection lost, or was it changed?"
        with masked(words):
            chosen = self.expression.select(*names)
            reader = iter(chosen.to_pyarrow_batches(chunk_size=BATCH_ROWS))
        while True:
            with masked(words):
                batch = next(reader, None)
            if batch is None:
                return
            yield batch


def _arrow(kind: Any) -> pa.DataType | None:
    try:
        return kind.to_pyarrow()
    except Exception:  # a type that Arrow does not have
        return None
