"""`thresher answer`: questions as words, from a file or a pipe; one answer a line, or JSON."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from thresher.release.folder import load

QUERIES = ["town=A", "2 of: age=21..23, town!=B, pay in {0,25}", "any of: pay=none, age=20"]


@pytest.fixture
def told(release):
    """What the answers should be."""
    published = load(release)
    return [published.answer(query) for query in QUERIES]


def test_words(release, thresher, told):
    done = thresher("answer release", *QUERIES)
    assert done.status == 0
    lines = [line.split("\t") for line in done.out.splitlines()]
    assert [query for _, query, _, _ in lines] == QUERIES
    assert [float(answer) for answer, _, _, _ in lines] == pytest.approx(told, abs=1e-6)
    assert [int(count.split()[0]) for *_, count in lines] == [round(a.count) for a in told]
    known = [f"±{'~' if a.is_estimated else ''}{a.error_bar:.6f}" for a in told]
    assert [bar for _, _, bar, _ in lines] == known
    assert any(a.is_estimated for a in told)
    assert done.err == ""


def test_where_nothing_is_known_the_bar_is_empty(folder, thresher):
    fit = "fit people.csv --schema s.json --workload w.json --rho 1 --mechanism all0 -o zeros"
    assert thresher(fit).status == 0
    assert thresher("answer zeros town=A").out == "0.000000\ttown=A\t\t0\n"
    [entry] = thresher("answer zeros town=A --json").json["answers"]
    assert entry == {
        "query": "town=A", "answer": 0.0, "error_bar": None, "count": 0.0, "is_estimated": False
    }  # fmt: skip


def test_json(release, thresher, told):
    assert thresher("answer release --json", *QUERIES).json == {
        "answers": [
            {"query": query, "answer": answer, "error_bar": answer.error_bar,
             "count": answer.count, "is_estimated": answer.is_estimated}
            for query, answer in zip(QUERIES, told, strict=True)
        ]
    }  # fmt: skip


@pytest.mark.parametrize("as_json", [False, True])
def test_a_file_and_standard_input(release, thresher, told, monkeypatch, as_json):
    text = "# questions\n\n" + "\r\n".join(f"  {query} " for query in QUERIES)
    Path("q.txt").write_bytes(b"\xef\xbb\xbf" + text.encode())
    words = "--json" if as_json else ""
    expected = thresher(f"answer release {words}", *QUERIES).out
    assert thresher(f"answer release {words} --queries q.txt").out == expected
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    assert thresher(f"answer release {words} --queries -").out == expected


def test_an_empty_file_has_no_answers(release, thresher):
    Path("q.txt").write_text("# nothing yet\n")
    assert thresher("answer release --queries q.txt").out == ""
    assert thresher("answer release --queries q.txt --json").json == {"answers": []}


def test_words_of_any_script(folder, thresher):
    schema = {
        "format": "thresher-schema", "version": 1,
        "features": [{"name": "Straße", "kind": "categorical", "categories": ["東", "\\ü"],
                      "outside": "東", "nulls": "東"}],
    }  # fmt: skip
    Path("u.json").write_text(json.dumps(schema))
    Path("u.csv").write_text("Straße\n東\n\\ü\n", encoding="utf-8")
    Path("uw.json").write_text('{"thresholds": [{"features": ["Straße"]}]}', encoding="utf-8")
    fit = "fit u.csv --schema u.json --workload uw.json --rho 9 --rounds 1 --synthetic-rows 5 -o u"
    assert thresher(fit).status == 0
    done = thresher("answer u --json", "Straße=東", "Straße=\\ü")
    assert [entry["query"] for entry in done.json["answers"]] == ["Straße=東", "Straße=\\ü"]
    assert "東" in done.out


MISTAKES = [
    ("answer release", "give queries as arguments, or a file of them with --queries"),
    ("answer release town=A --queries q.txt", "give queries as arguments, or a file"),
    ("answer release --queries none.txt", "none.txt cannot be read: No such file"),
    ("answer release --queries latin.txt", "latin.txt is not text in UTF-8"),
    ("answer release --queries release", "release cannot be read: Is a directory"),
    ("answer release town=nowhere", "thresher: at character 6 ('nowhere')"),
    ("answer release ''", "expected a condition such as race=Black"),
    ("answer release '# town=A'", "there is no feature '# town'"),
    ("answer release shoe=42", "there is no feature 'shoe'; the schema has: age, town, pay"),
    ("answer release '3 of: town=A, age=20'", "3 of 2 conditions is not possible"),
    ("answer nothing town=A", "nothing is not a release: it has no file release.json"),
    ("answer people.csv town=A", "people.csv is not a release"),
    ("answer", "Missing argument"),
]


@pytest.mark.parametrize(("line", "culprit"), MISTAKES, ids=[line for line, _ in MISTAKES])
@pytest.mark.parametrize("as_json", ["", " --json"])
def test_a_mistake_is_one_line_and_status_2(release, thresher, line, culprit, as_json):
    Path("q.txt").write_text("town=A\n")
    Path("latin.txt").write_bytes("town=\xe9\n".encode("latin-1"))
    done = thresher(line + as_json)
    assert done.status == 2
    assert done.out == ""
    [said] = done.err.splitlines()
    assert said.startswith("thresher: ")
    assert culprit in said


def test_a_wrong_query_does_not_lose_the_others(release, thresher):
    Path("q.txt").write_text("town=A\n\ntown=nowhere\nage>=21 and town=b\n")
    done = thresher("answer release -f q.txt")
    assert done.status == 2
    assert [line.split("\t")[1] for line in done.out.splitlines()] == [
        "town=A", "age>=21 and town=b"
    ]  # fmt: skip
    [said] = done.err.splitlines()
    assert said.startswith("thresher: line 3: at character 6 ('nowhere'): feature 'town'")
    done = thresher("answer release --json town=A town=nowhere")
    assert done.status == 2
    told = json.loads(done.out)
    assert [entry["query"] for entry in told["answers"]] == ["town=A"]
    assert [entry["query"] for entry in told["faults"]] == ["town=nowhere"]
    assert done.err.startswith("thresher: query 2: at character 6")


def test_a_range_inside_of_a_bin_says_how_it_was_read(release, thresher):
    done = thresher("answer release pay=30..40")
    assert done.err == "thresher: pay=30..40 was read as all of: pay=25..50: bins end there\n"
    [entry] = thresher("answer release pay=30..40 --json").json["answers"]
    assert entry["read_as"] == "all of: pay=25..50"


def test_noisy_tables_say_what_they_cannot_answer(folder, thresher):
    fit = "fit people.csv --schema s.json --workload w.json --rho 1 --mechanism gaussian_joint -o g"
    assert thresher(fit).status == 0
    assert thresher("answer g", "age=20, town=A").status == 0
    done = thresher("answer g", "age=20")
    assert done.status == 2
    assert "a release with synthetic rows answers any query" in done.err


def test_a_pipe_that_is_closed_early_is_no_traceback(release):
    Path("q.txt").write_text("town=A\n" * 60_000)
    program = "from thresher.cli import main; main()"
    words = [sys.executable, "-c", program, "answer", "release", "--queries", "q.txt"]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline().split("\t")[1] == "town=A"
        process.stdout.close()
        err = process.stderr.read()
    assert "Traceback" not in err
