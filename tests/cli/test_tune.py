"""`thresher tune`: a search within one budget."""

import json

import pytest
from typer.testing import CliRunner

from thresher import Workload, datasets
from thresher.cli import app
from thresher.errors import ParameterError, ReleaseError, ThresherError
from thresher.privacy import Ledger
from thresher.release.folder import load


@pytest.fixture
def words(tmp_path):
    schema = datasets.adult_schema()
    Workload.random(schema, k=2, size=2, seed=0, max_queries=300).save(tmp_path / "w.json")
    return [
        "tune", "adult", "-w", str(tmp_path / "w.json"), "-o", str(tmp_path / "release"),
        "--rounds", "1,2", "--queries-per-round", "2,4", "--synthetic-rows", "20",
    ]  # fmt: skip


def run(words, *more):
    return CliRunner().invoke(app, [*words, *map(str, more)])


def fault(words, *more):
    done = run(words, *more)
    assert isinstance(done.exception, ThresherError), done.output
    return done.exception


@pytest.mark.parametrize(("search", "trials"), [("rule", 1), ("diagonal", 2), ("grid", 4)])
def test_it_makes_a_release_and_says_what_it_tried(words, search, trials, tmp_path):
    ledger = Ledger.create(tmp_path / "l", 1)
    done = run(words, "--rho", "1/10", "--search", search, "--ledger", tmp_path / "l", "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["search"] == search
    assert len(told["trials"]) == trials
    assert [told["rounds"], told["queries_per_round"]] in told["trials"]
    assert told["rho"] == pytest.approx(0.1)
    assert float(ledger.spent) == pytest.approx(0.1)
    release = load(tmp_path / "release")
    assert release.settings["rounds"] == told["rounds"]
    assert len(release.measurements) == told["measured"]
    assert not (tmp_path / "release.partial").exists()


def test_in_words(words):
    done = run(words, "--epsilon", 1)
    assert done.exit_code == 0, done.output
    assert "by diagonal" in done.stdout
    assert "tried: T=1, K=2; T=2, K=4" in done.stdout
    assert "all trials included" in done.stdout
    assert "at most 2 trials, each with a part of the budget" in done.stderr
    assert isinstance(fault(words, "--epsilon", 1), ReleaseError)
    assert run(words, "--epsilon", 1, "--overwrite").exit_code == 0


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ((), "Give --epsilon, or --rho"),
        (("--epsilon", 1, "--rounds", "1;2"), "--rounds takes whole numbers"),
        (("--epsilon", 1, "--rounds", "2,1"), "rounds must ascend"),
        (("--epsilon", 1, "--rounds", "1"), "as many values of T as of K"),
        (("--epsilon", 1, "--searching", "1"), "searching"),
    ],
)
def test_mistakes(words, more, says, tmp_path):
    found = fault(words, *more)
    assert isinstance(found, ParameterError)
    assert says in str(found)
    assert not (tmp_path / "release").exists()


def test_an_interrupted_search_is_not_started_over(words, tmp_path):
    assert "no interrupted search" in str(fault(words, "--epsilon", 1, "--resume"))
    (tmp_path / "release.partial").mkdir()
    (tmp_path / "release.partial" / "journal.jsonl").write_text('{}\n{"paying": "1/2"}\n')
    assert "go on with --resume" in str(fault(words, "--epsilon", 1))
