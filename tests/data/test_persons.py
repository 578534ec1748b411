"""Ids of persons: one spelling in every kind of input, and faults that are told without an id."""

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import thresher as th
from thresher.data.persons import PersonData
from thresher.errors import DataError
from thresher.schema import IntegerRange, Schema

SCHEMA = Schema([IntegerRange(name="age", low=0, high=9, nulls=0)])


def of(ids, **options):
    frame = pd.DataFrame({"who": ids, "age": range(len(ids))})
    return th.read(frame, SCHEMA, person="who", **options)


def test_records_with_ids_are_data_about_persons():
    data = of(["x", "y", "x"])
    assert isinstance(data, PersonData)
    assert (data.person, data.persons, data.n) == ("who", 2, 3)
    [rows] = data.person_rows()
    assert rows.persons[0].tolist() == rows.persons[2].tolist() != rows.persons[1].tolist()
    assert "x" not in repr(data)


def test_without_ids_each_record_is_a_person():
    data = th.read(pd.DataFrame({"age": [1, 2]}), SCHEMA)
    assert (data.person, data.persons) == (None, 2)
    with pytest.raises(DataError, match="read without ids"):
        next(data.person_rows())


def test_an_id_is_the_same_in_every_kind_of_input(tmp_path):
    frame = pd.DataFrame({"who": [7, 12, 7], "age": [1, 2, 3]})
    frame.to_csv(tmp_path / "x.csv", index=False)
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "x.parquet")
    spaced = frame.assign(who=[" 7", "12 ", "7"])
    floats = frame.assign(who=[7.0, 12.0, 7.0])
    sources = (frame, spaced, floats, tmp_path / "x.csv", tmp_path / "x.parquet",
               pa.Table.from_pandas(frame.assign(who=frame.who.astype("category"))))  # fmt: skip
    hashes = [th.read(s, SCHEMA, person="who").ids.hashes.tolist() for s in sources]
    assert all(other == hashes[0] for other in hashes)


def test_long_numbers_are_kept_to_the_last_digit():
    data = of([2**60, 2**60 + 1])
    assert data.persons == 2
    assert of([str(2**60), str(2**60 + 1)]).ids.hashes.tolist() == data.ids.hashes.tolist()
    with pytest.raises(DataError, match="more than 15 digits"):
        of([float(2**60), 1.0])


@pytest.mark.parametrize("blank", [None, "", "  ", float("nan")])
def test_a_row_without_an_id_is_refused(blank):
    with pytest.raises(DataError, match="'who' has cells without an id"):
        of(["x", blank])


def test_ids_that_differ_only_in_capitals_are_refused_unless_they_are_said_to_differ():
    with pytest.raises(DataError, match="differ only in capitals") as caught:
        of(["Secret", "secret", "other"])
    assert "ecret" not in str(caught.value)
    assert of(["Secret", "secret", "other"], case_sensitive_ids=True).persons == 3


def test_capitals_are_noticed_across_batches(monkeypatch):
    monkeypatch.setattr("thresher.data.batches.CHUNK_ROWS", 1)
    with pytest.raises(DataError, match="differ only in capitals"):
        of(["Secret", "other", "secret"])
    assert of(["x", "other", "x"]).persons == 2


def test_the_column_must_be_there_and_must_not_be_a_feature():
    frame = pd.DataFrame({"age": [1]})
    with pytest.raises(DataError, match="lacks the column 'who' with ids"):
        th.read(frame, SCHEMA, person="who")
    with pytest.raises(DataError, match="must not be a feature: take it out of the schema"):
        th.read(frame, SCHEMA, person="age")


@pytest.mark.parametrize(
    ("ids", "persons"),
    [('"12345678901234567890" "12345678901234567891"', 2), ("7 8", 2), ('"7" 7', 1)],
)
def test_ids_in_json_lines(ids, persons, tmp_path):
    path = tmp_path / "visits.jsonl"
    path.write_text("".join(f'{{"who": {who}, "age": 1}}\n' for who in ids.split()))
    assert th.read(path, SCHEMA, person="who").persons == persons


def test_long_numbers_in_json_lines_are_rounded_and_refused(tmp_path):
    path = tmp_path / "visits.jsonl"
    path.write_text('{"who": 12345678901234567890, "age": 1}\n')
    with pytest.raises(DataError, match="more than 15 digits"):
        th.read(path, SCHEMA, person="who")
