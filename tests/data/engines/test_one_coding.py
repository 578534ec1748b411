"""One coding of a cell: every engine gives odd cells the codes that Arrow gives them.

The reference is `Feature.encode` on an Arrow column, which `tests/data/test_one_coding.py` compares
with the definition. Counts by one feature tell the code of a cell: one record is one cell.
"""

import dataclasses
import datetime as dt
import math
import os
from decimal import Decimal

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from thresher import Bins, Categorical, IntegerRange, Schema, connect, read
from thresher.data.cell_reading import read_cells
from thresher.data.engines import postgres as postgres_engine
from thresher.schema.cells import BLANKS

EXAMPLES = 10 * int(os.environ.get("THRESHER_FUZZ", "1"))
LABELS = (
    "?", "missing", "true", "False", "1", "2.50", "x", "X", "inf", "2020-03-01", "12:30:00",
    "2020-03-01T12:30:00.5", "2020-03-01 11:30:00+0000", "it's", 'say "a"', "a\\b", "é", "e\u0301",
    "$1", "%s", "9007199254740993", "-2", "0", "1e+300", "{a}", "ß", "SS",
)  # fmt: skip
FEATURES = (
    Categorical(name="x", categories=LABELS, outside="?", nulls="missing"),
    Categorical(name="x", categories=("True", "false", "?"), outside="?", nulls="?"),
    IntegerRange(name="x", low=-3, high=9, nulls="none", extra=("none", "True", "x")),
    IntegerRange(name="x", low=0, high=9, nulls="none", extra=("none", "odd"), outside="odd"),
    IntegerRange(name="x", low=2**53 - 2, high=2**53, nulls="no", extra=("no",), outside="no"),
    Bins(name="x", edges=(0, 0.1, 0.3, 0.6, 0.7, 2, 3), nulls="none", extra=("none", "o"),
         outside="o"),
    Bins.equal("x", low=0, high=1, bins=10, nulls=0),
    Bins(name="x", edges=(-1, 1), nulls=0),
)  # fmt: skip
NUMBERS = FEATURES[2:]
WORDS = [
    "x", "X", " x ", "x ", "\tx", "\u00a0x\u3000", "\x1cx", "\u200bx", "", " ", BLANKS, "1", "1.0",
    "2.5", "2.50", "true", "True", "TRUE", "it's", 'say "a"', "a\\b", "é", "e\u0301", "É", "$1",
    "%s", "{a}", "ß", "ss", "SS", "1_0", "٣", "1e3", "0x1", "nan", "NULL", "inf", "\ufeffx", "𝔛",
    "missing", "none", "2020-03-01", None,
]  # fmt: skip
WHOLE = [0, 1, -1, -3, -4, 9, 10, 250, 2**31 - 1, -(2**31), None]
LONG = [2**53, 2**53 - 1, 2**53 + 1, 2**53 + 2, 2**53 + 3, -(2**63), 2**63 - 1, 2**62 + 1, None]
REAL = [
    0.0, -0.0, 0.1, 0.3, 0.6, 0.7, 0.30000000000000004, 0.7 - 1e-16, 1.0, 2.5, 9.0, 9.99, 10.0,
    -3.0, -3.5, -0.5, 1e300, -1e300, 5e-324, math.inf, -math.inf, math.nan, 2.0**53,
    2.0**53 + 2, None,
]  # fmt: skip
SINGLE = [0.0, 0.1, 0.3, 0.7, 2.5, math.inf, -math.inf, math.nan, 16777216.0, None]
EXACT = [Decimal("0.1"), Decimal("0.3"), Decimal("2.50"), Decimal("1.000"), Decimal("-3.001"),
         Decimal("9007199254740.993"), None]  # fmt: skip
NOON = dt.datetime(2020, 3, 1, 12, 30, 0, 500_000)
DAYS = [dt.date(2020, 3, 1), dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1969, 12, 31), None]
STAMPS = [NOON, dt.datetime(2020, 3, 1), dt.datetime(1, 1, 1), dt.datetime(1969, 12, 31, 23), None]
CLOCKS = [dt.time(12, 30), dt.time(0), dt.time(23, 59, 59, 999_999), None]
FAMILIES = {
    # pool, Arrow's type, and those of DuckDB, PostgreSQL and Spark (None: it has no such type)
    "text": (WORDS, pa.string(), "VARCHAR", "text", "string"),
    "varchar": (WORDS, pa.string(), "VARCHAR COLLATE NOCASE", "varchar(200)", "string"),
    "truth": ([True, False, None], pa.bool_(), "BOOLEAN", "boolean", "boolean"),
    "small": ([0, 1, -3, 9, 10, None], pa.int16(), "SMALLINT", "int2", "smallint"),
    "whole": (WHOLE, pa.int32(), "INTEGER", "int4", "int"),
    "long": (WHOLE + LONG, pa.int64(), "BIGINT", "int8", "bigint"),
    "unsigned": ([0, 9, 10, 2**64 - 1, None], pa.uint64(), "UBIGINT", None, None),
    "real": (REAL, pa.float64(), "DOUBLE", "float8", "double"),
    "single": (SINGLE, pa.float32(), "FLOAT", "float4", "float"),
    "exact": (EXACT, pa.decimal128(20, 5), "DECIMAL(20,5)", "numeric", "decimal(20,5)"),
    "date": (DAYS, pa.date32(), "DATE", "date", "date"),
    "stamp": (STAMPS, pa.timestamp("us"), "TIMESTAMP", "timestamp", "timestamp_ntz"),
    "zoned": ([NOON.replace(tzinfo=dt.UTC), dt.datetime(2020, 3, 1, tzinfo=dt.UTC), None],
              pa.timestamp("us", "UTC"), "TIMESTAMPTZ", "timestamptz", "timestamp"),
    "clock": (CLOCKS, pa.time64("us"), "TIME", "time", None),
}  # fmt: skip
CATEGORICAL_ONLY = {"truth", "date", "stamp", "zoned", "clock"}


def cells_of(family):
    return st.lists(st.sampled_from(FAMILIES[family][0]), min_size=1, max_size=6)


def features_of(family):
    return FEATURES[:2] if family in CATEGORICAL_ONLY else FEATURES


def counts_of(data):
    [table] = data.counts([("x",)])
    return dict(zip(table.cells.tolist(), table.counts.tolist(), strict=True))


def check(family, cells, connected, source):
    """Compare an engine with Arrow, by every feature and as cells without a schema."""
    table = pa.table({"x": pa.array(cells, FAMILIES[family][1], from_pandas=False)})
    assert read_cells(source).columns == read_cells(table).columns
    for feature in features_of(family):
        schema = Schema([feature])
        assert counts_of(connected(schema)) == counts_of(read(table, schema)), feature


@pytest.mark.parametrize("family", FAMILIES)
@given(data=st.data())
@settings(max_examples=EXAMPLES, deadline=None)
def test_duckdb(family, data):
    cells = data.draw(cells_of(family))
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t (x {FAMILIES[family][2]})")
        connection.executemany("INSERT INTO t VALUES (?)", [[cell] for cell in cells])
        source = connection.table("t")
        check(family, cells, lambda schema: connect(connection, schema, table="t"), source)


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize("grouped", [True, False])
@pytest.mark.parametrize("family", [f for f in FAMILIES if FAMILIES[f][3]])
@given(data=st.data())
@settings(
    max_examples=EXAMPLES // 3,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_postgres(postgres, monkeypatch, family, grouped, data):
    monkeypatch.setattr(postgres_engine, "SHRINKS", 2.0 if grouped else -1.0)
    cells = data.draw(cells_of(family))
    postgres.run("DROP TABLE IF EXISTS odd", f"CREATE TABLE odd (x {FAMILIES[family][3]})")
    with postgres.admin.cursor() as cursor:
        cursor.executemany("INSERT INTO odd VALUES (%s)", [[cell] for cell in cells])
    url = postgres.url("odd")
    check(family, cells, lambda schema: connect(url, schema), url)


@pytest.mark.xdist_group("spark")
@pytest.mark.filterwarnings("ignore")
def test_spark(spark):
    """All families in one table: one job for all of them."""
    chosen = {name: entry for name, entry in FAMILIES.items() if entry[4]}
    features = [
        (family, i, feature) for family in chosen for i, feature in enumerate(features_of(family))
    ]
    rows = max(len(entry[0]) for entry in chosen.values())
    columns = {
        family: [entry[0][row % len(entry[0])] for row in range(rows)]
        for family, entry in chosen.items()
    }
    table = pa.table(
        {
            f"{family} {i}": pa.array(columns[family], chosen[family][1], from_pandas=False)
            for family, i, _ in features
        }
    )
    schema = Schema(dataclasses.replace(f, name=f"{family} {i}") for family, i, f in features)
    declared = ", ".join(f"`{family}` {entry[4]}" for family, entry in chosen.items())
    frame = spark.createDataFrame(list(zip(*columns.values(), strict=True)), declared)
    frame = frame.selectExpr(*(f"`{family}` AS `{family} {i}`" for family, i, _ in features))
    sets = [(name,) for name in schema.names]
    for mine, theirs in zip(
        read(table, schema).counts(sets), connect(frame, schema).counts(sets), strict=True
    ):
        assert np.array_equal(mine.cells, theirs.cells)
        assert np.array_equal(mine.counts, theirs.counts)
    assert read_cells(frame).columns == read_cells(table).columns


def test_numbers_beyond_every_type_of_arrow():
    """Whole numbers of 128 bits are rounded once, as if they were read as text."""
    cells = [2**126, -(2**126), 10**37 + 1, 5, None]
    text = pa.table({"x": [None if cell is None else str(cell) for cell in cells]})
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (x HUGEINT)")
        connection.executemany("INSERT INTO t VALUES (?)", [[cell] for cell in cells])
        for feature in NUMBERS:
            schema = Schema([feature])
            data = connect(connection, schema, table="t")
            assert counts_of(data) == counts_of(read(text, schema))
        label = Categorical(
            name="x", categories=("5", repr(float(2**126)), "?"), outside="?", nulls="?"
        )
        assert counts_of(connect(connection, Schema([label]), table="t")) == {0: 1, 1: 1, 2: 3}


@pytest.mark.xdist_group("postgres")
def test_what_only_postgres_has(postgres):
    postgres.run(
        "DROP TABLE IF EXISTS kinds; DROP TYPE IF EXISTS mood; DROP DOMAIN IF EXISTS years",
        "CREATE TYPE mood AS ENUM ('x', 'X')",
        "CREATE DOMAIN years AS int4",
        "CREATE TABLE kinds (x mood, c char(4), y years, n numeric, d date, u uuid, m money)",
        "INSERT INTO kinds VALUES ('X', 'x', 5, 1e400, 'infinity', "
        "'00000000-0000-0000-0000-000000000007', 2.5), "
        "('x', NULL, 250, 'NaN', '-infinity', NULL, NULL), "
        "('x', ' ', NULL, 'Infinity', '2020-03-01', NULL, 1)",
    )
    text = {
        "outside": "?", "nulls": "-",
        "categories": ("?", "-", "x", "X", "2020-03-01", "00000000-0000-0000-0000-000000000007"),
    }  # fmt: skip
    whole = {"low": 0, "high": 9, "nulls": 0}
    expected = {
        Categorical(name="x", **text): {2: 2, 3: 1},
        Categorical(name="c", **text): {1: 2, 2: 1},
        IntegerRange(name="y", **whole): {0: 1, 5: 1, 9: 1},
        IntegerRange(name="n", **whole): {0: 1, 9: 2},
        Categorical(name="d", **text): {0: 2, 4: 1},
        Categorical(name="u", **text): {1: 2, 5: 1},
        Bins(name="m", edges=(0, 2, 3), nulls=0): {0: 2, 1: 1},
    }
    schema = Schema(expected)
    tables = connect(postgres.url("kinds"), schema).counts([(name,) for name in schema.names])
    for table, counts in zip(tables, expected.values(), strict=True):
        assert dict(zip(table.cells.tolist(), table.counts.tolist(), strict=True)) == counts


def test_a_kind_of_feature_that_is_not_known_is_coded_here():
    """A setting or a kind that expressions do not honour keeps a column from being pushed down."""
    from thresher.data.engines.dialects import DuckDB
    from thresher.data.engines.engine import Column
    from thresher.data.engines.pushdown import code_expression

    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Folded(Categorical):
        aliases: tuple[str, ...] = ()

    text = Column(pa.string(), "text", raw="x")
    plain = {"name": "x", "categories": ("a",), "outside": "a", "nulls": "a"}
    assert code_expression(Categorical(**plain), text, DuckDB()) is not None
    assert code_expression(Folded(**plain), text, DuckDB()) is None
    assert code_expression(Folded(**plain, aliases=("b",)), text, DuckDB()) is None
    merged = Categorical(**plain, synonyms={"b": "a"})
    assert code_expression(merged, text, DuckDB()) is None
