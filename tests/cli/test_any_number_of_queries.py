"""64 8-way marginals with 10^17 queries, through every command: numbers stay whole and exact."""

import json

import numpy as np
import pytest

from thresher import Schema, Workload
from thresher.data.datasets import loans_like
from thresher.release.folder import load

FEW = "--epsilon 1 --rounds 2 --synthetic-rows 20 --seed 0"


@pytest.fixture(scope="module")
def loans(tmp_path_factory):
    """A file of 300 made-up loans, and its schema."""
    folder = tmp_path_factory.mktemp("loans")
    records = loans_like(seed=0, n=300)
    records.schema.save(folder / "s.json")
    names = records.schema.names
    codes = np.stack([records.codes(name) for name in names], axis=1)
    lines = [",".join(names), *(",".join(map(str, row)) for row in codes.tolist())]
    (folder / "loans.csv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def folder(loans, monkeypatch):
    monkeypatch.chdir(loans)
    return loans


@pytest.fixture
def queries(folder, thresher):
    """The number of queries of the workload file, in Python's whole numbers."""
    told = thresher("workload random -k 8 --size 64 --schema s.json -o w.json --json").json
    schema = Schema.load("s.json")
    work = Workload.load("w.json", schema)
    expected = 0
    for threshold in work:
        cells = 1
        for name in threshold.features:
            cells *= schema[name].size
        expected += cells
    assert told["queries"] == work.query_count == expected > 10**17
    assert float(expected) != expected, "a double cannot tell it from its neighbours"
    return expected


def test_what_is_written_is_told_in_words(queries, thresher):
    told = thresher("workload random -k 8 --size 64 --schema s.json -o w.json")
    assert f"64 thresholds, {queries:,} queries" in told.out


@pytest.mark.parametrize("mechanism", ["auto", "rap"])
def test_fit_evaluate_answer_and_report(queries, thresher, mechanism, folder):
    fit = f"fit loans.csv --schema s.json -w w.json {FEW} --mechanism {mechanism}"
    told = thresher(f"{fit} -o {mechanism} --json")
    assert told.json["rounds"] == 2
    assert load(mechanism).workload.query_count == queries

    evaluated = thresher(f"evaluate {mechanism} loans.csv --json").json
    assert evaluated["queries"] == queries
    assert f'"queries": {queries}' in json.dumps(evaluated), "as digits, not as a rounded float"
    assert set(evaluated["errors"]) == {"release", "all0"}, "no baseline has so many numbers"
    assert 0 < evaluated["errors"]["release"]["max"] < 1
    assert f"64 thresholds, {queries:,} queries" in thresher(f"evaluate {mechanism} loans.csv").out

    cell = ", ".join(f"{name}=0" for name in load(mechanism).workload[0].features)
    [answer] = thresher("answer", mechanism, cell, "--json").json["answers"]
    assert 0 <= answer["answer"] <= 1
    assert 0 < answer["error_bar"] <= 1

    told = thresher(f"report {mechanism} --data loans.csv -o {mechanism}.html --json")
    assert told.status == 0, told.err
    page = (folder / f"{mechanism}.html").read_text("utf-8")
    assert f"{queries:,} queries" in page
