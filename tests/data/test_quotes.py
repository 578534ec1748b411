"""Quotes in CSV files: the check agrees with a reader that goes letter by letter."""

import csv
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher import Categorical, DataError, IntegerRange, Schema, read
from thresher.data import delimited
from thresher.data.quotes import LINE_END, LineBreaksInCells, OneRecordPerLine, QuoteError

LETTERS = st.text(st.sampled_from('",a\n\r'), max_size=24).map(str.encode)
SCHEMA = Schema(
    [
        IntegerRange(name="id", low=0, high=2000, nulls=0),
        Categorical(name="word", categories=("a", "?"), outside="?", nulls="?"),
    ]
)


def first_fault_by_line(data):
    """The number of the first line with an open quote, going letter by letter."""
    for number, line in enumerate(LINE_END.split(data), 1):
        if not _sound_line(line.decode()):
            return number
    return None


def _sound_line(line):
    place = 0
    while place <= len(line):
        if line[place : place + 1] == '"':
            place += 1
            while True:
                end = line.find('"', place)
                if end < 0:
                    return False
                place = end + 1
                if line[place : place + 1] != '"':
                    break
                place += 1
            if place < len(line) and line[place] != ",":
                return False
        else:
            while place < len(line) and line[place] != ",":
                place += 1
        place += 1
    return True


def is_sound_over_lines(data):
    """Whether the quotes of a whole file are well placed, going letter by letter."""
    text, place = data.decode(), 0
    while place < len(text):
        if text[place] == '"':
            closing = re.compile(r'(?:[^"]|"")*"(?!")').match(text, place + 1)
            if not closing:
                return False
            place = closing.end()
            if place < len(text) and text[place] not in ",\n\r":
                return False
        else:
            while place < len(text) and text[place] not in ",\n\r":
                if text[place] == '"':
                    return False
                place += 1
        place += 1
    return True


def verdict(check, data, cuts):
    """The line of the first fault, or None, if the data come in blocks."""
    try:
        for start, stop in zip([0, *cuts], [*cuts, len(data)], strict=True):
            if data[start:stop]:
                check.add(data[start:stop])
        check.close()
    except QuoteError as fault:
        return int(re.match(r"line (\d+):", str(fault))[1])
    return None


@st.composite
def data_in_blocks(draw):
    data = draw(LETTERS)
    cuts = draw(st.lists(st.integers(0, len(data)), max_size=3))
    return data, sorted(cuts)


@given(data_in_blocks())
def test_a_line_is_a_record(case):
    data, cuts = case
    assert verdict(OneRecordPerLine(b",", 1), data, cuts) == first_fault_by_line(data)


@given(data_in_blocks())
def test_a_cell_goes_over_lines(case):
    data, cuts = case
    found = verdict(LineBreaksInCells(b",", 1), data, cuts)
    assert (found is None) == is_sound_over_lines(data)
    assert found == verdict(LineBreaksInCells(b",", 1), data, [])
    assert found is None or 1 <= found <= len(LINE_END.split(data))


@given(st.lists(st.lists(st.text(st.sampled_from('",ab'), max_size=5), min_size=2, max_size=2)))
def test_what_a_writer_writes_is_sound(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["id", "word"], *rows, ["1", "a"]])
    records = read(path, SCHEMA)
    assert records.n == len(rows) + 1
    assert records.codes("word").tolist() == [int(word != "a") for _, word in [*rows, (1, "a")]]


@pytest.mark.parametrize("size", [100, 1 << 21])
@pytest.mark.parametrize("row", [0, 2, 500, 999])
def test_a_stray_quote_swallows_no_record(tmp_path, monkeypatch, row, size):
    """In the first build, a quote in row 3 of 1,003 gave n = 3."""
    monkeypatch.setattr(delimited, "CHUNK_BYTES", size)
    lines = [f"{number},a" for number in range(1000)]
    path = tmp_path / "x.csv"
    path.write_text("\n".join(["id,word", *lines]) + "\n")
    assert read(path, SCHEMA).n == 1000
    lines[row] = f'{row},"a'
    path.write_text("\n".join(["id,word", *lines]) + "\n")
    with pytest.raises(DataError, match=f"line {row + 2}: a quote is not closed"):
        read(path, SCHEMA)
    with pytest.raises(DataError, match=f"line {row + 2}: a quote"):
        read(path, SCHEMA, line_breaks_in_cells=True)
    lines[row] = f'{row},5" pipe'
    path.write_text("\n".join(["id,word", *lines]) + "\n")
    assert read(path, SCHEMA).n == 1000
