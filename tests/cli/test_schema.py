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
        "schema": str(target), "features": ["age", "sex"], "notes": [],
        "left_out": {"name": "nearly every record has a different value (an identifier)"},
    }  # fmt: skip


def test_draft_of_some_columns_of_several_files(data):
    target = data.parent / "schema.json"
    (data.parent / "more.csv").write_text("sex;age;person_id\nF;999;7\n")
    options = ["-o", str(target), "--columns", 'sex, "age"']
    done = CliRunner().invoke(app, ["schema", "draft", f"{data.parent}/*.csv", *options])
    assert done.exit_code == 0, done.output
    assert Schema.load(target).names == ("sex", "age")
    assert Schema.load(target)["age"].high == 28
    done = CliRunner().invoke(app, ["schema", "draft", str(data), "--columns", "age,,sex"])
    assert done.exit_code != 0


def test_draft_points_to_rows_of_one_person(data):
    data.write_text("person_id,age\n" + "".join(f"{i // 2},{i % 9}\n" for i in range(200)))
    target = data.parent / "schema.json"
    done = CliRunner().invoke(app, ["schema", "draft", str(data), "-o", str(target)])
    assert "left out: 'person_id': by its name, and with so many values" in done.stderr
    assert "2.0 rows on average" in done.stderr
    assert "--person person_id --rows-per-person G" in done.stderr


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
