"""`thresher workload`: many thresholds in one line."""

import json

import pytest
from typer.testing import CliRunner

from thresher import Threshold, Workload
from thresher.cli import app
from thresher.data.datasets import adult_schema
from thresher.errors import ThresherError


def run(*words, schema=("--schema", "adult")):
    done = CliRunner().invoke(app, ["workload", *map(str, words), *schema])
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
    told = run(
        "all", "-k", 1, "-o", target, "--json", schema=("--schema", str(tmp_path / "s.json"))
    )
    assert json.loads(told) == {"workload": str(target), "thresholds": 14, "queries": 588}


def test_a_forgotten_schema_is_an_error(target):
    done = CliRunner().invoke(app, ["workload", "all", "-k", "3", "-o", str(target)])
    assert isinstance(done.exception, ThresherError)
    assert "--schema is missing" in str(done.exception)
    assert not target.exists()


def test_pairs_and_triples_of_named_features_and_everything_by_an_outcome(target):
    named = [word for name in ("age", "sex", "race") for word in ("--among", name)]
    told = json.loads(run("all", "-k", 2, "-k", 3, *named, "-o", target, "--json"))
    assert told["thresholds"] == 4
    listed = ("--among", "age,sex", "--among", "race")
    told = json.loads(run("all", "-k", 2, *listed, "-o", target, "--json"))
    assert told["thresholds"] == 3
    run("all", "-k", 2, "--having", "income", "-o", target)
    work = Workload.load(target, adult_schema())
    assert len(work) == 13
    assert all("income" in threshold.features for threshold in work)


def test_show(target):
    asked = [Threshold(("sex", "race"), 1), Threshold(("age", "sex"))]
    Workload(adult_schema(), asked, [3, 1]).save(target)
    words = run("show", target)
    assert "2 thresholds, 180 queries" in words
    assert words.index("2 of: age, sex  (weight 1)") < words.index("1 of: sex, race  (weight 3)")
    assert "never asked: workclass" in words
    told = json.loads(run("show", target, "--most", 1, "--json"))
    assert told["kinds"] == [
        {"k": 2, "r": 1, "thresholds": 1}, {"k": 2, "r": 2, "thresholds": 1},
    ]  # fmt: skip
    assert told["most_expensive"] == [{"features": ["age", "sex"], "r": 2, "queries": 170}]
    assert told["features"] == {"sex": 2, "race": 1, "age": 1}
    assert len(told["never_asked"]) == 11


def test_merge_adds_weights_up(target, tmp_path):
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    sex, pair = Threshold(("sex",)), Threshold(("sex", "race"))
    Workload(adult_schema(), [sex, pair], [5, 2]).save(one)
    Workload(adult_schema(), [pair]).save(other)
    run("merge", one, other, "-o", target)
    assert Workload.load(target, adult_schema()) == Workload(adult_schema(), [sex, pair], [5, 3])


def test_views_from_a_log_to_an_answer(folder, thresher):
    (folder / "log.txt").write_text("all of: age=22.., pay=..39\nany of: age=20..21, pay=40..\n")
    thresher("workload from-log log.txt --views --schema s.json -o v.json")
    told = thresher("fit people.csv --schema s.json -w v.json --rho 1 --mechanism tables -o r")
    assert told.status == 0, told.err
    told = thresher("answer r --json", "all of: age=22.., pay=..39", "age-groups=22..").json
    assert [answer["error_bar"] is not None for answer in told["answers"]] == [True, True]
    assert thresher("evaluate r people.csv --json").json["thresholds"] == 2
    assert "age-groups: view of age, 2 groups" in thresher("schema check r/schema.json").out
