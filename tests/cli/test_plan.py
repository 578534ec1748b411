"""`thresher plan` and `fit --dry-run`: a forecast that costs nothing."""

from pathlib import Path

import pytest

from thresher.privacy.budget import rho_of

PLAN = "plan --schema s.json --n 300 --workload w.json"
FIT = "fit people.csv --schema s.json --workload w.json -o release"


def test_json_has_the_promised_keys(folder, thresher):
    told = thresher(f"{PLAN} --epsilon 0.5,2 --delta 1e-6 --json").json
    assert [plan["epsilon"] for plan in told["plans"]] == [0.5, 2.0]
    for plan in told["plans"]:
        assert plan["rho"] == float(rho_of(plan["epsilon"], 1e-6, "gaussian"))  # no rounds
        assert 0 < plan["typical_error"] <= plan["largest_error"] <= 1
        assert plan["seconds"] > 0
        assert plan["memory"] > 0


def test_shares_that_are_public(folder, thresher):
    Path("shares.json").write_text('{"town": {"A": 0.8, "B": 0.1, "C": 0.1}}')
    told = thresher(f"{PLAN} --epsilon 1 --delta 1e-6 --like shares.json --json").json
    assert "taken for public" in told["assumption"]
    Path("shares.json").write_text('{"town": {"Atlantis": 1}}')
    wrong = thresher(f"{PLAN} --epsilon 1 --delta 1e-6 --like shares.json")
    assert wrong.status == 2
    assert "'town' has no value 'Atlantis'" in wrong.err


def test_words_and_a_page(folder, thresher):
    thresher("ledger create book --epsilon 2 --delta 1e-6")
    told = thresher(f"{PLAN} --epsilon 1 --delta 1e-6 --ledger book --margin 0.05 -o plan.html")
    assert told.status == 0, told.err
    assert "forecast for 300 people, 2 thresholds" in told.out
    assert "left: epsilon" in told.out
    assert "a largest error of 0.05 is expected at epsilon" in told.out
    assert Path("plan.html").read_text().startswith("<!DOCTYPE html>")
    assert thresher("ledger show book --json").json["spent"] == 0


def test_a_dry_run_is_the_same_forecast_and_leaves_nothing_behind(folder, thresher):
    thresher("ledger create book --epsilon 2 --delta 1e-6")
    before = sorted(Path().iterdir())
    dry = thresher(f"{FIT} --epsilon 1 --delta 1e-6 --ledger book --dry-run --json").json
    plan = thresher(f"{PLAN} --epsilon 1 --delta 1e-6 --ledger book --json").json
    same = {"largest_error", "typical_error", "rho", "left_epsilon", "cell_margin"}
    assert {k: dry["plans"][0][k] for k in same} == {k: plan["plans"][0][k] for k in same}
    assert sorted(Path().iterdir()) == before
    assert thresher("ledger show book --json").json["spent"] == 0


def test_a_dry_run_does_not_tell_a_private_number(folder, thresher):
    told = thresher(f"{FIT} --epsilon 1 --delta 1e-6 --neighbours add-remove --dry-run")
    assert told.status == 2
    assert "`thresher plan` takes a guess of it" in told.err
    assert "300" not in told.err


MISTAKES = [
    ("plan --n 300 --workload w.json", "Missing option '--schema'"),
    ("plan --schema s.json --workload w.json", "Missing option '--n'"),
    (f"{PLAN} --epsilon 1,x", "--epsilon must be a finite number above 0, not 'x'"),
    (f"{PLAN} --epsilon 1,", "--epsilon must be a finite number above 0"),
    (f"{PLAN} --margin 3", "--margin must lie between 0 and 1"),
    (f"{PLAN} --mechanism rup", "(did you mean rap?)"),
    (f"{PLAN} --ledger none", "none does not exist"),
    (f"{PLAN} --neighbours add-remove", "give --delta"),
]


@pytest.mark.parametrize(("line", "culprit"), MISTAKES, ids=[line for line, _ in MISTAKES])
def test_a_mistake_is_one_line_and_status_2(folder, thresher, line, culprit):
    told = thresher(line)
    assert told.status == 2
    assert told.out == ""
    [said] = told.err.splitlines()
    assert culprit in said
