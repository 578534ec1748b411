"""`connect`: private records in a table of a database or a cluster."""

from typing import Any

from thresher.data.engines.address import Address, is_address
from thresher.data.engines.engine import ConnectedTable, Engine, connected
from thresher.errors import DataError
from thresher.schema import Schema

CONNECTED = ("duckdb", "_duckdb", "ibis", "pyspark")
"""The modules of tables in a database or a cluster."""


def connect(source: Any, schema: Schema, table: str | None = None) -> ConnectedTable:
    """Use private records where they are: in a table of a database or a cluster.

    The table is coded as a file is, and gives the same counts. Records are read when tables
    are counted, in one pass, and are not kept. A column that the schema does not name is not read.

    Args:
        source: A URL with the table behind `#`, such as `postgresql://host/database#people`,
            `duckdb:///people.db#people` or `sc://host:15002#people` (Spark Connect); an Ibis table
            expression; a connection or relation of DuckDB; a data frame of PySpark.
        schema: The public description of the columns.
        table: The table's name, if the source does not say it: `people`, or `census.people`.

    Returns:
        Private data, for `fit`, `Curator` and evaluation.

    Example:
        >>> import duckdb
        >>> from thresher.schema.features import IntegerRange
        >>> database = duckdb.connect()
        >>> _ = database.execute("CREATE TABLE people AS SELECT unnest([30, 41, 250]) AS age")
        >>> schema = Schema([IntegerRange(name="age", low=0, high=99, nulls=0)])
        >>> connect(database, schema, table="people")
        ConnectedTable(3 records, 1 features, 100 one-hot columns)
    """
    return connected(engine_for(source, table), schema)


def is_connectable(source: Any) -> bool:
    """Whether a source is for `connect`, not for `read`.

    Example:
        >>> is_connectable("duckdb:///people.db#people"), is_connectable("people.csv")
        (True, False)
    """
    return is_address(source) or _kind(source).partition(".")[0] in CONNECTED


def _kind(source: Any) -> str:
    return f"{type(source).__module__}.{type(source).__qualname__}"


def engine_for(source: Any, table: str | None = None) -> Engine:
    """The engine for what `connect` takes; each has a module, imported when it is needed."""
    if isinstance(source, str):
        return _at(source, table)
    kind = _kind(source)
    if kind.partition(".")[0] in ("duckdb", "_duckdb"):
        return _of_duckdb(source, table)
    if table is not None:
        raise DataError(f"a {type(source).__name__} is a table already: leave out table")
    if kind.startswith("ibis."):
        from thresher.data.engines.ibis_tables import engine_of

        return engine_of(source)
    if kind.startswith("pyspark."):
        from thresher.data.engines.spark import SparkTable

        return SparkTable(source)
    raise DataError(
        f"a {type(source).__name__} is no table of a database: give a URL with #table, an Ibis "
        "table, a connection of DuckDB or a data frame of PySpark; files and data frames are for "
        "`read`"
    )


def _at(url: str, table: str | None) -> Engine:
    if not is_address(url):
        raise DataError(
            "this is no URL of a database: write postgresql://host/database#people or "
            "duckdb:///people.db#people; files are for `read`"
        )
    address = Address.parse(url, table)
    if address.scheme == "duckdb":
        from thresher.data.engines.duckdb_tables import DuckDBFile

        return DuckDBFile(address)
    if address.scheme in ("postgresql", "postgres"):
        from thresher.data.engines.postgres import PostgresTable

        return PostgresTable.at(address)
    if address.scheme == "sc":
        from thresher.data.engines.spark import SparkTable

        return SparkTable.at(address)
    from thresher.data.engines.ibis_tables import engine_at

    return engine_at(address)


def _of_duckdb(source: Any, table: str | None) -> Engine:
    from thresher.data.engines.address import names_in
    from thresher.data.engines.duckdb_tables import DuckDBRelation, relation_of

    if hasattr(source, "execute") and hasattr(source, "cursor"):
        if table is None:
            raise DataError("a connection has many tables: say which, as in table='people'")
        return relation_of(source, names_in(table), table)
    if table is not None:
        raise DataError("a relation of DuckDB is a table already: leave out table")
    return DuckDBRelation(source)
