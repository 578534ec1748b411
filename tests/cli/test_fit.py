"""`thresher fit`: spend a budget, once; keep what was paid for; refuse before paying."""

import html
import json
import os
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest

from thresher.cli import paying
from thresher.mechanisms import MECHANISMS
from thresher.privacy.budget import rho_of
from thresher.privacy.journal import Journal
from thresher.privacy.ledger import Ledger
from thresher.progress import display
from thresher.release.folder import load

FIT = "fit people.csv --schema s.json --workload w.json"
ROWS = "--synthetic-rows 20"
SMALL = "--rounds 2 --queries-per-round 3 --synthetic-rows 20"


@pytest.fixture
def fit(folder, thresher):
    return lambda words: thresher(f"{FIT} {words}")


def test_json_has_exactly_the_promised_keys(fit):
    told = fit(f"--epsilon 1 {SMALL} -o release --json")
    assert told.json["seconds"] >= 0
    rho = rho_of(1, Fraction(1, 300**2), "gaussian")
    assert {**told.json, "seconds": 0} == {
        "release": "release", "rho": float(rho), "epsilon": 1.0, "delta": 1 / 300**2,
        "seconds": 0, "rounds": 2, "measured": 6,
    }  # fmt: skip
    release = load("release")
    assert release.spent == rho
    assert release.is_secure
    assert not Path("release.partial").exists()


def test_words(fit):
    told = fit(f"--epsilon 1 --delta 1e-6 --accounting paper {SMALL} -o release")
    assert told.status == 0
    assert "wrote release: 6 measurements in 2 rounds" in told.out
    assert "the whole of epsilon 1 at delta 1e-06 (paper)" in told.out
    assert "the fit takes about" in told.err
    told = fit("--epsilon 1 --mechanism all0 -o nothing")
    assert "spent: rho 0, out of epsilon 1" in told.out


def test_accounting_is_gaussian_with_and_without_choices(fit):
    told = fit("--epsilon 1 --delta 1e-6 --mechanism residual -o one")
    assert "of epsilon 1 at delta 1e-06 (gaussian)" in told.out
    assert load("one").spent == rho_of(1, 1e-6, "gaussian")
    fit("--epsilon 1 --delta 1e-6 --mechanism residual --accounting tight -o two")
    assert load("two").spent == rho_of(1, 1e-6)
    told = fit(f"--epsilon 1 --delta 1e-6 {SMALL} -o three")
    assert "of epsilon 1 at delta 1e-06 (gaussian)" in told.out
    assert load("three").spent == rho_of(1, 1e-6, "gaussian")


@pytest.mark.parametrize("mechanism", sorted(MECHANISMS))
def test_every_mechanism(fit, mechanism):
    told = fit(f"--rho 1/3 --mechanism {mechanism} -o release --json")
    assert told.json["rho"] == (0 if mechanism == "all0" else pytest.approx(1 / 3))
    assert load("release").mechanism == ("tables" if mechanism == "auto" else mechanism)


def test_settings_arrive(fit):
    fit("--rho 1/3 --rounds 3 --queries-per-round 2 --synthetic-rows 7 --optimizer adam "
        "--selection iterative --seed 9 -o release")  # fmt: skip
    assert load("release").settings == {
        "rounds": 3, "queries_per_round": 2, "synthetic_rows": 7, "optimizer": "adam",
        "selection": "iterative", "seed": 9,
    }  # fmt: skip


def test_the_built_in_data(thresher, folder):
    Path("w.json").write_text('{"thresholds": [{"features": ["sex", "race"]}]}')
    words = "fit adult --workload w.json --epsilon 1 --mechanism gaussian_joint -o r --json"
    assert thresher(words).json["measured"] == 1


def test_a_draft_can_be_fitted_and_warns(thresher, folder):
    assert thresher("schema draft people.csv -o draft.json").status == 0
    words = f"fit people.csv --schema draft.json --workload w.json --rho 1 {SMALL} -o release"
    told = thresher(words)
    assert told.status == 0
    assert "draft.json is a draft; still to be reviewed: age, town, pay" in told.err
    assert json.loads(Path("release/schema.json").read_text())["features"][0]["review"]


def test_a_file_with_semicolons_may_have_decimal_commas(thresher, folder):
    text = Path("people.csv").read_text()
    Path("semicolons.csv").write_text(text.replace(",", ";"))
    words = "--schema s.json --workload w.json --mechanism gaussian_joint --rho 1 -o"
    told = thresher(f"fit semicolons.csv {words} one")
    assert told.status == 0
    assert "decimal commas (3,5), they count as missing in pay" in told.err
    assert "decimal commas" not in thresher(f"fit people.csv {words} two").err


def test_a_large_epsilon_warns_once(fit):
    told = fit(f"--epsilon 20 {SMALL} -o release")
    assert told.status == 0
    assert told.err.count("promises little") == 1


MISTAKES = [
    ("", "Missing option"),
    ("-o r", "how much may be spent? Give --epsilon, or --rho"),
    ("--epsilon 0 -o r", "--epsilon must be a finite number above 0"),
    ("--epsilon -1 -o r", "--epsilon must be a finite number above 0"),
    ("--epsilon nan -o r", "--epsilon must be a finite number above 0"),
    ("--epsilon inf -o r", "--epsilon must be a finite number above 0"),
    ("--epsilon one -o r", "'--epsilon'"),
    ("--epsilon 1 --rho 1 -o r", "give either --epsilon or --rho, not both"),
    ("--epsilon 1 --delta 2 -o r", "--delta must lie between 0 and 1"),
    ("--rho 1 --delta 1e-9 -o r", "--delta belongs to --epsilon"),
    ("--rho one -o r", "--rho must be a finite number above 0"),
    ("--rho 1 --accounting loose -o r", "'--accounting'"),
    ("--rho 1 --accounting tigth -o r", "'gaussian' (did you mean tight?)"),
    ("--rho 1 --neighbours add_remove -o r", "(did you mean add-remove?)"),
    ("--rho 1 --mechanism RAP -o r", "there is no mechanism 'RAP' (did you mean rap?)"),
    ("--rho 1 --optimizer adm -o r", "not 'adm' (did you mean adam?)"),
    ("--rho 1 --selection one-shot -o r", "(did you mean oneshot?)"),
    ("--rho 1 --mechanism magic -o r", "there is no mechanism 'magic'; known are: auto, "),
    ("--rho 1 --mechanism all0 --rounds 3 -o r", "all0 has no setting --rounds"),
    ("--rho 1 --rounds 0 -o r", "'--rounds'"),
    ("--rho 1 --queries-per-round 0 -o r", "'--queries-per-round'"),
    ("--rho 1 --optimizer newton -o r", "--optimizer must be one of"),
    ("--rho 1 --selection both -o r", "--selection must be"),
    ("--rho 1 --seed -1 -o r", "'--seed'"),
    ("--rho 1 --synthetic-rows 999999999999 -o r", "GiB of memory"),
    ("--rho 1 --workload none.json -o r", "none.json: cannot be read: No such file"),
    ("--rho 1 --workload r4.json -o r", "r4.json: threshold 1: r must be a whole number from 1"),
    ("--rho 1 --workload shoe.json -o r", "shoe.json: threshold 1: there is no feature 'shoe'"),
    ("--rho 1 --workload s.json -o r", 's.json: a workload is a JSON object with a list'),
    ("--rho 1 --schema none.json -o r", "none.json: cannot be read"),
    ("--rho 1 --schema w.json -o r", "w.json: this is not a schema"),
    ("--rho 1 --ledger none -o r", "none does not exist"),
    ("--rho 1 --ledger w.json -o r", "not the first line of a thresher ledger"),
    ("--rho 1 --ledger small -o r", "'r' requested rho 1, remaining 0.25 of 0.25, difference 0.75"),
    ("--rho 1 -o people.csv", "people.csv exists: choose another --output"),
    ("--rho 1 -o people.csv --overwrite", "people.csv exists: choose another name"),
    ("--rho 1 -o . --overwrite", ". exists: choose another name"),
    ("--rho 1 -o people.csv/r", "cannot be used: Not a directory"),
    ("--rho 1 -o r --resume", "there is no interrupted fit"),
    ("--rho 1 -o kept", "kept.partial holds an interrupted fit, already paid for: go on with"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "culprit"), MISTAKES, ids=[words for words, _ in MISTAKES])
def test_a_mistake_is_one_line_status_2_and_costs_nothing(fit, folder, words, culprit):
    Path("r4.json").write_text('{"thresholds": [{"features": ["age", "town"], "r": 4}]}')
    Path("shoe.json").write_text('{"thresholds": [{"features": ["shoe"]}]}')
    Path("kept.partial").mkdir()
    Path("kept.partial/journal.jsonl").write_text('{"format": "x"}\n{"paying": "1/2"}\n')
    ledger = Ledger.create("small", Fraction(1, 4))
    told = fit(words)
    assert told.status == 2
    assert told.out == ""
    [line] = told.err.splitlines()
    assert line.startswith("thresher: ")
    assert culprit in line
    assert not Path("r").exists()
    assert ledger.spent == 0


def test_data_that_is_not_there(thresher, folder):
    told = thresher("fit none.csv --schema s.json --workload w.json --rho 1 -o r")
    assert (told.status, "there is no file none.csv" in told.err) == (2, True)
    told = thresher("fit people.csv --workload w.json --rho 1 -o r")
    assert "people.csv needs a schema: give --schema" in told.err


def test_a_release_is_replaced_only_when_asked(fit):
    assert fit("--rho 1 --mechanism all0 -o r").status == 0
    told = fit("--rho 1 --mechanism gaussian_joint -o r")
    assert told.status == 2
    assert "r exists: choose another --output, or give --overwrite" in told.err
    assert fit("--rho 1 --mechanism gaussian_joint -o r --overwrite").status == 0
    assert load("r").mechanism == "gaussian_joint"


def test_the_ledger_of_several_releases(fit, thresher):
    thresher("ledger create book --epsilon 1 --delta 1e-6")
    total = Ledger.open("book").total
    for i in range(2):
        told = fit(f"--rho {total / 2} --ledger book {SMALL} -o r{i} --json")
        assert told.json["rho"] == pytest.approx(float(total / 2))
    assert Ledger.open("book").remaining == 0
    told = fit("--rho 1/1000000 --ledger book --mechanism gaussian_joint -o r2")
    assert told.status == 2
    assert "requested rho 0.000001, remaining 0 of" in told.err


def interrupt(monkeypatch, fault, call=2):
    calls = []
    honest = Journal.announce

    def announce(self, rho, room):
        calls.append(rho)
        if len(calls) > call:
            raise fault
        honest(self, rho, room)

    monkeypatch.setattr(Journal, "announce", announce)


def test_progress_is_on_standard_error_and_json_alone_on_standard_output(fit, monkeypatch):
    monkeypatch.setattr(display, "PATIENCE", 0.0)
    monkeypatch.setattr(display, "EVERY", 0.001)
    told = fit(f"--rho 1 --rounds 9 --queries-per-round 1 {ROWS} -o release --json")
    assert told.json["rounds"] == 9
    lines = told.err.splitlines()
    assert all(line.startswith("thresher: ") for line in lines)
    assert any(" left" in line for line in lines), lines


def test_ctrl_c_and_resume(fit, monkeypatch, thresher):
    ledger = Ledger.create("book", Fraction(1))
    words = f"--rho 1/2 --ledger book {SMALL} -o release --json"
    with monkeypatch.context() as patch:
        interrupt(patch, KeyboardInterrupt())
        told = fit(words)
    assert told.status == 130
    assert told.out == ""
    *_, last = told.err.splitlines()
    kept, _, command = last.partition(" --resume: ")
    assert kept == "thresher: interrupted; what was paid for is kept: go on with"
    assert command.startswith("thresher fit people.csv ")
    assert command.endswith(f"{words} --resume")
    assert ledger.spent == Fraction(1, 4)
    told = fit(words)
    assert told.status == 2
    assert "go on with --resume" in told.err
    other = fit(f"--rho 1/3 --ledger book {SMALL} -o release --resume")
    assert other.status == 2
    assert "is the journal of another fit" in other.err
    assert thresher(command.removeprefix("thresher ")).json["rho"] == 0.5
    assert ledger.spent == Fraction(1, 2)
    assert not Path("release.partial").exists()


def test_the_command_that_resumes_has_no_password(monkeypatch):
    address = "postgresql://ann:secret@db.example/census#people"
    words = ["fit", address, "-o", "my release", "--resume"]
    monkeypatch.setattr("sys.argv", ["/usr/bin/thresher", *words])
    assert paying.command_to_resume() == (
        "thresher fit 'postgresql://db.example/census#people' -o 'my release' --resume"
    )


def test_ctrl_c_before_anything_is_paid(fit, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("thresher.cli.paying.load_records", interrupted)
    told = fit("--rho 1 -o release")
    assert told.status == 130
    assert told.err.splitlines()[-1] == "thresher: interrupted"


def test_a_release_that_cannot_be_saved_is_not_lost(fit, monkeypatch):
    ledger = Ledger.create("book", Fraction(1))
    words = f"--rho 1/2 --ledger book {SMALL} -o release"

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("numpy.savez_compressed", full)
        told = fit(words)
    assert told.status == 2
    assert "release cannot be written: No space left on device" in told.err.splitlines()[-1]
    assert fit(f"{words} --resume").status == 0
    assert ledger.spent == Fraction(1, 2)
    assert load("release").spent == Fraction(1, 2)


def test_without_a_ledger_there_is_one_line_of_warning(fit):
    told = fit("--epsilon 1 --delta 1e-9 --mechanism all0 -o r")
    assert [line for line in told.err.splitlines() if "warning" in line] == [
        "thresher: warning: without --ledger nothing adds up what all releases from people.csv "
        "spend together; `thresher ledger create` makes a ledger"
    ]
    Ledger.create("book", Fraction(1))
    told = fit("--epsilon 0.1 --delta 1e-9 --ledger book --mechanism all0 -o s")
    assert "warning" not in told.err


def test_the_default_delta_of_few_records_is_one_line_of_warning(fit, thresher):
    Ledger.create("book", Fraction(1))
    told = fit("--epsilon 0.1 --ledger book --mechanism all0 -o r")
    assert [line for line in told.err.splitlines() if "warning" in line] == [
        "thresher: warning: with 300 records the default delta 1/n² is 1e-05, a weak promise: "
        "give --delta 1e-6 or less"
    ]
    for budget in ("--epsilon 0.1 --delta 1e-5", "--rho 1/100"):
        told = fit(f"{budget} --ledger book --mechanism all0 -o r --overwrite")
        assert (told.status, "warning" in told.err) == (0, False)
    Path("w.json").write_text('{"thresholds": [{"features": ["sex", "race"]}]}')
    told = thresher("fit adult -w w.json --epsilon 0.1 --ledger book --mechanism all0 -o many")
    assert (told.status, "warning" in told.err) == (0, False)


@pytest.mark.parametrize("mechanism", ["rap", "tables", "gaussian_joint"])
def test_a_fit_that_was_refused_leaves_nothing_that_claims_to_be_paid_for(fit, mechanism):
    Ledger.create("small", Fraction(1, 100))
    for _ in range(2):  # the second is refused for the same reason, not for the first's folder
        told = fit(f"--rho 1/4 --ledger small --mechanism {mechanism} -o r")
        assert told.status == 2
        assert "requested rho" in told.err.splitlines()[-1]
        assert not Path("r.partial").exists()
    assert fit(f"--rho 1/100 --ledger small --mechanism {mechanism} -o r").status == 0


JOURNALS = {
    "empty": ("", False),
    "header": ('{"format": "thresher-journal"}\n', False),
    "refused": ('{}\n{"paying": "1/4"}\n{"refused": "1/4"}\n', False),
    "paid": ('{}\n{"paying": "1/4"}\n{"verb": "measure", "rho": "1/4"}\n', True),
    "announced": ('{}\n{"paying": "1/4"}\n\0\0\0', True),
    "paid, then refused": ('{}\n{"paying": "1/4"}\n{"rho": "1/4"}\n{"paying": "1/4"}\n'
                           '{"refused": "1/4"}\n', True),
    "half a line": ('{}\n{"paying": "1', False),
    "damaged": ('{}\nnonsense\n', True),
}  # fmt: skip


@pytest.mark.parametrize("kind", JOURNALS)
def test_only_a_journal_with_a_payment_asks_for_resume(fit, kind):
    text, paid = JOURNALS[kind]
    Path("r.partial").mkdir()
    Path("r.partial/journal.jsonl").write_text(text)
    told = fit("--rho 1 --mechanism gaussian_joint -o r")
    assert told.status == (2 if paid else 0)
    assert ("already paid for: go on with --resume" in told.err) == paid
    assert Path("r.partial").exists() == paid


def test_a_journal_that_a_process_works_with_is_left_alone(fit):
    with Journal("r.partial", {"about": "another fit"}):
        told = fit("--rho 1 --mechanism gaussian_joint -o r")
        assert told.status == 2
        assert "is in use: another process fits from it" in told.err
        assert Path("r.partial/journal.jsonl").read_text()
    assert fit("--rho 1 --mechanism gaussian_joint -o r").status == 0


@pytest.mark.parametrize(
    ("option", "meant"),
    [
        ("--mechanism table", "tables"),
        ("--accounting tigth", "tight"),
        ("--neighbours replce", "replace"),
        ("--count person", "persons"),
        ("--optimizer adm", "adam"),
        ("--selection onshot", "oneshot"),
        ("--optimise maxx", "max"),
    ],
)
def test_a_value_that_is_misspelled(fit, option, meant):
    told = fit(f"--rho 1 {option} -o r")
    assert told.status == 2
    assert f"(did you mean {meant}?)" in told.err


SLOWLY = """
import time
from thresher.privacy.journal import Journal
honest = Journal.announce
Journal.announce = lambda *args, **named: (time.sleep(0.1), honest(*args, **named))
"""
"""Leaves time for a signal to arrive in the middle of a fit."""


def start(words, before=""):
    program = before + "from thresher.cli import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", program, *words.split()],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def wait_for_payments(ledger, count, process):
    for _ in range(6000):
        if len(ledger.entries) >= count:
            return
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)
    pytest.fail("nothing was paid within a minute")


@pytest.mark.parametrize("kill", [signal.SIGKILL, signal.SIGINT])
def test_a_process_that_is_killed_in_the_middle(folder, kill):
    ledger = Ledger.create("book", Fraction(1))
    words = f"{FIT} --rho 1/2 --ledger book --rounds 27 --queries-per-round 1 {ROWS} -o release"
    process = start(words, SLOWLY)
    try:
        wait_for_payments(ledger, 3, process)
        os.kill(process.pid, kill)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == (-signal.SIGKILL if kill == signal.SIGKILL else 130), err
    if kill == signal.SIGINT:
        assert "interrupted; what was paid for is kept: go on with --resume" in err
    paid = ledger.spent
    assert 0 < paid < Fraction(1, 2)
    resumed = start(f"{words} --resume --json")
    out, err = resumed.communicate(timeout=100)
    assert resumed.returncode == 0, err
    assert json.loads(out)["rho"] == 0.5
    # Equal, or less by the one payment that was announced and lost.
    assert Fraction(1, 2) * Fraction(53, 54) <= ledger.spent <= Fraction(1, 2)


PUBLIC = "age,town,pay\n20,A,5\n21,B,9\n24,C,70\n"


def test_public_records_are_marked_wherever_settings_are_shown(fit, thresher):
    Path("open.csv").write_text(PUBLIC)
    told = fit(f"--epsilon 1 {ROWS} --public open.csv -o release")
    assert told.status == 0, told.err
    assert "started from 3 records that you vouch are public" in told.out
    assert load("release").settings["public"]["records"] == 3
    assert thresher("report release -o page.html").status == 0
    page = Path("page.html").read_text()
    assert "vouches that they were public already" in page
    assert '{"records": 3, "sha256": ' in html.unescape(page)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--public people.csv", "--public people.csv holds the private records themselves"),
        ("--public ./people.c*", "holds the private records themselves"),
        ("--public missing.csv", "there is no file missing.csv"),
        ("--public open.csv --mechanism gaussian_joint", "gaussian_joint has no setting --public"),
    ],
)
def test_what_cannot_be_public_is_refused_before_paying(fit, words, message):
    Path("open.csv").write_text(PUBLIC)
    told = fit(f"--epsilon 1 {words} -o release")
    assert told.status == 2
    assert message in told.err
    assert not Path("release").exists()
    assert not Path("release.partial").exists()
