"""What is printed: no control character of somebody's names, and lines where there is no bar."""

import json
import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.cli import console
from thresher.cli.console import as_json_text, plain
from thresher.progress import ROUNDS, Phase, Step, display

ESCAPES = {
    "colour": "\x1b[31mred",
    "title": "\x1b]0;owned\x07",
    "csi": "\x9b31m",
    "delete": "a\x7fb",
    "bidi": "ab\u202ecd\u2066",
    "return": "good\rbad",
    "line": "one\ntwo\u2028three",
    "tab": "one\ttwo",
}


def is_harmless(text: str) -> bool:
    """No control character but the ends of lines that are ours."""
    return not any(
        ord(c) < 32 or 127 <= ord(c) < 160 or c in "\u061c\u200e\u200f" or "\u2028" <= c <= "\u202e"
        or "\u2066" <= c <= "\u2069" or "\ud800" <= c <= "\udfff"
        for c in text
    )  # fmt: skip


@given(st.text(st.characters(exclude_categories=[])))
def test_every_text_becomes_harmless_and_json_stays_the_same(text):
    assert is_harmless(plain(text))
    assert is_harmless(as_json_text(text))
    assert json.loads(as_json_text(text)) == text


@given(st.text(st.characters(categories=["L", "M", "N", "P", "S", "Zs"])))
def test_words_of_any_script_stay(text):
    assert plain(text) == text


@pytest.fixture(params=ESCAPES)
def odd(request, folder):
    """A schema whose feature, label and note to review hold escapes, with data and a workload."""
    name = ESCAPES[request.param]
    features = [
        {"name": name, "kind": "categorical", "categories": [name, "B"], "outside": "B",
         "nulls": "B", "review": f"guessed {name}"},
        {"name": "age", "kind": "integer", "low": 20, "high": 24, "nulls": 20},
    ]  # fmt: skip
    schema = {"format": "thresher-schema", "version": 1, "features": features}
    Path("odd.json").write_text(json.dumps(schema), encoding="utf-8")
    Path("odd-w.json").write_text(json.dumps({"thresholds": [{"features": ["age", name]}]}))
    return name


def all_lines_are_harmless(told) -> bool:
    lines = told.out.split("\n") + told.err.split("\n")
    return all(is_harmless(line.replace("\t", "")) for line in lines)


def test_names_and_labels_in_results_warnings_and_errors(odd, thresher):
    """New schemas may refuse such names altogether; then the refusal must be harmless too."""
    for words in (
        "schema check odd.json",
        "schema check odd.json --json",
        "workload all -k 3 --schema odd.json",
        "workload from-log odd.log --schema odd.json",
        "fit people.csv --schema odd.json -w odd-w.json --rho 1 -o r",
        "fit people.csv --schema odd.json -w odd-w.json --rho 1 --mechanism gaussian_joint -o r",
    ):
        Path("odd.log").write_text(f"{odd}=B\n", encoding="utf-8")
        told = thresher(words)
        assert told.out or told.err
        assert all_lines_are_harmless(told), words
        assert "\t" not in told.out + told.err


def test_queries_and_file_names(release, odd, thresher):
    for words in (
        ["answer", "release", f"town={odd}"],
        ["answer", "release", f"{odd}=A"],
        ["answer", f"none {odd}", "town=A"],
        ["schema", "check", f"none {odd}"],
        ["evaluate", "release", f"{odd}.csv"],
        ["sample", "release", "--rows", "5", "-o", f"{odd}.txt"],
        [odd],
        ["answer", "release", f"--{odd}"],
    ):
        told = thresher("", *words)
        assert told.status == 2
        assert told.out == ""
        assert told.err.count("\n") == 1, words
        assert all_lines_are_harmless(told), words


def test_a_query_is_printed_without_its_tabs(release, thresher):
    told = thresher("answer release", "town=A,\tage=20")
    assert told.status == 0, told.err
    assert [line.count("\t") for line in told.out.splitlines()] == [3]
    assert "town=A,\\tage=20" in told.out


def test_nothing_is_said_about_a_task_that_is_done_at_once(capsys):
    with console.working("comparing"):
        pass
    with console.phases_of("fitting") as progress:
        progress.expect([Phase(ROUNDS, 1.0)])
        progress(Step(ROUNDS, 1, 2, "fine"))
    assert capsys.readouterr().err == ""


def until(capsys, words, seconds=30.0):
    """What standard error holds, once it holds some words."""
    text, end = "", time.monotonic() + seconds
    while words not in text and time.monotonic() < end:
        text += capsys.readouterr().err
        time.sleep(0.01)
    return text


def test_a_task_that_takes_longer_is_a_line_where_there_is_no_terminal(capsys, monkeypatch):
    monkeypatch.setattr(display, "PATIENCE", 0.0)
    with console.working("comparing \x1b[31m"):
        assert until(capsys, "\n") == "thresher: comparing \\x1b[31m\n"
    assert capsys.readouterr().err == ""


def test_progress_is_a_line_now_and_then_where_there_is_no_terminal(capsys, monkeypatch):
    monkeypatch.setattr(display, "PATIENCE", 0.0)
    monkeypatch.setattr(display, "EVERY", 0.05)
    with console.counting("reading people.csv") as counted:
        counted(12_000)
        assert "thresher: reading people.csv: 12,000 records\n" in until(capsys, "12,000 records\n")
    with console.runs_of_experiments() as watch:
        watch(1.0, 2.0, "forms")
        assert "thresher: running: forms; a few seconds left\n" in until(capsys, "left\n")


@pytest.mark.parametrize("ends", [[2500, 4100], [1, 999, 1000, 3999, 4999], [4100]])
def test_remarks_about_reading_do_not_show_where_batches_end(ends, monkeypatch):
    """Lines of other lengths are read in other batches."""
    told = []
    monkeypatch.setattr(display.Plain, "tell", lambda _, words: told.append(words))
    with console.counting("reading people.csv") as counted:
        for rows in ends:
            counted(rows)
    assert told == [f"{number},000 records" for number in range(1, 5)]


def test_a_line_for_each_phase_where_there_is_no_terminal(capsys, monkeypatch):
    monkeypatch.setattr(display, "PATIENCE", 0.0)
    with console.phases_of("fitting") as progress:
        progress.expect([Phase("one-way tables", 100.0), Phase(ROUNDS, 500.0)])
        said = until(capsys, "\n")
        progress(Step(ROUNDS, 0, 4))
        said += until(capsys, "\n")
        for number in (1, 2, 3):
            progress(Step(ROUNDS, number, 4, "age"))
        progress.note("odd \x9b")
        said += until(capsys, "odd")
    said += capsys.readouterr().err
    assert re.fullmatch(
        "thresher: fitting(: one-way tables; about 10 min left)?\n"
        "(thresher: fitting: one-way tables; about 10 min left\n)?"
        "thresher: fitting: rounds, 0 of 4; about . min left\n"
        r"thresher: odd \\x9b\n",
        said,
    ), said


BARS = r"""
from thresher.cli import console
from thresher.progress import ROUNDS, Phase, Step
with console.phases_of("fitting") as progress:
    progress.expect([Phase(ROUNDS, 100.0)])
    progress(Step(ROUNDS, 1, 4, "[/red] error \x9b31m"))
    console.say("a message")
    progress.note("a note \x9b")
with console.counting("reading [/x] \x1b]0;owned\x07") as counted:
    counted(5000)
with console.runs_of_experiments() as watch:
    watch(1.0, 2.0, "forms")
with console.working("drawing"):
    pass
"""


def test_bars_in_a_terminal(tmp_path):
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", BARS], stderr=theirs, env={**os.environ, "TERM": "xterm"}
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            some = os.read(ours, 4096)
        except OSError:  # Linux: the other end is closed
            break
        if not some:
            break
        shown += some
    os.close(ours)
    assert process.wait(60) == 0
    text = shown.decode()
    for words in ("fitting: rounds", "1 of 4, [/red] error \\x9b31m", "about 75 s left",
                  "a message", "thresher: a note \\x9b",
                  "reading [/x] \\x1b]0;owned\\x07: 5,000 records", "running", "50%", "forms",
                  "drawing"):  # fmt: skip
        assert words in text, text
    assert "\x9b" not in text
    assert "\x07" not in text
