"""`thresher table`: on a terminal, as JSON, and in files."""

from pathlib import Path

import pandas as pd
import pytest

from thresher.release.folder import load


def test_two_features_have_rows_and_columns(release, thresher):
    done = thresher("table release town age --percent row")
    assert done.status == 0
    lines = done.out.splitlines()
    assert lines[0].startswith("percent of each row, ± margin of error")
    assert lines[1].split() == ["town", "20", "21", "22", "23", "24", "Total"]
    assert [line.split()[0] for line in lines[3:7]] == ["A", "B", "C", "Total"]
    assert "100.0 ±~0.0" in lines[3] or "100.0 ±0.0" in lines[3]
    assert lines[-1].startswith("n = 300")
    assert "* unreliable" in lines[-1]


def test_one_feature_has_counts(release, thresher):
    done = thresher("table release pay --where", "age>=21 and town!=A")
    lines = done.out.splitlines()
    assert "where age>=21 and town!=A" in lines[0]
    assert lines[1].split() == ["pay", "percent", "count"]
    assert [line.split()[0] for line in lines[3:8]] == [
        "0..25",
        "25..50",
        "50..100",
        "none",
        "Total",
    ]


def test_where_says_how_it_was_read(release, thresher):
    done = thresher("table release town --where pay=30..40")
    assert done.err == "thresher: pay=30..40 was read as all of: pay=25..50: bins end there\n"


def test_json_has_the_cells(release, thresher):
    cells = thresher("table release town pay --json").json["cells"]
    assert len(cells) == 4 * 5
    answer = load(release).answer("town=B, pay=25")
    [found] = [c for c in cells if (c["town"], c["pay"]) == ("B", "25..50")]
    assert (found["share"], found["margin"]) == (answer, answer.error_bar)


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx"])
def test_files(release, thresher, ending):
    done = thresher(f"table release town age --percent column -o out.{ending}")
    assert done.out == f"wrote out.{ending}: 24 cells\n"
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet, "xlsx": pd.read_excel}[ending]
    found = read(f"out.{ending}").astype({"age": str})
    expected = load(release).table("town", "age", percent="column").reset_index()
    assert found["town"].tolist() == expected["town"].tolist()
    assert found["percent"].to_numpy() == pytest.approx(expected["percent"].to_numpy())


@pytest.mark.parametrize(
    ("line", "culprit"),
    [
        ("table release", "Missing argument"),
        ("table release shoe", "there is no feature 'shoe'"),
        ("table release town --where town=Z", "no value 'Z'"),
        ("table release town -o out.txt", "told by its ending: .csv, .parquet, .xlsx"),
        ("table release town -o no/such/out.csv", "out.csv cannot be written"),
        ("table release town --percent half", "half"),
    ],
)
def test_mistakes(release, thresher, line, culprit):
    done = thresher(line)
    assert done.status == 2
    assert culprit in done.err
    assert not Path("out.txt").exists()
