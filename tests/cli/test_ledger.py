"""`thresher ledger`: the budget of one data set, over all its releases."""

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest

from thresher.privacy.budget import epsilon_of, rho_of
from thresher.privacy.ledger import Ledger
from thresher.privacy.unit import Unit


@pytest.mark.parametrize("command", ["", "ledger", "schema", "workload"])
def test_a_command_of_commands_alone_is_its_help(thresher, command):
    told = thresher(command)
    assert told.status == 2
    assert told.err == ""
    assert "Usage: " in told.out


def test_create_fit_show(folder, thresher):
    made = thresher("ledger create book --epsilon 1 --delta 1e-6 --data people --json").json
    rho = float(rho_of(1.0, 1e-6))
    assert made == {
        "ledger": "book", "data": "people", "epsilon": 1.0, "delta": 1e-6, "rho": rho,
        "spent": 0.0, "remaining": rho, "delta_spent": 0.0, "remaining_epsilon": pytest.approx(1.0),
        "epsilon_so_far": 0.0, "releases": {}, "unit": {"neighbours": "replace"}, "periods": {},
    }  # fmt: skip
    assert "one more release: epsilon 1 at delta 1e-06" in thresher("ledger show book").out
    fit = "fit people.csv --schema s.json -w w.json --mechanism gaussian_joint --ledger book"
    for name in ("one", "two"):
        assert thresher(f"{fit} --rho 0.005 -o {name}").status == 0
    told = thresher("ledger show book --json").json
    assert told["releases"] == {"one": 0.005, "two": 0.005}
    assert told["spent"] == pytest.approx(0.01)
    assert told["remaining"] == pytest.approx(rho - 0.01)
    assert 0 < told["epsilon_so_far"] < 1
    words = thresher("ledger show book").out
    assert "promise    epsilon 1, delta 1e-06" in words
    assert "spent      rho 0.005 on one" in words
    assert "all releases so far together: epsilon" in words
    left = epsilon_of(Fraction(rho - 0.01), 1e-6)
    assert told["remaining_epsilon"] == pytest.approx(left)
    shown = re.search(r"\(one more release: epsilon (\S+) at delta 1e-06\)", words)[1]
    # What is shown can be asked for, all of it.
    assert left - 1e-4 < float(shown) <= left
    last = thresher(f"{fit} --epsilon {shown} --delta 1e-6 -o three")
    assert last.status == 0, last.err
    shown = thresher("ledger show book")
    assert "spent      rho 0.005 on two (20" in shown.out
    assert "% of the budget is left" in shown.err


def test_an_export_says_all_but_what_depends_on_private_data(folder, thresher):
    thresher("ledger create book --epsilon 1 --delta 1e-6 --person id")
    ledger = Ledger.open("book")
    for name, rho in (("one", "1/300"), ("two", "1/700"), ("one", "1/300")):
        ledger.spend(Fraction(rho), release=name, who="ada", unit=Unit(person="id"))
    told = thresher("ledger export book").json
    assert [Fraction(spend["rho_exact"]) for spend in told["spends"]] == [
        entry.rho for entry in ledger.entries
    ]
    assert Fraction(told["remaining_exact"]) == ledger.remaining
    assert [release["name"] for release in told["releases"]] == ["one", "two"]
    assert told["releases"][0]["unit"] == {"neighbours": "replace", "person": "id"}
    assert "no records are bound to this ledger yet" in told["unusual"][0]
    assert "fingerprint" not in json.dumps(told)
    assert thresher("ledger export book -o audit.json").status == 0
    assert json.loads(Path("audit.json").read_text()) == told


def test_another_unit_is_answered_with_options(folder, thresher):
    thresher("ledger create book --epsilon 1 --delta 1e-6 --person id")
    told = thresher("fit people.csv --schema s.json -w w.json --ledger book --rho 1 -o r")
    assert told.status == 2
    assert "give --neighbours replace --person id, or make another ledger" in told.err
    assert not Path("r.partial").exists()


def test_a_refusal_names_the_epsilon_that_is_left(folder, thresher):
    thresher("ledger create book --epsilon 1 --delta 1e-6")
    told = thresher("fit people.csv --schema s.json -w w.json --ledger book --rho 1 -o r")
    assert "ask for less, at most epsilon 1 at delta 1e-06" in told.err


def test_the_papers_accounting(folder, thresher):
    thresher("ledger create book --epsilon 1 --delta 1e-6 --accounting paper")
    rho = thresher("ledger show book --json").json["rho"]
    assert rho == float(rho_of(1.0, 1e-6, "paper"))


def test_a_ledger_for_noisy_counts_only(folder, thresher):
    thresher("ledger create book --epsilon 1 --delta 1e-6 --accounting gaussian")
    assert thresher("ledger show book --json").json["rho"] == float(rho_of(1.0, 1e-6, "gaussian"))
    assert "for noisy counts only (Gaussian accounting)" in thresher("ledger show book").out
    fit = "fit people.csv --schema s.json -w w.json --ledger book --epsilon 1 --delta 1e-6"
    told = thresher(f"{fit} --mechanism rap -o r")
    assert told.status == 2
    assert "Take the mechanism residual or gaussian_joint" in told.err
    assert not Path("r.partial").exists()
    told = thresher("schema draft people.csv --private --rho 0.001 --ledger book -o drafted.json")
    assert told.status == 2
    assert "for noisy counts only" in told.err
    assert thresher("ledger show book --json").json["spent"] == 0
    told = thresher(f"{fit} --mechanism residual -o r")
    assert "the whole of epsilon 1 at delta 1e-06 (gaussian)" in told.out


def test_a_large_epsilon_is_one_line_of_warning(folder, thresher):
    told = thresher("ledger create book --epsilon 20 --delta 1e-6")
    assert told.status == 0
    [line] = told.err.splitlines()
    assert line.startswith("thresher: warning: ")


def test_other_records_are_refused_until_a_correction_is_declared(folder, thresher):
    thresher("ledger create book --epsilon 1 --delta 1e-6")
    fit = "--schema s.json -w w.json --mechanism gaussian_joint --ledger book --rho 0.001"
    assert thresher(f"fit people.csv {fit} -o one").status == 0
    lines = Path("people.csv").read_text().splitlines()
    Path("mended.csv").write_text("\n".join([*lines[:-1], "20,A,3"]) + "\n")
    refused = thresher(f"fit mended.csv {fit} -o two")
    assert refused.status == 2
    assert "`thresher ledger correct LEDGER DATA --why …`" in refused.err
    assert not Path("two.partial").exists()
    declared = thresher("ledger correct book mended.csv --schema s.json --why typo --json")
    assert declared.json["spent"] == 0.001
    assert thresher(f"fit mended.csv {fit} -o two").status == 0
    assert thresher(f"fit people.csv {fit} -o three").status == 2


def test_a_cell_may_hold_line_breaks_if_it_is_said(folder, thresher):
    text = Path("people.csv").read_text()
    Path("broken.csv").write_text(text + '20,"A\nB",3\n')
    fit = "fit broken.csv --schema s.json -w w.json --mechanism gaussian_joint --rho 1 -o one"
    refused = thresher(fit)
    assert refused.status == 2
    assert "302" in refused.err
    assert thresher(f"{fit} --line-breaks-in-cells").status == 0


MISTAKES = [
    (
        "ledger create s.json --epsilon 1 --delta 1e-6",
        "s.json exists already: `thresher ledger show s.json` shows it",
    ),
    ("ledger create book --epsilon 0 --delta 1e-6", "epsilon must be"),
    ("ledger create book --epsilon 1 --delta 1", "delta must lie between 0 and 1"),
    ("ledger create book --epsilon 1", "Missing option '--delta'"),
    ("ledger create book --epsilon 1 --delta 1e-6 --accounting x", "'--accounting'"),
    ("ledger create no/book --epsilon 1 --delta 1e-6", "no/book does not exist; make the folder"),
    ("ledger show none", "none does not exist; `thresher ledger create` makes a ledger"),
    ("ledger show s.json", "line 1 is not the first line of a thresher ledger"),
    ("ledger show .", "not a regular file"),
]


@pytest.mark.parametrize(("line", "culprit"), MISTAKES, ids=[line for line, _ in MISTAKES])
def test_a_mistake_is_one_line_and_status_2(folder, thresher, line, culprit):
    told = thresher(line)
    assert told.status == 2
    assert told.out == ""
    [said] = told.err.splitlines()
    assert culprit in said
    assert "Ledger." not in said
    assert not Path("book").exists()
