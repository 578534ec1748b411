"""CSV files that a spreadsheet can open without running what is in them."""

import csv

import pandas as pd
import pytest

from thresher.release.spreadsheet import spreadsheet_safe, write_csv

RUN = ["=1+1", "+A1", "-A1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "-", "=", "-1+1", "+1-1"]
HARMLESS = ["a", "1=1", "-5", "+3.5e-2", ".5", "", "'=1", ">50K", " x"]


@pytest.mark.parametrize("text", RUN)
def test_what_a_spreadsheet_would_run_gets_an_apostrophe(text):
    safe = spreadsheet_safe(pd.DataFrame({text: [text, 3, None]}))
    assert list(safe.columns) == ["'" + text]
    assert safe.iloc[0, 0] == "'" + text
    assert safe.iloc[1, 0] == 3


@pytest.mark.parametrize("text", HARMLESS)
def test_everything_else_stays(text):
    records = pd.DataFrame({text: [text, -3.5], "n": [-1, 2]})
    pd.testing.assert_frame_equal(spreadsheet_safe(records), records)


def test_a_file_can_be_written_either_way(tmp_path):
    records = pd.DataFrame({"=name": ["=1+1", "b"], "n": [-1.5, 2.0]})
    for escape, name, cell in ((True, "'=name", "'=1+1"), (False, "=name", "=1+1")):
        write_csv(records, tmp_path / "out.csv", escape=escape)
        with (tmp_path / "out.csv").open(newline="") as file:
            assert list(csv.reader(file)) == [[name, "n"], [cell, "-1.5"], ["b", "2.0"]]
    assert list(records.columns) == ["=name", "n"]
