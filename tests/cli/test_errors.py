"""A user's mistake: exit status 2, and one line on standard error with the culprit and the fix."""

import subprocess
import sys

import pytest

from thresher.cli import main
from thresher.data.datasets import adult_schema

CANARY = "SECRET-7731"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    adult_schema().save("adult.json")
    (tmp_path / "cut.json").write_text('{"format": ')
    (tmp_path / "other.json").write_text("{}")
    (tmp_path / "old.json").write_text('{"format": "thresher-schema", "version": 0}')
    (tmp_path / "bad.json").write_text(
        '{"format": "thresher-schema", "version": 1, "features": [{"name": "age", "kind": "x"}]}'
    )
    (tmp_path / "ragged.csv").write_text(f"age,sex\n20,F\n{CANARY},F,{CANARY}\n")
    (tmp_path / "twice.csv").write_text(f"{CANARY},{CANARY}\n20,F\n")
    (tmp_path / "head.csv").write_text("age,sex\n")
    (tmp_path / "names.csv").write_text(
        f"name\n{CANARY}\n" + "".join(f"x{i}\n" for i in range(2000))
    )
    (tmp_path / "empty.csv").write_bytes(b"")
    (tmp_path / "x.docx").write_text(CANARY)
    return tmp_path


MISTAKES = [
    ("schema draft none.csv", "there is no file none.csv"),
    ("schema draft empty.csv", "empty.csv is empty"),
    ("schema draft head.csv", "head.csv holds no records"),
    ("schema draft ragged.csv", "ragged.csv, row 3"),
    ("schema draft twice.csv", "columns 1 and 2 have the same name"),
    ("schema draft names.csv", "names.csv has no column that could be a feature"),
    ("schema draft x.docx", "the kind of file is told by its ending"),
    ("schema draft", "Missing argument"),
    ("schema check none.json", "none.json: cannot be read: No such file"),
    ("schema check cut.json", "cut.json: is not JSON"),
    ("schema check other.json", "other.json: this is not a schema"),
    ("schema check old.json", "old.json: this schema is of version 0"),
    ("schema check bad.json", "bad.json: feature 'age': 'kind' must be one of"),
    ("workload all -k 15 --schema adult", "k must be a whole number from 1 to d = 14"),
    ("workload all -k 0 --schema adult", "'-k'"),
    ("workload all -k three --schema adult", "'-k'"),
    ("workload all -k 3 -r 4 --schema adult", "r must be a whole number from 1 to k = 3"),
    ("workload all -k 3 --max-queries 1 --schema adult", "every threshold has more than 1 queries"),
    ("workload all -k 3 -o no/such/folder.json --schema adult", "folder.json cannot be written"),
    ("workload all -k 3 --schema none.json", "none.json: cannot be read"),
    ("workload random -k 3 --schema adult", "Missing option '--size'"),
    ("workload random -k 3 --size 365 --schema adult", "only 364 thresholds"),
    ("workload random -k 3 --size 0 --schema adult", "'--size'"),
    ("workload random -k 3 --size 9 --colour red --schema adult", "--colour"),
    ("work", "No such command 'work'"),
    ("plan --margn 1", "--margin, --n). See `thresher plan --help`."),
    ("ledger create l --epsilon 1 --delta 1e-9 --accounting papr", "did you mean paper?"),
    ("ledger create l --epsilon 1 --delta 1e-9 --neighbours add-remov", "did you mean add-remove?"),
    ("ledger shw l", "Did you mean 'show'? See `thresher ledger --help`."),
    ("schema", "Missing command"),
]


@pytest.mark.parametrize(("words", "culprit"), MISTAKES, ids=lambda words: words[:40])
def test_a_mistake_is_one_line_and_status_2(folder, monkeypatch, capsys, words, culprit):
    monkeypatch.setattr(sys, "argv", ["thresher", *words.split()])
    with pytest.raises(SystemExit) as caught:
        main()
    told = capsys.readouterr()
    if culprit == "Missing command":  # typer shows the group's help instead
        assert caught.value.code in (0, 2)
        return
    assert caught.value.code == 2
    assert told.out == ""
    assert culprit in told.err
    assert told.err.startswith("thresher: ")
    assert told.err.count("\n") == 1
    assert CANARY not in told.err


def test_a_mistake_in_a_process_of_its_own(folder):
    done = subprocess.run(
        [sys.executable, "-c", "from thresher.cli import main; main()", "schema", "draft",
         "ragged.csv", "--json"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        "thresher: ragged.csv, row 3 (the header is row 1): 3 fields where the header has 2; cells "
        "are separated by commas, and a cell that holds one needs quotation marks"
    ]


def test_help_is_not_a_mistake(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["thresher", "--help"])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code in (0, None)
    assert "thresher demo" in capsys.readouterr().out
