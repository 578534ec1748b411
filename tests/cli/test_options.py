"""Options that several commands share: mistakes in them are one line, at once."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

FIT = "fit people.csv --schema s.json -w w.json -o r"
NUMBERS = [
    ("--rho 1e-30000000", "--rho must lie between 1e-100 and 1e+100; try --rho 0.1"),
    ("--rho 1e30000000", "--rho must lie between 1e-100 and 1e+100"),
    ("--rho 1e-401", "--rho must lie between"),
    ("--rho 1e-101", "--rho must lie between"),
    ("--rho 1/0", "--rho must be a finite number above 0, not '1/0'; try --rho 0.1"),
    ("--rho 0e-30000000", "--rho must"),
    ("--rho -1", "--rho must be a finite number above 0, not '-1'"),
    ("--rho " + "9" * 5000, "--rho must be a finite number above 0"),
    ("--epsilon 1e-300", "--epsilon must lie between"),
    ("--epsilon 0", "--epsilon must be a finite number above 0, not '0.0'; try --epsilon 0.1"),
    ("--epsilon 1 --delta 0", "--delta must lie between 0 and 1, not 0; try --delta 1e-9"),
    ("--epsilon 1 --delta nan", "--delta must lie between 0 and 1"),
]


@pytest.mark.parametrize(("words", "culprit"), NUMBERS, ids=[words[:20] for words, _ in NUMBERS])
def test_a_number_that_is_none(folder, thresher, words, culprit):
    told = thresher(f"{FIT} {words}")
    assert (told.status, told.out) == (2, "")
    [line] = told.err.splitlines()
    assert culprit in line
    assert len(line) < 200
    assert not Path("r.partial").exists()


def test_a_number_with_a_huge_exponent_does_not_hang(folder):
    program = "from thresher.cli import main; main()"
    words = [sys.executable, "-c", program, *FIT.split(), "--rho", "1e-30000000"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    tune = ["tune", *FIT.split()[1:], "--rho", "1", "--searching", "1e-30000000"]
    done = subprocess.run(
        [*words[:3], *tune], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "--searching must lie between" in done.stderr


@pytest.mark.parametrize("number", ["1/3", "0.5", "5e-1", " 1_0 "])
def test_numbers_that_are_some(folder, thresher, number):
    told = thresher(f"{FIT} --mechanism all0 --rho", number)
    assert told.status == 0, told.err


PATHS = {
    "long": ("x" * 5000, "is too long for a path: 5,000 characters"),
    "long name": ("a/" + "x" * 300, "is too long for a path: 302 characters"),
    "nul": ("a\0b", "NUL character|null byte"),  # the latter are typer's words
    "surrogate": ("a\udcffb", "is not text in UTF-8: rename it"),
}
PLACES = {
    "fit DATA": ["fit", "PATH", "-w", "w.json", "-o", "r", "--rho", "1"],
    "fit --workload": ["fit", "people.csv", "-w", "PATH", "-o", "r", "--rho", "1"],
    "fit --output": ["fit", "people.csv", "-w", "w.json", "-o", "PATH", "--rho", "1"],
    "fit --ledger": ["fit", "people.csv", "-w", "w.json", "-o", "r", "--rho", "1", "--ledger",
                     "PATH"],
    "fit --schema": ["fit", "people.csv", "-w", "w.json", "-o", "r", "--rho", "1", "--schema",
                     "PATH"],
    "answer RELEASE": ["answer", "PATH", "a=b"],
    "answer --queries": ["answer", "r", "--queries", "PATH"],
    "sample --output": ["sample", "r", "--rows", "1", "-o", "PATH"],
    "report --output": ["report", "r", "-o", "PATH"],
    "report --data": ["report", "r", "--data", "PATH"],
    "evaluate DATA": ["evaluate", "r", "PATH"],
    "schema check FILE": ["schema", "check", "PATH"],
    "schema draft DATA": ["schema", "draft", "PATH"],
    "ledger show FILE": ["ledger", "show", "PATH"],
    "ledger create FILE": ["ledger", "create", "PATH", "--epsilon", "1", "--delta", "1e-9"],
    "workload all --output": ["workload", "all", "-k", "1", "-o", "PATH"],
    "workload augment FILE": ["workload", "augment", "PATH"],
    "workload from-log FILE": ["workload", "from-log", "PATH"],
    "workload merge FILE": ["workload", "merge", "PATH"],
    "reproduce --output": ["reproduce", "forms", "-o", "PATH"],
    "reproduce --loans": ["reproduce", "forms", "-o", "r", "--loans", "PATH"],
}  # fmt: skip


@pytest.mark.parametrize("kind", PATHS)
@pytest.mark.parametrize("place", PLACES)
def test_a_path_that_is_none(folder, thresher, place, kind):
    path, culprit = PATHS[kind]
    told = thresher("", *(path if word == "PATH" else word for word in PLACES[place]))
    assert (told.status, told.out) == (2, "")
    [line] = told.err.splitlines()
    assert re.search(culprit, line)
    assert len(line) < 200
    assert sorted(p.name for p in Path().iterdir()) == ["people.csv", "s.json", "w.json"]


def test_a_path_with_words_of_any_script(folder, thresher):
    Path("Straße 東.csv").write_bytes(Path("people.csv").read_bytes())
    told = thresher("fit --schema s.json -w w.json --rho 1 --mechanism all0 -o ü", "Straße 東.csv")
    assert told.status == 0, told.err
    assert Path("ü").is_dir()
