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
@pytest.mark.parametrize("labels", ["", "--labels"])
def test_a_sample_reads_back_under_the_schema(release, thresher, ending, labels):
    schema = th.Schema.load("s.json")
    rows = RelaxedRows.uniform(schema.sizes, 50, np.random.default_rng(0))
    mixed = dataclasses.replace(load(release), source=SyntheticRows(rows, schema))
    mixed.save("mixed")
    done = thresher(f"sample mixed --rows 200 --seed 1 -o out.{ending} {labels} --json")
    assert done.json == {"sample": f"out.{ending}", "rows": 200}
    records = th.read(f"out.{ending}", schema)
    assert records.n == 200
    drawn = th.read(mixed.sample(200, seed=1), schema)
    for name in schema.names:
        assert np.array_equal(records.codes(name), drawn.codes(name))
    assert (records.codes("pay") == 3).any()  # "none", a word among numbers
    drawn = pd.read_csv("out.csv") if ending == "csv" else pd.read_parquet("out.parquet")
    assert pd.api.types.is_numeric_dtype(drawn["pay"]) == (not labels)


EVERY_KIND = th.Schema((
    th.IntegerRange(name="visits", low=0, high=3, nulls="?", extra=("?", "refused")),
    th.Bins.equal("pay", low=0, high=9, bins=3, nulls="?", extra=("?",), written="money"),
    th.Dates(name="born", low="1950", high="1952", step="year", nulls="?", extra=("?",)),
    th.Dates(name="seen", low="2020-01", high="2020-03", step="month", nulls="2020-01"),
    th.Boolean(name="ill", nulls="?", extra=("?",)),
    th.Boolean(name="old", nulls="false"),
    th.Categorical(name="grade", categories=("C", "A", "B"), ordered=True, nulls="?", outside="?",
                   extra=("?",)),
))  # fmt: skip


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_every_kind_of_column_is_written_and_read_back(release, thresher, ending):
    rows = RelaxedRows.uniform(EVERY_KIND.sizes, 50, np.random.default_rng(0))
    work = th.Workload.all(EVERY_KIND, 1)
    dataclasses.replace(
        load(release), source=SyntheticRows(rows, EVERY_KIND), schema=EVERY_KIND, workload=work,
        measurements=(),
    ).save("mixed")  # fmt: skip
    for option in ("", "--labels"):
        thresher(f"sample mixed --rows 300 --seed 1 -o out.{ending} {option}")
        frame = th.load("mixed").sample(300, seed=1, labels=bool(option))
        file, memory = th.read(f"out.{ending}", EVERY_KIND), th.read(frame, EVERY_KIND)
        for feature in EVERY_KIND:
            codes = file.codes(feature.name)
            assert np.array_equal(codes, memory.codes(feature.name)), feature.name
            everything = set(range(feature.size))
            if feature.name == "visits" and not option:
                everything -= {feature.code_of("refused")}  # read back as missing, that is "?"
            assert set(codes.tolist()) == everything
    if ending == "csv":
        thresher("sample mixed --rows 300 --seed 1 -o plain.csv")
        cells = pd.read_csv("plain.csv", dtype=str)
        assert set(cells["visits"].dropna()) == {"0", "1", "2", "3"}
        assert cells["born"].dropna().str.fullmatch(r"195[012]-\d\d-\d\d").all()
        assert set(cells["ill"].dropna()) == {"True", "False"}
    else:
        thresher("sample mixed --rows 300 --seed 1 -o plain.parquet")
        types = pd.read_parquet("plain.parquet").dtypes
        assert types["visits"].kind in "iuf"
        assert types["born"].kind == "M"


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
