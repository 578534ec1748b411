"""All three people in one go: the curator fits, the analyst asks, the researcher compares."""

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import thresher as th
from thresher.cli import app
from thresher.privacy.ledger import Ledger

CANARY = "SECRET-7731"


def run(*words):
    """What one command prints."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_from_a_csv_file_to_answers_and_synthetic_records(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(11)
    smoker = rng.random(4000) < 0.3
    people = pd.DataFrame(
        {
            "smoker": np.where(smoker, "yes", "no"),
            "sport": np.where(rng.random(4000) < np.where(smoker, 0.2, 0.6), "much", "little"),
            "age": rng.integers(18, 38, 4000),
            "name": [f"{CANARY} {i}" for i in range(4000)],
        }
    )
    people.to_csv(tmp_path / "people.csv", index=False)

    run("schema", "draft", "people.csv", "-o", "s.json")
    run("workload", "random", "-k", 2, "--size", 3, "--schema", "s.json", "-o", "w.json")
    run("ledger", "create", "book", "--epsilon", 2, "--delta", "1e-8")
    budget = Ledger.open(tmp_path / "book").total
    fit = json.loads(
        run(
            "fit", "people.csv", "--schema", "s.json", "--workload", "w.json",
            "--rho", budget / 2, "--rounds", 6, "--queries-per-round", 5,
            "--synthetic-rows", 200, "--ledger", "book", "-o", "release", "--json",
        )
    )  # fmt: skip
    assert fit["measured"] == 30
    assert Ledger.open(tmp_path / "book").spent == budget / 2

    query = "smoker=yes, sport=much"
    told = json.loads(run("answer", "release", query, "--json"))
    truth = float(np.mean(smoker & (people["sport"] == "much")))
    # σ of one measurement is below 0.01 here; 0.15 is far beyond what noise can do.
    assert told["answers"][0]["answer"] == pytest.approx(truth, abs=0.15)

    run("sample", "release", "--rows", 3000, "--seed", 1, "-o", "synthetic.csv")
    synthetic = th.read(tmp_path / "synthetic.csv", th.Schema.load(tmp_path / "s.json"))
    assert th.exact_answer(synthetic, query) == pytest.approx(truth, abs=0.2)

    compared = json.loads(run("evaluate", "release", "people.csv", "--json"))
    assert compared["thresholds"] == 3
    assert compared["errors"]["release"]["max"] < compared["errors"]["all0"]["max"]

    shown = json.loads(run("ledger", "show", "book", "--json"))
    assert Fraction(shown["spent"]) == pytest.approx(float(budget / 2))
    for file in (tmp_path / "release").iterdir():
        assert CANARY.encode() not in file.read_bytes()
