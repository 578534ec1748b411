"""A draft flags every guess, says that it is not private, and reads the data it came from."""

import json

import jsonschema
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher import Bins, Categorical, DataError, IntegerRange, Schema, draft_schema, read
from thresher.data import delimited
from thresher.schema import draft

FRAME = pd.DataFrame(
    {
        "name": [f"person {i}" for i in range(1200)],
        "age": [20 + i % 50 for i in range(1200)],
        "sex": ["F", "M", None] * 400,
        "income": [i * 100.5 for i in range(1200)],
        "empty": [None] * 1200,
        "flag": [True, False] * 600,
        "code": ["1", " 2 ", ""] * 400,
    }
)


def test_every_guess_is_flagged():
    drafted = draft_schema(FRAME)
    guessed, left_out = drafted.schema, list(drafted.left_out)
    assert left_out == ["name", "empty"]
    assert guessed.unreviewed == guessed.names == ("age", "sex", "income", "flag", "code")
    assert all(feature.review.startswith("guessed") for feature in guessed)
    assert isinstance(guessed["age"], IntegerRange)
    assert (guessed["age"].low, guessed["age"].high) == (20, 69)
    assert isinstance(guessed["income"], Bins)
    assert guessed["income"].size == 100
    assert isinstance(guessed["sex"], Categorical)
    assert guessed["sex"].labels == ("F", "M", "(other)")
    assert isinstance(guessed["code"], IntegerRange)


def test_a_draft_reads_the_data_it_came_from():
    guessed = draft_schema(FRAME).schema
    records = read(FRAME, guessed)
    flags = [guessed["flag"].labels[code] for code in records.codes("flag")[:2]]
    assert [flag.lower() for flag in flags] == ["true", "false"]
    sexes = [guessed["sex"].labels[code] for code in records.codes("sex")[:3]]
    assert sexes == ["F", "M", "(other)"]
    assert read(pa.Table.from_pandas(FRAME), guessed).n == 1200


def test_the_warning_is_in_the_file(tmp_path):
    guessed = draft_schema(FRAME).schema
    guessed.save(tmp_path / "s.json", warning=draft.WARNING)
    content = json.loads((tmp_path / "s.json").read_text("utf-8"))
    assert "not itself private" in content["warning"]
    assert all(feature["review"] for feature in content["features"])
    jsonschema.validate(content, Schema.json_schema())
    assert Schema.load(tmp_path / "s.json") == guessed


def test_chunks_do_not_matter(tmp_path, monkeypatch):
    FRAME.to_csv(tmp_path / "x.csv", index=False)
    whole = draft_schema(tmp_path / "x.csv")
    monkeypatch.setattr(delimited, "CHUNK_BYTES", 2048)
    seen = []
    assert draft_schema(tmp_path / "x.csv", seen.append) == whole
    assert len(seen) > 5


def test_a_nameless_index_column_is_left_out(tmp_path):
    FRAME[["age"]].to_csv(tmp_path / "x.csv")
    drafted = draft_schema(tmp_path / "x.csv")
    guessed, left_out = drafted.schema, list(drafted.left_out)
    assert (guessed.names, left_out) == (("age",), [""])


CELL = st.one_of(
    st.floats(allow_nan=True), st.integers(-(2**70), 2**70), st.text(max_size=4), st.none(),
    st.sampled_from([1e308, -1e308, 10**17, 10**17 + 300, "(other)", "clip", "\x1c", "a\x1c"]),
)  # fmt: skip


@given(st.lists(CELL, min_size=1, max_size=8), st.booleans())
def test_any_column_can_be_drafted_and_read(cells, as_text):
    texts = [None if c is None else str(c).encode("utf-8", "replace").decode() for c in cells]
    column = pd.Series(texts if as_text else cells, dtype=object)
    frame = pd.DataFrame({"x": column, "sure": 1})
    guessed = draft_schema(frame).schema
    assert set(guessed.unreviewed) == set(guessed.names)
    assert read(frame, guessed).n == len(cells)


def test_nothing_to_draft_is_an_error():
    with pytest.raises(DataError, match="no column that could be a feature"):
        draft_schema(FRAME[["name", "empty"]])
    with pytest.raises(DataError, match="holds no records"):
        draft_schema(FRAME[:0])
