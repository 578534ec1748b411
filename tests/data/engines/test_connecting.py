"""`connect`: the same release wherever the records are, and one clear line about a fault."""

import pickle
import sqlite3
from contextlib import closing
from fractions import Fraction

import duckdb
import ibis
import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import thresher as th
from thresher.data.cell_reading import read_cells
from thresher.data.engines import postgres as postgres_engine
from thresher.data.engines.address import Address, names_in, without_secrets
from thresher.data.private import PrivateData

ROWS = 400
SECRET = "hunter2"


@pytest.fixture(scope="module")
def people() -> pa.Table:
    rng = np.random.default_rng(7)
    job = rng.integers(0, 4, ROWS)
    return pa.table(
        {
            "age": pa.array(rng.integers(15, 26, ROWS), mask=rng.random(ROWS) < 0.05),
            'job "now"': [["none", "part ", "full", None][i] for i in job],
            "pay.month": rng.normal(50, 30, ROWS) + 10 * job,
            "diary": ["what nobody may read"] * ROWS,
        }
    )


@pytest.fixture(scope="module")
def schema() -> th.Schema:
    return th.Schema(
        (
            th.IntegerRange(name="age", low=16, high=24, nulls="?", extra=("?",), outside="?"),
            th.Categorical(name='job "now"', categories=("none", "part", "full", "?"),
                           outside="?", nulls="?"),
            th.Bins.equal("pay.month", low=0, high=100, bins=7, nulls=0),
        )
    )  # fmt: skip


@pytest.fixture(scope="module")
def workload(schema) -> th.Workload:
    return th.Workload.random(schema, k=2, r=2, size=3, seed=1)


@pytest.fixture(scope="module")
def in_duckdb(people, tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("duck") / "people.db"
    with duckdb.connect(str(path)) as connection:
        connection.execute('CREATE TABLE people AS SELECT * FROM people; CREATE SCHEMA "a.b"')
        connection.execute('CREATE TABLE "a.b"."it""s" AS SELECT * FROM people')
    return f"duckdb:///{path}"


@pytest.fixture(scope="module")
def in_postgres(people, postgres) -> str:
    postgres.run(
        "DROP SCHEMA IF EXISTS census CASCADE; CREATE SCHEMA census",
        'CREATE TABLE census."People; DROP" (age int4, "job ""now""" text, "pay.month" float8, '
        "diary text)",
    )
    with postgres.admin.cursor() as cursor:
        cursor.executemany(
            'INSERT INTO census."People; DROP" VALUES (%s, %s, %s, %s)',
            [tuple(row.values()) for row in people.to_pylist()],
        )
    return postgres.url('census."People; DROP"', password=SECRET)


def fitted(data, workload) -> str:
    """What was measured, and a sample of the synthetic rows."""
    release = th.Auto(epsilon=1.0, seed=3).fit(
        data, workload, randomness=th.InsecureSeededRandomness(5)
    )
    return repr(release.measurements) + release.sample(50, seed=0).to_csv()


def same_tables(data, reference, workload) -> bool:
    sets = [threshold.features for threshold in workload]
    pairs = zip(data.counts(sets), reference.counts(sets), strict=True)
    return all(
        np.array_equal(a.cells, b.cells) and np.array_equal(a.counts, b.counts) for a, b in pairs
    )


@pytest.fixture(scope="module")
def reference(people, schema):
    return th.read(people, schema)


@pytest.fixture(scope="module")
def release(reference, workload):
    return fitted(reference, workload)


def test_files_and_frames(people, schema, workload, release, tmp_path):
    pq.write_table(people, tmp_path / "people.parquet")
    pa_csv.write_csv(people, tmp_path / "people.csv")
    for source in (tmp_path / "people.parquet", tmp_path / "people.csv", people.to_pandas()):
        assert fitted(th.read(source, schema), workload) == release


def test_duckdb(in_duckdb, people, schema, workload, reference, release):
    data = th.connect(f"{in_duckdb}#people", schema)
    assert isinstance(data, PrivateData)
    assert fitted(data, workload) == release
    assert same_tables(th.connect(in_duckdb + '#"a.b"."it""s"', schema), reference, workload)
    with duckdb.connect() as connection:
        relation = connection.from_arrow(people)
        assert same_tables(th.connect(relation, schema), reference, workload)
        connection.register("there", people)
        assert same_tables(th.connect(connection, schema, table="there"), reference, workload)


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize("shrinks", [2.0, -1.0])
def test_postgres(in_postgres, schema, workload, reference, release, monkeypatch, shrinks):
    monkeypatch.setattr(postgres_engine, "SHRINKS", shrinks)
    data = th.connect(in_postgres, schema)
    assert fitted(data, workload) == release
    seen = []
    data.counts([("age",)], progress=seen.append)
    assert seen[-1] == ROWS


@pytest.mark.xdist_group("spark")
@pytest.mark.filterwarnings("ignore")
def test_spark(spark, people, schema, workload, release):
    frame = spark.createDataFrame(people)
    assert fitted(th.connect(frame, schema), workload) == release


@pytest.mark.xdist_group("postgres")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_ibis(in_duckdb, in_postgres, postgres, people, schema, workload, reference):
    backend = ibis.duckdb.connect(in_duckdb.removeprefix("duckdb:///"), read_only=True)
    table = backend.table("people")
    assert same_tables(th.connect(table, schema), reference, workload)
    older = th.connect(table.filter(table.age > 20), schema)
    assert older.n == sum(age is not None and age > 20 for age in people["age"].to_pylist())
    backend.disconnect()
    backend = ibis.postgres.connect(host=postgres.folder, user="postgres", database="postgres")
    table = backend.table("People; DROP", database="census")
    assert same_tables(th.connect(table, schema), reference, workload)
    backend.disconnect()
    with pytest.raises(th.DataError, match="give the table"):
        th.connect(table.age, schema)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_a_backend_without_an_engine_of_its_own(people, schema, workload, reference, tmp_path):
    """Raw columns of SQLite, by its URL and by a table expression."""
    with closing(sqlite3.connect(tmp_path / "people.db")) as connection:
        connection.execute(
            'CREATE TABLE people (age INTEGER, "job ""now""" TEXT, "pay.month" REAL, diary TEXT)'
        )
        rows = [tuple(row.values()) for row in people.to_pylist()]
        connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", rows)
        connection.commit()
    url = f"sqlite:///{tmp_path}/people.db"
    data = th.connect(f"{url}#people", schema)
    assert same_tables(data, reference, workload)
    backend = ibis.sqlite.connect(tmp_path / "people.db")
    assert same_tables(th.connect(backend.table("people"), schema), reference, workload)
    assert read_cells(backend.table("people")).columns == read_cells(people).columns
    backend.disconnect()
    assert "there is no such database or table" in fault(f"{url}#nobody", schema)


# What goes wrong.


def fault(source, schema, table=None) -> str:
    with pytest.raises(th.DataError) as told:
        th.connect(source, schema, table)
    words = str(told.value)
    assert "\n" not in words
    assert SECRET not in words
    assert told.value.__suppress_context__ or told.value.__context__ is None
    return words


def test_faults_of_addresses(schema, tmp_path):
    assert "names no table" in fault(f"postgresql://ann:{SECRET}@host/db", schema)
    assert "write # as %23" in fault(f"postgresql://ann:x#{SECRET}@host/db", schema)
    assert "no database of the kind 'nosql'" in fault(f"nosql://a:{SECRET}@h/d#t", schema)
    assert "files are for `read`" in fault("people.csv", schema)
    assert "there is no file" in fault(f"duckdb:///{tmp_path}/none.db#people", schema)
    (tmp_path / "text.db").write_text(SECRET * 1000)
    assert "not a file of DuckDB" in fault(f"duckdb:///{tmp_path}/text.db#people", schema)
    assert "say which" in fault(duckdb.connect(), schema)
    assert "is no table of a database" in fault(3, schema)
    with pytest.raises(th.DataError, match="use `connect`") as told:
        th.read(f"postgresql://ann:{SECRET}@host/db#t", schema)
    assert SECRET not in str(told.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (f"postgresql://a:{SECRET}@h:5/d?sslmode=x#t", "postgresql://h:5/d#t"),
        (f"postgresql://a:x@{SECRET}@h/d#t", "postgresql://…#t"),
        (f"postgresql://a:x/{SECRET}@h/d#t", "postgresql://…#t"),
        (f"postgresql://a:x?{SECRET}@h/d#t", "postgresql://…#t"),
        (f"postgresql://a:x#{SECRET}@h/d#t", "postgresql://…#t"),
        (f"postgresql://h/d?password={SECRET}#t", "postgresql://h/d#t"),
        (f"postgresql://h/d?password=x@{SECRET}#t", "postgresql://…#t"),
        (f"postgresql://a:{SECRET}@h/d", "postgresql://h/d"),
        ("people.csv", "people.csv"),
    ],
)
def test_no_password_is_shown(url, shown):
    assert without_secrets(url) == shown
    if "#t" in url:
        assert SECRET not in repr(Address.parse(url))


@pytest.mark.parametrize("name", ["", ".", "a.", 'a"b', '"a', "a\0b", '"a"b'])
def test_names_that_are_none(name):
    with pytest.raises(th.DataError, match="not the name of a table"):
        names_in(name)


def test_faults_of_tables(in_duckdb, schema):
    assert "there is no such table" in fault(f"{in_duckdb}#nobody", schema)
    more = th.Schema([*schema, th.IntegerRange(name="AGE", low=0, high=1, nulls=0)])
    assert "mind capitals and blanks in 'AGE'" in fault(f"{in_duckdb}#people", more)
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE t (b BLOB, l INTEGER[], i INTERVAL, d DATE, f BOOLEAN, j JSON, e INT)"
        )
        for name, kind in (("b", "BLOB"), ("l", "INTEGER"), ("i", "INTERVAL"), ("j", "JSON")):
            column = th.Categorical(name=name, categories=("a",), outside="a", nulls="a")
            assert f"column '{name}' is of type {kind}" in fault(
                connection, th.Schema([column]), "t"
            )
        for name in "df":
            column = th.IntegerRange(name=name, low=0, high=1, nulls=0)
            assert "expects numbers" in fault(connection, th.Schema([column]), "t")
        column = th.IntegerRange(name="e", low=0, high=1, nulls=0)
        assert "t holds no records" in fault(connection, th.Schema([column]), "t")


@pytest.mark.xdist_group("postgres")
def test_faults_of_postgres(postgres, in_postgres, schema):
    url = postgres.url("nobody", password=SECRET)
    assert "there is no such table" in fault(url, schema)
    assert "refuses the connection" in fault(
        postgres.url("t", password=SECRET, database="none"), schema
    )
    assert "refuses the connection" in fault(f"postgresql://a:{SECRET}@127.0.0.1:1/d#t", schema)
    postgres.run(
        "DROP TABLE IF EXISTS bad CASCADE; CREATE TABLE bad (b bytea, l int4[], s text)",
        f"INSERT INTO bad VALUES ('x', '{{1}}', '{SECRET}')",
        "CREATE VIEW failing AS SELECT s::int4 AS age FROM bad",
    )
    for name, kind in (("b", "bytea"), ("l", "integer[]")):
        column = th.Categorical(name=name, categories=("a",), outside="a", nulls="a")
        words = fault(postgres.url("bad"), th.Schema([column]))
        assert f"column '{name}' is of type {kind}" in words
    data = th.connect(postgres.url("failing"), th.Schema([schema["age"]]))
    with pytest.raises(th.DataError, match="cannot be read") as told:
        data.counts([("age",)])
    assert SECRET not in str(told.value)


def test_a_connection_is_not_pickled_nor_shown(in_duckdb, schema):
    data = th.connect(f"{in_duckdb}#people", schema)
    assert repr(data) == f"ConnectedTable({ROWS} records, 3 features, 21 one-hot columns)"
    with pytest.raises(TypeError, match="password"):
        pickle.dumps(data)


@pytest.fixture
def growing(postgres):
    postgres.run("DROP TABLE IF EXISTS growing CASCADE; CREATE TABLE growing (age int4)")
    postgres.run("INSERT INTO growing SELECT 20 FROM generate_series(1, 50)")
    return postgres.url("growing")


@pytest.mark.xdist_group("postgres")
def test_records_that_change_between_connecting_and_counting(growing, postgres, schema, tmp_path):
    data = th.connect(growing, th.Schema([schema["age"]]))
    ledger = th.Ledger.create(tmp_path / "ledger", Fraction(1))
    curator = th.Curator(data, th.Budget(Fraction(1)), ledger)
    postgres.run("INSERT INTO growing VALUES (21)")
    query = th.Query.parse("age=20", data.schema)
    with pytest.raises(th.DataError, match="another number of records"):
        curator.measure([query], rho="1/2")
    assert curator.spent == ledger.spent == 0
    postgres.run("ALTER TABLE growing RENAME COLUMN age TO years")
    with pytest.raises(th.DataError, match="lacks the column 'age'"):
        curator.measure([query], rho="1/2")
    assert curator.spent == ledger.spent == 0


@pytest.mark.xdist_group("postgres")
def test_one_moment_is_seen(growing, postgres, schema):
    """What is written while batches are read is not counted."""
    feature = schema["age"]
    [engine] = [th.connect(growing, th.Schema([feature]))._engine]
    with engine._snapshot() as connection:
        engine._columns(connection)
        postgres.run("INSERT INTO growing VALUES (21)")
        [(seen,)] = connection.execute("SELECT count(*) FROM growing").fetchall()
    assert seen == 50
    with engine._snapshot() as connection, pytest.raises(th.DataError), engine._told():
        connection.execute("DELETE FROM growing")


@pytest.mark.xdist_group("postgres")
def test_a_lost_connection_pays_nothing_and_a_second_call_goes_on(
    growing, postgres, schema, monkeypatch, tmp_path
):
    data = th.connect(growing, th.Schema([schema["age"]]))
    ledger = th.Ledger.create(tmp_path / "ledger", Fraction(1))
    curator = th.Curator(data, th.Budget(Fraction(1)), ledger)
    query = th.Query.parse("age=20", data.schema)
    shrinks = postgres_engine.PostgresTable._shrinks

    def killed(self, *words):
        postgres.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'thresher'"
        )
        return shrinks(self, *words)

    monkeypatch.setattr(postgres_engine.PostgresTable, "_shrinks", killed)
    with pytest.raises(th.DataError, match="the connection was lost"):
        curator.measure([query], rho="1/2")
    assert curator.spent == ledger.spent == 0
    monkeypatch.undo()
    [measured] = curator.measure([query], rho="1/2")
    assert abs(measured.answer - 1) < 0.5
    assert curator.spent == ledger.spent > 0
