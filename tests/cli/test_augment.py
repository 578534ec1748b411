"""`thresher workload augment`, `from-log`, and `random` with a distribution."""

import json

import pytest
from typer.testing import CliRunner

from thresher import Threshold, Workload
from thresher.cli import app
from thresher.data.datasets import adult_schema
from thresher.errors import ThresherError
from thresher.queries import FeatureDistribution, augment, threshold_workload

ADULT = adult_schema()


def run(*words, schema=("--schema", "adult")):
    done = CliRunner().invoke(app, ["workload", *map(str, words), *schema])
    assert done.exit_code == 0, done.output
    return done


def fault(*words, schema=("--schema", "adult")):
    done = CliRunner().invoke(app, ["workload", *map(str, words), *schema])
    assert isinstance(done.exception, ThresherError), done.output
    return str(done.exception)


@pytest.fixture
def past(tmp_path):
    Workload.random(ADULT, 3, 1, size=4, seed=0).save(tmp_path / "past.json")
    return tmp_path / "past.json"


def test_augment_adds_what_is_missing(past, tmp_path):
    target = tmp_path / "more.json"
    done = run("augment", past, "-o", target, "--json")
    work = Workload.load(target, ADULT)
    assert json.loads(done.stdout) == {
        "workload": str(target), "thresholds": 14, "queries": work.query_count, "added": 10,
    }  # fmt: skip
    assert work == augment(Workload.load(past, ADULT), seed=0)
    assert "warning" not in done.stderr


def test_augment_adds_what_it_is_told(past, tmp_path):
    target = tmp_path / "more.json"
    done = run("augment", past, "--add", 2, "--seed", 5, "-o", target)
    work = Workload.load(target, ADULT)
    assert work == augment(Workload.load(past, ADULT), seed=5, add=2)
    assert "6 thresholds are a small history for 14 features" in done.stderr
    assert "6 thresholds" in done.stdout
    assert "360 more thresholds" in fault("augment", past, "--add", 361, "-o", target)


def test_from_log(tmp_path):
    log, target = tmp_path / "log.txt", tmp_path / "past.json"
    log.write_text(
        "# last year\n2 of: race=Black, sex=Female, income=>50K\nage=20..29\n\n"
        "2 of: sex=Male, race=White, income=<=50K\n"
    )
    done = run("from-log", log, "-o", target)
    assert "3 queries about 2 different thresholds" in done.stdout
    assert "2  2 of: race, sex, income" in done.stdout
    assert "small history" in done.stderr
    work = Workload.load(target, ADULT)
    assert work.thresholds == (Threshold(("race", "sex", "income"), 2), Threshold(("age",)))
    assert work.weights == (2, 1)
    assert "race 28.6%, sex 28.6%, income 28.6%, age 14.3%" in done.stdout.replace("\n", " ")
    run("from-log", log, log, "--equal-weights", "-o", target)
    assert not Workload.load(target, ADULT).has_weights
    assert Workload.load(target, ADULT).thresholds == work.thresholds
    told = json.loads(run("from-log", log, "--at-least", 2, "-o", target, "--json").stdout)
    assert told == {
        "workload": str(target), "thresholds": 1, "queries": work[:1].query_count,
        "asked": 3, "times": [2],
        "features": {"race": 2 / 7, "sex": 2 / 7, "income": 2 / 7, "age": 1 / 7},
        "views": [{"name": "age-groups", "of": "age", "cuts": [20, 30]}],
    }  # fmt: skip


def test_from_log_with_views(tmp_path):
    log, target = tmp_path / "log.txt", tmp_path / "past.json"
    log.write_text("age=65.., sex=Male\nage=18..29\nage=18.., native-country!=United-States\n")
    done = run("from-log", log, "-o", target)
    assert "a view that --views would add, of age: ..17, 18..29, 30..64, 65.." in done.stdout
    assert Workload.load(target, ADULT).schema.views == ()
    run("from-log", log, "--views", "-o", target)
    work = Workload.load(target, ADULT)
    assert [view.of for view in work.schema.views] == ["age", "native-country"]
    assert work.thresholds[0] == Threshold(("age-groups", "sex"))
    assert "never asked: workclass" in run("show", target).stdout


def test_a_long_log_shows_its_most_frequent_thresholds(tmp_path):
    log, target = tmp_path / "log.txt", tmp_path / "past.json"
    values = [(name, ADULT[name].labels[0]) for name in ADULT.names]
    log.write_text("".join(f'{name}="{value}"\n' for name, value in values))
    done = run("from-log", log, "-o", target)
    assert "and 4 less frequent ones" in done.stdout
    assert "small" not in done.stderr


def test_a_log_that_cannot_be_read_says_where(tmp_path):
    log, target = tmp_path / "log.txt", tmp_path / "past.json"
    assert "log.txt cannot be read" in fault("from-log", log, "-o", target)
    log.write_text("sex=Male\nshoe=44\n")
    said = fault("from-log", log, "-o", target)
    assert "log.txt: line 2: " in said
    assert "'shoe'" in said
    log.write_bytes(b"\xff\xfe\xff")
    assert "not text in UTF-8" in fault("from-log", log, "-o", target)
    assert not target.exists()


@pytest.mark.parametrize("name", ["uniform", "zipf", "geometric"])
@pytest.mark.parametrize("replacement", [False, True])
def test_random_by_a_named_distribution(name, replacement, tmp_path):
    target = tmp_path / "w.json"
    options = ["--replacement"] if replacement else []
    run(
        "random", "-k", 3, "-r", 1, "--size", 20, "--seed", 3, "--distribution", name,
        "--order-seed", 2, "-o", target, *options,
    )  # fmt: skip
    work = Workload.load(target, ADULT)
    if name == "uniform" and not replacement:
        assert work == Workload.random(ADULT, 3, 1, size=20, seed=3)
        return
    distribution = {
        "uniform": lambda: FeatureDistribution.uniform(ADULT),
        "zipf": lambda: FeatureDistribution.zipf(ADULT, seed=2),
        "geometric": lambda: FeatureDistribution.geometric(ADULT, seed=2),
    }[name]()
    assert work == threshold_workload(distribution, 3, 1, size=20, seed=3, replacement=replacement)


def test_random_by_a_distribution_of_ones_own(tmp_path):
    mine, target = tmp_path / "mine.json", tmp_path / "w.json"
    mine.write_text('{"age": 0.5, "sex": 0.25, "race": 0.25}')
    run("random", "-k", 2, "--size", 3, "--distribution", mine, "-o", target)
    assert {t.features for t in Workload.load(target, ADULT)} == {
        ("age", "sex"), ("age", "race"), ("race", "sex"),
    }  # fmt: skip


def test_distributions_that_are_none(tmp_path):
    mine = tmp_path / "mine.json"
    asked = ("random", "-k", 2, "--size", 1, "-o", tmp_path / "w.json", "--distribution")
    assert "not 'bell'" in fault(*asked, "bell")
    assert "cannot be read" in fault(*asked, mine)
    for text, says in (
        ("[1]", "must look like"),
        ('{"age": 0.5}', "mine.json: the probabilities"),
        ('{"shoe": 1}', "mine.json: there is no feature"),
        ("{", "is not JSON"),
    ):
        mine.write_text(text)
        assert says in fault(*asked, mine)
