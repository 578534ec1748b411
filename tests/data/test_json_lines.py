"""Records in JSON lines files: the same codes as from elsewhere, streamed, one object on a line."""

import json
import lzma

import numpy as np
import pyarrow as pa
import pytest

from thresher import Bins, Categorical, DataError, IntegerRange, Schema, draft_schema, read
from thresher.data import batches, json_lines

SCHEMA = Schema(
    [
        IntegerRange(name="age", low=16, high=100, nulls=16),
        Categorical(name="sex", categories=("F", "M", "other"), nulls="other", outside="other"),
        Bins.equal("gain", low=0, high=100, bins=10, nulls=0),
    ]
)
CODES = [[0, 24, 0, 84, 0, 83], [0, 1, 2, 2, 0, 1], [0, 5, 0, 9, 9, 0]]
LINES = """{"id": "a", "age": 16, "sex": "F", "gain": 0}
{"id": "b", "age": "40", "sex": "M", "gain": 55.5}
{"id": "c", "age": null, "sex": null}

{"id": "d", "age": 250, "sex": "X", "gain": 1e9}
{"gain": "inf", "id": "e", "sex": " F ", "age": -3.0}
{"id": "f", "age": 99, "sex": "M", "gain": -Infinity}
"""


def codes_of(records):
    return [column.tolist() for column in records.columns]


def written(path, content):
    packing = {".gz": "gzip", ".zst": "zstd"}.get(path.suffix)
    data = content.encode()
    if path.suffix == ".xz":
        path.write_bytes(lzma.compress(data))
        return path
    with pa.output_stream(str(path), compression=packing) as file:
        file.write(data)
    return path


@pytest.mark.parametrize("ending", ["jsonl", "NDJSON", "jsonl.gz", "jsonl.zst", "ndjson.xz"])
def test_the_codes_are_those_of_other_files(tmp_path, ending):
    path = written(tmp_path / f"x.{ending}", LINES)
    assert codes_of(read(path, SCHEMA)) == CODES


@pytest.mark.parametrize(
    "content", ["\ufeff" + LINES, LINES.replace("\n", "\r\n"), LINES.strip(), "\n\n" + LINES]
)
def test_line_ends_and_a_byte_order_mark(tmp_path, content):
    assert codes_of(read(written(tmp_path / "x.jsonl", content), SCHEMA)) == CODES


def test_many_blocks_are_as_one(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    ages = rng.integers(0, 120, 2000).tolist()
    records = [{"age": age, "sex": "FM"[age % 2], "gain": age / 2} for age in ages]
    path = written(tmp_path / "x.jsonl", "\n".join(map(json.dumps, records)))
    whole = codes_of(read(path, SCHEMA))
    monkeypatch.setattr(json_lines, "BLOCK_BYTES", 37)
    monkeypatch.setattr(batches, "CHUNK_ROWS", 77)
    seen = []
    assert codes_of(read(path, SCHEMA, progress=seen.append)) == whole
    assert seen == [*range(77, 2000, 77), 2000]


@pytest.mark.parametrize("size", [10, 36, 37, 1000])
@pytest.mark.parametrize("length", [36, 37])
def test_whether_a_long_line_is_read_does_not_depend_on_the_blocks(
    tmp_path, monkeypatch, size, length
):
    monkeypatch.setattr(json_lines, "BLOCK_BYTES", size)
    monkeypatch.setattr(json_lines, "LONGEST_LINE", 36)
    line = '{"x": "a", "y": "' + "z" * (length - 19) + '"}'
    path = written(tmp_path / "x.jsonl", f'{{"x": "a"}}\n{line}\n{{"x": "a"}}\n')
    schema = Schema([Categorical(name="x", categories=("a", "b"), nulls="b", outside="b")])
    assert len(line) == length
    if length > 36:
        with pytest.raises(DataError, match="line 2: it has more than 36 bytes"):
            read(path, schema)
    else:
        assert read(path, schema).codes("x").tolist() == [0, 0, 0]


def test_a_draft_finds_columns_in_the_order_in_which_they_occur(tmp_path):
    path = written(tmp_path / "x.jsonl", '{"b": 1}\n{"a": 2, "b": 2, "deep": {"a": 1}}\n{"c": 3}\n')
    drafted = draft_schema(path)
    assert drafted.schema.names == ("b", "a", "c")
    assert list(drafted.left_out) == ["deep"]


def test_a_key_for_every_record_is_a_fault(tmp_path, monkeypatch):
    monkeypatch.setattr(json_lines, "MOST_COLUMNS", 10)
    path = written(tmp_path / "x.jsonl", "\n".join(f'{{"k{i}": 1}}' for i in range(11)))
    with pytest.raises(DataError, match="more than 10 different keys"):
        draft_schema(path)
