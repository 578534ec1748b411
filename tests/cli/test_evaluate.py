"""`thresher evaluate`: a release beside the truth and the baselines; not for publication."""

import re
from pathlib import Path

import pytest

import thresher as th
from thresher.cli.evaluate import STAMP
from thresher.release.folder import load

NAMES = ["release", "all0", "gaussian_per_query", "gaussian_joint", "residual"]


def test_json(release, thresher):
    done = thresher("evaluate release people.csv --workload w.json --json")
    told = done.json
    assert set(told) == {"queries", "thresholds", "errors", "warning"}
    assert (told["queries"], told["thresholds"]) == (5 * 3 + 3 * 4, 2)
    assert list(told["errors"]) == NAMES
    for errors in told["errors"].values():
        assert set(errors) == {"max", "mean_max"}
        assert 0 <= errors["mean_max"] <= errors["max"] <= 1
    assert STAMP in told["warning"]
    assert STAMP in done.err
    assert "NOT PRIVATE, NOT FOR PUBLICATION" in STAMP


def test_the_numbers_are_the_errors(release, thresher):
    told = thresher("evaluate release people.csv --per-threshold --json").json
    schema = th.Schema.load("s.json")
    records, published = th.read("people.csv", schema), load("release")
    gaps = [
        abs(table - th.exact_answers(records, threshold) / records.n).max()
        for threshold, table in published.answer_all()
    ]
    assert told["by_threshold"]["release"] == pytest.approx(gaps, abs=1e-6)
    assert told["errors"]["release"]["max"] == pytest.approx(max(gaps), abs=1e-6)
    assert told["errors"]["release"]["mean_max"] == pytest.approx(sum(gaps) / 2, abs=1e-6)
    # All-0 is wrong by the largest answer.
    largest = max(th.exact_answers(records, t).max() / records.n for t in published.workload)
    assert told["errors"]["all0"]["max"] == pytest.approx(largest)


def test_words(release, thresher):
    done = thresher("evaluate release people.csv --per-threshold")
    assert done.status == 0
    lines = done.out.splitlines()
    assert lines[0] == STAMP
    assert STAMP in done.err
    assert lines[1] == "2 thresholds, 27 queries"
    assert [line.split()[0] for line in lines[3:8]] == NAMES
    assert lines[-1].endswith("1 of: town, pay")


def test_a_seed_fixes_the_baselines(release, thresher):
    one, same, other = (
        thresher(f"evaluate release people.csv --seed {seed} --json").json["errors"]
        for seed in (1, 1, 2)
    )
    assert one == same
    assert one["gaussian_joint"] != other["gaussian_joint"]
    assert one["release"] == other["release"]


def test_other_records_than_those_of_the_release(release, thresher):
    Path("fewer.csv").write_text("age,town,pay\n20,A,3\n")
    done = thresher("evaluate release fewer.csv --json")
    assert done.json["errors"]["release"]["max"] > 0
    assert "warning: the release is of 300 records, and fewer.csv has 1" in done.err


def test_how_long_it_takes_is_said_beforehand_if_that_is_long(release, thresher, monkeypatch):
    assert "takes about" not in thresher("evaluate release people.csv").err
    monkeypatch.setattr("thresher.cli.evaluate.WORTH_SAYING", 0.0)
    done = thresher("evaluate release people.csv --json")
    assert re.search(r"comparing 27 queries takes about \d+ s of processor time", done.err)
    assert done.json["queries"] == 27


MISTAKES = [
    ("evaluate release none.csv", "there is no file none.csv"),
    ("evaluate none people.csv", "none is not a release"),
    ("evaluate release people.csv -w none.json", "none.json: cannot be read"),
    ("evaluate release people.csv -w s.json", "s.json: a workload is a JSON object"),
    ("evaluate release people.csv --seed -1", "'--seed'"),
    ("evaluate release adult", "adult"),
    ("evaluate release", "Missing argument"),
    ("evaluate g people.csv -w one.json", "no answers for"),
]


@pytest.mark.parametrize(("line", "culprit"), MISTAKES, ids=[line for line, _ in MISTAKES])
def test_a_mistake_is_one_line_and_status_2(release, thresher, line, culprit):
    Path("one.json").write_text('{"thresholds": [{"features": ["age"]}]}')
    thresher("fit people.csv --schema s.json -w w.json --rho 1 --mechanism gaussian_joint -o g")
    done = thresher(line)
    assert done.status == 2
    assert done.out == ""
    [said] = done.err.splitlines()
    assert culprit in said
