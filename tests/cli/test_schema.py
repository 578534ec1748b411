"""`thresher schema`: a draft to review, and a check of what a file describes."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from thresher import Schema
from thresher.cli import app

CSV = "age,sex,name\n" + "".join(f"{20 + i % 9},{'FM'[i % 2]},person {i}\n" for i in range(1100))


@pytest.fixture
def data(tmp_path):
    (tmp_path / "people.csv").write_text(CSV)
    return tmp_path / "people.csv"


def test_draft_in_a_process_of_its_own(data):
    target = data.parent / "schema.json"
    done = subprocess.run(
        [
            *(sys.executable, "-c", "from thresher.cli import main; main()"),
            *("schema", "draft", str(data), "-o", str(target)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "2 features to review" in done.stdout
    assert "left out: 'name'" in done.stderr
    assert "not itself private" in done.stderr
    assert Schema.load(target).unreviewed == ("age", "sex")
    assert "not itself private" in json.loads(target.read_text("utf-8"))["warning"]


def test_draft_as_json(data):
    target = data.parent / "schema.json"
    done = CliRunner().invoke(app, ["schema", "draft", str(data), "-o", str(target), "--json"])
    assert done.exit_code == 0
    assert json.loads(done.stdout) == {
        "schema": str(target), "features": ["age", "sex"], "left_out": ["name"],
    }  # fmt: skip


def test_check(data):
    target = data.parent / "schema.json"
    CliRunner().invoke(app, ["schema", "draft", str(data), "-o", str(target)])
    done = CliRunner().invoke(app, ["schema", "check", str(target), "--json"])
    assert json.loads(done.stdout) == {
        "features": {"age": 9, "sex": 3}, "one_hot": 12, "unreviewed": ["age", "sex"],
    }  # fmt: skip
    done = CliRunner().invoke(app, ["schema", "check", str(target)])
    assert "age: integer, 9 values  <- to review: guessed" in done.stdout
    assert "2 features, 12 one-hot columns" in done.stdout
