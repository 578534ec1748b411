"""DATA as the URL of a table: everywhere, and never with its password."""

from pathlib import Path

import duckdb
import pytest

from thresher.data.engines.duckdb_tables import DuckDBFile
from thresher.errors import DataError
from thresher.privacy.ledger import Ledger
from thresher.release.folder import load

SECRET = "hunter2"
LOST = f"postgresql://ann:{SECRET}@127.0.0.1:1/census#people"
FIT = "--schema s.json --workload w.json --rho 1/3 --mechanism tables --seed 1"


@pytest.fixture
def database(folder) -> str:
    with duckdb.connect("people.db") as connection:
        connection.execute("CREATE TABLE people AS FROM 'people.csv'")
    return "duckdb:///people.db#people"


def written() -> str:
    """The text of every file in the folder, and their names."""
    files = [path for path in Path().rglob("*") if path.is_file() and path.suffix != ".db"]
    return "".join(f"{path} {path.read_bytes()!r}" for path in files)


def test_fit_evaluate_report_and_ledger(database, thresher):
    thresher("ledger create l --epsilon 9 --delta 1e-9 --data", LOST)
    assert thresher("ledger show l --json").json["data"] == "postgresql://127.0.0.1:1/census#people"
    told = thresher(f"fit {database} {FIT} --ledger l -o release --json")
    assert told.json["release"] == "release"
    assert load("release").n == 300
    assert "errors" in thresher(f"evaluate release {database} --json").json
    assert thresher(f"report release --data {database}").status == 0
    told = thresher(f"ledger correct l {database} --schema s.json --why 'typing errors'")
    assert "already" in told.err  # the very same data
    assert thresher(f"fit people.csv {FIT} --ledger l -o again").status == 0
    assert SECRET not in written()


@pytest.mark.parametrize(
    "line",
    [
        f"fit {LOST} {FIT} -o release",
        f"fit {LOST} --workload w.json --rho 1 -o release",
        f"tune {LOST} --schema s.json --workload w.json --rho 1 -o release",
        f"schema draft {LOST}",
        f"fit postgresql://ann:{SECRET}@127.0.0.1:1/census {FIT} -o release",
        f"fit postgresql://ann:x#{SECRET}@127.0.0.1:1/census {FIT} -o release",
        f"fit postgresql://ann:{SECRET}\udc80@127.0.0.1:1/census#people {FIT} -o release",
    ],
)
def test_no_password_is_told(folder, thresher, line):
    told = thresher(line)
    assert told.status == 2
    assert told.err.count("\n") == 1
    assert SECRET not in told.out + told.err + written()


def test_a_draft_needs_a_file(database, thresher):
    assert "export some records" in thresher(f"schema draft {database}").err


def test_a_fit_that_loses_its_database_pays_nothing_and_can_be_run_again(
    database, thresher, monkeypatch
):
    def lost(self, features):
        raise DataError("the connection was lost")
        yield

    thresher("ledger create l --epsilon 9 --delta 1e-9")
    with monkeypatch.context() as patched:
        patched.setattr(DuckDBFile, "coded", lost)
        told = thresher(f"fit {database} {FIT} --ledger l -o release")
    assert told.status == 2
    assert "the connection was lost" in told.err
    assert Ledger.open("l").spent == 0
    assert not Path("release.partial").exists()
    assert thresher(f"fit {database} {FIT} --ledger l -o release").status == 0
    assert Ledger.open("l").spent > 0
