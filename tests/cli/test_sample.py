"""`thresher sample`: synthetic records as CSV or Parquet."""

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import thresher as th
from thresher.relaxed.rows import RelaxedRows
from thresher.release.folder import load
from thresher.release.sources import SyntheticRows


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_sample_reads_back_under_the_schema(release, thresher, ending):
    schema = th.Schema.load("s.json")
    rows = RelaxedRows.uniform(schema.sizes, 50, np.random.default_rng(0))
    mixed = dataclasses.replace(load(release), source=SyntheticRows(rows, schema))
    mixed.save("mixed")
    done = thresher(f"sample mixed --rows 200 --seed 1 -o out.{ending} --json")
    assert done.json == {"sample": f"out.{ending}", "rows": 200}
    records = th.read(f"out.{ending}", schema)
    assert records.n == 200
    drawn = th.read(mixed.sample(200, seed=1), schema)
    for name in schema.names:
        assert np.array_equal(records.codes(name), drawn.codes(name))
    assert (records.codes("pay") == 3).any()  # "none", a word among numbers


def test_the_same_seed_gives_the_same_file(release, thresher):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert (
            "50 synthetic records"
            in thresher(f"sample release --rows 50 --seed {seed} -o {name}.csv").out
        )
    a, b, c = (Path(f"{name}.csv").read_text() for name in "abc")
    assert a == b != c
    assert list(pd.read_csv("a.csv").columns) == ["age", "town", "pay"]


MISTAKES = [
    ("sample release --rows 5 -o out.xlsx", "told by its ending: .csv or .parquet"),
    ("sample release --rows 0 -o out.csv", "'--rows'"),
    ("sample release --rows many -o out.csv", "'--rows'"),
    ("sample release --rows 5 --seed -1 -o out.csv", "'--seed'"),
    ("sample release --rows 5 -o no/folder/out.csv", "out.csv cannot be written"),
    ("sample release --rows 5 -o no/folder/out.parquet", "out.parquet cannot be written"),
    ("sample release --rows 5", "Missing option"),
    ("sample none --rows 5 -o out.csv", "none is not a release"),
    ("sample zeros --rows 5 -o out.csv", "a release of all0 has no synthetic rows"),
]


@pytest.mark.parametrize(("line", "culprit"), MISTAKES, ids=[line for line, _ in MISTAKES])
def test_a_mistake_is_one_line_and_status_2(release, thresher, line, culprit):
    thresher("fit people.csv --schema s.json -w w.json --rho 1 --mechanism all0 -o zeros")
    done = thresher(line)
    assert done.status == 2
    assert done.out == ""
    [said] = done.err.splitlines()
    assert culprit in said
    assert not Path("out.csv").exists()
