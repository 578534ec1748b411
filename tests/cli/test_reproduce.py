"""`thresher reproduce`: figures by one command."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from thresher import datasets
from thresher.cli import app, main
from thresher.cli import reproduce as command
from thresher.reproduction import plots, workforce
from thresher.reproduction.page import PLACE

PAGE = Path(__file__).parents[2] / "docs" / "reproduction.md"


def run(*words):
    done = CliRunner().invoke(app, ["reproduce", *map(str, words)])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_list():
    figures = json.loads(run("--list", "--json"))["figures"]
    assert {"runtime", "present-error", "filtering", "drift-effect"} <= set(figures)
    assert all(name in run("--list") for name in figures)


def test_a_figure_and_its_files(tmp_path):
    words = ("forms", "drift-variation", "--scale", "smoke", "-o", tmp_path / "out")
    told = json.loads(run(*words, "--processes", 1, "--json"))
    assert told["scale"] == "smoke"
    assert told["data"] == [
        "ADULT, 2000 records, 8 features",
        "LOANS stand-in (made-up records, 2000 records, 8 features)",
    ]
    assert told["skipped"] == []
    names = {path.rsplit("/", 1)[1] for path in told["files"]}
    assert {"forms.pdf", "forms.png", "forms.csv", "drift-variation.pdf"} <= names
    assert str(tmp_path / "out" / "forms.pdf") in run(*words, "--processes", 1)


def test_what_a_run_would_take(tmp_path):
    words = ("forms", "present-error", "--scale", "paper", "--data", "adult", "-o", tmp_path)
    told = json.loads(run(*words, "--dry-run", "--json"))["figures"]
    assert told["forms"]["missing"] == 4 * 4  # each r, in four repetitions
    assert told["present-error"]["missing"] > 1000
    assert told["present-error"]["hours"] > 0
    smaller = json.loads(run(*words, "--dry-run", "--largest", 4, "--json"))["figures"]
    assert smaller["present-error"]["missing"] < told["present-error"]["missing"]
    assert "core-hours" in run(*words, "--dry-run")


def test_loans_and_the_page_by_one_command(tmp_path, monkeypatch):
    monkeypatch.setitem(plots.SETTINGS, "savefig.dpi", 50)
    monkeypatch.setitem(plots.SETTINGS, "pdf.fonttype", 3)
    monkeypatch.setattr(workforce, "_forget_peak", lambda: True)  # nobody asks for the memory
    rng = np.random.default_rng(0)
    columns = {name: rng.integers(0, size, 80) for name, size in datasets.LOANS_SIZES.items()}
    pd.DataFrame(columns).to_csv(tmp_path / "loans.csv", index=False)
    page, folder = tmp_path / "reproduction.md", tmp_path / "reproduction"
    page.write_text(PLACE.sub(emptied, PAGE.read_text()))
    words = (
        "present-error", "printed-osas", "future-error", "claims", "--scale", "smoke",
        "--loans", tmp_path / "loans.csv", "-o", folder, "--page", page,
        "--repetitions", 1, "--processes", 1, "--json",
    )  # fmt: skip
    told = json.loads(run(*words))
    loans = "LOANS (from the file)"
    assert told["data"] == ["ADULT, 2000 records, 8 features", loans]
    assert told["unfinished"] == {}
    assert str(page) in told["files"]
    filled = {place["name"]: place[0] for place in PLACE.finditer(page.read_text())}
    of_the_run = {name for name in filled if "/" not in name}
    assert of_the_run >= {"scales", "claims", "present-error", "norms", "future-error"}
    for name in of_the_run - {"results"}:  # which counts all runs together
        assert "ADULT" in filled[name], name
        assert loans in filled[name], name
    for link in re.findall(r"\]\(([^)]*)\)", "".join(filled[name] for name in of_the_run)):
        assert (tmp_path / link).is_file(), link
    assert "present-error-loans-" in filled["claims"]
    table = pd.read_csv(folder / "printed-osas.csv")
    of_loans = table["data set"] == loans
    assert table["paper"].notna().equals(of_loans)  # the whole of LOANS is in the paper


def emptied(place):
    """A place of the page before anything was filled in."""
    return f"{place['begin']}{place['end']}"


@pytest.mark.parametrize("how", [("--minutes", 0), ("--stored",)])
def test_results_of_other_machines(tmp_path, how):
    words = ("forms", "--scale", "smoke", "--processes", 1, "--json")
    for number in (1, 2):
        folder = tmp_path / str(number)
        told = json.loads(run(*words, "--share", f"{number}/2", "-o", folder))
        assert told["files"] == []
        assert told["unfinished"]["forms"] > 0
    other = tmp_path / "2" / "results.csv"
    told = json.loads(run(*words, "-o", tmp_path / "1", *how, "--merge", other))
    assert not told.get("unfinished")
    assert set(other.read_text().splitlines()) <= set(
        (tmp_path / "1" / "results.csv").read_text().splitlines()
    )
    assert told["files"] or how == ("--stored",), "no figure is drawn at scale smoke"


MISTAKES = [
    ("forms -o out --data lending-club", "--lending-club FILE"),
    ("forms -o out --data lending-club --lending-club no.csv", "no.csv: cannot be read"),
    ("forms -o out --share 3/2", "--share 3/2"),
    ("forms -o out --scale smoke --merge no.csv", "--merge no.csv: cannot be read"),
    ("forms -o out --practice mine", "--practice must be one of authors, text"),
    ("forms -o out --largest 0", "--largest"),
    ("claims -o out --scale smoke --page no.md", "--page no.md"),
    ("all -o nowhere --stored", "no results in nowhere"),
    ("", "name a figure, or `all`"),
    ("forms", "-o FOLDER"),
    ("fig7 -o out", "there is no figure 'fig7'"),
    ("forms -o out --scale huge", "--scale must be one of smoke, quick, paper"),
    ("forms -o out --scale quick --data loans", "--data: scale quick has adult, not 'loans'"),
    ("forms -o out --optimizer sgd", "--optimizer must be one of"),
    ("forms -o out --loans none.csv", "--loans none.csv: cannot be read"),
    ("forms -o out --processes 0", "--processes"),
    ("forms -o out --repetitions 0", "--repetitions"),
    ("forms -o file/out --scale smoke", "cannot be written"),
]


@pytest.mark.parametrize(("words", "culprit"), MISTAKES, ids=lambda words: words[:30])
def test_a_mistake_is_one_line_and_status_2(tmp_path, monkeypatch, capsys, words, culprit):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(sys, "argv", ["thresher", "reproduce", *words.split()])
    with pytest.raises(SystemExit) as caught:
        main()
    told = capsys.readouterr()
    assert caught.value.code == 2
    assert told.out == ""
    last = told.err.splitlines()[-1]
    assert last.startswith("thresher: ")
    assert culprit in last


def test_without_the_extra_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "find_spec", lambda name: None)
    done = CliRunner().invoke(app, ["reproduce", "forms", "-o", str(tmp_path)])
    assert "thresher[experiments]" in str(done.exception)


def test_the_other_commands_do_without_the_extra():
    code = (
        "import sys, thresher.cli; "
        "print([m for m in ('matplotlib', 'statsmodels', 'distributed') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
