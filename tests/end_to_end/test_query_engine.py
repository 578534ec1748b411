"""The ground floor in one go: a file, a schema, a workload, and exact answers that agree."""

import json

import numpy as np
import pandas as pd
from typer.testing import CliRunner

import thresher as th
from thresher.cli import app


def test_from_a_csv_file_to_exact_answers(tmp_path):
    rng = np.random.default_rng(7)
    people = pd.DataFrame(
        {
            "age": rng.integers(18, 90, 3000),
            "colour": rng.choice(["red", "green", "blue"], 3000, p=[0.7, 0.2, 0.1]),
            "height": rng.normal(170, 10, 3000).round(1),
        }
    )
    people.to_csv(tmp_path / "people.csv.gz", index=False)
    runner = CliRunner()
    schema_file, work_file = str(tmp_path / "s.json"), str(tmp_path / "w.json")
    drafted = runner.invoke(
        app, ["schema", "draft", str(tmp_path / "people.csv.gz"), "-o", schema_file]
    )
    assert drafted.exit_code == 0, drafted.output
    words = ["workload", "all", "-k", "2", "-r", "1", "--schema", schema_file, "-o", work_file]
    made = runner.invoke(app, [*words, "--json"])
    assert made.exit_code == 0, made.output
    assert json.loads(made.stdout)["thresholds"] == 3

    schema = th.Schema.load(schema_file)
    records = th.read(tmp_path / "people.csv.gz", schema)
    work = th.Workload.load(work_file, schema)
    tables = [th.exact_answers(records, threshold) for threshold in work]
    answers = np.concatenate([table.reshape(-1) for table in tables])
    assert len(answers) == work.query_count
    for query_id in rng.integers(0, work.query_count, 50).tolist():
        query = work.query(query_id)
        assert answers[query_id] / records.n == th.exact_answer(records, query.text(schema))

    older = (people["age"] >= 65) | (people["colour"] == "red")
    assert th.exact_answer(records, "any of: age=65.., colour=red") == older.mean()
    both = (people["age"] < 30) & (people["colour"] != "red")
    assert th.exact_answer(records, "all of: age=..29, colour!=red") == both.mean()
