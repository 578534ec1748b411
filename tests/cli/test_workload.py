"""`thresher workload`: many thresholds in one line."""

import json

import pytest
from typer.testing import CliRunner

from thresher import Workload
from thresher.cli import app
from thresher.data.datasets import adult_schema


def run(*words):
    done = CliRunner().invoke(app, ["workload", *map(str, words)])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def target(tmp_path):
    return tmp_path / "w.json"


def test_random(target):
    told = json.loads(run("random", "-k", 3, "-r", 2, "--size", 8, "-o", target, "--json"))
    work = Workload.load(target, adult_schema())
    assert told == {"workload": str(target), "thresholds": 8, "queries": work.query_count}
    assert work == Workload.random(adult_schema(), 3, 2, size=8, seed=0)
    run("random", "-k", 3, "-r", 2, "--size", 8, "--seed", 1, "-o", target)
    assert Workload.load(target, adult_schema()) != work


def test_all(target):
    assert "364 thresholds" in run("all", "-k", 3, "-o", target)
    assert Workload.load(target, adult_schema()) == Workload.all(adult_schema(), 3)


def test_the_filter_is_reported(target):
    words = run("all", "-k", 3, "--max-queries", 48_842, "-o", target)
    assert "86 of 364 thresholds removed (23.6%)" in words
    assert len(Workload.load(target, adult_schema())) == 278
    told = run("all", "-k", 3, "--max-queries", 48_842, "-o", target, "--json")
    assert json.loads(told)["thresholds"] == 278


def test_a_schema_of_ones_own(target, tmp_path):
    adult_schema().save(tmp_path / "s.json")
    told = run("all", "-k", 1, "--schema", tmp_path / "s.json", "-o", target, "--json")
    assert json.loads(told) == {"workload": str(target), "thresholds": 14, "queries": 588}
