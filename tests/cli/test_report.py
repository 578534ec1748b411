"""`thresher report` and `explore`: write a page, and stamp it where it is not private."""

import json
import sys

import pytest

import thresher as th
from thresher.cli import main


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    schema = th.Schema(
        (
            th.IntegerRange(name="age", low=20, high=24, nulls=20),
            th.Categorical(name="sex", categories=("F", "M"), outside="M", nulls="M"),
        )
    )
    lines = [f"{20 + i % 5},{'FM'[i % 2]}" for i in range(60)]
    (tmp_path / "people.csv").write_text("\n".join(["age,sex", *lines]) + "\n")
    (tmp_path / "fewer.csv").write_text("\n".join(["age,sex", *lines[:-1]]) + "\n")
    work = th.Workload.all(schema, k=2)
    work.save("work.json")
    data = th.read("people.csv", schema)
    th.RAP(epsilon=1.0, rounds=2, queries_per_round=2, synthetic_rows=10).fit(data, work).save(
        "rel"
    )
    return tmp_path


def run(monkeypatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["thresher", *words])
    with pytest.raises(SystemExit) as caught:
        main()
    return int(caught.value.code or 0)


def test_a_report_is_one_file(folder, monkeypatch, capsys):
    assert run(monkeypatch, "report", "rel", "-o", "page.html", "--json") == 0
    told = capsys.readouterr()
    assert json.loads(told.out) == {"report": "page.html", "private": True}
    page = (folder / "page.html").read_text("utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "NOT PRIVATE" not in page + told.err


def test_the_explorer_is_the_same_page_opened_at_a_question(folder, monkeypatch, capsys):
    assert run(monkeypatch, "explore", "rel", "--title", "Health", "--json") == 0
    page = (folder / "explore.html").read_text("utf-8")
    told = {"page": "explore.html", "bytes": len(page.encode())}
    assert json.loads(capsys.readouterr().out) == told
    assert run(monkeypatch, "report", "rel", "--title", "Health") == 0
    report = (folder / "report.html").read_text("utf-8")
    assert page.replace('data-view="ask"', 'data-view="report"') == report
    assert "<title>Health</title>" in page


def test_with_data_the_page_and_the_messages_say_that_it_is_not_private(
    folder, monkeypatch, capsys
):
    words = ("report", "rel", "--data", "people.csv", "-w", "work.json", "--json")
    assert run(monkeypatch, *words) == 0
    told = capsys.readouterr()
    answer = json.loads(told.out)
    assert answer["private"] is False
    assert "NOT PRIVATE" in answer["warning"]
    assert "NOT PRIVATE" in told.err
    assert "NOT PRIVATE" in (folder / "report.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "culprit"),
    [
        (("report", "none"), "none is not a release"),
        (("explore", "none"), "none is not a release"),
        (("report", "rel", "--data", "fewer.csv"), "fewer.csv holds 59 records"),
        (("report", "rel", "--data", "none.csv"), "there is no file none.csv"),
        (("report", "rel", "-w", "work.json"), "give --data too"),
        (("report", "rel", "-o", "no/such/page.html"), "cannot be written"),
    ],
)
def test_a_mistake_is_one_line_and_status_2(folder, monkeypatch, capsys, words, culprit):
    assert run(monkeypatch, *words) == 2
    told = capsys.readouterr()
    assert culprit in told.err
    assert told.err.count("\n") == 1
    assert told.out == ""
