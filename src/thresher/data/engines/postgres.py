"""Tables of PostgreSQL, read in one read-only transaction that sees one moment.

Codes are computed by the server and packed into a few 64-bit numbers a row. If a sample of rows
shows that many are equal, the server sends each distinct row once, with its count. Otherwise a
server-side cursor sends all rows in blocks. In neither case are all rows in memory here.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from thresher.data.counting import BATCH_ROWS
from thresher.data.engines.address import Address
from thresher.data.engines.dialects import Postgres
from thresher.data.engines.engine import CodedBatch, Column, StreamingEngine, checked, code_of_arrow
from thresher.data.engines.faults import driver, masked
from thresher.data.engines.packing import Key, keys_of
from thresher.data.engines.pushdown import code_expression
from thresher.errors import DataError
from thresher.schema.features import Feature

SQL = Postgres()
SECONDS_TO_CONNECT = 15
SAMPLE_ROWS = 100_000
SHRINKS = 0.5
"""If fewer than this share of the sampled rows are distinct, the server groups them."""

NUMBERS = {21: pa.int16(), 23: pa.int32(), 20: pa.int64(), 700: pa.float32(), 701: pa.float64()}
TEXTS = {18, 19, 25, 1042, 1043, 2950}  # "char", name, text, char(n), varchar, uuid
NUMERIC, MONEY, BOOLEAN, DATE, TIME, STAMP, ZONED = 1700, 790, 16, 1082, 1083, 1114, 1184
INFINITE = {DATE: 2**31 - 1, STAMP: 2**63 - 1, ZONED: 2**63 - 1}
"""The last moment that Arrow has: `infinity` is beyond every bin and label, and not missing."""

CHANGED = (
    "cannot be read: was the table or view changed in the meantime, or does the view compute "
    "something that fails?"
)
NO_TABLE = (
    "there is no such table; capitals matter, and a table of another schema is written "
    "#schema.table"
)
NO_RIGHT = "this user may not read it; GRANT SELECT lets them"
LOST = (
    "the connection was lost. Try again when the server runs: a fit that fails while it counts "
    "pays nothing for that"
)
REFUSED = (
    "the server refuses the connection. Check the host, the port, the database, the user and the "
    "password (in the URL, in PGPASSWORD or in ~/.pgpass)"
)


@dataclass(frozen=True)
class PostgresTable(StreamingEngine):
    """A table or a query of PostgreSQL.

    Attributes:
        described: Its name in messages.
        source: The table or query, as it is written behind FROM.
        database: The URL or other words that a connection is made by; a password may be in it.
    """

    described: str
    source: str = field(repr=False)
    database: str = field(repr=False)

    @classmethod
    def at(cls, address: Address) -> "PostgresTable":
        """The table at an address."""
        return cls(str(address), SQL.table(address.table), address.database)

    def columns(self) -> dict[str, Column]:
        """The columns of the table."""
        with self._snapshot() as connection:
            return self._columns(connection)

    def count(self) -> int:
        """The number of records."""
        with self._snapshot() as connection, self._told():
            [(n,)] = connection.execute(f"SELECT count(*) FROM {self.source} AS t").fetchall()
            return int(n)

    def coded(self, features: Sequence[Feature]) -> Iterator[CodedBatch]:
        """All records in batches, as they are in one moment."""
        with self._snapshot() as connection:
            columns = checked(self.described, self._columns(connection), features)
            asked = _Asked(features, columns)
            inner = f"SELECT {asked.select} FROM {self.source} AS t"
            if self._shrinks(connection, inner, asked.width):
                every = ", ".join(f"c{place}" for place in range(asked.width))
                inner = f"SELECT {every}, count(*) FROM ({inner}) AS t GROUP BY {every}"
            for rows in self._blocks(connection, inner):
                yield asked.coded(rows)

    def _shrinks(self, connection: Any, inner: str, width: int) -> bool:
        """Whether many rows are equal, by the first rows that the server comes upon."""
        every = ", ".join(f"c{place}" for place in range(width))
        sample = f"SELECT {every}, count(*) AS n FROM ({inner} LIMIT {SAMPLE_ROWS}) AS t"
        grouped = f"SELECT count(*), CAST(sum(n) AS int8) FROM ({sample} GROUP BY {every}) AS t"
        with self._told():
            [(distinct, rows)] = connection.execute(grouped).fetchall()
        return bool(distinct < SHRINKS * (rows or 0))

    def _blocks(self, connection: Any, query: str) -> Iterator[list[tuple[Any, ...]]]:
        with self._told():
            cursor = connection.cursor("thresher")
            cursor.execute(query, binary=True)
        try:
            while True:
                with self._told():
                    rows = cursor.fetchmany(BATCH_ROWS)
                if not rows:
                    return
                yield rows
        finally:
            with suppress(Exception):  # the connection may be lost; the server closes it anyway
                cursor.close()

    @contextmanager
    def _snapshot(self) -> Iterator[Any]:
        """A read-only transaction in which every query sees the same moment."""
        psycopg = driver("psycopg", "sql")
        with masked(f"{self.described}: {REFUSED}"):
            given = psycopg.conninfo.conninfo_to_dict(self.database)
            given.setdefault("connect_timeout", SECONDS_TO_CONNECT)
            given |= {"client_encoding": "UTF8", "fallback_application_name": "thresher"}
            connection = psycopg.connect(**given)
        try:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            connection.read_only = True
            yield connection
        finally:
            connection.close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Tell what went wrong by the kind of the fault alone."""
        psycopg = driver("psycopg", "sql")
        gone = (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName)
        with masked(f"{self.described} {CHANGED}"):
            try:
                yield
            except gone:
                raise DataError(f"{self.described}: {NO_TABLE}") from None
            except psycopg.errors.InsufficientPrivilege:
                raise DataError(f"{self.described}: {NO_RIGHT}") from None
            except (psycopg.OperationalError, psycopg.InterfaceError):
                raise DataError(f"{self.described}: {LOST}") from None

    def _columns(self, connection: Any) -> dict[str, Column]:
        with self._told():
            cursor = connection.execute(f"SELECT * FROM {self.source} AS t LIMIT 0")
            described = cursor.description or []
            names = dict(
                connection.execute(
                    "SELECT oid::int8, CASE WHEN typtype = 'e' OR typname = 'citext' "
                    "THEN 'text' ELSE format_type(oid, NULL) END FROM pg_type "
                    "WHERE oid = ANY(%s)",
                    [[entry.type_code for entry in described]],
                ).fetchall()
            )
            [(encoding,)] = connection.execute("SHOW server_encoding").fetchall()
        if encoding != "UTF8":
            raise DataError(
                f"{self.described}: the database is encoded in {encoding}, where texts can be "
                "compared in more than one way: export the table to Parquet, or to a database in "
                "UTF8"
            )
        return {
            entry.name: _column(entry.name, entry.type_code, str(names.get(entry.type_code)))
            for entry in described
        }


class _Asked:
    """What a query asks for: keys of packed codes, then the columns that are coded here."""

    def __init__(self, features: Sequence[Feature], columns: dict[str, Column]) -> None:
        codes = {f.name: code_expression(f, columns[f.name], SQL) for f in features}
        pushed = {f.name: f.size for f in features if codes[f.name]}
        self.keys: list[Key] = keys_of(pushed)
        self.raw = [(f, columns[f.name]) for f in features if not codes[f.name]]
        listed = [key.packed([str(codes[name]) for name in key.names]) for key in self.keys]
        listed += [column.raw for _, column in self.raw]
        self.width = len(listed)
        self.select = ", ".join(f"{entry} AS c{place}" for place, entry in enumerate(listed))

    def coded(self, rows: list[tuple[Any, ...]]) -> CodedBatch:
        """The codes of some rows, which end with their count if the server grouped them."""
        cells = list(zip(*rows, strict=True))
        codes: dict[str, Any] = {}
        for key, numbers in zip(self.keys, cells, strict=False):
            codes |= key.unpacked(np.array(numbers, dtype=np.int64))
        for (feature, column), entries in zip(self.raw, cells[len(self.keys) :], strict=False):
            kind = pa.string() if column.digits else pa.int64() if column.moment else column.kind
            codes[feature.name] = code_of_arrow(feature, column, pa.array(entries, kind))
        counted = len(cells) > self.width
        return CodedBatch(codes, np.array(cells[-1], dtype=np.int64) if counted else None)


def _column(name: str, oid: int, named: str) -> Column:
    cell = f"t.{SQL.name(name)}"
    if oid == BOOLEAN or oid in NUMBERS:
        return Column(NUMBERS.get(oid, pa.bool_()), named, cell)
    if oid in TEXTS or named == "text":
        return Column(pa.string(), named, f'CAST({cell} AS text) COLLATE "C"')
    if oid in (NUMERIC, MONEY):
        return Column(pa.float64(), named, f"CAST(CAST({cell} AS numeric) AS text)", digits=True)
    if oid == DATE:
        days = _finite(cell, f"{cell} - DATE '1970-01-01'", oid)
        return Column(pa.date32(), named, days, moment=True)
    # Since PostgreSQL 14 this is an exact number, not a double.
    ticks = f"CAST(extract(epoch FROM {cell}) * 1000000 AS int8)"
    if oid == TIME:
        return Column(pa.time64("us"), named, ticks, moment=True)
    if oid in (STAMP, ZONED):
        kind = pa.timestamp("us", "UTC" if oid == ZONED else None)
        return Column(kind, named, _finite(cell, ticks, oid), moment=True)
    return Column(None, named, cell)


def _finite(cell: str, ticks: str, oid: int) -> str:
    last = INFINITE[oid]
    return (
        f"CASE WHEN {cell} IS NULL THEN NULL WHEN isfinite({cell}) THEN {ticks} "
        f"WHEN {cell} > 'epoch' THEN {last} ELSE {-last} END"
    )
