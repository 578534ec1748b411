"""`thresher schema draft --private`: paid from the ledger that pays for fits.

Counts are ten standard deviations of the noise and more from where they would be taken for
something else, so that a test fails by chance with a probability below 1e-6.
"""

import json
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pytest

from thresher import Ledger, Schema
from thresher.cli.private_draft import declared_columns
from thresher.drafting import Declared

N = 3000


@pytest.fixture
def desk(tmp_path, monkeypatch, thresher):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    lines = [f"{rng.integers(16, 90)},{'AB'[i % 2]},{i}" if i else "31,Solo,0" for i in range(N)]
    Path("people.csv").write_text("\n".join(["age,town,id", *lines]) + "\n")
    assert thresher("ledger create l --epsilon 3 --delta 1e-9").status == 0
    return thresher


def test_from_draft_to_fit_with_one_ledger(desk):
    told = desk(
        "schema draft people.csv --private --rho 0.04 --ledger l -o s.json --shares sh.json --json"
    ).json
    assert told["features"] == ["age", "town"]
    assert (told["rho"], told["delta"]) == (0.04, 1e-11)
    assert "identifier" in told["left_out"]["id"]
    schema = Schema.load("s.json")
    assert schema["town"].labels == ("A", "B", "(other)")
    assert schema.unreviewed == ()
    assert "paid for" in json.loads(Path("s.json").read_text())["warning"]
    assert Ledger.open("l").entries[-1].release == "schema draft s.json"
    desk("workload all --schema s.json -k 2 -r 2 -o w.json")
    shares = json.loads(Path("sh.json").read_text())
    assert shares["town"]["A"] == pytest.approx(0.5, abs=0.05)
    planned = desk(f"plan --schema s.json --n {N} -w w.json --epsilon 1 --like sh.json")
    assert "taken for public" in planned.out, planned.err
    fitted = desk("fit people.csv --schema s.json -w w.json --rho 0.01 --ledger l -o r")
    assert fitted.status == 0, fitted.err
    shown = desk("ledger show l")
    assert "on schema draft s.json" in shown.out
    assert "of delta   1e-11 spent" in shown.out
    audit = desk("ledger export l").json
    assert audit["delta_spent"] == 1e-11
    assert sum(spend["delta"] for spend in audit["spends"]) == 1e-11
    assert audit["spent"] == pytest.approx(0.05)


def test_the_terminal_says_what_was_found_and_what_it_cost(desk):
    told = desk(
        "schema draft people.csv --private --epsilon 2 --delta 1e-9 --numbers age=0:120 "
        "--categories town --columns age,town -o s.json"
    )
    assert told.status == 0, told.err
    assert "declared: numbers, 0 to 120" in told.err
    assert "without --ledger nothing adds up" in told.err
    assert "wrote s.json: 2 features, for rho" in told.out
    assert "delta 5e-10" in told.out


def test_a_private_number_of_records_is_not_shown(desk):
    desk("ledger create m --epsilon 3 --delta 1e-9 --neighbours add-remove")
    told = desk(
        "schema draft people.csv --private --rho 0.04 --ledger m --neighbours add-remove -o s.json"
    )
    assert told.status == 0, told.err
    assert "3,000" not in told.err + told.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--rho 0.1", "add --private"),
        ("--numbers age", "add --private"),
        ("--private", "either --rho or --epsilon"),
        ("--private --rho 0.1 --epsilon 1", "either --rho or --epsilon"),
        ("--private --epsilon 1", "--epsilon needs --delta"),
        ("--private --rho 0.1", "which delta"),
        ("--private --rho 9 --ledger l", "requested rho"),
        ("--private --rho 0.01 --delta 1e-3 --ledger l", "requested delta"),
        ("--private --rho 0.01 --ledger none", "does not exist"),
        ("--private --rho 0.01 --ledger l --neighbours add-remove", "--neighbours replace"),
        ("--private --rho 0.01 --period 2024", "give --ledger too"),
        ("--private --rho 0.01 --ledger l --numbers age=a:b", "two numbers"),
        ("--private --rho 0.01 --ledger l --numbers age --dates age", "declared twice"),
        ("--private --rho 0.01 --ledger l --numbers ,", "--numbers must list names"),
        ("--private --rho 0.01 --ledger l --booleans old", "no column 'old'"),
        ("--private --rho 0.01 --ledger l -o no/s.json", "cannot be written"),
    ],
)
def test_a_mistake_is_one_line_and_costs_nothing(desk, options, message):
    told = desk(f"schema draft people.csv {options}")
    assert told.status == 2
    assert message in told.err
    assert Ledger.open("l").spent == 0


def test_a_table_of_a_database(desk):
    """The same columns are found as in the file; a draft without noise is made from files."""
    with duckdb.connect("people.db") as connection:
        connection.execute("CREATE TABLE people AS FROM 'people.csv'")
    url = "duckdb:///people.db#people"
    told = desk(f"schema draft {url} --private --rho 0.04 --ledger l -o s.json --json").json
    assert told["features"] == ["age", "town"]
    assert Schema.load("s.json")["town"].labels == ("A", "B", "(other)")
    assert Ledger.open("l").spent == Fraction("0.04")
    plain = desk(f"schema draft {url} -o t.json")
    assert plain.status == 2
    assert "add --private" in plain.err
    ids = desk(f"schema draft {url} --private --rho 1 --delta 1e-9 --person id --rows-per-person 2")
    assert "ids of persons are read from files" in ids.err


def test_persons_with_several_rows(desk):
    lines = Path("people.csv").read_text().splitlines()
    Path("visits.csv").write_text("\n".join([*lines, *lines[1:], *lines[1:]]) + "\n")
    desk("ledger create m --epsilon 3 --delta 1e-9 --person id")
    unit = "--person id --rows-per-person 2"
    told = desk(f"schema draft visits.csv --private --rho 0.04 --ledger m {unit} -o s.json")
    assert told.status == 0, told.err
    assert Schema.load("s.json")["town"].labels == ("A", "B", "(other)")
    assert "9,000" not in told.err + told.out  # how many rows persons have is private
    desk("workload all --schema s.json -k 2 -r 2 -o w.json")
    fit = f"fit visits.csv --schema s.json -w w.json --rho 0.01 --ledger m {unit} -o r"
    assert desk(fit).status == 0
    other = desk("schema draft visits.csv --private --rho 0.01 --ledger m")
    assert "another unit of privacy" in other.err
    assert "--person id" in other.err
    forgotten = desk("schema draft visits.csv --private --rho 0.01 --ledger m --person id")
    assert "--rows-per-person" in forgotten.err


def test_a_plain_draft_says_that_there_is_a_private_one(desk):
    assert "With --private --rho" in desk("schema draft people.csv -o s.json").err


def test_names_may_have_equals_signs_and_commas():
    declared = declared_columns(None, '"a,b=0:5",c=d', None, None)
    assert declared == {"a,b": Declared("numbers", 0, 5), "c=d": Declared("numbers")}
