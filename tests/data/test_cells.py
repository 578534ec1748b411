"""Cells of records without a schema: each is read for itself, in every kind of file."""

import json
from collections import Counter

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.data.cell_reading import read_cells
from thresher.errors import DataError
from thresher.schema.draft.survey import SIZE, can_be_category, survey_code
from thresher.schema.features import Categorical
from thresher.schema.labels import is_label

FRAME = pd.DataFrame(
    {"city": ["Rome", " Oslo ", None, "Rome"], "age": [41, 17, 17, 90], "rate": [0.5, 2, None, 2]}
)


def test_every_source_gives_the_same_cells(tmp_path):
    FRAME.to_csv(tmp_path / "p.csv", index=False)
    FRAME.to_parquet(tmp_path / "p.parquet")
    sources = [FRAME, pa.Table.from_pandas(FRAME), tmp_path / "p.csv", tmp_path / "p.parquet"]
    for source in sources:
        cells = read_cells(source)
        assert cells.n == 4
        assert cells.columns["city"] == {"Rome": 2, "Oslo": 1, "": 1}
        numbers, counts = cells.numbers("age")
        assert (numbers.tolist(), counts.tolist()) == ([17, 41, 90], [2, 1, 1])
        assert cells.numbers("rate")[0].tolist() == [0.5, 2]


def test_values_come_in_an_order_that_is_not_that_of_the_records():
    turned = FRAME.iloc[::-1]
    for name in FRAME.columns:
        first, second = (read_cells(frame).values(name) for frame in (FRAME, turned))
        assert first[0] == second[0]
        assert first[1].tolist() == second[1].tolist()


CELLS = st.one_of(st.none(), st.text(), st.floats(), st.booleans())


@settings(max_examples=40, deadline=None)
@given(st.lists(CELLS, min_size=2), CELLS)
def test_one_cell_changes_at_most_two_counts(cells, new):
    """Whatever one record is replaced by, no other cell is read differently."""
    before, after = (
        read_cells(pd.DataFrame({"a": pd.Series(some, dtype=object)}))
        for some in (cells, [new, *cells[1:]])
    )
    assert before.n == after.n
    mine, theirs = Counter(before.columns["a"]), Counter(after.columns["a"])
    assert sum((mine - theirs).values()) <= 1
    assert sum((theirs - mine).values()) <= 1


@given(st.text())
def test_every_text_has_a_place_on_the_public_scale(text):
    assert 0 <= survey_code(text) < SIZE
    assert not can_be_category(text) or not text or is_label(text)


@pytest.mark.parametrize("text", ["9" * 400, "1e999", "-inf", "nan", "99999999-01-01", "1_0", "٣"])
def test_odd_texts_have_a_place(text):
    assert 0 <= survey_code(text) < SIZE


def test_tables_add_up_to_the_records():
    cells = read_cells(FRAME)
    [table] = cells.counts([("city",)])
    assert table.total == 4
    assert isinstance(cells.schema["city"], Categorical)
    with pytest.raises(DataError, match="column by column"):
        cells.counts([("city", "age")])


def test_columns_are_set_aside_by_their_declared_type():
    table = pa.table({"list": [[1], [2]], "age": [1, 2]})
    cells = read_cells(table)
    assert cells.unreadable == ("list",)
    assert list(cells.columns) == ["age"]
    with pytest.raises(DataError, match="no column that could be a feature"):
        read_cells(table, ["list"])
    with pytest.raises(DataError, match="no column 'b'"):
        read_cells(table, ["b"])
    with pytest.raises(DataError, match="no records"):
        read_cells(FRAME.iloc[:0])


SECRET = "what Ann has"


@pytest.mark.parametrize("several", [False, True])
def test_names_that_records_bring_along_are_not_public(several, tmp_path):
    """One record of a JSON lines file could name a column, which the draft then told."""
    for part in range(1 + several):
        rows = [{"city": "Rome"}, {"city": "Oslo", SECRET: "flu"}]
        (tmp_path / f"{part}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    source = tmp_path if several else tmp_path / "0.jsonl"
    with pytest.raises(DataError, match="its records name their columns") as refused:
        read_cells(source)
    assert SECRET not in str(refused.value)
    assert read_cells(source, ["city"]).schema.names == ("city",)


def test_the_first_record_of_a_file_without_a_header_is_not_public(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text(f"39,{SECRET}\n41,x\n")
    with pytest.raises(DataError, match="a number for its name") as refused:
        read_cells(path)
    assert SECRET not in str(refused.value)
    path.write_text("2019,2020\n1,2\n")
    assert read_cells(path, ["2019"]).columns == {"2019": {"1": 1}}


def test_cells_tell_nothing_by_themselves():
    cells = read_cells(FRAME)
    assert repr(cells) == "Cells(4 records, 3 columns)"
    with pytest.raises(TypeError):
        iter(cells)
    assert np.issubdtype(cells.values("city")[1].dtype, np.int64)


def test_no_cell_is_in_a_repr():
    frame = pd.DataFrame({"who": ["a", "a", "b"], "city": ["Rome", "Oslo", "Rome"]})
    cells = read_cells(frame, person="who")
    column = cells.columns["city"]
    assert repr(cells) == "PersonCells(2 persons, 1 columns)"
    assert list(column.texts) == ["Rome", "Oslo"]
    assert "Rome" not in repr(column)


def test_a_table_of_a_database_whose_names_may_be_a_record():
    """DuckDB takes the first line of such a file for its header, and it is somebody's record."""
    with duckdb.connect() as connection:
        connection.execute('CREATE TABLE p AS SELECT 45 AS "31", \'Oslo\' AS "Rome"')
        with pytest.raises(DataError, match="a number for its name") as fault:
            read_cells(connection.table("p"))
        assert "31" not in str(fault.value)
        assert read_cells(connection.table("p"), ["Rome"]).n == 1
